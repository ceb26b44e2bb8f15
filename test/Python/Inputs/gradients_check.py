"""Gradients of attention by the formulas, in NumPy, and the rule for errors
(docs/numerics.md)."""
import numpy as np


class Attention:
    """A problem: what is seen and how scores change, as arrays of their shape."""

    def __init__(self, b, hq, hkv, sq, sk, *, scale, keep=True, softcap=0.0, added=0.0, sink=None, factors=1.0, learned=()):
        """learned: of inputs that scores read, the shape of each and what a score
        changes with its element, or None for the sink."""
        shape, self.learned = (b, hq, sq, sk), learned
        self.group, self.scale, self.softcap, self.sink = hq // hkv, scale, softcap, sink
        self.factors = np.asarray(factors)  # of dropout
        self.keep = np.broadcast_to(keep, shape)
        self.added = np.broadcast_to(np.asarray(added, np.float64), shape)

    def scores(self, q, k):
        """Scores and what they change with scale · q kᵀ."""
        x = self.scale * (q @ np.repeat(k, self.group, 1).swapaxes(2, 3))
        y = np.tanh(x / self.softcap) if self.softcap else x
        slope = 1 - y * y if self.softcap else np.ones_like(x)
        s = (self.softcap * y if self.softcap else y) + self.added.astype(x.dtype)
        return np.where(self.keep, s, -np.inf), slope

    def forward(self, q, k, v):
        s, _ = self.scores(q, k)
        rows = s if self.sink is None else np.concatenate(
            [s, np.broadcast_to(self.sink[None, :, None, None], (*s.shape[:3], 1))], -1)
        largest = np.maximum(rows.max(-1, keepdims=True), np.finfo(np.float64).min)
        with np.errstate(divide="ignore"):
            lse = np.log(np.exp(rows - largest).sum(-1)) + largest[..., 0]
        p = np.exp(s - np.where(np.isinf(lse), 0, lse)[..., None]) * self.factors.astype(s.dtype)
        return p @ np.repeat(v, self.group, 1), lse

    def backward(self, q, k, v, out, lse, dout, dlse, round=lambda x: x):
        """dq, dk, dv, those of what is learned, and the size that each one's terms
        have."""
        s, slope = self.scores(q, k)
        key, value = np.repeat(k, self.group, 1), np.repeat(v, self.group, 1)
        p = np.where(self.keep, np.exp(s - np.where(np.isinf(lse), np.inf, lse)[..., None]), 0).astype(q.dtype)
        delta = (dout * out).sum(-1) - (0 if dlse is None else dlse)
        factors = self.factors.astype(q.dtype)
        ds = p * (factors * (dout @ value.swapaxes(2, 3)) - delta[..., None])
        dx = round(ds * slope)
        p = p * factors

        def shared(x):
            return x.reshape(x.shape[0], -1, self.group, *x.shape[2:]).sum(2)

        dq, dk = self.scale * (dx @ key), shared(self.scale * (dx.swapaxes(2, 3) @ q))
        dv = shared(round(p).swapaxes(2, 3) @ dout)
        norm = lambda x: np.sqrt((x * x).sum(-1)).max()
        size = abs(self.scale) * norm(dout) * norm(v)
        bounds = size * abs(k).max(), size * abs(q).max(), shared(p.swapaxes(2, 3) @ abs(dout)).max()
        terms = [
            (shape, -np.exp(self.sink.astype(q.dtype)[:, None] - lse) * delta if effect is None else ds * effect)
            for shape, effect in self.learned
        ]
        sums = [summed(x, shape) for shape, x in terms]
        return (dq, dk, dv, *sums), (*bounds, *(summed(abs(x), shape).max() for shape, x in terms))


def summed(terms, shape):
    """The sum of `terms`, of batches, heads, queries and perhaps keys, where
    `shape` has 1, or to one number for each head."""
    if len(shape) == 1:
        return terms.sum((0, *range(2, terms.ndim)))
    return terms.sum(tuple(d for d, size in enumerate(shape) if size == 1), keepdims=True)


def check(problem, inputs, results, dout, dlse, found, *, half=False, round=lambda x: x):
    """Whether gradients `found` (None: not wanted) are as exact as the unfused
    ones from the same results, `round` being to the inputs' type. All arrays are
    given in float64."""
    exact = problem.forward(*inputs)
    want, bounds = problem.backward(*inputs, *exact, dout, dlse)
    single = [None if x is None else x.astype(np.float32) for x in (*inputs, *results, dout, dlse)]
    unfused, _ = problem.backward(*single, round=round)
    worst = 0
    names = "q", "k", "v", *(f"learned {n}" for n, _ in enumerate(problem.learned))
    for name, got, expected, other, bound in zip(names, found, want, unfused, bounds, strict=True):
        if got is None:
            continue
        assert got.shape == expected.shape, (name, got.shape, expected.shape)
        floor = (1e-5 if half else 1e-6) * bound
        e0, e = abs(round(other) - expected), abs(got - expected)
        assert e.max() <= 2 * e0.max() + floor, f"d{name}: error {e.max()}, expected {2 * e0.max() + floor} at most"
        assert e.mean() <= 1.1 * e0.mean() + floor / 4, f"d{name}: mean {e.mean()}, unfused {e0.mean()}"
        worst = max(worst, e.max())
    return worst
