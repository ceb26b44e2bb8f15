"""flex_attention that is trained: gradients beside those of the same mods on whole
tensors, in float64. (PyTorch's own has no gradients on a CPU.)"""
import math

import torch
from torch.nn.attention.flex_attention import create_block_mask

from flashtile import flex_attention

torch.manual_seed(2)
B, H, HKV, S, T, D = 2, 4, 2, 20, 40, 16
q, k, v = (torch.randn(s).requires_grad_() for s in ((B, H, S, D), (B, HKV, T, D), (B, HKV, T, D)))
slopes, table = torch.rand(H), torch.randn(H, 64)
dout, dlse = torch.randn(B, H, S, D), torch.randn(B, H, S)


def causal(b, h, i, j):
    return j <= i + T - S


def capped(s, b, h, i, j):
    return 3 * torch.tanh(s / 3) - slopes[h] * (i - j).abs()


def learned(s, b, h, i, j):
    return s * torch.sigmoid(s) + table[h, i - j + T]


def unfused(q, k, v, score_mod=lambda s, *_: s, block_mask=None, **how):
    place = torch.meshgrid(*map(torch.arange, (B, H, S, T)), indexing="ij")
    scores = score_mod(q @ k.repeat_interleave(H // HKV, 1).mT / D**0.5, *place)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask_mod(*place), -torch.inf)
    return torch.softmax(scores, -1) @ v.repeat_interleave(H // HKV, 1), torch.logsumexp(scores, -1)


def gradients(function, inputs, **how):
    out, lse = function(*inputs, enable_gqa=True, return_lse=True, **how)
    return torch.autograd.grad([out, lse], inputs, [dout.to(out.dtype), dlse.to(lse.dtype)])


def largest(found, expected):
    return max((abs(x - y).max() / abs(y).max()).item() for x, y in zip(found, expected))


for how in ({}, dict(score_mod=capped), dict(score_mod=learned, block_mask=create_block_mask(causal, None, None, S, T, device="cpu"))):
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v)]
    expected = gradients(unfused, doubles, **how)
    single = largest(gradients(unfused, (q, k, v), **how), expected)
    found = gradients(flex_attention, (q, k, v), **how)
    assert largest(found, expected) <= 2 * single + 1e-6, (how, largest(found, expected), single)
    again = gradients(flex_attention, (q, k, v), **how)
    assert all(torch.equal(x, y) for x, y in zip(found, again))
# The twin: other code.
assert largest(gradients(flex_attention, (q, k, v), score_mod=capped), expected) > 1e-2

# What mods capture is trained as well: slopes, a bias that is a part of a larger
# one and added in two places, what is made of a parameter; alone, or beside q.
learnable = [torch.rand(H), torch.randn(H, S + 3, T), torch.randn(S)]


def change(slopes, bias, rows):
    def trained(s, b, h, i, j):
        return s * slopes[h] + bias[h, i, j] + torch.sin(2 * rows)[i] * bias[h, i, j]

    return trained


# Tables that are read at computed places: distances of each head, and buckets of
# them as T5 has them, far more than a tile's; a number of all scores, and of a batch.
tables = [torch.randn(H, S + T), torch.randn(12, H), torch.tensor(0.7), torch.randn(B)]


def bucket(i, j):
    distance = (i + T - S - j).clamp(min=0)
    far = 6 + (torch.log(distance.clamp(min=1) / 6.0) / math.log(40 / 6) * 6).to(torch.int64)
    return torch.where(distance < 6, distance, far.clamp(max=11))


def look_up(distances, buckets, number, batches):
    def trained(s, b, h, i, j):
        return s * number + distances[h, i - j + T] + buckets[bucket(i, j), h] + batches[b] * torch.cos(s)

    return trained


def learned_gradients(function, inputs, parameters, change=change):
    out, lse = function(*inputs, score_mod=change(*parameters), enable_gqa=True, return_lse=True)
    wanted = [x for x in (*inputs, *parameters) if x.requires_grad]
    return torch.autograd.grad([out, lse], wanted, [dout.to(out.dtype), dlse.to(lse.dtype)])


for inputs in ((q, k, v), [x.detach() for x in (q, k, v)]):
    parameters = [x.requires_grad_() for x in learnable]
    doubles = [[x.detach().double().requires_grad_(x.requires_grad) for x in each] for each in (inputs, parameters)]
    expected = learned_gradients(unfused, *doubles)
    single = largest(learned_gradients(unfused, inputs, parameters), expected)
    found = learned_gradients(flex_attention, inputs, parameters)
    assert [x.shape for x in found] == [x.shape for x in expected]
    assert largest(found, expected) <= 2 * single + 1e-6, (largest(found, expected), single)
# The twin: other code.
parameters[0].data.add_(0.1)
assert largest(learned_gradients(flex_attention, inputs, parameters), expected) > 1e-2

parameters = [x.requires_grad_() for x in tables]
doubles = [[x.detach().double().requires_grad_() for x in each] for each in ((q, k, v), parameters)]
expected = learned_gradients(unfused, *doubles, look_up)
single = learned_gradients(unfused, (q, k, v), parameters, look_up)
found = learned_gradients(flex_attention, (q, k, v), parameters, look_up)
assert [x.shape for x in found] == [x.shape for x in expected]
for n, (x, y, one) in enumerate(zip(found, expected, single)):
    assert largest([x], [y]) <= 2 * largest([one], [y]) + 2e-6, (n, largest([x], [y]), largest([one], [y]))
again = learned_gradients(flex_attention, (q, k, v), parameters, look_up)
assert all(torch.equal(x, y) for x, y in zip(found, again))
# The twin: the bucket beside.
other = lambda *tables: look_up(tables[0], tables[1].roll(1, 0), *tables[2:])
assert largest(learned_gradients(flex_attention, (q, k, v), parameters, other)[4:5], expected[4:5]) > 1e-2

# Only what is wanted, by an output alone.
frozen = [x.detach() for x in (k, v)]
out = flex_attention(q, *frozen, score_mod=capped, enable_gqa=True)
alone, = torch.autograd.grad(out, q, dout)
out = flex_attention(q, k, v, score_mod=capped, enable_gqa=True)
assert torch.equal(alone, torch.autograd.grad(out, q, dout)[0])


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"expected '{text}'")


# A captured tensor that changes between the passes, a second derivative, and
# one that nobody knows.
out = flex_attention(q, k, v, score_mod=capped, enable_gqa=True)
slopes.add_(1)
refused(RuntimeError, "modified by an inplace operation", out.sum().backward)
gradient, = torch.autograd.grad(flex_attention(q, k, v, enable_gqa=True).square().sum(), q, create_graph=True)
refused(RuntimeError, "differentiate twice", lambda: gradient.sum().backward())
learned_scale = torch.tensor(0.25, requires_grad=True)
trained = dict(scale=learned_scale, enable_gqa=True)
refused(NotImplementedError, "a scale without a gradient", lambda: flex_attention(q, k, v, **trained))
print("right")
