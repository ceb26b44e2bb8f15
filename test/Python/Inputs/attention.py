"""flashtile.attention gives the bits that fa-run gives, whose own are checked
against float64 in the same run."""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import flashtile

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(1)
B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 30, 45, 32, 16


def normal(*shape, type=np.float32):
    return rng.standard_normal(shape, dtype=np.float32).astype(type)


def path(name):
    return os.path.join(folder, name + ".npy")


def run(spec, lse=False, **arrays):
    """Output and log-sum-exp of fa-run."""
    command = ["fa-run", "--attention", spec, "--check", "--json", "--out", path("out")]
    for name, array in arrays.items():
        np.save(path(name), array)
        command += ["--" + name, path(name)]
    command += ["--lse", path("lse")] if lse else []
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (spec, done.stdout, done.stderr)
    assert json.loads(done.stdout)["pass"]
    return np.load(path("out")), np.load(path("lse")) if lse else None


def same(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.array_equal(found, expected), abs(found.astype(np.float64) - expected).max()


def inputs(type):
    return normal(B, HQ, SQ, D, type=type), normal(B, HKV, SK, D, type=type), normal(B, HKV, SK, DV, type=type)


for type in (np.float32, np.float16):
    q, k, v = inputs(type)
    files = dict(q=q, k=k, v=v)
    same(flashtile.attention(q, k, v), run("", **files)[0])
    out, lse = flashtile.attention(q, k, v, causal=True, window=(9, None), return_lse=True)
    expected = run("causal window=9,-1 lse", lse=True, **files)
    same(out, expected[0])
    same(lse, expected[1])
    bias = normal(1, HQ, SQ, SK, type=type)
    same(
        flashtile.attention(q, k, v, causal="top-left", softcap=5, bias=bias, scale=0.3),
        run("causal=top-left softcap=5 bias=1hqk scale=0.3", bias=bias, **files)[0],
    )
    slopes, lengths = abs(normal(HQ)), np.array([45, 7], np.int32)
    same(
        flashtile.attention(q, k, v, alibi_slopes=slopes, lengths=lengths),
        run("alibi lengths", slopes=slopes, lengths=lengths, **files)[0],
    )
    sink = normal(HQ)
    same(flashtile.attention(q, k, v, sink=sink, prefix=5, causal=True), run("causal prefix=5 sink", sink=sink, **files)[0])

    # Dropout: the elements that fa-run drops of the same seed, others of another.
    seed = np.array([7, 2**40], np.int64)
    dropped = flashtile.attention(q, k, v, dropout_p=0.3, rng=seed, sink=sink)
    same(dropped, run("dropout=0.3 sink", rng=seed, sink=sink, **files)[0])
    assert not np.array_equal(dropped, flashtile.attention(q, k, v, dropout_p=0.3, rng=seed + 1, sink=sink))
for how, message in (
    (dict(dropout_p=0.3), "expected an rng beside dropout_p, int64 [2], found none"),
    (dict(rng=seed), "expected no rng without dropout_p"),
    (dict(dropout_p=1.0, rng=seed), "expected a probability of dropout from 1 to 65535 of 65536"),
    (dict(dropout_p=0.3, rng=seed.astype(np.int32)), "i64"),
):
    try:
        flashtile.attention(q, k, v, **how)
        raise AssertionError(f"expected an error for {how}")
    except (ValueError, flashtile.Error) as error:
        assert message in str(error), error

# Any strides: heads behind queries, every second key, a transposed array.
q, k, v = inputs(np.float32)
expected = flashtile.attention(q, k, v)
swapped = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, k, v)]
same(flashtile.attention(*swapped, layout="bshd"), expected.transpose(0, 2, 1, 3))
wide = np.repeat(k, 2, axis=2)
same(flashtile.attention(q, wide[:, :, ::2], v), expected)
turned = np.ascontiguousarray(k.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
assert not np.any(abs(flashtile.attention(q, turned, v) - expected) > 4e-6)

# Nothing is copied: the output is where it was asked for.
out = np.full_like(expected, np.nan)
assert flashtile.attention(q, k, v, out=out) is out
same(out, expected)


# DLPack alone, as a framework has it.
class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


out = np.full_like(expected, np.nan)
flashtile.attention(*map(OnlyDLPack, (q, k, v)), out=OnlyDLPack(out))
same(out, expected)

# A call that is like an earlier one prepares nothing; what is not, does.
prepared, prepare = [], flashtile._attention._prepare
flashtile._attention._prepare = lambda *how: prepared.append(how) or prepare(*how)
halves, wider = [0.5 * x for x in (q, k, v)], normal(B, HKV, SK, DV)
same(flashtile.attention(*halves), run("", **dict(zip("qkv", halves)))[0])
same(flashtile.attention(q, k, v, out=np.empty_like(expected)), expected)
assert not prepared, prepared
flashtile.attention(q, k[:, :, 1:], v[:, :, 1:])
flashtile.attention(q, k, v, scale=0.5)
flashtile.attention(q[:0], k[:0], v[:0])
assert len(prepared) == 3, prepared
flashtile._attention._launches.clear()
flashtile.attention(q, k, wider)
assert len(prepared) == 4, prepared


def inverted(n):
    mine = [(n + 1) * q, k, -(n + 1) * v]
    return all(np.array_equal(flashtile.attention(*mine), alone[n]) for _ in range(200))


alone = [flashtile.attention((n + 1) * q, k, -(n + 1) * v) for n in range(4)]
with ThreadPoolExecutor(4) as pool:
    assert all(pool.map(inverted, range(4)))
flashtile._attention._prepare = prepare

# A score and a mask of one's own; without one of them it is something else.
mask = "%keep = arith.cmpi sle, %j, %i : index"
score = """
  %half = arith.constant 0.5 : f32
  %score = arith.mulf %s, %half : f32
"""
own = flashtile.attention(q, k, v, scale=0.5, mask_mod=mask, score_mod=score)
assert not np.any(abs(own - flashtile.attention(q, k, v, scale=0.25, causal="top-left")) > 4e-6)
assert np.any(abs(own - flashtile.attention(q, k, v, scale=0.5, causal="top-left")) > 1e-3)


# tf32 is leave to round, which the host does not take.
same(flashtile.attention(q, k, v, precision="tf32"), flashtile.attention(q, k, v))


# What is wrong is said.
def refused(message, *arrays, error=flashtile.Error, **options):
    try:
        flashtile.attention(*(arrays or (q, k, v)), **options)
    except error as found:
        assert message in str(found), found
    else:
        raise AssertionError("expected an error: " + message)


refused("expected elements of float32", q.astype(np.complex64), k, v, error=TypeError)
refused("expected a bias of four dimensions", bias=normal(SQ, SK), error=ValueError)
refused("expected causal", causal="left", error=ValueError)
refused("argument 1: expected size 32 in dimension 3, found 16", q, v, v)
refused("expected operations that define %keep", mask_mod="%keep = nonsense")
refused("softcap", softcap=-1)
refused("expected d of at least 1, found 0", q[..., :0], k[..., :0], v)
refused("expected the precision 'ieee' or 'tf32', found 'half'", precision="half", error=ValueError)
half = (x.astype(np.float16) for x in (q, k, v))
refused("expected type=f32 for precision=tf32, found type=f16", *half, precision="tf32")
fixed = np.empty_like(expected)
flashtile.attention(q, k, v, out=fixed)
fixed.flags.writeable = False
refused("expected an out that can be written", out=fixed, error=ValueError)
text = "func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n return %x : tensor<?x4xf32>\n}"
assert flashtile.is_supported(text, "sm_80") is not None
phases = []
context = flashtile.Context(threads=1, cache=None, progress=lambda phase: phases.append(phase) or phase == "load")
try:
    context.module(open(os.path.join(sys.argv[2], "kernels/rms_norm.mlir")).read())
except flashtile.Error as found:
    assert str(found) == "the compilation was cancelled" and phases[-1] == "load", (found, phases)
else:
    raise AssertionError("expected that it was cancelled")

# The CPU that code is for is taken, and refused, by its name.
try:
    flashtile.Context(host_cpu="none")
    sys.exit("expected an error")
except flashtile.Error as error:
    assert "unknown architecture 'none'" in str(error), error

# A kernel of one's own.
plan = flashtile.Context(threads=2).module(open(os.path.join(sys.argv[2], "kernels/rms_norm.mlir")).read())
x, w, y = normal(50, 64), normal(64), np.full((50, 64), np.nan, np.float32)
plan(x, w, 1e-5, y)
wide = x.astype(np.float64)
assert abs(wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * w - y).max() < 4e-6
assert plan.describe()["kernels"][0]["name"] == "rms_norm"

# A plan of a known launch has that launch's kernel, and says what it does not take.
one, many = normal(1, 2, 1, 64), normal(1, 2, 40, 64)
context = flashtile.Context(threads=1, cache=None)
desc = flashtile._library.AttentionDesc(type=0, headDim=64)
decode = context.attention(desc, launch=(one, many, many, 0.125, np.empty_like(one)))
assert [kernel["name"] for kernel in decode.describe()["kernels"]] == ["attention_decode"], decode.describe()
assert len(context.attention(desc).describe()["kernels"]) > 1
decode(one, many, many, 0.125, np.empty_like(one))
try:
    decode(many, many, many, 0.125, np.empty_like(many))
except flashtile.Error as found:
    assert "expected size 1 in dimension 2, found 40" in str(found), found
else:
    raise AssertionError("expected that many queries are refused")
print("right")
