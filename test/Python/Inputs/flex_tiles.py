"""How many tiles of keys flex_attention's kernels walk for masks of PyTorch's post and
attention-gym, counted in the emulator of sm_80: by the matrix products that ran.

    flex_tiles.py FOLDER

"needed" are the tiles in which an element is seen, if tiles begin at the first key that
a row of the block sees; "all" are those that a kernel without the mask walks. Of a mask
whose intervals of keys are more than those, blocks of 128 x 128 are listed, and those
are what is needed then: by flex_attention itself ("own blocks"), or by a BlockMask
("listed").
"""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import torch
from flex_check import everywhere
from flex_masks import H, S, masks
from torch.nn.attention.flex_attention import create_block_mask

from flashtile import flex

D = 64
ELEMENTS_OF_MMA = 16 * 8 * 16


def run(mask, folder, block_mask=None):
    """fa-run's report of one launch, in which all is right, and whether blocks of a mask
    without a BlockMask were listed."""
    q, k, v = (torch.empty(1, H, S, D, dtype=torch.float16) for _ in range(3))
    blocks = flex.tables_of(block_mask) if block_mask else flex.Tables(None, None)
    size = block_mask and block_mask.BLOCK_SIZE
    mods = flex._calls.Mods(None, mask, flex.key_of(None), flex.key_of(mask))
    find = functools.partial(flex._calls.find, mods, blocks, size, q, v, False)
    call, _, tensors = find()
    sizes = {"b": 1, "h": H, "i": S, "j": S}
    if blocks.lists and not all(call.growing_keys(tensors, blocks, sizes, q.device)):
        call, _, tensors = find(bounds=False)
    own = None if block_mask else flex.listed_of(mods, call, sizes, q.device)
    if own:
        walking, _, tensors = flex._calls.find(mods, flex._LISTED, (own.block,) * 2, q, v, False, bounds=False)
        lists = own.lists(walking, walking.values_of_mask(tensors, sizes, q.device))
        call, blocks = (walking, flex.Tables(None, lists)) if lists else (call, blocks)
        own = lists
    values = call.values([], tensors, blocks, sizes, q.device)
    captures, numbers = call.program.arguments(values, sizes)
    program, result = (os.path.join(folder, name) for name in ("program.mlir", "result.json"))
    with open(program, "w", encoding="utf-8") as file:
        file.write(call.program.text)
    inputs = [f"--in=1x{H}x{S}x{D}"] * 3
    for n, tensor in enumerate(captures):
        np.save(os.path.join(folder, f"{n}.npy"), tensor.numpy())
        inputs.append("--in=" + os.path.join(folder, f"{n}.npy"))
    inputs += [f"--in={number}" for number in numbers] + ["--in=0.125"]
    command = ["fa-run", program, "--entry=flex_attention", "--target=emulator:sm_80", "--counters", "--check"]
    subprocess.run([*command, f"--json={result}", *inputs], check=True, stdout=subprocess.DEVNULL)
    with open(result, encoding="utf-8") as file:
        return json.load(file), own is not None


def tiles(found):
    """Tiles that were walked, and their rows and keys."""
    rows, keys = map(int, found["kernels"][0]["tile"].split("x"))
    products = rows * keys * D * 2 // ELEMENTS_OF_MMA  # of a tile: scores, and output
    return found["counters"]["mma_m16n8k16"] / products, rows, keys


def seen_by(mask):
    return everywhere(mask, (1, H, S, S)).expand(1, H, S, S)[0]


def needed(mask, rows, keys):
    count = 0
    for block in seen_by(mask).unflatten(1, (S // rows, rows)).any(2).flatten(0, 1):
        places = block.nonzero().flatten()
        while len(places):  # a tile begins at the first key that is not yet in one
            count += 1
            places = places[places >= places[0] + keys]
    return count


def blocks_needed(mask, rows, keys):
    """Tiles of the blocks of 128 x 128 in which an element is seen."""
    blocks = seen_by(mask).unflatten(1, (S // 128, 128)).unflatten(3, (S // 128, 128))
    return blocks.any(4).any(2).sum().item() * (128 // rows) * (128 // keys)


def count(name, mask, block_mask=None):
    """Prints how many tiles are walked; whether an interval of more than is needed is."""
    report, has_own = run(mask, sys.argv[1], block_mask)
    walked, rows, keys = tiles(report)
    is_listed = block_mask or has_own
    least = (blocks_needed if is_listed else needed)(mask, rows, keys)
    name += ", listed" if block_mask else ", own blocks" if has_own else ""
    print(f"{name}: {walked:g} of {H * (S // rows) * (S // keys)} walked, {least} needed", flush=True)
    return not is_listed and walked > least


for name, mask in masks().items():
    if count(name, mask) or name == "causal":
        count(name, mask, create_block_mask(mask, 1, H, S, S, device="cpu"))
