"""Dropout of attention that is trained with PyTorch: gradients compared with
float64, and whose random numbers they are."""
import pathlib
import re
import sys

import numpy as np
import torch
from gradients_check import Attention, check
from torch.utils.checkpoint import checkpoint

import flashtile
from flashtile.torch import attention, scaled_dot_product_attention

torch.manual_seed(5)
B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 13, 21, 16, 8
P = 0.3

# The program that docs/numerics.md shows.
text = (pathlib.Path(sys.argv[1]) / "docs/numerics.md").read_text()
names = {"np": np}
exec(re.search("```python\n(def dropout.*?)```", text, re.DOTALL).group(1), names)


def make(dtype=torch.float32):
    return [torch.randn(s).to(dtype).requires_grad_() for s in ((B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV))]


def wide(*tensors):
    return [None if x is None else x.detach().double().numpy() for x in tensors]


# Gradients, of a seed that is given.
for dtype in (torch.float32, torch.bfloat16):
    inputs, rng = make(dtype), torch.tensor([-9, 2**33])
    out, lse = attention(*inputs, dropout_p=P, rng=rng, return_lse=True)
    dout = torch.randn_like(out)
    found = torch.autograd.grad(out, inputs, dout)
    problem = Attention(B, HQ, HKV, SQ, SK, scale=D**-0.5, factors=names["dropout"](P, rng, B, HQ, SQ, SK))
    round = lambda x: torch.from_numpy(x).to(dtype).to(torch.from_numpy(x).dtype).numpy()
    check(problem, wide(*inputs), wide(out, lse), *wide(dout, None), wide(*found), half=dtype != torch.float32, round=round)
q, k, v = make()
assert torch.equal(attention(q, k, v, dropout_p=P, rng=rng), flashtile.attention(q, k, v, dropout_p=P, rng=rng))


# Without one, PyTorch's generator gives one to each call.
def twice(call):
    """Results of `call` from the same state of the generator, and of one call more."""
    torch.manual_seed(7)
    first = call()
    other = call()
    torch.manual_seed(7)
    again = call()
    assert torch.equal(first, again) and not torch.equal(first, other)
    return first


plain = twice(lambda: flashtile.attention(q.detach(), k.detach(), v.detach(), dropout_p=P))
assert torch.equal(plain, twice(lambda: attention(q, k, v, dropout_p=P)))
repeated = [x.repeat_interleave(HQ // HKV, 1) for x in (k, v)]
assert torch.equal(plain, twice(lambda: scaled_dot_product_attention(q, *repeated, dropout_p=P)))
generator = torch.Generator().manual_seed(7)
assert torch.equal(plain, attention(q, k, v, dropout_p=P, generator=generator))
assert not torch.equal(plain, attention(q, k, v, dropout_p=P, generator=generator))


# A checkpoint drops the same elements again; so does a graph.
def loss(function):
    torch.manual_seed(7)
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    (function(*inputs) ** 2).sum().backward()
    return [x.grad for x in inputs]


layer = lambda q, k, v: attention(torch.sin(q), k, v, dropout_p=P)
expected = loss(layer)
for x, y in zip(expected, loss(lambda *inputs: checkpoint(layer, *inputs, use_reentrant=False))):
    assert torch.equal(x, y)
compiled = torch.compile(lambda q, k, v, rng: attention(q, k, v, dropout_p=P, rng=rng), backend="aot_eager", fullgraph=True)
given = [loss(lambda *inputs: f(*inputs, rng)) for f in (compiled, lambda q, k, v, rng: attention(q, k, v, dropout_p=P, rng=rng))]
for x, y in zip(*given):
    assert torch.equal(x, y)
drawn = torch.compile(layer, backend="aot_eager", fullgraph=True)
assert not torch.equal(drawn(q, k, v), drawn(q, k, v))


def refused(message, call):
    try:
        call()
    except (ValueError, flashtile.Error) as error:
        assert message in str(error), error
        return
    raise AssertionError(f"expected an error with '{message}'")


refused("expected no rng without dropout_p", lambda: attention(q, k, v, rng=rng))
refused("expected a probability of dropout from 1 to 65535 of 65536", lambda: attention(q, k, v, dropout_p=-0.1))
print("right")
