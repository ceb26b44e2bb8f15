#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the attention programs of examples/seeds and the form of Triton's tutorial 06, unchanged, on one NVIDIA card: by
Triton, by flashtile.triton as they are written and raised, and the same attention by flashtile.attention.

    FLASHTILE_LIBRARY=…/libflashtile.so PYTHONPATH=python bench/seeds.py [SECONDS [HEAD_DIM]]

The kernels are those of test/Triton/Inputs/programs.py. Triton and the kernel as it is written have the best of a few
tiles and warps each; what is raised has tiles of its own. All run in CUDA graphs of eight launches, in turns; outputs are
compared with PyTorch's in f32 first. FLOPs are 4 b h s² d, half of that when causal. Seed 002 is no attention, and
refused; seed 003 multiplies in f32, and runs with 1024 keys alone.
"""

import itertools
import math
import pathlib
import statistics
import sys
import time
from datetime import date

import gpu
import torch
import triton

import flashtile
import flashtile.triton
from raised import compare

sys.path.append(str(pathlib.Path(__file__).parents[1] / "test/Triton/Inputs"))
import programs  # noqa: E402

HEAD_DIMS, SIZES = (64, 128), (1024, 4096, 16384)
# Queries and keys of a tile, and warps.
TRITONS = [(128, 64, 4), (128, 64, 8)]
WRITTEN = [(64, 64), (128, 64)]
FORMS = [
    "seed_000",
    "seed_001",
    "seed_003",
    "seed_004",
    "seed_004, causal",
    "attention_forward",
    "attention_forward, causal",
]


def arguments_of(form, q, k, v, out, lse, bm, bn):
    """(grid, arguments) of a kernel, by name."""
    (b, h, s, d), causal = q.shape, form.endswith("causal")
    rows, scale = -(-s // bm), 1 / math.sqrt(d)
    given = dict(q=q, k=k, v=v, out=out, D=d, BM=bm, BN=bn)
    if form == "seed_000":
        named = zip("qkvo", ("zhmk", "zhnk", "zhnk", "zhmk"), (q, k, v, out))
        strides = {x + n: step for x, names, array in named for n, step in zip(names, array.stride())}
        return (rows, b * h, 1), given | strides | dict(scale=scale, H=h, N=s)
    flat = dict(zip(("sz", "sh", "sn", "sd"), q.stride()))
    if form == "seed_001":
        return (rows, b * h), given | flat | dict(scale=scale, lse=lse, H=h, N=s)
    if form == "seed_003":
        steps = dict(zip(("sb", "sh", "sm", "sd"), q.stride()))
        return (rows, b * h), given | steps | dict(scale=scale, H=h, S=s, BD=d)
    if form.startswith("seed_004"):
        sizes = dict(Z=b, H=h, N=s, STAGE=3 if causal else 1, sm_scale=scale, lse=lse)
        return (rows, 1, 1), given | flat | sizes
    return (rows, b * h), given | dict(scale=scale, lse=lse, H=h, N=s, CAUSAL=causal)


def best(launches):
    """Of those that run, the one that takes the least time."""
    found = []
    for launch in launches:
        try:
            launch()
            found.append((statistics.median(gpu.event_times(torch, launch, 5)), launch))
        except Exception as error:
            print("#", str(error).split("\n")[0][:160], flush=True)
    return min(found, key=lambda each: each[0])[1] if found else None


def launches_of(form, q, k, v, out, lse):
    kernel = getattr(programs, form.split(",")[0])

    def launch(fn, bm, bn, **how):
        grid, arguments = arguments_of(form, q, k, v, out, lse, bm, bn)
        return lambda: fn[grid](**arguments, **how)

    wrapped = lambda how: flashtile.triton.wrap(kernel, "cuda", raise_attention=how)
    causal = form.endswith("causal")
    return {
        "Triton": best([launch(kernel, m, n, num_warps=w) for m, n, w in TRITONS]),
        "as written": best([launch(wrapped("off"), m, n) for m, n in WRITTEN]),
        "raised": best([launch(wrapped("only"), 64, 64)]),
        "attention": lambda: flashtile.attention(q, k, v, causal=causal, scale=1 / math.sqrt(q.shape[3]), out=out),
    }


def main():
    seconds, start = float(sys.argv[1]) if len(sys.argv) > 1 else 400, time.time()
    head_dims = [int(d) for d in sys.argv[2:]] or HEAD_DIMS
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__}, {date.today()}; f16"
    )
    print("| kernel | shape | Triton | as written | raised | attention | raised / Triton | raised / attention |")
    print("| --- " * 8 + "|")
    ratios = {"Triton": [], "attention": []}
    for d, s, form in itertools.product(head_dims, SIZES, FORMS):
        b, h = 16384 // s, 2048 // d
        if form == "seed_003" and s > 1024:
            continue
        if time.time() - start > seconds:
            print("#", "out of time")
            break
        q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3))
        out, lse = torch.empty_like(q), q.new_empty(q.shape[:3], dtype=torch.float32)
        launches = {name: run for name, run in launches_of(form, q, k, v, out, lse).items() if run}
        for name, run in launches.items():
            out.fill_(math.nan)
            run()
            compare(torch, f"{form} {name}", out, q, k, v, form.endswith("causal"))
        graphs = {name: gpu.graph_of_eight(torch, run) for name, run in launches.items()}
        times = gpu.race(lambda f, n: gpu.event_times(torch, f, n), graphs, rounds=3)
        flops = 8 * 4 * b * h * s * s * d / (2 if form.endswith("causal") else 1)
        rates = {name: flops / ms * 1e-9 for name, ms in times.items()}
        shown = " | ".join(
            f"{rates.get(name, math.nan):.0f}" for name in ("Triton", "as written", "raised", "attention")
        )
        for name in ratios:
            ratios[name].append(rates.get("raised", math.nan) / rates.get(name, math.nan))
        print(
            f"| {form} | D {d} S {s} B {b} H {h} | {shown} | {ratios['Triton'][-1]:.2f} | {ratios['attention'][-1]:.2f} |",
            flush=True,
        )
    for name, found in ratios.items():
        known = [x for x in found if not math.isnan(x)]
        print(f"\nraised / {name}: geometric mean {statistics.geometric_mean(known):.2f}, least {min(known):.2f}")


if __name__ == "__main__":
    main()
