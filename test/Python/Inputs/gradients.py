"""flashtile.attention_backward on NumPy's arrays, compared with the formulas in
float64; the formulas with differences of the forward's."""
import pathlib
import re
import sys

import numpy as np
from gradients_check import Attention, check

import flashtile

rng = np.random.default_rng(3)
B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 13, 21, 16, 8
SHAPES = (B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV)
i, j = np.arange(SQ)[:, None], np.arange(SK)[None]


def normal(*shape, type=np.float32):
    return rng.standard_normal(shape).astype(type)


def wide(*arrays):
    return [None if x is None else x.astype(np.float64) for x in arrays]


def case(options, *, type=np.float32, dlse=False, scale=D**-0.5, **how):
    """One problem: all gradients, their bits once more, and each alone."""
    inputs = [normal(*shape, type=type) for shape in SHAPES]
    problem = Attention(B, HQ, HKV, SQ, SK, scale=scale, **how)
    out, lse = flashtile.attention(*inputs, return_lse=True, **options)
    dout, dlse = normal(B, HQ, SQ, DV, type=type), normal(B, HQ, SQ) if dlse else None
    given = (*inputs, out, lse, dout)
    found = flashtile.attention_backward(*given, dlse=dlse, **options)
    half = type == np.float16
    round = (lambda x: x.astype(type).astype(x.dtype)) if half else lambda x: x
    arguments = problem, wide(*inputs), wide(out, lse), *wide(dout, dlse)
    check(*arguments, wide(*found), half=half, round=round)
    for x, gradient in zip(inputs, found):
        assert gradient.dtype == x.dtype and gradient.shape == x.shape
    return arguments, given, found, dlse


# ===--- The formulas -------------------------------------------------------------

problem = Attention(B, HQ, HKV, SQ, SK, scale=0.3, keep=(j <= i + 3) & (i != 5), softcap=3.0,
                    added=rng.standard_normal((1, HQ, SQ, SK)), sink=rng.standard_normal(HQ))
inputs = [rng.standard_normal(shape) for shape in SHAPES]
dout, dlse = rng.standard_normal((B, HQ, SQ, DV)), rng.standard_normal((B, HQ, SQ))


def loss(inputs):
    out, lse = problem.forward(*inputs)
    return (out * dout).sum() + (lse * dlse).sum()


gradients, _ = problem.backward(*inputs, *problem.forward(*inputs), dout, dlse)
for n, gradient in enumerate(gradients):
    direction = rng.standard_normal(gradient.shape)
    ends = [loss([x + sign * 1e-6 * direction if m == n else x for m, x in enumerate(inputs)]) for sign in (1, -1)]
    slope = (ends[0] - ends[1]) / 2e-6
    assert abs(slope - (gradient * direction).sum()) < 1e-6 * max(1, abs(slope)), (n, slope)

# ===--- Gradients ----------------------------------------------------------------



def factors_of(probability, rng):
    """Those of dropout, by the program that docs/numerics.md shows."""
    text = (pathlib.Path(sys.argv[1]) / "docs/numerics.md").read_text()
    names = {"np": np}
    exec(re.search("```python\n(def dropout.*?)```", text, re.DOTALL).group(1), names)
    return names["dropout"](probability, rng, B, HQ, SQ, SK)


