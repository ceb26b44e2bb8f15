"""Numbers of queries and keys with others between them: no launch of the kernel that
counts on their lying side by side, and the same result.

    strided_numbers.py PROGRAM
"""

import sys

import numpy as np

import flashtile

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read().replace("bf16", "f16")
random = np.random.default_rng(0)
q, k, v = (random.standard_normal((1, 2, 320, 64)).astype(np.float16) for _ in range(3))
ids = np.sort(random.integers(0, 5, 320))
first, last = (np.searchsorted(ids, ids, side).astype(np.int32) for side in ("left", "right"))
places = np.arange(320)
seen = (ids[:, None] == ids) & (places[:, None] >= places)
scores = np.where(seen, q.astype(float) @ k.astype(float).swapaxes(2, 3) / 8, -np.inf)
p = np.exp(scores - scores.max(-1, keepdims=True))
p /= p.sum(-1, keepdims=True)
expected = p @ v.astype(float)
# The rule of docs/numerics.md: unfused, P and the output are rounded.
unfused = (p.astype(np.float16).astype(float) @ v.astype(float)).astype(np.float16)
bound = 2 * abs(unfused - expected).max() + 1e-5 * max(1, abs(v).max())


def spread(numbers, step):
    wide = np.full(len(numbers) * step, 77, numbers.dtype)
    wide[::step] = numbers
    return wide[::step]


for target in ("cpu", "emulator:sm_90a", "emulator:gfx942"):
    plan = flashtile.Context(target, cache=None).module(text)
    for step in (1, 3):
        numbers = [spread(x, step) for x in (ids, ids, np.ones(1, np.int32), first, last)]
        out = np.zeros(q.shape, np.float16)
        plan(q, k, v, *numbers, 0.125, out)
        error = abs(out - expected).max()
        assert error <= bound, (target, step, error, bound)
        assert abs(out - expected[:, ::-1]).max() > bound  # the twin: of the other head
print("right")
