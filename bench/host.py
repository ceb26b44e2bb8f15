"""What a host program pays beside the kernel: a launch, a compilation, a hit of
the cache, beside PyTorch's call, in one process on one thread.

    ./dev bench host

Prints tables of medians and least times. The problem is one head of four queries and keys; a
kernel computes a whole tile for it, which the launch of an empty batch does not.
"""
import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("FLASHTILE_LIBRARY", os.path.join(ROOT, "build", "lib", "libflashtile.so"))

import flashtile
import flashtile.torch
from flashtile import _library as fa
from flashtile._tensor import scalar, tensor

SIZE = (1, 1, 4, 64)


def measure(call, rounds, unit):
    """Median and least of the calls but the first tenth."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) / unit)
    times = times[rounds // 10 :]
    return statistics.median(times), min(times)


def microseconds(call, rounds=5001):
    return measure(call, rounds, 1e-6)


def milliseconds(call, rounds=9):
    return measure(call, rounds, 1e-3)


def launches():
    """Rows of a launch's cost, in microseconds."""
    x = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    out = np.empty_like(x)
    t = torch.from_numpy(x)
    context = flashtile.Context(threads=1, cache=None)
    plan = context.attention(fa.AttentionDesc(type=fa.F32, headDim=64))
    arguments = [tensor(a).argument() for a in (x, x, x)] + [scalar(0.125), tensor(out).argument()]
    array = (fa.Argument * 5)(*arguments)
    launch = lambda: fa.library.faPlanLaunch(plan._handle, array, 5)
    empty = [tensor(a[:0]).argument() for a in (x, x, x)] + [scalar(0.125), tensor(out[:0]).argument()]
    none = (fa.Argument * 5)(*empty)
    nothing = lambda: fa.library.faPlanDestroy(None)
    yield "a ctypes call that does nothing", microseconds(nothing)
    yield "faPlanLaunch of an empty batch, by ctypes", microseconds(
        lambda: fa.library.faPlanLaunch(plan._handle, none, 5)
    )
    yield "faPlanLaunch, by ctypes", microseconds(launch)
    yield "flashtile.attention, NumPy, out=", microseconds(lambda: flashtile.attention(x, x, x, out=out))
    yield "flashtile.attention, PyTorch", microseconds(lambda: flashtile.attention(t, t, t))
    yield "torch.ops.flashtile.attention", microseconds(lambda: flashtile.torch.attention(t, t, t))
    yield "PyTorch scaled_dot_product_attention", microseconds(lambda: F.scaled_dot_product_attention(t, t, t))


def compilations():
    """Rows of what a plan costs, in milliseconds."""
    for name, members in (("f32, d 64", dict(type=fa.F32)), ("f16, d 64, causal", dict(type=fa.F16, causal=1))):
        desc = fa.AttentionDesc(headDim=64, **members)
        with tempfile.TemporaryDirectory() as cache:
            cold = flashtile.Context(threads=1, cache=None)
            yield f"a plan, compiled: {name}", milliseconds(lambda: cold.attention(desc), 5)
            warm = flashtile.Context(threads=1, cache=cache)
            warm.attention(desc)
            yield f"a plan, from the cache: {name}", milliseconds(lambda: warm.attention(desc), 51)


def processes():
    """Rows of whole processes, in milliseconds."""
    command = [os.path.join(ROOT, "build/bin/fa-run"), "--attention", "b=1 hq=1 sq=4 d=64 type=f32"]
    run = lambda *options: lambda: subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as cache:
        yield "fa-run, compiled", milliseconds(run("--cache=off"), 5)
        run("--cache=" + cache)()
        yield "fa-run, from the cache", milliseconds(run("--cache=" + cache), 21)
        yield "fa-run --list-targets (starts, ends)", milliseconds(run("--list-targets"), 21)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"FlashTile {flashtile.__version__}, PyTorch {torch.__version__}, NumPy {np.__version__}\n")
    print("| one launch, CPU, one thread | microseconds: median | least |\n| --- | --- | --- |")
    for name, (median, least) in launches():
        print(f"| {name} | {median:.1f} | {least:.1f} |")
    print("\n| once | milliseconds: median | least |\n| --- | --- | --- |")
    for rows in (compilations(), processes()):
        for name, (median, least) in rows:
            print(f"| {name} | {median:.1f} | {least:.1f} |")


main()
