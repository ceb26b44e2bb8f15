#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.flex_attention beside PyTorch's compiled flex_attention on a card:
masks and changes of scores that PyTorch's post on FlexAttention and attention-gym
have, in turns.

    FLASHTILE_LIBRARY=…/libflashtile.so PYTHONPATH=python bench/flex.py [--ours] [--listed] [--own] [--backward] \
        [--only=NAME …]

A call is timed between two events, with what both do in Python before it reaches
the card; both have the same BlockMask, made before, but with --own: then FlashTile
has its mask_mod alone, and "as BlockMask" is what it takes with both. "In a graph" is what a captured
call takes, where nothing waits for Python. With --backward a call is the attention and
its gradients. Masks of attention-gym run where that is
installed.
"""

import argparse
import math
import platform
import statistics
from datetime import date

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention, noop_mask

import flashtile

B, H, S, ROUNDS = 4, 16, 4096, 30


def causal(b, h, q, k):
    return q >= k


def problems():
    """(score_mod, mask_mod) by name."""
    slopes = torch.exp2(-8 * torch.arange(1, H + 1, device="cuda").float() / H)
    document = torch.arange(S, device="cuda") // 512
    starts = torch.tensor([100, 700, 900, 2000, 2100, 3500], device="cuda")
    ragged = torch.bucketize(torch.arange(S, device="cuda"), starts, right=True)
    lengths = torch.tensor([4096, 3000, 2048, 1000], dtype=torch.int32, device="cuda")
    table = torch.randn(H, 2 * S, device="cuda")
    alibi = lambda s, b, h, q, k: s + slopes[h] * (k - q)
    softcap = lambda s, b, h, q, k: 30 * torch.tanh(s / 30)
    return {
        "full": (None, None),
        "causal": (None, causal),
        "window 512, causal": (None, lambda b, h, q, k: (q >= k) & (q - k <= 512)),
        "window of 256 to both sides": (None, lambda b, h, q, k: (q - k).abs() <= 256),
        "prefix 1000": (None, lambda b, h, q, k: (q >= k) | (k < 1000)),
        "documents, causal": (None, lambda b, h, q, k: (document[q] == document[k]) & (q >= k)),
        "documents": (None, lambda b, h, q, k: document[q] == document[k]),
        "documents of 100 to 1400": (None, lambda b, h, q, k: ragged[q] == ragged[k]),
        "lengths": (None, lambda b, h, q, k: k < lengths[b]),
        "dilated by 4, causal": (None, lambda b, h, q, k: (q >= k) & ((q - k) % 4 == 0)),
        "blocks of 512": (None, lambda b, h, q, k: q // 512 == k // 512),
        "ALiBi, causal": (alibi, causal),
        "ALiBi": (alibi, None),
        "softcap 30, causal": (softcap, causal),
        "softcap 30": (softcap, None),
        "relative": (lambda s, b, h, q, k: s + (q - k), None),
        "table of distances, causal": (lambda s, b, h, q, k: s + table[h, q - k + S], causal),
    }


def listed_problems():
    """mask_mod by name, of masks that are no intervals of keys; BlockMask: tables."""
    windows = 512 * (1 + torch.arange(H, device="cuda") // 4)
    chosen = torch.rand(B, H, S // 128, S // 128, device="cuda").argsort(-1).int()
    none, most = (torch.full((B, H, S // 128), count, dtype=torch.int32, device="cuda") for count in (0, 8))
    found = {
        "windows by head, causal": lambda b, h, q, k: (q >= k) & (q - k < windows[h]),
        "causal and full heads": lambda b, h, q, k: (h >= 8) | (q >= k),
        "8 of 32 blocks": BlockMask.from_kv_blocks(none, chosen, most, chosen),
    }
    try:
        import attn_gym.masks as gym
        from attn_gym.masks.sta import generate_sta_mask_mod_2d, generate_sta_mask_mod_3d
        from attn_gym.masks.svg import generate_spatial_head_mask_mod, generate_temporal_head_mask_mod
    except ImportError:
        return found
    images = torch.tensor([[0, 900], [900, 1800], [1800, 2500], [2500, S]], dtype=torch.int32, device="cuda")
    return found | {
        "gym: block diffusion": gym.generate_block_diffusion_mask(S // 2, 64),
        "gym: flamingo": gym.generate_vision_cross_attention_mask_mod(images, S // 4),
        "gym: global and window": gym.generate_global_sliding_window(512, torch.rand(S, device="cuda") > 0.9995),
        "gym: jetspec training": gym.generate_jetspec_training_mask_mod(S // 4, 64),
        "gym: natten": gym.generate_natten(64, 64, 13, 13),
        "gym: tiled natten": gym.generate_tiled_natten(64, 64, 13, 13, 8, 8),
        "gym: morton natten": gym.generate_morton_natten(64, 64, 13, 13),
        "gym: svg, spatial": generate_spatial_head_mask_mod(256, 15, 256),
        "gym: svg, temporal": generate_temporal_head_mask_mod(256, 15, 256),
        "gym: sta 2d": generate_sta_mask_mod_2d((64, 64), (24, 24), (8, 8)),
        "gym: sta 3d": generate_sta_mask_mod_3d((16, 16, 16), (8, 8, 8), (4, 4, 4)),
    }


def problems_with_blocks():
    """(name, score_mod, BlockMask or None, whether its mask is no intervals of keys)."""
    for name, (score, mask) in problems().items():
        batches = B if name == "lengths" else None
        yield name, score, mask and create_block_mask(mask, batches, None, S, S, device="cuda"), False
    for name, mask in listed_problems().items():
        heads = H if "head" in name else None
        is_tables = isinstance(mask, BlockMask)
        blocks = mask if is_tables else create_block_mask(mask, None, heads, S, S, device="cuda")
        yield name, None, blocks, True


def time_in_turns(runs, rounds=ROUNDS):
    """Microseconds of each run, the median of `rounds`."""
    found = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            found[name].append(1000 * begin.elapsed_time(end))
    return {name: statistics.median(each) for name, each in found.items()}


def difference(found, expected):
    """Of outputs, or of gradients relative to the largest."""
    if isinstance(found, torch.Tensor):
        return (found - expected).abs().max().item()
    return max(((x - y).abs().max() / y.abs().max()).item() for x, y in zip(found, expected))


def captured(run):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", action="store_true", help="without PyTorch's")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--listed", action="store_true", help="masks that are no intervals alone")
    parser.add_argument("--own", action="store_true", help="FlashTile has no BlockMask")
    parser.add_argument("--backward", action="store_true", help="of gradients, too")
    parser.add_argument("--head-dim", type=int, action="append", default=[])
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}, ", end="")
    print(f"FlashTile {flashtile.version()}, {date.today()}; {B} batches, {H} heads, {S} queries and keys, bf16\n")
    print("| D | mods | a call: FlashTile, µs | PyTorch | ratio | in a graph: FlashTile | PyTorch | ratio | |")
    print("| --- " * 9 + "|")
    ratios = {"a call": [], "in a graph": []}
    for d in arguments.head_dim or (128, 64):
        q, k, v, dout = (torch.randn(B, H, S, d, dtype=torch.bfloat16, device="cuda") for _ in range(4))
        inputs = [x.requires_grad_(arguments.backward) for x in (q, k, v)]
        whole = lambda out: torch.autograd.grad(out, inputs, dout) if arguments.backward else out
        for name, score, blocks, is_listed in problems_with_blocks():
            if arguments.only and name not in arguments.only or arguments.listed and not is_listed:
                continue
            if arguments.own and blocks is not None and blocks.mask_mod is noop_mask:
                continue  # which is tables alone
            mask = blocks.mask_mod if arguments.own and blocks is not None else blocks
            ours = lambda: whole(flashtile.flex_attention(q, k, v, score, mask))
            for _ in range(3):
                out = ours()
            runs, note = {"ours": ours, "ours, captured": captured(ours)}, ""
            if arguments.own:
                listed = lambda: whole(flashtile.flex_attention(q, k, v, score, blocks))
                note = f"as BlockMask: differ by {difference(listed(), out):.2g}, "
                runs["as BlockMask"] = captured(listed)
            if not arguments.ours:
                torch.compiler.reset()
                compiled = torch.compile(flex_attention, dynamic=False)
                theirs = lambda: whole(compiled(q, k, v, score, blocks))
                try:
                    note += f"differ by {difference(theirs(), out):.2g}"
                    runs |= {"theirs": theirs, "theirs, captured": captured(theirs)}
                except Exception as error:  # what it has no configuration for
                    note += f"PyTorch: {type(error).__name__}"
            times = time_in_turns(runs)
            if arguments.own:
                note = note.replace("as BlockMask:", f"as BlockMask: {times['as BlockMask']:.1f} µs in a graph,")
            print(f"| D {d} | {name} | ", end="")
            for kind, ending in (("a call", ""), ("in a graph", ", captured")):
                one, other = times["ours" + ending], times.get("theirs" + ending, math.nan)
                ratios[kind].append(other / one)
                print(f"{one:.1f} | {other:.1f} | {other / one:.2f} | ", end="")
            print(f"{note} |", flush=True)
    for kind, found in ratios.items():
        known = [math.log(ratio) for ratio in found if not math.isnan(ratio)]
        if known:
            print(f"\n{kind}: geometric mean of {len(known)} {math.exp(statistics.fmean(known)):.2f}, ", end="")
            print(f"least {math.exp(min(known)):.2f}")


if __name__ == "__main__":
    main()
