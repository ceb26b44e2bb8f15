#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed causal prompts on a card, by bundles: right, and beside FlashAttention 3.

    bench/packed.py make FA_RUN BUNDLES [OPTION...]  compiles; needs no card
    bench/packed.py run OUT.json [NAME=]BUNDLES...   checks and times, of several the same kernels in turns

The lengths of bench/serving.py and sequences of one length, bf16, 32 heads over 8, D 64 and 128. Of each launch three
sequences are compared with PyTorch's float32, and all bundles with the first by their bits; what differs ends the race.
Times are those of CUDA graphs of eight launches, in turns. `run` needs PyTorch and libflashtile-rt (FLASHTILE_RT, else on
the loader's path); FlashAttention 3 is vLLM's build of it and is left out where there is none. TFLOP/s are 2 hq n² d for a
sequence of n. To compare programs taken in turn with those dealt beforehand:

    bench/packed.py make FA_RUN turns; bench/packed.py make FA_RUN dealt --schedule=persistent
    bench/packed.py run OUT.json turns=turns dealt=dealt
"""
import functools
import json
import math
import os
import random
import subprocess
import sys

import gpu

HQ, HKV, DIMS = 32, 8, (128, 64)


def problems():
    """Names and lengths, as bench/serving.py draws them."""
    draw = random.Random(7)
    yield "32 x 16..2048", [draw.randint(16, 2048) for _ in range(32)]
    yield "48 lognormal", [int(min(8192, max(8, math.exp(draw.gauss(6, 1.2))))) for _ in range(48)]
    for count, length in ((32, 512), (16, 1024), (8, 2048), (4, 4096)):
        yield f"{count} x {length}", [length] * count


def make(fa_run, folder, *options):
    for d in DIMS:
        problem = f"b=32 hq={HQ} hkv={HKV} sq=1024 d={d} type=bf16 causal ragged"
        command = [fa_run, "--cache=off", "--attention", problem, "--arch=sm_90a", "--emit=bundle", "-o", os.path.join(folder, str(d))]
        subprocess.run([*command, *options], check=True)


class Problem:
    def __init__(self, torch, lengths, d):
        self.torch, self.lengths, self.d = torch, lengths, d
        normal = lambda heads: torch.randn(sum(lengths), heads, d, device="cuda", dtype=torch.float32).to(torch.bfloat16)
        self.q, self.k, self.v = normal(HQ), normal(HKV), normal(HKV)
        self.offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], device="cuda", dtype=torch.int32)

    def check(self, name, out):
        for n in random.Random(1).sample(range(len(self.lengths)), 3):
            rows = slice(self.offsets[n], self.offsets[n + 1])
            q, k, v = (x[rows].float().transpose(0, 1) for x in (self.q, self.k, self.v))
            k, v = (x.repeat_interleave(HQ // HKV, 0) for x in (k, v))
            scores = q @ k.mT / math.sqrt(self.d)
            seen = self.torch.ones(scores.shape[1:], device="cuda", dtype=self.torch.bool).tril()
            want = scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
            error = (out[rows].float().transpose(0, 1) - want).abs().max().item()
            if not error < 0.03:
                sys.exit(f"{name}: sequence {n} differs by {error} from float32")


def enter_ours(loader, problem, name, folder):
    out = problem.torch.full_like(problem.q, math.nan)
    heads_first = [x.transpose(0, 1) for x in (problem.q, problem.k, problem.v)]
    values = [*heads_first, problem.offsets, problem.offsets, 1 / math.sqrt(problem.d), out.transpose(0, 1)]
    launch = loader.launcher(os.path.join(folder, str(problem.d)), values)
    launch()
    problem.check(name, out)
    return launch, out


def flash_attention(problem):
    from vllm.vllm_flash_attn import flash_attn_interface as peer

    longest, offsets = max(problem.lengths), problem.offsets
    launch = lambda: peer.flash_attn_varlen_func(
        problem.q, problem.k, problem.v, longest, offsets, longest, cu_seqlens_k=offsets, causal=True, fa_version=3
    )
    problem.check("FlashAttention 3", launch())
    return launch


def race(torch, loader, lengths, d, folders):
    problem, launches, first = Problem(torch, lengths, d), {}, None
    for name, folder in folders.items():
        launches[name], out = enter_ours(loader, problem, name, folder)
        first = out if first is None else first
        for _ in range(20):
            launches[name]()
            if not torch.equal(out.view(torch.int16), first.view(torch.int16)):
                sys.exit(f"{name}: other bits than {next(iter(folders))}")
    try:
        launches["FA 3"] = flash_attention(problem)
    except (ImportError, RuntimeError, TypeError) as why:
        print("without FlashAttention 3:", repr(why)[:160], flush=True)
    runners = {name: gpu.graph_of_eight(torch, launch) for name, launch in launches.items()}
    ms = gpu.race(functools.partial(gpu.event_times, torch), runners, rounds=5, burst_ms=10)
    return {name: t / 8 * 1e3 for name, t in ms.items()}


def run(out, *words):
    import torch

    torch.manual_seed(1)
    folders, loader, rows = gpu.named(words), gpu.Loader(torch), []
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, flush=True)
    for d in DIMS:
        for name, lengths in problems():
            us = race(torch, loader, lengths, d, folders)
            rows.append({"problem": name, "d": d, "us": us})
            rates = {who: f"{sum(2 * HQ * n * n * d for n in lengths) / t / 1e6:.0f}" for who, t in us.items()}
            print(f"{name}, D {d}, TFLOP/s:", rates, flush=True)
    with open(out, "w") as file:
        json.dump({"card": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    action, *arguments = sys.argv[1:] or [""]
    if action not in ("make", "run") or len(arguments) < 2:
        sys.exit(__doc__)
    globals()[action](*arguments)
