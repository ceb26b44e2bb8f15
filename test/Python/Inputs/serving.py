"""flashtile.merge and flashtile.append beside NumPy's float64, in all layouts."""
import numpy as np

import flashtile

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def merged(outs, lses):
    """The formula in float64, of [.., rows, d] and [.., rows]."""
    lses = np.stack(lses).astype(np.float64)
    lses[np.isinf(lses)] = -np.inf
    most = lses.max(0)
    weights = np.exp(lses - np.where(np.isneginf(most), 0, most))
    total = weights.sum(0)
    seen = np.where(np.isneginf(lses)[..., None], 0, np.stack(outs).astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(total[..., None] == 0, 0, (weights[..., None] * seen).sum(0) / total[..., None])
        return out, np.where(total == 0, -np.inf, np.where(np.isneginf(most), 0, most) + np.log(total))


def same(found, expected, tolerance=2e-6):
    return np.allclose(found, expected, atol=tolerance, rtol=0)


# Parts of an attention are the attention.
B, H, S, K, D = 2, 4, 9, 40, 32
q, k, v = normal(B, H, S, D), normal(B, H, K, D), normal(B, H, K, D)
whole = flashtile.attention(q, k, v, return_lse=True)
parts = [flashtile.attention(q, k[:, :, a:b], v[:, :, a:b], return_lse=True) for a, b in ((0, 7), (7, 8), (8, 40))]
found = flashtile.merge([out for out, _ in parts], [lse for _, lse in parts])
assert same(found[0], whole[0]) and same(found[1], whole[1])

# Parts without keys, in all layouts, of one array and of lists.
outs, lses = normal(3, B, H, S, D), 4 * normal(3, B, H, S)
lses[0, 0], outs[0, 0] = -np.inf, np.nan
lses[1, :, 1], outs[1, :, 1] = np.inf, np.nan
lses[:, 1, 2, 3], outs[:, 1, 2, 3] = -np.inf, np.nan
expected = merged(outs, lses)
out, lse = flashtile.merge(outs, lses)
assert same(out, expected[0]) and same(lse, expected[1])
assert not np.array_equal(lse[1, 2], lse[1, 1]) and np.isneginf(lse[1, 2, 3])
bshd = flashtile.merge([np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in outs], lses, layout="bshd", return_lse=False)
assert np.array_equal(bshd.transpose(0, 2, 1, 3), out)
packed = [np.ascontiguousarray(x[1].transpose(1, 0, 2)) for x in outs]
given = np.empty_like(packed[0])
again, sums = flashtile.merge(packed, [x[1] for x in lses], out=given)
assert again is given and np.array_equal(given.transpose(1, 0, 2), out[1]) and np.array_equal(sums, lse[1])
# As [rows, h], and more batches than rows: the same by strides.
turned = [np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0) for x in lses]
assert np.array_equal(flashtile.merge(outs, turned)[0], out)
tokens = [np.ascontiguousarray(x.transpose(2, 1, 0, 3)) for x in outs]
by_token, _ = flashtile.merge(tokens, [np.ascontiguousarray(x.transpose(2, 1, 0)) for x in lses])
assert np.array_equal(by_token.transpose(2, 1, 0, 3), out)
# The twin: without weights it is another result.
assert not same(np.nan_to_num(outs).mean(0), expected[0], 1e-2)

# Keys and values into pages.
T, HQ, HKV, DV, PAGE, PAGES, POSITIONS = 23, 8, 2, 16, 6, 7, 50


def rotated(x, positions, cos, sin, kind):
    """RoPE of [tokens, heads, d] in float64."""
    x, half = x.astype(np.float64), cos.shape[1]
    a, b = (np.s_[..., :half], np.s_[..., half : 2 * half]) if kind == "halves" else (np.s_[..., 0 : 2 * half : 2], np.s_[..., 1 : 2 * half : 2])
    c, s, result = cos[positions][:, None], sin[positions][:, None], x.copy()
    result[a], result[b] = x[a] * c - x[b] * s, x[b] * c + x[a] * s
    return result


def inputs(rotary):
    angles = np.arange(POSITIONS)[:, None] * 10000.0 ** (-np.arange(rotary // 2) * 2 / rotary)
    return {"positions": rng.permutation(POSITIONS)[:T].astype(np.int64), "cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}


for kind in (None, "halves", "interleaved"):
    for pages in ("hnd", "nhd"):
        k, v, q = normal(T, HKV, D), normal(T, HKV, DV), normal(T, HQ, D)
        slots = rng.permutation(PAGE * PAGES)[:T].astype(np.int64)
        slots[[4, 9]] = -1
        rope = inputs(20) if kind else {}
        if pages == "hnd":
            cache = [np.full((PAGES, HKV, PAGE, n), np.nan, np.float32) for n in (D, DV)]
        else:  # K beside V of each token
            pool = np.full((PAGES, PAGE, HKV, D + DV), np.nan, np.float32)
            cache = [pool[..., :D], pool[..., D:]]
        before = q.copy()
        flashtile.append(k, v, *cache, slots, rope=kind, pages=pages, q=q if kind else None, **rope)
        turn = (lambda x: rotated(x, **rope, kind=kind)) if kind else (lambda x: x)
        assert same(q, turn(before)) if kind else np.array_equal(q, before)
        rows = [np.full((PAGES, PAGE, HKV, n), np.nan) for n in (D, DV)]
        for row, x in zip(rows, (turn(k), v)):
            for t, slot in enumerate(slots):
                if slot >= 0:
                    row[slot // PAGE, slot % PAGE] = x[t]
        for found, row in zip(cache, rows):
            found = found.transpose(0, 2, 1, 3) if pages == "hnd" else found
            assert np.allclose(found, row, atol=2e-6, rtol=0, equal_nan=True), (kind, pages)
        # The twin: with the slot of the next token it is another cache.
        assert not np.allclose(np.roll(rows[1], 1, 1), cache[1] if pages == "nhd" else cache[1].transpose(0, 2, 1, 3), equal_nan=True)


def refuses(kind, message, call):
    try:
        call()
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


refuses(ValueError, "expected 1 to 16 outs and as many lses, found 3 and 2", lambda: flashtile.merge(outs, lses[:2]))
refuses(ValueError, "expected lse of 3 dimensions, found the shape (2, 4)", lambda: flashtile.merge(outs, [x[..., 0] for x in lses]))
refuses(flashtile.Error, "argument 3: expected size 9 in dimension 2", lambda: flashtile.merge(outs, [lses[0], lses[1][..., :4], lses[2]]))
refuses(ValueError, "expected rope None, 'halves' or 'interleaved', found 'neox'", lambda: flashtile.append(k, v, *cache, slots, rope="neox"))
refuses(ValueError, "expected positions beside rope", lambda: flashtile.append(k, v, *cache, slots, rope="halves"))
refuses(ValueError, "expected rope beside q", lambda: flashtile.append(k, v, *cache, slots, q=q))
refuses(ValueError, "expected slots of int64, found int32", lambda: flashtile.append(k, v, *cache, slots.astype(np.int32), pages="nhd"))
refuses(flashtile.Error, "argument 3: expected size 2 in dimension 1", lambda: flashtile.append(k, v, *cache, slots))
print("right")
