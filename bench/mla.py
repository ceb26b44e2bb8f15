#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decode of multi-head latent attention on a card: right, and beside FlashMLA.

    bench/mla.py make FA_RUN BUNDLES [OPTION...]  compiles; needs no card
    bench/mla.py run OUT.json [NAME=]BUNDLES...   checks and times, of several the same kernels in turns

Values are 512 of a key's 576 columns, in bf16, in pages of 64 keys in random order. Of each
launch two sequences are compared with PyTorch's float32; a wrong one ends the race. Times are
those of CUDA graphs of eight launches, in turns. `run` needs PyTorch and libflashtile-rt
(FLASHTILE_RT, else on the loader's path); FlashMLA is vLLM's build of it (vllm.third_party),
and is left out where there is none. TFLOP/s are 2 b h s (576 + 512), GB/s those of the keys.
"""
import functools
import json
import math
import os
import subprocess
import sys

import gpu

DIM, VALUES, PAGE = 576, 512, 64
# Batches, keys, heads.
SHAPES = [(64, 4096, 128), (128, 4096, 128), (16, 16384, 128), (1, 65536, 128), (64, 4096, 64), (64, 4096, 16), (8, 8192, 16)]


def make(fa_run, folder, *options):
    problem = f"sq=1 hq=128 hkv=1 d={DIM} values-in-keys={VALUES} type=bf16 page={PAGE}"
    subprocess.run([fa_run, "--cache=off", "--attention", problem, "--arch=sm_90a", "--emit=bundle", "-o", folder, *options], check=True)


class Problem:
    """Queries, pages in random order, a table and lengths."""

    def __init__(self, torch, b, s, h):
        self.torch, pages = torch, s // PAGE
        normal = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.float32).to(torch.bfloat16)
        self.q, self.pool = normal(b, h, 1, DIM), normal(b * pages, 1, PAGE, DIM)
        self.table = torch.randperm(b * pages, device="cuda").to(torch.int32).view(b, pages)
        self.lengths = torch.full((b,), s, device="cuda", dtype=torch.int32)
        self.scale = 1 / math.sqrt(DIM)

    def reference(self, count):
        keys = self.pool[self.table[:count].long()].view(count, -1, DIM).float()
        weights = (self.q[:count, :, 0].float() @ keys.mT * self.scale).softmax(-1)
        return weights @ keys[..., :VALUES]

    def check(self, name, out):
        want = self.reference(min(2, len(out)))
        error = (out[: len(want)].float() - want).abs().max().item()
        # Outputs are means of as many keys: far below 1.
        if not error < 0.01:
            sys.exit(f"{name}: differs by {error} from float32")


def enter_ours(loader, problem, name, folder):
    b, h = problem.q.shape[:2]
    out = problem.q.new_empty(b, h, 1, VALUES)
    launch = loader.launcher(folder, [problem.q, problem.pool, problem.lengths, problem.table, problem.scale, out])
    launch()
    problem.check(name, out[:, :, 0])
    return launch


def flash_mla(problem):
    from vllm.third_party.flashmla.flash_mla_interface import flash_mla_with_kvcache, get_mla_metadata

    b, h = problem.q.shape[:2]
    pages, q = problem.pool.view(-1, PAGE, 1, DIM), problem.q.transpose(1, 2)
    try:
        plan = get_mla_metadata(problem.lengths, h, 1)
    except TypeError:
        plan = get_mla_metadata()
    launch = lambda: flash_mla_with_kvcache(q, pages, problem.table, problem.lengths, VALUES, *plan, softmax_scale=problem.scale, causal=True)
    problem.check("FlashMLA", launch()[0][:, 0])
    return launch


def race(torch, loader, shape, folders):
    problem = Problem(torch, *shape)
    launches = {name: enter_ours(loader, problem, name, folder) for name, folder in folders.items()}
    try:
        launches["FlashMLA"] = flash_mla(problem)
    except (ImportError, RuntimeError, TypeError) as why:
        print("without FlashMLA:", repr(why)[:160], flush=True)
    runners = {name: gpu.graph_of_eight(torch, launch) for name, launch in launches.items()}
    ms = gpu.race(functools.partial(gpu.event_times, torch), runners, rounds=5, burst_ms=10)
    return {name: t / 8 * 1e3 for name, t in ms.items()}


def run(out, *words):
    import torch

    torch.manual_seed(1)
    folders, loader, rows = gpu.named(words), gpu.Loader(torch), []
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, flush=True)
    for b, s, h in SHAPES:
        us = race(torch, loader, (b, s, h), folders)
        rows.append({"b": b, "s": s, "h": h, "us": us})
        rates = {name: f"{2 * b * h * s * (DIM + VALUES) / t / 1e6:.0f} TFLOP/s {b * s * DIM * 2 / t / 1e3:.0f} GB/s" for name, t in us.items()}
        print(f"{b} x {s}, {h} heads:", rates, flush=True)
    json.dump({"card": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, open(out, "w"))


if __name__ == "__main__":
    action, *arguments = sys.argv[1:] or [""]
    if action not in ("make", "run") or len(arguments) < 2:
        sys.exit(__doc__)
    globals()[action](*arguments)
