"""How many tiles of keys flex_attention's kernels walk for masks of PyTorch's post and
attention-gym, counted in the emulator of sm_80: by the matrix products that ran.

    flex_tiles.py FOLDER

"needed" are the tiles in which an element is seen, if tiles begin at the first key that
a row of the block sees; "all" are those that a kernel without the mask walks. Of a mask
whose intervals of keys are more than those, blocks of 128 x 128 are listed, and those
are what is needed then: by flex_attention itself, where the mask captures no tensor
("own blocks"), else by a BlockMask ("listed").
"""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import torch
from flex_check import everywhere
from torch.nn.attention.flex_attention import create_block_mask

from flashtile import flex

D, S, H = 64, 512, 2
ELEMENTS_OF_MMA = 16 * 8 * 16
torch.manual_seed(0)


def masks():
    """name: mask_mod."""
    document, prefix = torch.arange(S) // 90, 100
    starts = torch.tensor([0, 90, 180, 270, 360, 450])
    lengths = torch.tensor([300], dtype=torch.int32)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    mixed = document[torch.randperm(S)]
    flags = torch.rand(S) > 0.5
    found = {
        "causal": lambda b, h, q, k: q >= k,
        "window": lambda b, h, q, k: (q >= k) & (q - k <= 100),
        "both sides": lambda b, h, q, k: (q - k).abs() <= 50,
        "prefix": lambda b, h, q, k: (q >= k) | (k < prefix),
        "padding": lambda b, h, q, k: k < lengths[b],
        "blocks": lambda b, h, q, k: q // 64 == k // 64,
        "documents": lambda b, h, q, k: document[q] == document[k],
        "documents, causal": lambda b, h, q, k: (document[q] == document[k]) & (q >= k),
        "documents by starts": lambda b, h, q, k: (k >= starts[document[q]]) & (q >= k),
        "documents out of order": lambda b, h, q, k: order[document[q]] == order[document[k]],
        "documents from a key": lambda b, h, q, k: (q >= starts[document[k]]) & (q < starts[document[k]] + 90),
        "mixed documents": lambda b, h, q, k: mixed[q] == mixed[k],
        "by head": lambda b, h, q, k: torch.where(h < 1, q >= k, k < 30),
        "dilated": lambda b, h, q, k: (q >= k) & ((q - k) % 4 == 0),
        "flags": lambda b, h, q, k: flags[k],
    }
    try:
        import attn_gym.masks as gym
    except ImportError:
        return found
    offsets = torch.tensor([0, 100, 310, S], dtype=torch.int32)
    intervals = torch.tensor([[0, 7], [1, 7], [7, 12], [3, 9]], dtype=torch.int32)
    images = torch.tensor([[0, 100], [100, 190], [190, 400], [400, S]], dtype=torch.int32)
    tree = gym.build_tree_ancestor_matrix([-1] + [n // 2 for n in range(S - 1)], device="cpu")
    topk, sizes = torch.rand(1, H, 8, 8).topk(3).indices.int(), torch.randint(1, 65, (8,))
    return found | {
        "gym: batchify": gym.batchify_mask_mod(gym.causal_mask, 128),
        "gym: block diffusion": gym.generate_block_diffusion_mask(S // 2, 64),
        "gym: dilated window": gym.generate_dilated_sliding_window(32, 2),
        "gym: documents": gym.generate_doc_mask_mod(gym.causal_mask, offsets),
        "gym: packed documents": gym.generate_packed_causal_doc_mask_mod(offsets),
        "gym: flamingo": gym.generate_vision_cross_attention_mask_mod(intervals, S // 4),
        "gym: flamingo, in order": gym.generate_vision_cross_attention_mask_mod(images, S // 4),
        "gym: global and window": gym.generate_global_sliding_window(40, torch.rand(S) > 0.99),
        "gym: jetspec training": gym.generate_jetspec_training_mask_mod(128, 64),
        "gym: jetspec tree": gym.generate_jetspec_tree_causal_mask_mod(64, tree),
        "gym: natten": gym.generate_natten(16, 32, 5, 5),
        "gym: tiled natten": gym.generate_tiled_natten(16, 32, 5, 5, 8, 8),
        "gym: morton natten": gym.generate_morton_natten(32, 16, 5, 5),
        "gym: prefix": gym.generate_prefix_lm_mask(70),
        "gym: shared prefix": gym.generate_shared_prefix_mask_mod(offsets, torch.tensor([0, 0, 2])),
        "gym: sliding window": gym.generate_sliding_window(60),
        "gym: sta 2d": gym.generate_sta_mask_mod_2d((16, 32), (8, 8), (2, 2)),
        "gym: sta 2d, text": gym.generate_sta_mask_mod_2d((16, 30), (8, 6), (2, 2), 32),
        "gym: sta 3d": gym.generate_sta_mask_mod_3d((8, 8, 8), (4, 4, 4), (2, 2, 2)),
        "gym: svg spatial": gym.generate_spatial_head_mask_mod(32, 15, 32, 2, True, 32),
        "gym: svg temporal": gym.generate_temporal_head_mask_mod(32, 15, 32, 2),
        "gym: vsa": gym.generate_vsa_mask_mod(topk, 64),
        "gym: vsa, edges": gym.generate_vsa_mask_mod(topk, 64, sizes),
    }


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
    if blocks.lists and not call.has_growing_keys(tensors, blocks, sizes, q.device):
        call, _, tensors = find(bounds=False)
    own = None if block_mask else flex.tables_for(mods, call, sizes, q.device)
    if own:
        blocks, size = own
        call, _, tensors = flex._calls.find(mods, blocks, size, q, v, False)
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
