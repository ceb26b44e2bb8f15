"""flashtile.paged_attention gives what flashtile.attention gives of each
sequence's own keys, and the bits of fa-run, which compares with float64."""
import os
import subprocess
import sys

import numpy as np

import flashtile
from flashtile.flash_attn import flash_attn_varlen_func

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(1)
B, HQ, HKV, SQ, D, DV, PAGE, PAGES, WIDTH = 4, 4, 2, 5, 32, 16, 6, 20, 5


def normal(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def path(name):
    return os.path.join(folder, name + ".npy")


q, k, v = normal(B, HQ, SQ, D), normal(PAGES, HKV, PAGE, D), normal(PAGES, HKV, PAGE, DV)
lengths = np.array([30, 0, 6, 13], np.int32)
table = np.full((B, WIDTH), 1 << 30, np.int32)
order = iter(rng.permutation(PAGES))
used = np.zeros((PAGES, PAGE), bool)
for b, length in enumerate(lengths):
    for n in range(-(-length // PAGE)):
        table[b, n] = next(order)
        used[table[b, n], : length - n * PAGE] = True
k.transpose(0, 2, 1, 3)[~used] = np.nan
v.transpose(0, 2, 1, 3)[~used] = np.nan


def rows(pages, b):
    """The keys of sequence b side by side."""
    return pages[table[b, : -(-lengths[b] // PAGE)]].transpose(1, 0, 2, 3).reshape(1, HKV, -1, pages.shape[3])[:, :, : lengths[b]]


out, lse = flashtile.paged_attention(q, k, v, table, lengths, causal=True, window=(9, None), return_lse=True)
for b in range(B):
    expected = flashtile.attention(q[b : b + 1], rows(k, b), rows(v, b), causal=True, window=(9, None), return_lse=True)
    assert np.allclose(out[b], expected[0][0], atol=2e-6), b
    assert np.allclose(lse[b], expected[1][0], atol=2e-6), b

files = dict(q=q, k=k, v=v, table=table, lengths=lengths)
command = ["fa-run", "--attention", "page=6 causal window=9,-1", "--check", "--out", path("out")]
for name, array in files.items():
    np.save(path(name), array)
    command += ["--" + name, path(name)]
done = subprocess.run(command, capture_output=True, text=True)
assert done.returncode == 0, (done.stdout, done.stderr)
assert np.array_equal(out, np.load(path("out")))

# NHD, K beside V in one pool, and queries in another order.
pool = np.concatenate([k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3)], axis=3)
again = flashtile.paged_attention(
    np.ascontiguousarray(q.transpose(0, 2, 1, 3)), pool[..., :D], pool[..., D:], table, lengths,
    causal=True, window=(9, None), layout="bshd", pages="nhd",
)
assert np.array_equal(again.transpose(0, 2, 1, 3), out)

# Packed queries, as an engine has them: a part of a prompt and single tokens; by
# flash_attn's function with vLLM's arguments, too.
counts = [5, 0, 1, 3]
offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
packed = np.concatenate([q[b, :, :n].transpose(1, 0, 2) for b, n in enumerate(counts)])
found, lse = flashtile.paged_attention(packed, k, v, table, lengths, cu_seqlens_q=offsets, causal=True, return_lse=True)
assert lse.shape == (HQ, sum(counts))
for b, n in enumerate(counts):
    if n and lengths[b]:
        rows_of = slice(offsets[b], offsets[b + 1])
        one = flashtile.attention(q[b : b + 1, :, :n], rows(k, b), rows(v, b), causal=True, return_lse=True)
        assert np.allclose(found[rows_of], one[0][0].transpose(1, 0, 2), atol=2e-6), b
        assert np.allclose(lse[:, rows_of], one[1][0], atol=2e-6), b
nhd = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (k, v)]
known = flash_attn_varlen_func(
    q=packed, k=nhd[0], v=nhd[1], cu_seqlens_q=offsets, max_seqlen_q=5, max_seqlen_k=30, seqused_k=lengths, block_table=table, causal=True
)
assert np.array_equal(known, found)
try:
    flash_attn_varlen_func(packed, *nhd, offsets, block_table=table)
except ValueError as error:
    assert "expected seqused_k beside a block_table" in str(error)
else:
    raise AssertionError("expected that a table without lengths is refused")

# Lengths are read when it runs: the same launch, other keys.
shorter = flashtile.paged_attention(q, k, v, table, np.minimum(lengths, 4).astype(np.int32), causal=True, window=(9, None))
assert np.array_equal(shorter[1], out[1]) and not np.array_equal(shorter[0], out[0])


def refuses(kind, message, *arrays, **how):
    try:
        flashtile.paged_attention(*arrays, **how)
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


refuses(ValueError, "expected lengths, int32 [b], found None", q, k, v, table, None)
refuses(ValueError, "expected block_table of int32, found int64", q, k, v, table.astype(np.int64), lengths)
refuses(ValueError, "expected lengths of 1 dimensions, found the shape (4, 1)", q, k, v, table, lengths[:, None])
refuses(ValueError, "expected pages 'hnd' or 'nhd', found 'dnh'", q, k, v, table, lengths, pages="dnh")
refuses(flashtile.Error, "argument 4: expected size 4 in dimension 0", q, k, v, table[:2], lengths)
refuses(flashtile.Error, "argument 2: expected size 20 in dimension 0", q, k, v[:7], table, lengths)
print("right")