lengths = np.array([SK, 9], np.int32)
first = np.repeat((i // 5 * 5).astype(np.int32).T, B, 0)
last = np.minimum(first + 7, SK)
slopes, sink, bias = abs(normal(HQ)), normal(HQ), normal(1, HQ, SQ, SK)
seen = (j[None] < lengths[:, None, None])[:, None]
away = abs(i + SK - SQ - j)
arguments, given, found, dlse = case(dict(causal=True), dlse=True, keep=j <= i + SK - SQ)
case(dict(causal="top-left", softcap=2.0, scale=0.4), keep=j <= i, softcap=2.0, scale=0.4)
case(dict(window=(4, 2), lengths=lengths), keep=(j >= i + SK - SQ - 4) & (j <= i + SK - SQ + 2) & seen, dlse=True)
case(dict(key_ranges=(first, last), alibi_slopes=slopes), keep=((j >= first[..., None]) & (j < last[..., None]))[:, None],
     added=-slopes[:, None, None] * away)
case(dict(bias=bias, sink=sink), added=bias, sink=sink, dlse=True)
seed = np.array([-3, 2**35 + 1], np.int64)
case(dict(dropout_p=0.4, rng=seed, sink=sink), factors=factors_of(0.4, seed), sink=sink, dlse=True)
case(dict(dropout_p=0.1, rng=seed, causal=True), type=np.float16, factors=factors_of(0.1, seed), keep=j <= i + SK - SQ)
half_bias = bias[:, :, :1].astype(np.float16)
case(dict(causal=True, bias=half_bias), type=np.float16, keep=j <= i + SK - SQ, added=half_bias)

# Gradients of what scores read, in the order of the arguments.
inputs = [normal(*shape) for shape in SHAPES]
how = dict(bias=bias, sink=sink, alibi_slopes=slopes)
learned = ((1, HQ, SQ, SK), 1.0), ((HQ,), -away), ((HQ,), None)
problem = Attention(B, HQ, HKV, SQ, SK, scale=D**-0.5, added=bias - slopes[:, None, None] * away, sink=sink, learned=learned)
results, cotangent = flashtile.attention(*inputs, return_lse=True, **how), normal(B, HQ, SQ, DV)
read = flashtile.attention_backward(*inputs, *results, cotangent, wants=("sink", "q", "alibi_slopes", "bias"), **how)
assert read[1] is None and read[2] is None and [x.shape for x in read[3:]] == [bias.shape, (HQ,), (HQ,)]
doubles = problem, wide(*inputs), wide(*results), *wide(cotangent, None)
check(*doubles, wide(*read))
for twin in ((*read[:3], -read[3], *read[4:]), (*read[:4], read[5], read[4])):
    try:
        check(*doubles, wide(*twin))
    except AssertionError:
        continue
    raise AssertionError("expected that other gradients are refused")

# That of the scale, which no array is, alone and beside dv; without dq no kernel has it for nothing.
how = dict(scale=0.4, causal=True)
products = inputs[0] @ np.repeat(inputs[1], HQ // HKV, 1).swapaxes(2, 3)
learned = (((1, 1, 1, 1), products.astype(np.float64)),)
problem = Attention(B, HQ, HKV, SQ, SK, scale=0.4, keep=j <= i + SK - SQ, learned=learned)
results = flashtile.attention(*inputs, return_lse=True, **how)
read = flashtile.attention_backward(*inputs, *results, cotangent, wants=("v", "scale"), **how)
alone = flashtile.attention_backward(*inputs, *results, cotangent, wants=("scale",), **how)
assert read[0] is None and read[3].shape == (1,) and np.array_equal(read[3], alone[3])
doubles = problem, wide(*inputs), wide(*results), *wide(cotangent, None)
check(*doubles, wide(*read[:3], read[3].reshape(1, 1, 1, 1)))
try:
    check(*doubles, wide(*read[:3], -read[3].reshape(1, 1, 1, 1)))
except AssertionError:
    pass
else:
    raise AssertionError("expected that another gradient of the scale is refused")

# The same bits once more, and alone what is wanted.
again = flashtile.attention_backward(*given, dlse=dlse, causal=True)
assert all(np.array_equal(x, y) for x, y in zip(found, again))
for wants in ("q", "v", "kq"):
    some = flashtile.attention_backward(*given, dlse=dlse, causal=True, wants=tuple(wants))
    for name, x, y in zip("qkv", some, found):
        assert x is None if name not in wants else np.array_equal(x, y), (wants, name)

# Twins: another mask, and without the log-sum-exp's gradient.
for options in (dict(causal=False, dlse=dlse), dict(causal=True)):
    try:
        check(*arguments, wide(*flashtile.attention_backward(*given, **options)))
    except AssertionError:
        continue
    raise AssertionError(f"expected that {options} is refused")

# Strides: queries before heads, a gradient that is one number, and turned rows.
q, k, v, out, lse, dout = given
swapped = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, k, v, out)]
one = np.broadcast_to(np.float32(1), dout.shape)
expected = flashtile.attention_backward(q, k, v, out, lse, np.ones_like(dout), causal=True)
turned = flashtile.attention_backward(*swapped, lse, one.transpose(0, 2, 1, 3), causal=True, layout="bshd")
for x, y in zip(turned, expected):
    assert np.array_equal(x.transpose(0, 2, 1, 3), y)
for x, y in zip(flashtile.attention_backward(np.asfortranarray(q), k, v, out, lse, one, causal=True), expected):
    assert abs(x - y).max() <= 1e-5 * abs(y).max()

# ===--- Errors --------------------------------------------------------------------


def refused(kind, text, *arrays, **options):
    try:
        flashtile.attention_backward(*arrays, **options)
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"expected '{text}'")


names = "'q', 'k', 'v', 'bias', 'alibi_slopes', 'sink', 'scale'"
refused(ValueError, f"expected wants of {names}, found 'mask'", *given, wants=("q", "mask"))
refused(ValueError, "found 'bias' without bias", *given, wants=("q", "bias"))
refused(ValueError, "found 'none'", *given, wants=())
refused(flashtile.Error, "expected elements of type f32, found f16", q, k, v, out, lse, dout.astype(np.float16))
refused(flashtile.Error, "dimension 2", q, k, v, out, lse[:, :, 1:], dout)
refused(flashtile.Error, "math.cbrt", *given, score_mod="%score = math.cbrt %s : f32")
print("right")
