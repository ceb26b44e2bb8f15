"""torch.ops.flashtile.attention beside PyTorch's scaled_dot_product_attention and
flashtile.attention: what is right, then the host's time of a call.

    python3 bench/host/torch_op.py            on a card if there is one, else on the CPU
    python3 bench/host/torch_op.py --check    no times

Each case is compared with float64 by the rule of docs/numerics.md. Times are of
calls in turns, 1,000 of each, that are not waited for on a card. Needs PyTorch,
and the package: an installed one, or that of this source tree with the libraries
in build/lib. Says whether the operator is called in C++.
"""
import argparse
import importlib.util
import os
import platform
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if importlib.util.find_spec("flashtile") is None:
    sys.path.insert(0, os.path.join(ROOT, "python"))
    os.environ.setdefault("FLASHTILE_LIBRARY", os.path.join(ROOT, "build", "lib", "libflashtile.so"))

import torch
import torch.nn.functional as F

import flashtile
import flashtile.torch

ON_CARD = torch.cuda.is_available()
DEVICE = "cuda" if ON_CARD else "cpu"
op, op_lse = torch.ops.flashtile.attention, torch.ops.flashtile.attention_lse


@torch.library.custom_op("bench::by_python", mutates_args=())
def by_python(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The operator as it is where there is no library in C++."""
    return flashtile.attention(q, k, v)


def wait():
    if ON_CARD:
        torch.cuda.synchronize()


def tensors(*shapes, dtype):
    return [torch.randn(shape, device=DEVICE).to(dtype) for shape in shapes]


# ===--- What is right ----------------------------------------------------------


def attend(q, k, v, mask, bias, softcap):
    """By its definition, in the type of the operands."""
    if q.shape[1] != k.shape[1]:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.transpose(2, 3)) * q.shape[-1] ** -0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)


def check(name, found, q, k, v, mask=None, bias=None, softcap=0.0, lse=None):
    wait()
    sq, sk, dtype = q.shape[2], k.shape[2], q.dtype
    mask = torch.ones(sq, sk, dtype=bool) if mask is None else mask
    host = lambda x, wide: None if x is None else x.detach().cpu().to(wide)
    wide = [host(x, torch.float64) for x in (q, k, v)]
    exact, exact_lse = attend(*wide, mask, host(bias, torch.float64), softcap)
    single = [host(x, torch.float32) for x in (q, k, v)]
    unfused = attend(*single, mask, host(bias, torch.float32), softcap)[0].to(dtype)
    bound = 2 * (unfused - exact).abs().max().item() + 2 * torch.finfo(dtype).eps * exact.abs().max().item() + 1e-6
    error = (found.detach().cpu() - exact).abs().max().item()
    if not error <= bound:
        sys.exit(f"{name}: error {error}, expected at most {bound}")
    if lse is not None:
        error = (lse.cpu() - exact_lse).abs().max().item()
        if not error <= 1e-2:
            sys.exit(f"{name}: error of the log-sum-exp {error}, expected at most 0.01")


def cases():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        q, k, v = tensors((2, 8, 130, 64), (2, 2, 200, 64), (2, 2, 200, 64), dtype=dtype)
        i, j = torch.arange(130)[:, None], torch.arange(200)[None]
        yield f"{dtype}, fewer heads of k", op(q, k, v), (q, k, v), {}
        yield f"{dtype}, causal", op(q, k, v, causal="top-left"), (q, k, v), dict(mask=j <= i)
        window = op(q, k, v, causal="bottom-right", window_left=16)
        yield f"{dtype}, window", window, (q, k, v), dict(mask=(j <= i + 70) & (j >= i + 54))
        (bias,) = tensors((1, 8, 130, 200), dtype=dtype)
        yield f"{dtype}, bias and softcap", op(q, k, v, None, "", -1, -1, 5.0, bias), (q, k, v), dict(bias=bias, softcap=5.0)
        out, lse = op_lse(q, k, v)
        yield f"{dtype}, log-sum-exp", out, (q, k, v), dict(lse=lse)
        views = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
        yield f"{dtype}, strided", op(*views), views, {}
        mod = op(q, k, v, None, "", -1, -1, 0.0, None, None, "%keep = arith.cmpi sle, %j, %i : index")
        yield f"{dtype}, mask_mod", mod, (q, k, v), dict(mask=j <= i)
        q, k, v = tensors((1, 32, 1, 128), (1, 32, 8192, 128), (1, 32, 8192, 128), dtype=dtype)
        first, *others = [op(q, k, v) for _ in range(3)]  # workspace is asked for once
        yield f"{dtype}, one query on 8192 keys", first, (q, k, v), {}
        if not all(torch.equal(first, other) for other in others):
            sys.exit(f"{dtype}, one query on 8192 keys: expected the same of three calls")


def card_cases():
    """Streams, graphs and torch.compile, on a card."""
    q, k, v = tensors((1, 32, 1, 128), (1, 32, 8192, 128), (1, 32, 8192, 128), dtype=torch.bfloat16)
    op(q, k, v)
    wait()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        doubled = q * 2
        out = op(doubled, k, v)
    stream.synchronize()
    yield "another stream", out, (doubled, k, v), {}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = op(q, k, v)
    for seed in range(2):
        q.copy_(tensors(q.shape, dtype=q.dtype)[0])
        graph.replay()
        yield f"a graph, replay {seed}", out, (q, k, v), {}
    found = torch.compile(lambda q, k, v: op(q, k, v, causal="bottom-right"), backend="aot_eager")(q, k, v)
    yield "torch.compile", found, (q, k, v), {}


def check_all():
    count = 0
    for some in (cases, card_cases) if ON_CARD else (cases,):
        for name, found, inputs, how in some():
            check(name, found, *inputs, **how)
            count += 1
    q, k, v = tensors((1, 2, 8, 64), (1, 2, 8, 64), (1, 2, 8, 64), dtype=torch.float16)
    try:
        op(q.requires_grad_(), k, v).sum().backward()
        sys.exit("expected that the operator refuses a derivative")
    except RuntimeError as error:
        assert "flashtile" in str(error), error
    print(f"{count} cases are right")


# ===--- The host's time ---------------------------------------------------------


def contenders(q, k, v):
    out = torch.empty_like(q)
    yield "PyTorch's scaled_dot_product_attention", lambda: F.scaled_dot_product_attention(q, k, v)
    yield "flashtile.attention", lambda: flashtile.attention(q, k, v)
    yield "flashtile.attention, out=", lambda: flashtile.attention(q, k, v, out=out)
    yield "torch.ops.flashtile.attention", lambda: op(q, k, v)
    yield "flashtile.torch.attention", lambda: flashtile.torch.attention(q, k, v)
    yield "the operator by Python", lambda: torch.ops.bench.by_python(q, k, v)


def times(calls, turns=40, unit=25):
    """Microseconds a call: for each of `calls`, a mean over `unit` calls in each
    turn, fewer than a card's queue takes before the host has to wait."""
    found = {name: [] for name, _ in calls}
    for turn in range(-4, turns):  # the first ones are not counted
        for name, call in calls:
            wait()
            begin = time.perf_counter()
            for _ in range(unit):
                call()
            spent = (time.perf_counter() - begin) / unit * 1e6
            if turn >= 0:
                found[name].append(spent)
    return found


def table(shape, keys, dtype):
    b, h, _, d = shape
    q, k, v = tensors(shape, (b, h, keys, d), (b, h, keys, d), dtype=dtype)
    calls = list(contenders(q, k, v))
    before = flashtile.torch.count_calls()
    found = times(calls)
    with torch.no_grad():
        without = times(calls)
    if flashtile.torch.dispatch == "c++":
        assert flashtile.torch.count_calls() - before >= 4000
    print(f"| one call, {tuple(shape)}, {keys} keys, {dtype} | µs: median | least | under no_grad: median | least |")
    print("| --- | --- | --- | --- | --- |")
    for name, _ in calls:
        numbers = [f(x[name]) for x in (found, without) for f in (statistics.median, min)]
        print(f"| {name} | " + " | ".join(f"{n:.1f}" for n in numbers) + " |", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="no times")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    where = torch.cuda.get_device_name() if ON_CARD else "CPU, PyTorch on one thread"
    print(f"{where}; host {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"FlashTile {flashtile.__version__}, PyTorch {torch.__version__}, Python {platform.python_version()}")
    print(f"the operator is called in {flashtile.torch.dispatch}\n", flush=True)
    check_all()
    if not options.check:
        for shape, keys in (((1, 32, 1, 128), 1), ((1, 32, 1, 128), 8192)) if ON_CARD else (((1, 1, 4, 64), 4), ((1, 32, 1, 128), 1)):
            table(shape, keys, torch.bfloat16 if ON_CARD else torch.float32)


main()
