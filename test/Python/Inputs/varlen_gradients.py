"""Packed sequences that are trained with PyTorch: gradients beside those that
PyTorch has of each sequence by itself in float64."""
import numpy as np
import torch
import torch.nn.functional as F

import flashtile
from flashtile.flash_attn import flash_attn_varlen_func
from flashtile.torch import varlen_attention

torch.manual_seed(3)
HQ, HKV, D, DV = 4, 2, 32, 16
# Sequences without queries, without keys and of one query; rows that belong to none.
OFFSETS = torch.tensor([2, 42, 42, 43, 60, 75], dtype=torch.int32)
KEY_OFFSETS = torch.tensor([0, 50, 70, 133, 133, 160], dtype=torch.int32)
ROWS, KEY_ROWS = 80, 161
OWNED, OWNED_KEYS = slice(2, 75), slice(0, 160)


def make(dtype=torch.float32):
    shapes = (ROWS, HQ, D), (KEY_ROWS, HKV, D), (KEY_ROWS, HKV, DV)
    q, k, v = (torch.randn(shape).to(dtype) for shape in shapes)
    for rows in (q[:2], q[75:], k[160:], v[160:]):
        rows[:] = torch.nan
    return [x.requires_grad_() for x in (q, k, v)]


def attend_each(q, k, v, *, causal=False, window=None, softcap=0.0, scale=D**-0.5, sink=None, slopes=None):
    """Output and log-sum-exp of float64, by PyTorch, a sequence at a time."""
    out, lse = torch.zeros(ROWS, HQ, DV, dtype=torch.double), torch.zeros(HQ, ROWS, dtype=torch.double)
    for (begin, end), (first, last) in zip(zip(OFFSETS, OFFSETS[1:]), zip(KEY_OFFSETS, KEY_OFFSETS[1:])):
        sq, sk = int(end - begin), int(last - first)
        queries, keys, values = q[begin:end], k[first:last], v[first:last]
        keys, values = (x.repeat_interleave(HQ // HKV, 1) for x in (keys, values))
        scores = torch.einsum("ihd,jhd->hij", queries, keys) * scale
        if softcap:
            scores = softcap * torch.tanh(scores / softcap)
        away = torch.arange(sk)[None] - torch.arange(sq)[:, None] - (sk - sq)
        if slopes is not None:
            scores = scores - slopes[:, None, None] * away.abs()
        left, right = window or (-1, -1)
        keep = torch.ones(sq, sk, dtype=torch.bool)
        keep &= (away <= 0) if causal else keep
        keep &= (away >= -left) if left >= 0 else keep
        keep &= (away <= right) if right >= 0 else keep
        scores = scores.masked_fill(~keep, -torch.inf)
        if sink is not None:
            scores = torch.cat([scores, sink.double()[:, None, None].expand(-1, sq, 1)], 2)
            values = torch.cat([values, torch.zeros(1, HQ, DV, dtype=torch.double)])
            keep = torch.cat([keep, torch.ones(sq, 1, dtype=torch.bool)], 1)
        seen = keep.any(1)  # others are 0, and have no gradient
        weights = scores[:, seen].softmax(2)
        out[begin:end][seen] = torch.einsum("hij,jhd->ihd", weights, values)
        lse[:, begin:end][:, seen] = scores[:, seen].logsumexp(2)
    return out, lse


def cotangents(out, lse):
    """Of rows that belong to no sequence, and of rows without keys, none."""
    dout, dlse = torch.randn_like(out), torch.randn_like(lse)
    dlse[lse.isinf() | lse.isnan()] = 0
    for rows in (dout[:2], dout[75:], dlse[:, :2], dlse[:, 75:]):
        rows[:] = torch.nan
    return dout, dlse


def differences(found, expected):
    return [float((x.double() - y).abs().max()) for x, y in zip(found, expected)]


def case(how, dtype=torch.float32, dlse=True, call=varlen_attention):
    inputs = make(dtype)
    out, lse = call(*inputs, OFFSETS, KEY_OFFSETS, return_lse=True, **how)
    given = cotangents(out.detach(), lse.detach())
    pairs = [(out, given[0]), (lse, given[1])] if dlse else [(out, given[0])]
    found = torch.autograd.grad([x for x, _ in pairs], inputs, [y for _, y in pairs])
    assert all(x.dtype == y.dtype and x.shape == y.shape for x, y in zip(found, inputs))
    for gradient, owned in zip(found, (OWNED, OWNED_KEYS, OWNED_KEYS)):
        outside = torch.ones(len(gradient), dtype=torch.bool)
        outside[owned] = False
        assert (gradient[outside] == 0).all() and not gradient.isnan().any()
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    exact = attend_each(*doubles, **how)
    scalar = (exact[0][OWNED] * given[0].double()[OWNED]).sum()
    if dlse:
        scalar = scalar + (exact[1][:, OWNED] * given[1].double()[:, OWNED]).sum()
    expected = torch.autograd.grad(scalar, doubles)
    expected = [x.nan_to_num(0) for x in expected]
    tolerance = {torch.float32: 2e-5, torch.float16: 2e-2, torch.bfloat16: 0.15}[dtype]
    errors = differences(found, expected)
    assert max(errors) < tolerance, (how, dtype, errors)
    return found, expected, tolerance


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    case(dict(causal=True), dtype)
case(dict(window=(7, 3), softcap=2.0, scale=0.3), dlse=False)
case(dict(causal=True, sink=torch.randn(HQ)))
found, expected, tolerance = case(dict(causal=True), call=flashtile.varlen_attention)
# The twin: gradients of the sequence before.
assert min(differences([x.roll(1, 0) for x in found], expected)) > 100 * tolerance

# flash_attn's function; the same bits each time; what is frozen costs nothing and has none.
inputs = make()
call = lambda *x: flash_attn_varlen_func(*x, OFFSETS, KEY_OFFSETS, 40, 63, causal=True, softmax_scale=0.5)
dout = torch.randn(ROWS, HQ, DV)
first, again = (torch.autograd.grad(call(*inputs), inputs, dout) for _ in range(2))
assert all(torch.equal(x, y) for x, y in zip(first, again))
q, k, v = inputs
(alone,) = torch.autograd.grad(call(q, k.detach(), v.detach()), q, dout)
assert torch.equal(alone, first[0])
with torch.no_grad():
    assert not call(*inputs).requires_grad

# On arrays.
arrays = [x.detach().numpy() for x in inputs]
offsets = OFFSETS.numpy(), KEY_OFFSETS.numpy()
out, lse = flashtile.varlen_attention(*arrays, *offsets, causal=True, scale=0.5, return_lse=True)
how = dict(causal=True, scale=0.5)
read = flashtile.varlen_attention_backward(*arrays, out, lse, dout.numpy(), *offsets, wants=("v", "q"), **how)
assert read[1] is None and np.array_equal(read[0], first[0].numpy()) and np.array_equal(read[2], first[2].numpy())

# Sinks whose exponential is infinite, and more rows in front of the first sequence than a tile has.
far = np.array([130, 150], np.int32)
rows = [np.random.default_rng(1).standard_normal((150, heads, D), np.float32) for heads in (HQ, HKV, HKV)]
how = dict(sink=np.full(HQ, 100, np.float32))
results = flashtile.varlen_attention(*rows, far, return_lse=True, **how)
*_, dsink = flashtile.varlen_attention_backward(*rows, *results, rows[0], far, wants=("sink",), **how)
assert np.isfinite(dsink).all()

# In a graph, of both directions.
compiled = torch.compile(lambda *x: varlen_attention(*x, OFFSETS, KEY_OFFSETS, causal=True, scale=0.5), backend="aot_eager", fullgraph=True)
assert all(torch.equal(x, y) for x, y in zip(torch.autograd.grad(compiled(*inputs), inputs, dout), first))


def raises(message, function, *args, **how):
    try:
        function(*args, **how)
    except (ValueError, RuntimeError, flashtile.Error) as error:
        assert message in str(error), error
        return
    raise AssertionError(f"expected an error: {message}")


# Of sinks and slopes, alone and beside others.
sink, slopes = torch.randn(HQ).requires_grad_(), torch.rand(HQ).requires_grad_()
how = dict(causal=True, scale=0.5, sink=sink, alibi_slopes=slopes)
found = torch.autograd.grad(flashtile.varlen_attention(*inputs, OFFSETS, KEY_OFFSETS, **how), [*inputs, sink, slopes], dout)
doubles = [x.detach().double().requires_grad_() for x in (*inputs, sink, slopes)]
exact, _ = attend_each(*doubles[:3], causal=True, scale=0.5, sink=doubles[3], slopes=doubles[4])
expected = torch.autograd.grad((exact[OWNED] * dout.double()[OWNED]).sum(), doubles)
errors = differences(found, [x.nan_to_num(0) for x in expected])
assert max(errors) < 1e-3 and max(errors[:3]) < 2e-5, errors
assert min(differences([-x for x in found], expected)[3:]) > 0.1
how = dict(how, sink=sink.detach(), alibi_slopes=slopes.detach())
learns = dict(how, sink=how["sink"].clone().requires_grad_())
frozen = [x.detach() for x in inputs]
(alone,) = torch.autograd.grad(flash_attn_varlen_func(*frozen, OFFSETS, KEY_OFFSETS, causal=True, softmax_scale=0.5, alibi_slopes=how["alibi_slopes"], s_aux=learns["sink"]), learns["sink"], dout)
assert torch.equal(alone, found[3])
raises("expected no out where a gradient is required", flashtile.varlen_attention, *inputs, OFFSETS, KEY_OFFSETS, out=torch.empty(ROWS, HQ, DV))
learned = torch.tensor(0.3, requires_grad=True)
for function in (flashtile.varlen_attention, varlen_attention):
    raises("expected a scale that requires no gradient", function, *inputs, OFFSETS, KEY_OFFSETS, scale=learned)
with torch.no_grad():  # as a number
    as_tensor = flashtile.varlen_attention(*frozen, OFFSETS, KEY_OFFSETS, scale=learned)[OWNED]
    assert torch.equal(as_tensor, flashtile.varlen_attention(*frozen, OFFSETS, KEY_OFFSETS, scale=float(learned))[OWNED])
raises("expected no split_keys where", flashtile.varlen_attention, *inputs, OFFSETS, KEY_OFFSETS, split_keys=64)
pages = torch.randn(3, 8, HKV, D)
raises("of pages none is derived", flash_attn_varlen_func, q, pages, pages, OFFSETS[:2], block_table=torch.zeros(1, 3, dtype=torch.int32), seqused_k=torch.tensor([5], dtype=torch.int32), causal=True)
twice = torch.autograd.grad(call(*inputs), inputs, dout.clone().requires_grad_(), create_graph=True)
raises("flashtile::varlen_backward has no derivative", twice[0].sum().backward)
raises("found ('x',)", flashtile.varlen_attention_backward, *arrays, out, lse, out, *offsets, wants=("x",))
print("right")
