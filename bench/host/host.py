"""What a host program pays beside the kernel - a call, a compilation, a hit of
the cache - beside PyTorch's scaled_dot_product_attention and a Triton kernel, in
one run.

    ./dev bench host                 on this CPU
    python3 bench/host/host.py       with what Python finds: on a card if there is one

Prints tables of medians and least times. Every implementation's output is
compared with float64 before it is timed. Needs PyTorch; Triton where there is a
card. The package is an installed one, or that of this source tree with the
library in build/.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
if importlib.util.find_spec("flashtile") is None:
    sys.path.insert(0, os.path.join(ROOT, "python"))
    os.environ.setdefault("FLASHTILE_LIBRARY", os.path.join(ROOT, "build", "lib", "libflashtile.so"))
sys.path.insert(0, HERE)

import torch
import torch.nn.functional as F

ON_CARD = torch.cuda.is_available()
DEVICE = "cuda" if ON_CARD else "cpu"
# Small: on a card the host is what takes the time, on the CPU it is one tile.
SIZE = (1, 8, 128, 64) if ON_CARD else (1, 1, 4, 64)
TYPE = torch.float16 if ON_CARD else torch.float32


def wait():
    if ON_CARD:
        torch.cuda.synchronize()


def inputs():
    torch.manual_seed(0)
    return [torch.randn(SIZE, dtype=TYPE, device=DEVICE) for _ in range(3)]


def check(name, found, q, k, v):
    """By the rule of docs/numerics.md against float64, with what PyTorch's
    unfused operations are wrong by."""
    q, k, v = (x.cpu() for x in (q, k, v))
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double())
    scores = torch.softmax((q.float() @ k.float().transpose(2, 3)) * SIZE[-1] ** -0.5, -1)
    unfused = (scores.to(TYPE).float() @ v.float()).to(TYPE)
    e0 = (unfused - exact).abs().max().item()
    bound = 2 * e0 + 2 * torch.finfo(TYPE).eps * exact.abs().max().item() + 1e-6
    error = (found.cpu() - exact).abs().max().item()
    if not error <= bound:
        sys.exit(f"{name}: error {error}, expected at most {bound}")


# ===--- Calls -----------------------------------------------------------------


def implementations():
    """Functions of q, k, v with a name, and what they run in."""
    import flashtile
    import flashtile.torch

    sdpa = F.scaled_dot_product_attention
    yield "flashtile.attention", flashtile.attention, contextlib.nullcontext()
    yield "torch.ops.flashtile.attention", flashtile.torch.attention, contextlib.nullcontext()
    yield "PyTorch's scaled_dot_product_attention", sdpa, contextlib.nullcontext()
    if not ON_CARD:
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for name, backend in (("FlashAttention-2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
        yield f"PyTorch's, {name} alone", sdpa, sdpa_kernel(backend)
    import triton_attention

    yield "a Triton kernel and torch.empty_like", triton_attention.attention, contextlib.nullcontext()


def microseconds(call, rounds=60, unit=64):
    """Of a call that is not waited for: medians and least of `rounds` means over
    `unit` calls, fewer than a card's queue takes before the host has to wait."""
    times = []
    for _ in range(rounds):
        wait()
        begin = time.perf_counter()
        for _ in range(unit):
            call()
        times.append((time.perf_counter() - begin) / unit * 1e6)
    times = times[rounds // 10 :]
    return statistics.median(times), min(times)


def until_done(call):
    return microseconds(lambda: (call(), wait()), unit=16)


def c_calls(q, k, v):
    """The C interface by ctypes, arguments made once."""
    import flashtile
    from flashtile import _structs as fa
    from flashtile._library import check as succeed, library
    from flashtile._tensor import scalar, tensor

    plan = flashtile.Context(DEVICE, threads=1, cache=None).attention(
        fa.AttentionDesc(type=fa.F16 if TYPE == torch.float16 else fa.F32, headDim=SIZE[-1])
    )
    out = torch.empty_like(q)

    def arguments(*tensors):
        q, k, v, out = (tensor(x).argument() for x in tensors)
        return (fa.Argument * 5)(q, k, v, scalar(SIZE[-1] ** -0.5), out)

    def call(values):
        if ON_CARD:
            stream = torch.cuda.current_stream().cuda_stream
            return lambda: succeed(library.faPlanEnqueue(plan._handle, stream, values, 5))
        return lambda: succeed(library.faPlanLaunch(plan._handle, values, 5))

    name = "faPlanEnqueue" if ON_CARD else "faPlanLaunch"
    full, empty = arguments(q, k, v, out), arguments(*(x[:0] for x in (q, k, v, out)))
    call(full)()
    check(name, out, q, k, v)
    yield "a ctypes call that does nothing", lambda: library.faPlanDestroy(None)
    yield f"{name} of an empty batch, by ctypes", call(empty)
    yield f"{name}, by ctypes", call(full)


def calls():
    q, k, v = inputs()
    print(f"| one call, {SIZE}, {TYPE} | µs: median | least | until it is done: median | least |")
    print("| --- | --- | --- | --- | --- |")

    def row(name, call):
        numbers = (*microseconds(call), *until_done(call))
        print(f"| {name} | " + " | ".join(f"{n:.1f}" for n in numbers) + " |", flush=True)

    for name, call in c_calls(q, k, v):
        row(name, call)
    for name, function, around in implementations():
        with around:
            try:
                check(name, function(q, k, v), q, k, v)
            except RuntimeError as error:  # a peer that does not take this problem
                if name.startswith("PyTorch's"):
                    print(f"| {name} | {str(error).splitlines()[0]} | | | |")
                    continue
                raise
            row(name, lambda: function(q, k, v))


# ===--- Compilations ----------------------------------------------------------


def milliseconds(call, rounds):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times), min(times)


