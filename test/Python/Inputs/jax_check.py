"""Attention of JAX's arrays beside the formulas in float64."""
import jax
import jax.numpy as jnp
import numpy as np
from gradients_check import Attention, check

import flashtile.jax

B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 13, 21, 16, 8
SHAPES = (B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV)
i, j = np.arange(SQ)[:, None], np.arange(SK)[None]
numbers = np.random.default_rng(3)


def normal(*shape, type="float32"):
    return jnp.asarray(numbers.standard_normal(shape), type)


def wide(*arrays):
    return [None if x is None else np.asarray(x).astype(np.float64) for x in arrays]


def make(type="float32"):
    return [normal(*shape, type=type) for shape in SHAPES]


def check_forward(problem, inputs, found, *, round=lambda x: x, half=False):
    """An output, by the rule of docs/numerics.md."""
    exact, _ = problem.forward(*wide(*inputs))
    q, k, v = (x.astype(np.float32) for x in wide(*inputs))
    scores, (_, lse) = problem.scores(q, k)[0], problem.forward(q, k, v)
    p = np.exp(scores - np.where(np.isinf(lse), 0, lse)[..., None]) * problem.factors.astype(np.float32)
    unfused = round(p) @ np.repeat(v, problem.group, 1)
    assert found.shape == exact.shape and found.dtype == inputs[0].dtype
    floor = (1e-5 if half else 1e-6) * max(1, abs(wide(inputs[2])[0]).max())
    e0, e = abs(round(unfused) - exact), abs(wide(found)[0] - exact)
    assert e.max() <= 2 * e0.max() + floor, f"error {e.max()}, expected {2 * e0.max() + floor} at most"
    assert e.mean() <= 1.1 * e0.mean() + floor / 4, f"mean error {e.mean()}, unfused {e0.mean()}"


def case(options, *, learned=(), dlse=False, type="float32", factor=1, transform=jax.jit, **how):
    """One problem: output and gradients, of q, k, v and the options in `learned`,
    each with what a score changes with an element of it. factor: what a score_mod
    multiplies a score with."""
    problem = Attention(B, HQ, HKV, SQ, SK, scale=factor * 0.3, **how)
    problem.learned = [(options[name].shape, effect) for name, effect in learned]
    inputs, dout = make(type), normal(B, HQ, SQ, DV, type=type)
    dlse = normal(B, HQ, SQ) if dlse else None
    half = type != "float32"
    round = (lambda x: np.asarray(jnp.asarray(x, type)).astype(x.dtype)) if half else lambda x: x

    def run(q, k, v, *rest):
        given = {**options, **dict(zip((name for name, _ in learned), rest))}
        return flashtile.jax.attention(q, k, v, return_lse=True, scale=0.3, **given)

    arrays = (*inputs, *(options[name] for name, _ in learned))
    results, back = jax.vjp(transform(run), *arrays)
    check_forward(problem, inputs, results[0], half=half, round=round)
    found = transform(back)((dout, jnp.zeros_like(results[1]) if dlse is None else dlse))
    check(problem, wide(*inputs), wide(*results), *wide(dout, dlse), wide(*found), half=half, round=round)
    for x, gradient in zip(arrays, found, strict=True):
        assert gradient.dtype == x.dtype and gradient.shape == x.shape
    return problem, inputs


def refused(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"expected an error with {text!r}")
