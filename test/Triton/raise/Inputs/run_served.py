"""Runs kernels of served.py as run_forms.py does those of forms.py.

usage: run_served.py [--raised] FOLDER TARGET NAME ...

Sequences have different lengths, and keys that belong to none are NaN: behind the last of a sequence, in pages that no
table names, in pages of others.
"""
import pathlib
import sys

import numpy

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import run_forms
from problems import RANDOM, normal

LENGTHS = 45, 1, 96, 80


def steps_of(*arrays):
    return [step // x.itemsize for x in arrays for step in x.strides[:-1]]


def tokens(z, h, d=64):
    """A query for each head, [z, h, d]."""
    return normal(z, h, d, dtype="float16")


def attend(q, keys, values, lens, keep=None, **how):
    """A function of a type: the output of one query for each head, and its log-sum-exp, of sequences one by one."""
    def reference(t):
        outputs = []
        for b, n in enumerate(lens):
            if n == 0:
                outputs.append([numpy.zeros(q.shape[1:], t), numpy.full(q.shape[1], -numpy.inf, t)])
                continue
            k, v = (x[b, :n].swapaxes(0, 1)[None] for x in (keys, values))
            found = run_forms.attention(q[b][None, :, None], k, v, 0.125, t, keep and keep(n), **how)
            outputs.append([x[0, :, 0] for x in found])
        return [numpy.stack(x) for x in zip(*outputs)]
    return reference


def contiguous(lens, room, h, d=64, dtype="float16"):
    """[z, room, h, d], NaN behind the last key of a sequence."""
    x = normal(len(lens), room, h, d, dtype=dtype)
    for b, n in enumerate(lens):
        x[b, n:] = numpy.nan
    return x


def lengths(keep=None, w=24, s=96, h=2, lens=LENGTHS, given=None):
    k, v = (contiguous(lens, s, h) for _ in range(2))
    q = tokens(len(lens), 4 * h)
    given = numpy.array(lens, "int32") if given is None else given
    return ([q, k, v, q.shape, given, 0.125, *steps_of(q), *steps_of(k), w, s], (len(lens), h),
            lambda t: attend(q, k, v, lens, keep and (lambda n: keep(n, w)))(t)[:1])


def causal_keep(s, n):
    i, j = numpy.indices((s, n))
    return j <= i + n - s


def lengths_causal(s=70, lens=(70, 75, 131), h=4, hkv=2, d=64):
    q = normal(len(lens), h, s, d, dtype="float16")
    k, v = (contiguous(lens, 140, hkv).swapaxes(1, 2).copy() for _ in range(2))

    def reference(t):
        found = [run_forms.attention(q[b:b + 1], k[b:b + 1, :, :n], v[b:b + 1, :, :n], 0.125, t, causal_keep(s, n))
                 for b, n in enumerate(lens)]
        return [numpy.concatenate(x) for x in zip(*found)]
    lse = numpy.empty((len(lens), h, s), "float32")
    return ([q, k, v, q.shape, lse.shape, numpy.array(lens, "int32"), 0.125, *steps_of(q), *steps_of(k), *steps_of(lse),
             s], (2, h, len(lens)), reference)


def to_pages(x, lens, table, pages, page):
    """The rows of x, [z, room, h, d], in pages [pages, page, h, d]."""
    pool = numpy.full((pages, page, *x.shape[2:]), numpy.nan, x.dtype)
    for b, n in enumerate(lens):
        for j in range(n):
            pool[table[b, j // page], j % page] = x[b, j]
    return pool


def in_pages(k, v, lens, page):
    """Pages of both and a table: its rows have entries behind a sequence's last page, which name no page."""
    needed = [-(-n // page) for n in lens]
    numbers = RANDOM.permutation(sum(needed) + 5).astype("int32")
    table = numpy.full((len(lens), max(needed) + 1), 2**30, "int32")
    for b, n in enumerate(needed):
        table[b, :n], numbers = numbers[:n], numbers[n:]
    return [to_pages(x, lens, table, sum(needed) + 5, page) for x in (k, v)], table


def pages(page=16, h=2, lens=LENGTHS):
    k, v = (contiguous(lens, max(lens), h) for _ in range(2))
    q = tokens(len(lens), 4 * h)
    (k_pages, v_pages), table = in_pages(k, v, lens, page)
    return ([q, k_pages, v_pages, q.shape, table, numpy.array(lens, "int32"), numpy.zeros(1, "int32"), 0.125,
             *steps_of(q), *steps_of(k_pages), *steps_of(table), page], (len(lens), h),
            lambda t: attend(q, k, v, lens)(t)[:1])


def pages_decode(page=16, h=2, lens=LENGTHS, cap=3.0):
    """The rest of a last page holds what there was before: a kernel that loads it multiplies it by 0."""
    k, v = (contiguous(lens, max(lens), h) for _ in range(2))
    q = tokens(len(lens), 4 * h)
    pools, table = in_pages(k, v, lens, page)
    pools = [numpy.nan_to_num(x, nan=7) for x in pools]
    return ([q.shape, q, *pools, table, numpy.array(lens, "int32"), 0.125, cap, 4 * h, *steps_of(table), *steps_of(q),
             *steps_of(q), *steps_of(pools[0]), *steps_of(pools[1])], (len(lens), h),
            lambda t: attend(q, k, v, lens, lambda n: window(n, 40), cap=cap)(t)[:1])


def token(page=0, h=2, lens=LENGTHS):
    """P is not rounded to f16, the output is."""
    k, v = (contiguous(lens, max(lens), h) for _ in range(2))
    q = tokens(len(lens), 4 * h)
    (k_at, v_at), table = in_pages(k, v, lens, page) if page else ((k, v), numpy.zeros((1, 1), "int32"))
    lse = numpy.empty((len(lens), 4 * h), "float32")

    def reference(t):
        out, log_sums = attend(q, k, v, lens, wide=True)(t)
        return [out if t == numpy.float64 else out.astype("float16"), log_sums]
    return ([q, k_at, v_at, q.shape, lse.shape, table, numpy.array(lens, "int32"), 0.125, *steps_of(q), *steps_of(k_at),
             *steps_of(table), *steps_of(lse)], (4 * h, len(lens)), reference)


def pages_causal(s=70, lens=(70, 75, 131), h=4, hkv=2, d=64, page=8):
    q = normal(len(lens), h, s, d, dtype="float16")
    k, v = (contiguous(lens, max(lens), hkv) for _ in range(2))
    pools, table = in_pages(k, v, lens, page)
    k_pages, v_pages = (x.swapaxes(1, 2).copy() for x in pools)
    kp, kh, kn = steps_of(k_pages)
    table = numpy.repeat(table, 2, 1) # every other number is one of the table

    def reference(t):
        found = [run_forms.attention(q[b:b + 1], *(x[b:b + 1, :n].swapaxes(1, 2) for x in (k, v)), 0.125, t,
                                     causal_keep(s, n))[0] for b, n in enumerate(lens)]
        return [numpy.concatenate(found)]
    return ([q, k_pages, v_pages, q.shape, table, numpy.array(lens, "int32"), 0.125, *steps_of(q), kp, kn, kh,
             *steps_of(table), 2, h, s], (5, h * len(lens)), reference)


def window(n, w):
    return numpy.arange(n) >= n - w


FORMS = {
    "lengths": lengths,
    "lengths_window": lambda: lengths(window),
    "lengths_counted": lengths,
    "lengths_limited": lengths,
    "lengths_long": lambda: lengths(given=numpy.array(LENGTHS, "int64") - 1),
    "lengths_staged": lambda: lengths(s=90, lens=(45, 1, 64, 90), given=numpy.array([45, 1, 64, 2000], "int32")),
    "lengths_causal": lengths_causal,
    "pages_step": pages,
    "pages_vector": pages,
    "pages_vector.empty": lambda: pages(lens=(45, 0, 96, 0)),
    "pages_part": lambda: pages(64),
    "pages_token": lambda: pages(1),
    "pages_causal": pages_causal,
    "pages_decode": pages_decode,
    "token_lengths": token,
    "token_pages": lambda: token(16),
}

if __name__ == "__main__":
    run_forms.main(FORMS)
