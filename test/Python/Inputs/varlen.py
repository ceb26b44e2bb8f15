# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.varlen_attention gives what flashtile.attention gives of each sequence,
and the bits that fa-run gives, whose own are checked against float64."""
import os
import subprocess
import sys

import numpy as np

import flashtile
from flashtile.flash_attn import flash_attn_varlen_func

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(1)
HQ, HKV, D, DV = 4, 2, 32, 16
# Sequences without queries, without keys and of one query; rows that belong to none.
OFFSETS = np.array([2, 42, 42, 43, 60, 75], np.int32)
KEY_OFFSETS = np.array([0, 50, 70, 133, 133, 160], np.int32)
ROWS, KEY_ROWS = 80, 161


def normal(*shape, type=np.float32):
    return rng.standard_normal(shape, dtype=np.float32).astype(type)


def path(name):
    return os.path.join(folder, name + ".npy")


def run(spec, lse=False, **arrays):
    """Output and log-sum-exp of fa-run, [rows, heads, dv] and [heads, rows]."""
    command = ["fa-run", "--attention", spec + " ragged layout=bshd", "--check", "--out", path("out")]
    for name, array in arrays.items():
        np.save(path(name), array)
        command += ["--" + name.replace("_", "-"), path(name)]
    command += ["--lse", path("lse")] if lse else []
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (spec, done.stdout, done.stderr)
    return np.load(path("out")), np.load(path("lse")) if lse else None


def same(found, expected):
    """In the rows that belong to a sequence."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    owned = slice(OFFSETS[0], OFFSETS[-1])
    where = (slice(None), owned) if found.ndim == 2 else owned
    assert np.array_equal(found[where], expected[where]), abs(found[where] - expected[where]).max()


def raises(message, function, *args, **how):
    try:
        function(*args, **how)
    except (ValueError, flashtile.Error) as error:
        assert message in str(error), error
        return
    raise AssertionError(f"expected an error: {message}")


for type in (np.float32, np.float16):
    q, k, v = normal(ROWS, HQ, D, type=type), normal(KEY_ROWS, HKV, D, type=type), normal(KEY_ROWS, HKV, DV, type=type)
    for rows in (q[:2], q[75:], k[160:], v[160:]):
        rows[:] = np.nan
    files = dict(q=q, k=k, v=v, offsets=OFFSETS, key_offsets=KEY_OFFSETS)
    slopes, sink = abs(normal(HQ)), normal(HQ)
    for spec, how, more in (
        ("", {}, {}),
        ("causal window=9,-1", dict(causal=True, window=(9, None)), {}),
        ("alibi softcap=5 scale=0.3", dict(softcap=5, scale=0.3, alibi_slopes=slopes), dict(slopes=slopes)),
        ("causal prefix=5 sink", dict(causal=True, prefix=5, sink=sink), dict(sink=sink)),
    ):
        out, lse = flashtile.varlen_attention(q, k, v, OFFSETS, KEY_OFFSETS, return_lse=True, **how)
        expected = run(spec + " lse", lse=True, **files, **more)
        same(out, expected[0])
        same(lse, expected[1])
        again = np.full_like(out, np.nan)
        assert flashtile.varlen_attention(q, k, v, OFFSETS, KEY_OFFSETS, out=again, **how) is again
        same(again, expected[0])
        assert np.isnan(again[:2]).all() and np.isnan(again[75:]).all()
        # What one sequence gives by itself differs in the order of its sums alone.
        how.pop("prefix", None)
        if "sink" in spec:
            continue
        for n, (begin, end) in enumerate(zip(OFFSETS, OFFSETS[1:])):
            keys = slice(KEY_OFFSETS[n], KEY_OFFSETS[n + 1])
            one = [x[None] for x in (q[begin:end], k[keys], v[keys])]
            alone = flashtile.attention(*one, layout="bshd", **how)[0]
            assert np.allclose(out[begin:end], alone, rtol=0, atol=1e-5 if type == np.float32 else 4e-3)

q, k, v = normal(ROWS, HQ, D), normal(ROWS, HKV, D), normal(ROWS, HKV, D)

# A score and a mask of one's own, and gradients of them; without one of them it is something else.
mask = "%keep = arith.cmpi sle, %j, %i : index"
score = """
  %half = arith.constant 0.5 : f32
  %score = arith.mulf %s, %half : f32
"""
owned, dout = slice(OFFSETS[0], OFFSETS[-1]), normal(ROWS, HQ, D)


def trained(**how):
    out, lse = flashtile.varlen_attention(q, k, v, OFFSETS, return_lse=True, **how)
    gradients = flashtile.varlen_attention_backward(q, k, v, out, lse, dout, OFFSETS, **how)
    return [x[owned] for x in (out, *gradients)]


own = trained(scale=0.5, mask_mod=mask, score_mod=score)
for found, expected, unchanged in zip(own, trained(scale=0.25, causal=True), trained(scale=0.5, mask_mod=mask)):
    assert abs(found - expected).max() <= 4e-6 * max(1, abs(expected).max()), abs(found - expected).max()
    assert abs(found - unchanged).max() > 1e-3

# A launch that is known looks at other offsets.
found = flashtile.varlen_attention(q, k, v, OFFSETS, causal=True)
moved = OFFSETS + 1
assert not np.array_equal(flashtile.varlen_attention(q, k, v, moved, causal=True)[3:60], found[3:60])

# flash_attn's function, with a window on one side, and what it does not take.
known = flash_attn_varlen_func(q, k, v, OFFSETS, OFFSETS, 40, 40, causal=True, window_size=(7, 0), softmax_scale=0.5)
same(known, flashtile.varlen_attention(q, k, v, OFFSETS, causal=True, window=(7, 0), scale=0.5))
known, lse = flash_attn_varlen_func(
    q=q, k=k, v=v, max_seqlen_q=40, cu_seqlens_q=OFFSETS, max_seqlen_k=40, cu_seqlens_k=OFFSETS, return_softmax_lse=True
)
assert lse.shape == (HQ, ROWS)
for name, value in (("dropout_p", 0.1), ("seqused_k", OFFSETS), ("return_attn_probs", True)):
    raises(f"{name}=", flash_attn_varlen_func, q, k, v, OFFSETS, OFFSETS, **{name: value})
raises("expected q_scale of float32, found int32", flash_attn_varlen_func, q, k, v, OFFSETS, OFFSETS, q_descale=OFFSETS)
raises("expected cu_seqlens_q, found None", flash_attn_varlen_func, q, k, v)

# What the host can see is said.
raises("expected cu_seqlens_q of int32, found int64", flashtile.varlen_attention, q, k, v, OFFSETS.astype(np.int64))
raises("expected cu_seqlens_k of 1 dimensions", flashtile.varlen_attention, q, k, v, OFFSETS, OFFSETS[None])
raises("expected q of 3 dimensions", flashtile.varlen_attention, q[None], k, v, OFFSETS)
raises("size 6", flashtile.varlen_attention, q, k, v, OFFSETS, OFFSETS[1:])
raises("expected at least 2 in dimension 0", flashtile.varlen_attention, q, k, v, OFFSETS[:1])

# What the device alone can see reads and writes nothing outside.
for offsets in ([0, 40, 1000], [-5, 40, 60], [60, 3, 50], [2**31 - 1, -(2**31), 7]):
    guarded = np.full((ROWS + 2, HQ, D), 7, np.float32)
    flashtile.varlen_attention(q, k, v, np.array(offsets, np.int32), out=guarded[1:-1])
    assert (guarded[[0, -1]] == 7).all()
print("right")
