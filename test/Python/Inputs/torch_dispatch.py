"""PyTorch's operator as it is called in C++ or through Python: the same numbers,
errors and refusals of a derivative, and the road that was expected.

usage: torch_dispatch.py c++|python
"""
import gc
import itertools
import resource
import sys
import threading
import weakref

import torch

import flashtile
import flashtile.torch
from flashtile.torch import attention

expected = sys.argv[1]
assert flashtile.torch.dispatch == expected, flashtile.torch.dispatch
op, op_lse = torch.ops.flashtile.attention, torch.ops.flashtile.attention_lse
torch.manual_seed(0)
HALF = "%half = arith.constant 0.5 : f32\n%score = arith.mulf %s, %half : f32"
CAUSAL = "%keep = arith.cmpi sle, %j, %i : index"


def make(dtype=torch.float32, b=2, h=4, hk=2, sq=40, sk=48, d=32, dv=16):
    shapes = (b, h, sq, d), (b, hk, sk, d), (b, hk, sk, dv)
    return [torch.randn(shape).to(dtype) for shape in shapes]


# ===--- Numbers -----------------------------------------------------------------

OPTIONS = [
    {},
    dict(causal=True),
    dict(causal="top-left"),
    dict(causal="bottom-right", window=(8, None)),
    dict(window=(None, 3)),
    dict(softcap=4.0),
    dict(scale=0.3),
    dict(score_mod=HALF),
    dict(mask_mod=CAUSAL),
    dict(score_mod=HALF, mask_mod=CAUSAL, softcap=2.0),
]


def compare(q, k, v, **how):
    found, other = attention(q, k, v, **how), flashtile.attention(q, k, v, **how)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, other))):
        assert a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride(), how
        assert torch.equal(a, b), how


before, calls = flashtile.torch.count_calls(), 0
for how, return_lse in itertools.product(OPTIONS, (False, True)):
    compare(*make(), return_lse=return_lse, **how)
    calls += 1
for dtype in (torch.float16, torch.bfloat16):
    compare(*make(dtype), return_lse=True)
    calls += 1
# Other lengths, strides and scales are the same plan's.
for sq, sk in ((1, 100), (17, 5), (0, 8)):
    compare(*make(sq=sq, sk=sk))
    views = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in make(sq=sq, sk=sk)]
    compare(*views, scale=0.01 * sk)
    calls += 2
# A bias with every pattern of dimensions, and where a dimension has size 1 anyhow.
for ones in itertools.product((False, True), repeat=4):
    q, k, v = make()
    bias = torch.randn([1 if one else size for one, size in zip(ones, (2, 4, 40, 48))])
    compare(q, k, v, bias=bias)
    compare(*make(b=1), bias=bias[:1])
    calls += 2
assert flashtile.torch.count_calls() - before == (calls if expected == "c++" else 0)

# ===--- Errors ------------------------------------------------------------------

q, k, v = make()
ERRORS = [
    (ValueError, "expected causal False, True, 'bottom-right' or 'top-left', found 'sideways'", (q, k, v), dict(causal="sideways")),
    (flashtile.Error, "argument 2: expected size 48 in dimension 2 as in dimension 2 of argument 1, found 47", (q, k, v[:, :, 1:]), {}),
    (flashtile.Error, "argument 1: expected elements of type f32, found f16", (q, k.half(), v), {}),
    (ValueError, "expected q of four dimensions, found the shape (4, 40, 32)", (q[0], k, v), {}),
    (ValueError, "expected a bias of four dimensions, found the shape (40, 48)", (q, k, v), dict(bias=torch.zeros(40, 48))),
    (flashtile.Error, "custom op 'rubbish' is unknown", (q, k, v), dict(score_mod="rubbish")),
    (TypeError, "expected elements of float32, float16, bfloat16, int32, int64, float8_e4m3fn, float8_e5m2, found", tuple(x.double() for x in (q, k, v)), {}),
]


def refused(kind, text, call):
    try:
        call()
    except kind as found:
        assert text in str(found), found
        return found
    raise AssertionError(f"expected '{text}'")


for kind, text, inputs, how in ERRORS:
    for return_lse in (False, True):
        found = refused(kind, text, lambda: attention(*inputs, return_lse=return_lse, **how))
        assert type(found) is kind and (kind is not flashtile.Error or found.status in (1, 2)), found
        direct = op_lse if return_lse else op
        refused(RuntimeError if expected == "c++" else kind, text, lambda: direct(*inputs, **how))
if expected == "c++":
    refused(TypeError, "found torch.float64", lambda: attention(q.double(), k, v))
# What failed is forgotten, and what follows it is right.
compare(q, k, v)

# ===--- Derivatives, and what traces -------------------------------------------------


def no_derivative(call):
    refused(RuntimeError, "flashtile", call)


for wants in range(4):
    inputs = [*make(), torch.zeros(1, 1, 40, 48)]
    inputs[wants].requires_grad_()
    q, k, v, bias = inputs
    plain = [x.detach() for x in inputs]
    for found in (op(q, k, v, bias=bias), *op_lse(q, k, v, bias=bias)):
        assert found.requires_grad and not found.is_leaf
        no_derivative(found.sum().backward)
    assert torch.equal(op(q, k, v, bias=bias), flashtile.attention(*plain[:3], bias=plain[3]))
    with torch.no_grad():
        assert not op(q, k, v, bias=bias).requires_grad and not op_lse(q, k, v, bias=bias)[1].requires_grad
    with torch.inference_mode():
        assert torch.equal(op(q, k, v), flashtile.attention(*plain[:3]))
    assert not op(*plain[:3]).requires_grad
    for function in (lambda q, k, v: op(q, k, v) * 2, lambda q, k, v: attention(q * 1, k, v)):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(*plain[:3]), function(*plain[:3]))
    torch._dynamo.reset()
    compiled = torch.compile(lambda q, k, v: op(q, k, v) * 2, backend="aot_eager", fullgraph=True)
    if wants < 3:
        no_derivative(lambda: compiled(q, k, v).sum().backward())
q, k, v = make()
on_meta = op(*(x.to("meta") for x in (q, k, v)))
assert on_meta.device.type == "meta" and on_meta.shape == (2, 4, 40, 16)

# ===--- Nothing is kept -----------------------------------------------------------


def kept(**how):
    """How many of a call's tensors outlive it."""
    inputs = [*make(), torch.zeros(1, 1, 40, 48)]
    inputs[0].requires_grad_(how.pop("wants_gradient", False))
    found = None
    try:
        found = op_lse(*inputs[:3], bias=inputs[3], scale=0.5, **how)
    except (RuntimeError, ValueError):
        pass
    references = [weakref.ref(x) for x in (*inputs, *(found or ()))]
    del inputs, found
    gc.collect()
    return sum(reference() is not None for reference in references)


assert kept() == 0 and kept(causal="sideways") == 0 and kept(wants_gradient=True) == 0
long = CAUSAL + "\n// " + "x" * 200_000
op(q, k, v, mask_mod=long)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for n in range(600):
    op(q, k, v, mask_mod=long)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 20_000, f"{grown} KiB for 600 texts of 200 kB"

# ===--- Threads -----------------------------------------------------------------

problems = [(make(sq=n + 1), dict(window=(n % 3 + 20, 0), return_lse=True)) for n in range(6)]
wrong = []


def work():
    for n in range(60):
        inputs, how = problems[n % len(problems)]
        if not torch.equal(attention(*inputs, **how)[1], right[n % len(problems)]):
            wrong.append(n)


right = [flashtile.attention(*inputs, **how)[1] for inputs, how in problems]
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
print("right")