def plans():
    """Rows of what a plan costs in a process that has made one."""
    import flashtile
    from flashtile import _structs as fa

    problems = {"f16, d 64, causal": dict(type=fa.F16, headDim=64, causal=1)}
    problems["bf16, d 128" if ON_CARD else "f32, d 64"] = (
        dict(type=fa.BF16, headDim=128) if ON_CARD else dict(type=fa.F32, headDim=64)
    )
    for name, members in problems.items():
        desc = fa.AttentionDesc(**members)
        with tempfile.TemporaryDirectory() as cache:
            cold = flashtile.Context(DEVICE, threads=1, cache=None)
            phases = cold.attention(desc).describe()
            yield f"a plan, compiled: {name}", milliseconds(lambda: cold.attention(desc), 5)
            for phase in ("passes", "llvm", "assembler"):
                if phases.get(phase + "_ms"):
                    yield f"… of that {phase}", (phases[phase + "_ms"],) * 2
            dtype = {fa.F32: torch.float32, fa.F16: torch.float16, fa.BF16: torch.bfloat16}[members["type"]]
            rows = torch.empty((1, 8, 1024, members["headDim"]), dtype=dtype, device=DEVICE)
            launch = (rows, rows, rows, 0.125, rows)
            yield f"a plan of a known launch, compiled: {name}", milliseconds(lambda: cold.attention(desc, launch), 5)
            warm = flashtile.Context(DEVICE, threads=1, cache=cache)
            warm.attention(desc)
            yield f"a plan, from the cache: {name}", milliseconds(lambda: warm.attention(desc), 51)


def first_call(peer):
    """Milliseconds to the first result of this process, PyTorch being up."""
    q, k, v = inputs()
    (q @ k.transpose(2, 3)).sum().item()
    begin = time.perf_counter()
    if peer == "flashtile":
        import flashtile

        out = flashtile.attention(q, k, v)
    elif peer == "triton":
        import triton_attention

        out = triton_attention.attention(q, k, v)
    else:
        out = F.scaled_dot_product_attention(q, k, v)
    wait()
    time_ms = (time.perf_counter() - begin) * 1e3
    check(peer, out, q, k, v)
    return time_ms


def first_calls(rounds=3):
    """Rows of the first result of a process, each process a new one; caches are
    empty, and then they are not."""
    for peer, name in (("flashtile", "flashtile"), ("triton", "Triton's"), ("sdpa", "PyTorch's")):
        if peer == "triton" and not ON_CARD:
            continue
        cold, warm = [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                environment = dict(os.environ, XDG_CACHE_HOME=cache, TRITON_CACHE_DIR=os.path.join(cache, "triton"))
                command = [sys.executable, os.path.abspath(__file__), "--first-call", peer]
                for times in (cold, warm):
                    done = subprocess.run(command, env=environment, capture_output=True, text=True)
                    if done.returncode:
                        sys.exit(done.stderr)
                    times.append(json.loads(done.stdout))
        if peer != "sdpa":
            yield f"first call of a process, compiled: {name}", (statistics.median(cold), min(cold))
        yield f"first call of a process: {name}" + (", from its cache" if peer != "sdpa" else ""), (
            statistics.median(warm),
            min(warm),
        )


def whole_processes(fa_run):
    """Rows of a tool that starts, computes and ends."""
    command = [fa_run, "--attention", "b=1 hq=1 sq=4 d=64 type=f32", "--target=cpu"]
    run = lambda *options: lambda: subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as cache:
        yield "fa-run on the CPU, compiled", milliseconds(run("--cache=off"), 5)
        run("--cache=" + cache)()
        yield "fa-run on the CPU, from the cache", milliseconds(run("--cache=" + cache), 21)
        yield "fa-run --list-targets (starts, ends)", milliseconds(
            lambda: subprocess.run([fa_run, "--list-targets"], check=True, stdout=subprocess.DEVNULL), 21
        )


def versions():
    import flashtile

    where = torch.cuda.get_device_name() if ON_CARD else "CPU, one thread"
    found = [f"FlashTile {flashtile.__version__}", f"PyTorch {torch.__version__}", f"Python {platform.python_version()}"]
    if ON_CARD:
        import triton

        found.append(f"Triton {triton.__version__}")
    print(f"{where}; host {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(", ".join(found) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fa-run", default=os.path.join(ROOT, "build", "bin", "fa-run"), help="a tool to time, too")
    parser.add_argument("--first-call", choices=("flashtile", "triton", "sdpa"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.first_call:
        print(first_call(options.first_call))
        return
    versions()
    calls()
    print("\n| once | ms: median | least |\n| --- | --- | --- |")
    tools = [whole_processes(options.fa_run)] if os.path.exists(options.fa_run) else []
    for rows in (plans(), first_calls(), *tools):
        for name, (median, least) in rows:
            print(f"| {name} | {median:.1f} | {least:.1f} |", flush=True)


main()
