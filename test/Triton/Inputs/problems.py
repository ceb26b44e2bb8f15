"""What kernels of kernels.py are run on, and what they must give.

A function of a kernel's name gives (arguments, grid, reference): arguments in order, constants left out, where an array is
one, a number one, and a tuple the shape of an output; reference(type) gives the outputs as NumPy computes them in `type`.
"""
import math

import numpy

RANDOM = numpy.random.default_rng(37)


def normal(*shape, dtype="float32"):
    return RANDOM.standard_normal(shape).astype(dtype)


def softmax_of(x, dtype):
    x = x.astype(dtype)
    p = numpy.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def add(n=3000):
    x, y = normal(n), normal(n)
    return [x, y, (n,), n], (-(-n // 1024),), lambda t: [x.astype(t) + y.astype(t)]


def softmax(rows=7, columns=100):
    x = normal(rows, 120)
    return ([x, (rows, columns), 120, columns, columns], (rows,), lambda t: [softmax_of(x[:, :columns], t)])


def softmax_rows(rows=150, columns=50):
    x = normal(rows, columns)
    return ([x, (rows, columns), columns, columns, rows, columns], (-(-rows // 64),), lambda t: [softmax_of(x, t)])


def product_of(a, b, t):
    product = a.astype(t) @ b.astype(t)
    return product.astype("float16") if t == numpy.float32 else product


def matmul(m=100, n=136, k=72):
    a, b = normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
    return ([a, b, (m, n), m, n, k, k, n, n], (-(-m // 64), -(-n // 64)), lambda t: [product_of(a, b, t)])


def matmul_descriptors(m=100, n=144, k=144):
    a, b = normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
    return ([a, b, (m, n), m, n, k], (-(-m // 64), -(-n // 64)), lambda t: [product_of(a, b, t)])


def attention_of(q, k, v, scale, t, causal=False):
    """Output and log-sum-exp (base 2); in f32 P and the output are rounded."""
    s = q.astype(t) @ k.astype(t).swapaxes(-1, -2) * t(scale)
    if causal:
        i, j = numpy.indices(s.shape[-2:])
        s = numpy.where(i >= j, s, -numpy.inf)
    m = s.max(-1, keepdims=True)
    p = numpy.exp(s - m)
    total = p.sum(-1, keepdims=True)
    exact = t == numpy.float64
    o = (p if exact else p.astype("float16").astype(t)) @ v.astype(t) / total
    return o if exact else o.astype("float16"), ((m + numpy.log(total)) / numpy.log(2)).squeeze(-1)


def attention(z=2, h=2, n=150, d=64):
    q, k, v = (normal(z, h, n, d, dtype="float16") for _ in range(3))
    return ([q, k, v, (z, h, n, d), 0.125, h * n * d, n * d, d, h, n], (-(-n // 64), z * h),
            lambda t: [attention_of(q, k, v, 0.125, t)[0]])


def attention_blocks(h=3, n=150, d=64):
    q, k, v = (normal(h, n, d, dtype="float16") for _ in range(3))
    return ([q, k, v, (h, n, d), (h, n), 0.125, n * d, d, n], (-(-n // 64), h),
            lambda t: list(attention_of(q, k, v, 0.125, t, causal=True)))


def gather_rows(n=700):
    x = normal(n)
    table = RANDOM.permutation(n).astype("int32")
    return [x, table, (n,), n], (-(-n // 256),), lambda t: [x.astype(t)[table]]


def column_sums(rows=150, columns=96):
    x = normal(rows, columns)
    return [x, (columns,), rows, columns], (columns // 32,), lambda t: [x.astype(t).sum(0)]


def layer_norm(rows=5, n=200):
    x, w, b = normal(rows, n), normal(n), normal(n)

    def reference(t):
        y = x.astype(t)
        d = y - y.mean(-1, keepdims=True)
        return [(d / numpy.sqrt((d * d).mean(-1, keepdims=True) + t(1e-5)) * w.astype(t) + b.astype(t))]
    return [x, w, b, (rows, n), n, n, 1e-5], (rows,), reference


def philox(seed, counter):
    """The first word of Philox4x32-10 (Salmon et al., SC 2011), as tl.rand takes it."""
    low = 2**32 - 1
    c = [counter.astype(numpy.uint64)] + [numpy.zeros_like(counter, numpy.uint64)] * 3
    k = [seed & low, seed >> 32]
    for _ in range(10):
        x, y = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [y >> 32 ^ c[1] ^ k[0], y & low, x >> 32 ^ c[3] ^ k[1], x & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return c[0].astype(numpy.uint32).view(numpy.int32)


def dropout(n=700, p=0.25, seed=123):
    x = normal(n)
    bits = philox(seed, numpy.arange(n)).astype("int64")
    keep = numpy.where(bits < 0, -bits - 1, bits) * 4.6566127342e-10 > p
    return [x, (n,), n, p, seed], (-(-n // 256),), lambda t: [numpy.where(keep, x.astype(t) / t(1 - p), 0)]


def masked_rows(heads=3, rows=128, columns=100):
    x = normal(heads, rows, columns)

    def reference(t):
        out = numpy.full((heads, rows, 64), numpy.nan, t)
        first, second = x[..., :64].astype(t), numpy.zeros((heads, rows, 64), t)
        second[..., :columns - 64] = x[..., 64:]
        out[[0, 2]] = (2 * first + second)[[0, 2]]
        return [out]
    return [x, (heads, rows, 64), heads, rows, columns], (rows // 64,), reference


def early_return(n=3):
    x = normal(64 * n)
    # Of five programs the last two return, and so nothing is outside of the memory.
    return [x, (64 * n,), n], (5,), lambda t: [x.astype(t)]


def write_cache(tokens=40, heads=2, d=64, pages=8, page=8):
    key, value = (normal(tokens, heads * d, dtype="float16") for _ in range(2))
    slots = RANDOM.permutation(pages * page)[:tokens].astype("int64")
    slots[5::7] = -1
    stride = heads * d

    def reference(t):
        caches = [numpy.full((pages * page, stride), numpy.nan, t) for _ in range(2)]
        for cache, new in zip(caches, (key, value)):
            cache[slots[slots >= 0]] = new[slots >= 0]
        return caches
    shape = (pages * page, stride)
    return ([key, value, shape, shape, slots, tokens, stride, page, page * stride], (-(-tokens // 16), heads),
            reference)


def permute_rows(rows=70, columns=50):
    x, order = normal(rows, columns), RANDOM.permutation(rows).astype("int32")
    return ([x, order, (rows, columns), rows, columns], (-(-rows // 32), -(-columns // 32)),
            lambda t: [x.astype(t)[numpy.argsort(order)]])


def store_positive(n=700):
    x = normal(n)
    return [x, (n,), n], (-(-n // 256),), lambda t: [numpy.where(x > 0, x, numpy.nan).astype(t)]


def scatter_in_turn(turns=5, n=100):
    x = normal(turns, 64)
    order = numpy.stack([RANDOM.permutation(n)[:64] for _ in range(turns)]).astype("int32")

    def reference(t):
        out = numpy.full(n, numpy.nan, t)
        for to, values in zip(order, x):
            out[to] = values
        return [out]
    return [x, order, (n,), turns], (1,), reference


def greedy_token(rows=5, n=300):
    scores = normal(rows, n, dtype="float16")
    return ([scores, (rows,), (rows,), n, n], (rows,),
            lambda t: [scores.argmax(-1), scores.astype(t).max(-1)])


def route(tokens=150, experts=20):
    scores = normal(tokens, experts)
    return ([scores, (tokens,), (tokens,), tokens, experts], (-(-tokens // 64),),
            lambda t: [scores.argmax(-1), softmax_of(scores, t).max(-1)])


def extremes_at(columns=64):
    x = RANDOM.integers(-20, 20, (64, columns)).astype("float32")
    return ([x, (columns,), (64,), (64,), columns], (1,),
            lambda t: [x.argmin(0), x.argmax(1), x.sum(1) + 1000 * x.max(1) + 100 * x.min(1)])


def halves_at(rows=16, columns=128):
    x = normal(rows, columns, dtype="float16")
    return ([x, (rows,), (rows,), (columns,)], (1,),
            lambda t: [x.max(1).astype("float16" if t == numpy.float32 else t), x.argmax(1), x.argmin(0)])


def any_extreme_at(rows=5, n=200):
    x = normal(rows, n)
    return [x, (rows,), (rows,), n], (rows,), lambda t: [x.argmax(-1), x.argmin(-1)]


def while_loop(n=300):
    x = normal(64)

    def reference(t):
        acc, step = numpy.zeros(64, t), 0
        while step < n:
            step += 64
            acc = (acc + x.astype(t)) * 2 if step > 100 else acc + x.astype(t) + 1
        return [acc]
    return [x, (64,), n], (1,), reference


def linked_pages(lists=3, pages=20):
    x = normal(pages, 64)
    order = RANDOM.permutation(pages)
    following = numpy.full(pages, -1, "int32")
    chains = [order[:5], order[5:6], order[6:18]]
    for chain in chains:
        following[chain[:-1]] = chain[1:]
    first = numpy.array([chain[0] for chain in chains], "int32")
    return ([x, following, first, (lists, 64), lists], (5,),
            lambda t: [numpy.stack([x.astype(t)[chain].sum(0) for chain in chains])])


def matmul_while(m=100, n=136, k=72):
    return matmul(m, n, k)


def attention_while(h=3, n=150, d=64):
    q, k, v = (normal(h, n, d, dtype="float16") for _ in range(3))
    return ([q, k, v, (h, n, d), 0.125, n], (-(-n // 64), h), lambda t: [attention_of(q, k, v, 0.125, t)[0]])


def running_sum(rows=6, columns=50):
    x = normal(rows, columns)

    def reference(t):
        out = [x[0].astype(t)]
        for row in x[1:]:
            out.append(out[-1][::-1] + row.astype(t))
        return [numpy.stack(out)]
    return [x, numpy.array([rows - 1], "int32"), (rows, columns), columns], (1,), reference


def rotated(turns=5):
    x = normal(3, 64)
    return [x, (3, 64), turns], (1,), lambda t: [numpy.roll(x, -turns - (turns + 1) // 2, 0).astype(t)]


def guarded_while(rows=20):
    x = normal(rows, 64)

    def reference(t):
        out, sums = numpy.full((rows, 64), numpy.nan, t), numpy.full(4, numpy.nan, t)
        for program in (0, 2):
            out[program::4] = 2 * x[program::4].astype(t)
            sums[program] = x[program::4].astype(t).sum()
        return [out, sums]
    return [x, (rows, 64), (4,), rows], (4,), reference


def problem_of(found, exact, plain):
    """What is wrong with `found` by the rule; None: nothing."""
    if found.shape != exact.shape or (numpy.isnan(found) != numpy.isnan(exact)).any():
        return f"shape {found.shape}, or NaN where none is expected"
    if found.dtype.kind == "i":
        return None if (found == exact).all() else f"{(found != exact).sum()} of {found.size} integers"
    e = numpy.nan_to_num(abs(found.astype("float64") - exact))
    e0 = numpy.nan_to_num(abs(plain.astype("float64") - exact))
    floor = (1e-6 if found.dtype == numpy.float32 else 1e-5) * max(1, numpy.nanmax(abs(exact)))
    if e.max() <= 2 * e0.max() + floor and e.mean() <= 1.1 * e0.mean() + floor / 4:
        return None
    return f"max error {e.max():.3g} of {2 * e0.max() + floor:.3g}, mean {e.mean():.3g} of {1.1 * e0.mean() + floor / 4:.3g}"


def compare(outputs, exact, plain):
    """What is wrong with outputs, and whether a wrong result would be seen: with its elements in another order."""
    wrong = [x for x in map(problem_of, outputs, exact, plain) if x]
    twins = [problem_of(o, e[..., ::-1], p[..., ::-1]) for o, e, p in zip(outputs, exact, plain)]
    return wrong + ["a wrong result is not seen"] * (not all(twins))


# Those of inductor.py.


def poi_gelu(rows=20, columns=48):
    x, bias = normal(rows, columns, dtype="float16"), normal(columns, dtype="float16")

    def reference(t):
        y = x.astype(t) + bias.astype(t)
        erf = numpy.vectorize(math.erf)
        y = (y * t(0.5) * (1 + erf(y * t(0.5**0.5)))).astype(t)
        return [y if t == numpy.float64 else y.astype("float16")]
    return [x, bias, (rows, columns), rows * columns], (-(-rows * columns // 256),), reference


def red_softmax(rows=21, columns=300):
    x = normal(rows, columns)
    return [x, (rows, columns), rows, columns], (-(-rows // 8),), lambda t: [softmax_of(x, t)]


def per_rms(rows=21):
    x, weight = normal(rows, 50), normal(50)

    def reference(t):
        y = x.astype(t)
        return [y / numpy.sqrt((y * y).mean(-1, keepdims=True) + t(1e-6)) * weight.astype(t)]
    return [x, weight, (rows, 50), rows], (-(-rows // 8),), reference


def red_layer_norm(rows=21, columns=100):
    x = normal(rows, columns) + 3

    def reference(t):
        d = x.astype(t) - x.astype(t).mean(-1, keepdims=True)
        return [d / numpy.sqrt((d * d).mean(-1, keepdims=True) + t(1e-5))]
    return [x, (rows, columns), rows, columns], (-(-rows // 8),), reference


def poi_embedding(rows=30):
    words, table = RANDOM.integers(-100, 100, rows), normal(100, 48)
    return ([words, table, (rows, 48), rows * 48], (-(-rows * 48 // 256),), lambda t: [table[words].astype(t)])


def per_argmax(rows=21):
    x = normal(rows, 50)
    return [x, (rows,), rows], (-(-rows // 8),), lambda t: [x.argmax(-1)]


# Those of scans.py.


def nucleus(rows=5, columns=300, most=0.6):
    p = numpy.sort(softmax_of(3 * normal(rows, columns), numpy.float32))[:, ::-1].copy()

    def reference(t):
        sums = p.astype(t).cumsum(-1)
        return [sums, (sums - p.astype(t) < t(most)).sum(-1)]
    return [p, (rows, columns), (rows,), columns, most], (rows,), reference


def expert_offsets(n=200, experts=32):
    expert = (RANDOM.integers(0, experts, n) * RANDOM.random(n)).astype("int32")
    count = numpy.bincount(expert, minlength=experts)
    return [expert, (experts,), (experts,), (experts,), n], (1,), lambda t: [count, count.cumsum() - count, count.cumsum()]


def packed_positions(n=100):
    length = RANDOM.integers(0, 2**40, n)
    return ([length, (n,), (n,), n], (1,),
            lambda t: [length.cumsum() - length, length.sum() - length.cumsum() + length])


def tile_scans(rows=16, columns=64):
    x = normal(rows, columns)

    def reference(t):
        y = x.astype(t)
        return [y.cumsum(1), y.cumsum(0), y[:, ::-1].cumsum(1)[:, ::-1], y[::-1].cumsum(0)[::-1]]
    return [x] + [(rows, columns)] * 4, (1,), reference


def running_most(rows=64, columns=32, steps=3):
    x, y = normal(rows, columns, dtype="float16"), RANDOM.integers(-500, 500, (steps, rows), dtype="int32")
    y -= 100 * numpy.arange(steps, 0, -1, dtype="int32")[:, None] - 20 * numpy.arange(rows, dtype="int32")

    def reference(t):
        best = numpy.full(rows, -1000)
        for row in y:
            best = numpy.maximum.accumulate(numpy.maximum(best, row))
        return [numpy.maximum.accumulate(x, 1), best]
    return [x, (rows, columns), y, (rows,), steps], (1,), reference


def sums_of_sums(rows=64, columns=32):
    x = normal(rows, columns)

    def reference(t):
        y = x.astype(t)
        ends = y.sum(1).cumsum()
        return [y + ends[:, None] + y.sum(0).cumsum(), ends]
    return [x, (rows, columns), (rows,)], (1,), reference


def wide_sums(rows=32, columns=64):
    x = RANDOM.integers(-2**50, 2**50, (rows, columns))
    return ([x, (rows,), (columns,), (columns,), (rows,), (rows,)], (1,),
            lambda t: [x.sum(1), x.max(0), x[0] - x[0].min(), x.argmin(1), x.sum() + numpy.arange(rows)])


def until_small(n=700):
    x = (RANDOM.random(n) * numpy.repeat([1, 100, 10000], 256)[:n] + 1).astype("float32")

    def reference(t):
        out, steps = x.astype(t), []
        for begin in range(0, n, 256):
            a, y = x[begin:begin + 256].astype(t), out[begin:begin + 256]
            steps.append(0)
            while abs(y * y - a).max() > 0.01:
                y[:] = t(0.5) * (y + a / y)
                steps[-1] += 1
        return [out, numpy.array(steps)]
    return [x, (n,), (len(range(0, n, 256)),), n], (-(-n // 256),), reference


def skip_empty(n=500):
    x, wanted = normal(n), (RANDOM.random(n) < numpy.repeat([0.7, 0, 0.2, 0.8], 128)[:n]).astype("int32")

    def reference(t):
        count = numpy.repeat([wanted[k:k + 128].sum() for k in range(0, n, 128)], 128)[:n]
        return [numpy.where(count == 0, numpy.nan, numpy.where(count > 64, 2 * x.astype(t), x.astype(t) + count))]
    return [x, wanted, (n,), n], (4,), reference


def counted_rows(n=7):
    length = RANDOM.integers(1, 6, n, dtype="int32")
    x = normal(length.sum(), 64)
    return [length, x, (64,), n], (1,), lambda t: [x[length.max():].astype(t).sum(0)]


def masked_counts(n=100):
    x = RANDOM.integers(-2, 20, 128, dtype="int32")
    return [x, (16,), n], (1,), lambda t: [numpy.bincount(x[:n][(x[:n] >= 0) & (x[:n] < 16)], minlength=16)]


def whole_tiles(tiles=3, rows=64, columns=32):
    x = normal(tiles, rows, columns) * numpy.array([1, 3, 0.1], "float32")[:, None, None]
    x[1] -= 1
    x[2] += 1

    def reference(t):
        far, out = x.astype(t), x.astype(t)
        for k in range(tiles):
            far[k] = far[k] - far[k].min() if far[k].sum() > 0 else numpy.nan
            while abs(out[k]).max() > 0.5:
                out[k] *= t(0.5)
        return [out, far]
    return [x, x.shape, x.shape], (tiles,), reference


def picked(rows=6, n=5):
    x = normal(rows, n, 64)
    x[2, 0] *= 0.3
    x[4, 0, 1] = 9
    x[5, 0] -= 2

    def reference(t):
        a = x[:, 0].astype(t)
        big = (a.max(-1) > 2)[:, None]
        scale = numpy.where(big, a.sum(-1, keepdims=True), t(1)).clip(-2, 2)
        value = numpy.where(a.argmax(-1) > 3, a.max(-1), a.min(-1))[:, None]
        return [a * scale + value, numpy.where(big, (x > 0).sum(1), numpy.nan)]
    return [x, (rows, 64), (rows, 64), n], (rows,), reference


def narrow_numbers(rows=4, n=2):
    x = normal(rows, 128, dtype="float16").clip(-1, 1)
    x[1, 5], x[3, 7] = 1.75, 2
    at = RANDOM.integers(0, rows * 128, (rows, 128))

    def reference(t):
        step = (lambda y: y) if t == numpy.float64 else (lambda y: y.astype("float16"))
        a = x.astype(t)
        most = a.max(-1, keepdims=True)
        shift = numpy.where(numpy.arange(rows)[:, None] < n, most, a.min(-1, keepdims=True))
        first = numpy.where(numpy.arange(rows)[:, None] != 1, a[:, :1], most)
        a = numpy.where(most > 1.5, step(a - a.reshape(-1)[at.max(-1)][:, None]), a)
        return [step(step(a + shift) + first)]
    return [x, at, (rows, 128), n], (rows,), reference
