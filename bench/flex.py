#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.flex_attention beside PyTorch's compiled flex_attention on a card:
masks and changes of scores that PyTorch's post on FlexAttention and attention-gym
have, in turns.

    FLASHTILE_LIBRARY=…/libflashtile.so PYTHONPATH=python bench/flex.py [--ours] [--only=NAME …]

A call is timed between two events, with what both do in Python before it reaches
the card: PyTorch's has its BlockMask made before, ours makes none. "In a graph" is
what a captured call takes, where nothing waits for Python.
"""

import argparse
import math
import platform
import statistics
from datetime import date

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

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


def time_in_turns(runs):
    """Microseconds of each run, the median of ROUNDS."""
    found = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            found[name].append(1000 * begin.elapsed_time(end))
    return {name: statistics.median(each) for name, each in found.items()}


def captured(run):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", action="store_true", help="without PyTorch's")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--head-dim", type=int, action="append", default=[])
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}, ", end="")
    print(f"FlashTile {flashtile.version()}, {date.today()}; {B} batches, {H} heads, {S} queries and keys, bf16\n")
    print("| D | mods | a call: FlashTile, µs | PyTorch | ratio | in a graph: FlashTile | PyTorch | ratio | |")
    print("| --- " * 9 + "|")
    ratios = {"a call": [], "in a graph": []}
    for d in arguments.head_dim or (128, 64):
        q, k, v = (torch.randn(B, H, S, d, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        for name, (score, mask) in problems().items():
            if arguments.only and name not in arguments.only:
                continue
            ours = lambda: flashtile.flex_attention(q, k, v, score, mask)
            for _ in range(3):
                out = ours()
            runs, note = {"ours": ours, "ours, captured": captured(ours)}, ""
            if not arguments.ours:
                batches = B if name == "lengths" else None
                blocks = mask and create_block_mask(mask, batches, None, S, S, device="cuda")
                torch.compiler.reset()
                compiled = torch.compile(flex_attention, dynamic=False)
                theirs = lambda: compiled(q, k, v, score, blocks)
                try:
                    note = f"differ by {(theirs() - out).abs().max().item():.2g}"
                    runs |= {"theirs": theirs, "theirs, captured": captured(theirs)}
                except Exception as error:  # what it has no configuration for
                    note = f"PyTorch: {type(error).__name__}"
            times = time_in_turns(runs)
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
