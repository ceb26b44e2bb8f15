"""Attention that is trained with PyTorch: gradients compared with float64, and
what computes them."""
import collections

import numpy as np
import torch
import torch.nn.functional as F
from gradients_check import Attention, check

import flashtile
from flashtile.torch import attention

torch.manual_seed(5)
B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 13, 21, 16, 8
i, j = np.arange(SQ)[:, None], np.arange(SK)[None]
CAUSAL = j <= i + SK - SQ


def make(dtype=torch.float32):
    return [torch.randn(s).to(dtype).requires_grad_() for s in ((B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV))]


def wide(*tensors):
    return [None if x is None else x.detach().double().numpy() for x in tensors]


def gradients(inputs, *losses):
    """Gradients of a scalar: tensors and their cotangents, in pairs."""
    return torch.autograd.grad([x for x, _ in losses], inputs, [y for _, y in losses])


def case(options, *, dtype=torch.float32, dlse=False, call=attention, scale=D**-0.5, trained=(), **how):
    """trained: names of options whose gradients are wanted, too."""
    inputs = make(dtype)
    for name in trained:
        options = {**options, name: options[name].clone().requires_grad_()}
    out, lse = call(*inputs, return_lse=True, **options)
    dout, dlse = torch.randn_like(out), torch.randn_like(lse) if dlse else None
    losses = [(out, dout)] + ([] if dlse is None else [(lse, dlse)])
    wanted = [*inputs, *(options[name] for name in trained)]
    found = gradients(wanted, *losses)
    assert all(x.dtype == y.dtype and x.shape == y.shape for x, y in zip(found, wanted))
    round = lambda x: torch.from_numpy(x).to(dtype).to(torch.from_numpy(x).dtype).numpy()
    problem = Attention(B, HQ, HKV, SQ, SK, scale=scale, **how)
    arguments = problem, wide(*inputs), wide(out, lse), *wide(dout, dlse)
    check(*arguments, wide(*found), half=dtype != torch.float32, round=round)


# ===--- Numbers -------------------------------------------------------------------

# The formulas that are compared with are PyTorch's own, in float64.
doubles = [x.detach().double().requires_grad_() for x in make()]
out = F.scaled_dot_product_attention(*doubles, attn_mask=torch.from_numpy(CAUSAL), enable_gqa=True)
dout = torch.randn_like(out)
problem = Attention(B, HQ, HKV, SQ, SK, scale=D**-0.5, keep=CAUSAL)
arrays = wide(*doubles)
formulas, _ = problem.backward(*arrays, *problem.forward(*arrays), dout.numpy(), None)
for x, y in zip(formulas, gradients(doubles, (out, dout))):
    assert abs(x - y.numpy()).max() < 1e-12

lengths = torch.tensor([SK, 9], dtype=torch.int32)
seen = (j[None] < lengths.numpy()[:, None, None])[:, None]
first = torch.from_numpy(np.repeat((i // 5 * 5).astype(np.int32).T, B, 0))
last = (first + 7).clamp(max=SK)
documents = ((j >= first.numpy()[..., None]) & (j < last.numpy()[..., None]))[:, None]
slopes, bias = torch.rand(HQ), torch.randn(1, HQ, SQ, SK)
penalty = -slopes.numpy()[:, None, None] * abs(i + SK - SQ - j)
HALF = "%half = arith.constant 0.5 : f32\n%score = arith.mulf %s, %half : f32"

case(dict(causal=True), dlse=True, keep=CAUSAL)
case(dict(causal=True), keep=CAUSAL, call=flashtile.attention)
case(dict(window=(4, 2), lengths=lengths), keep=(j >= i + SK - SQ - 4) & (j <= i + SK - SQ + 2) & seen)
case(dict(key_ranges=(first, last), softcap=2.0), keep=documents, softcap=2.0)
case(dict(alibi_slopes=slopes, causal="top-left"), keep=j <= i, added=penalty)
case(dict(bias=bias, scale=0.4), added=bias.numpy(), scale=0.4)
scale = torch.tensor(0.4)
inputs = make()
out, lse = attention(*inputs, scale=(learned := scale.clone().requires_grad_()), causal=True, return_lse=True)
dout = torch.randn_like(out)
*_, found = gradients([*inputs, learned], (out, dout))
doubles = [x.detach().double().requires_grad_() for x in (*inputs, learned)]
keep = torch.from_numpy(CAUSAL)
wide_q, wide_k, wide_v, wide_scale = doubles
scores = wide_scale * (wide_q @ wide_k.repeat_interleave(HQ // HKV, 1).mT)
exact = torch.softmax(scores.masked_fill(~keep, -torch.inf), -1) @ wide_v.repeat_interleave(HQ // HKV, 1)
*_, expected = gradients(doubles, (exact, dout.double()))
assert found.shape == () and abs(found - expected) < 1e-4 * abs(expected), (found, expected)
# A scale that changes is another one, whoever asks.
frozen = [x.detach() for x in inputs]
before = flashtile.attention(*frozen, scale=scale)
scale.mul_(2)
assert torch.equal(flashtile.attention(*frozen, scale=scale), flashtile.attention(*frozen, scale=0.8))
assert not torch.equal(flashtile.attention(*frozen, scale=scale), before)
assert flashtile.attention(*frozen, scale=learned).requires_grad
alone, = torch.autograd.grad(attention(*frozen, scale=learned, causal=True), learned, dout)
assert torch.equal(alone, found)
case(dict(score_mod=HALF, scale=0.6, prefix=3, causal=True), keep=CAUSAL | (j < 3), scale=0.3)
for dtype in (torch.float16, torch.bfloat16):
    case(dict(causal=True), dtype=dtype, keep=CAUSAL)
half = bias[:, :, :1].bfloat16()
case(dict(bias=half, causal=True), dtype=torch.bfloat16, keep=CAUSAL, added=half.double().numpy())

# What scores read is trained as well, by each entry and alone.
learned = dict(bias=((1, HQ, SQ, SK), 1.0), alibi_slopes=((HQ,), -abs(i + SK - SQ - j)), sink=((HQ,), None))
sink = torch.randn(HQ)
options = dict(bias=bias, alibi_slopes=slopes, sink=sink, causal=True)
how = dict(keep=CAUSAL, added=bias.numpy() + penalty, sink=sink.double().numpy())
for call in (attention, flashtile.attention):
    case(options, dlse=True, call=call, trained=tuple(learned), learned=tuple(learned.values()), **how)
for name in learned:
    case(options, trained=(name,), learned=(learned[name],), **how)
    x = options[name].clone().requires_grad_()
    attention(*(x.detach() for x in make()), **{**options, name: x}).sum().backward()
    assert x.grad.shape == x.shape and x.grad.any()
case(dict(bias=half, causal=True), dtype=torch.bfloat16, keep=CAUSAL, added=half.double().numpy(), trained=("bias",),
     learned=(((1, HQ, 1, SK), 1.0),))

# ===--- What is computed ---------------------------------------------------------------


class Counted(torch.utils._python_dispatch.TorchDispatchMode):
    """The package's operations that were called, and what was wanted of them."""

    def __init__(self):
        super().__init__()
        self.calls, self.wants = collections.Counter(), []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if "flashtile" in str(function):
            self.calls[function._schema.name.split("::")[1]] += 1
            self.wants += [tuple(arguments[7])] if "backward" in function._schema.name else []
            self.calls["log-sum-exp"] += "forward" in function._schema.name and arguments[3]
        return function(*arguments, **(keywords or {}))


q, k, v = make()
everything = gradients((q, k, v), (attention(q, k, v, causal=True), torch.ones(B, HQ, SQ, DV)))
for wanted in (1, 4, 6, 7):
    inputs = [x.detach().requires_grad_(bool(wanted >> n & 1)) for n, x in enumerate((q, k, v))]
    with Counted() as counted:
        attention(*inputs, causal=True).sum().backward()  # whose gradient has strides 0
    assert counted.wants == [tuple(bool(wanted >> n & 1) for n in range(7))], counted.wants
    for n, (x, gradient) in enumerate(zip(inputs, everything)):
        assert torch.equal(x.grad, gradient) if wanted >> n & 1 else x.grad is None
with torch.no_grad(), Counted() as counted:  # no log-sum-exp where nobody trains
    attention(q, k, v, causal=True)
    plain = attention(q, k, v, causal=True, lengths=lengths)
    assert not plain.requires_grad and not flashtile.attention(q, k, v).requires_grad
assert not sum(counted.calls[name] for name in ("log-sum-exp", "attention_lse", "attention_backward")), counted.calls
frozen = [x.detach() for x in (q, k, v)]
assert not attention(*frozen).requires_grad
found = attention(*frozen, causal=True, lengths=lengths)
assert torch.equal(found, plain)

# Cotangents as they come: turned, every second, of the log-sum-exp alone.
out, lse = attention(q, k, v, causal=True, return_lse=True)
dout = torch.randn(B, HQ, DV, 2 * SQ)[..., ::2].transpose(2, 3)
for x, y in zip(gradients((q, k, v), (out, dout)), gradients((q, k, v), (attention(q, k, v, causal=True), dout.contiguous()))):
    assert torch.equal(x, y)
_, lse = attention(q, k, v, causal=True, return_lse=True)
alone = torch.autograd.grad(lse.sum(), (q, k, v), retain_graph=True)
assert not alone[2].any() and alone[0].any()
out, lse = attention(q, k, v, return_lse=True)
swapped = flashtile.attention(*(x.transpose(1, 2) for x in (q, k, v)), layout="bshd", return_lse=True)
assert torch.equal(swapped[0].transpose(1, 2), out) and torch.equal(swapped[1], lse)
for x, y in zip(gradients((q, k, v), (swapped[0], dout.transpose(1, 2))), gradients((q, k, v), (out, dout))):
    assert torch.equal(x, y)

# What a loss scale made infinite stays so, and none of it is in other heads.
dout = torch.ones(B, HQ, SQ, DV)
dout[0, 0, 3, 1] = torch.inf
found = gradients((q, k, v), (attention(q, k, v), dout))
assert not any(x[0, 0].isfinite().all() for x in found) and all(x[1].isfinite().all() for x in found)
print("right")
