"""Keys and values in fp8 with scales: what paged_attention, varlen_attention and
flash_attn_varlen_func give is what they give of the same numbers in f16."""
import sys

import numpy as np

import flashtile
from f8 import Bytes, e4m3
from flashtile.flash_attn import flash_attn_varlen_func

rng = np.random.default_rng(1)
B, HQ, HKV, D, DV, PAGE, PAGES, WIDTH = 3, 4, 2, 32, 16, 4, 20, 5
NUMBERS = np.array([e4m3(code) for code in range(256)], np.float32)


def f8(codes):
    return Bytes(10, bytearray(codes.tobytes()), codes.shape)


def draw(*shape):
    """Codes of numbers up to 15 in size."""
    return (rng.integers(0, 0x58, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)


# Scales are powers of two, so that f16 has the products, too.
k_scale = (2.0 ** rng.integers(-4, 0, (B, HKV))).astype(np.float32)
v_scale = (2.0 ** rng.integers(-4, 0, (B, HKV))).astype(np.float32)
lengths = np.array([18, 0, 7], np.int32)
table = rng.permutation(PAGES)[: B * WIDTH].reshape(B, WIDTH).astype(np.int32)
q = rng.standard_normal((B, HQ, 3, D)).astype(np.float16)
k, v = draw(PAGES, HKV, PAGE, D), draw(PAGES, HKV, PAGE, DV)


def wide(codes, scale):
    """Pages of f16, of which each belongs to one sequence."""
    pages = NUMBERS[codes]
    for b in range(B):
        pages[table[b]] *= scale[b][:, None, None]
    return pages.astype(np.float16)


def close(found, expected):
    return np.allclose(found.astype(np.float32), expected.astype(np.float32), rtol=2e-3, atol=2e-3)


out, lse = flashtile.paged_attention(
    q, f8(k), f8(v), table, lengths, causal=True, k_scale=k_scale, v_scale=v_scale, return_lse=True
)
expected = flashtile.paged_attention(q, wide(k, k_scale), wide(v, v_scale), table, lengths, causal=True, return_lse=True)
assert out.dtype == np.float16 and close(out, expected[0]) and np.allclose(lse, expected[1], atol=1e-3)
assert np.abs(out[0]).max() > 0.1
# The twins: scales of the other head, and none.
other = flashtile.paged_attention(
    q, f8(k), f8(v), table, lengths, causal=True, k_scale=k_scale, v_scale=np.ascontiguousarray(v_scale[:, ::-1])
)
assert not close(other, expected[0])
assert not close(flashtile.paged_attention(q, f8(k), f8(v), table, lengths, causal=True), expected[0])

# One for each head, one for all, and strides of any kind.
for shape in ((HKV,), (1, HKV), (B, 1), (1, 1), (1,), ()):
    few = (2.0 ** rng.integers(-4, 0, shape)).astype(np.float32).reshape(shape)
    all = np.broadcast_to(few, (B, HKV))
    found = flashtile.paged_attention(q, f8(k), f8(v), table, lengths, k_scale=few, v_scale=few)
    assert close(found, flashtile.paged_attention(q, wide(k, all), wide(v, all), table, lengths)), shape
apart = np.stack([k_scale.T, v_scale.T], axis=-1).T  # [2, b, hkv], with gaps
assert np.array_equal(
    flashtile.paged_attention(q, f8(k), f8(v), table, lengths, causal=True, k_scale=apart[0], v_scale=apart[1]), out
)

# Packed queries over pages, by vLLM's arguments.
counts = [3, 0, 2]
offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
packed = np.concatenate([q[b, :, :n].transpose(1, 0, 2) for b, n in enumerate(counts)])
nhd = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (k, v)]
found = flash_attn_varlen_func(
    packed, f8(nhd[0]), f8(nhd[1]), offsets, max_seqlen_q=3, max_seqlen_k=18, seqused_k=lengths, block_table=table,
    causal=True, k_descale=k_scale, v_descale=v_scale, q_descale=None,
)
for b, n in enumerate(counts):
    if n:
        one = flashtile.paged_attention(
            q[b : b + 1, :, :n], f8(k), f8(v), table[b : b + 1], lengths[b : b + 1],
            causal=True, k_scale=k_scale[b : b + 1], v_scale=v_scale[b : b + 1],
        )
        assert close(found[offsets[b] : offsets[b + 1]], one[0].transpose(1, 0, 2)), b

# Packed keys.
rows = draw(sum(counts), HKV, D), draw(sum(counts), HKV, DV)
found = flashtile.varlen_attention(packed, f8(rows[0]), f8(rows[1]), offsets, causal=True, k_scale=k_scale, v_scale=v_scale)
by_row = [np.repeat(scale, counts, axis=0)[:, :, None] for scale in (k_scale, v_scale)]
both = [(NUMBERS[codes] * scale).astype(np.float16) for codes, scale in zip(rows, by_row)]
assert close(found, flashtile.varlen_attention(packed, *both, offsets, causal=True))


def refuses(kind, message, q=q, k=f8(k), v=f8(v), **how):
    try:
        flashtile.paged_attention(q, k, v, table, lengths, **how)
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


refuses(ValueError, "expected k_scale and v_scale, found k_scale alone", k_scale=k_scale)
refuses(ValueError, "expected k_scale and v_scale, found v_scale alone", v_scale=v_scale)
refuses(ValueError, "expected k_scale of shape (3, 2), found (2, 3)", k_scale=k_scale.T, v_scale=v_scale)
refuses(ValueError, "expected k_scale of shape (3, 2, 2), found (3, 5, 2)", k_scale=np.ones((3, 5, 2), np.float32), v_scale=v_scale, scale_keys=8)
refuses(ValueError, "expected k_scale of shape (3, 2, 'n') with scale_keys, found ()", k_scale=np.float32(1).reshape(()), v_scale=v_scale, scale_keys=8)
refuses(ValueError, "expected scale_keys of 1 or more, found 0", k_scale=k_scale, v_scale=v_scale, scale_keys=0)
refuses(flashtile.Error, "expected scales of keys and values with scale-keys=8, found none", scale_keys=8)
refuses(ValueError, "expected v_scale of float32, found int32", k_scale=k_scale, v_scale=lengths)
refuses(flashtile.Error, "expected type=f16 or type=bf16 with kv=f8e4m3, found type=f32", q=q.astype(np.float32))
refuses(flashtile.Error, "expected scales of keys and values with kv=f8e4m3", k=wide(k, k_scale), v=wide(v, v_scale), k_scale=k_scale, v_scale=v_scale)

# Scales of six keys each that follow each other in a sequence, wherever they lie.
each = 6
blocks = [(2.0 ** rng.integers(-4, 0, (B, HKV, 4))).astype(np.float32) for _ in "kv"]


def wide_blocks(codes, scale):
    """Pages of f16, as `wide`: key n · PAGE + i of sequence b lies in page n of it."""
    pages = NUMBERS[codes]
    for b in range(B):
        for n, page in enumerate(table[b]):
            of_keys = np.minimum((n * PAGE + np.arange(PAGE)) // each, 3)
            pages[page] *= scale[b][:, of_keys, None]
    return pages.astype(np.float16)


found = flashtile.paged_attention(
    q, f8(k), f8(v), table, lengths, causal=True, k_scale=blocks[0], v_scale=blocks[1], scale_keys=each
)
expected = flashtile.paged_attention(q, wide_blocks(k, blocks[0]), wide_blocks(v, blocks[1]), table, lengths, causal=True)
assert close(found, expected)
# The twin: each is for one key more.
twin = flashtile.paged_attention(
    q, f8(k), f8(v), table, lengths, causal=True, k_scale=blocks[0], v_scale=blocks[1], scale_keys=each + 1
)
assert not close(twin, expected)
# The same of keys without pages, of one key each, too, and with strides of 0.
codes = draw(B, HKV, 23, D), draw(B, HKV, 23, DV)
for each, shape in ((6, (B, HKV, 4)), (1, (B, HKV, 23)), (40, (B, HKV, 1)), (6, (4,)), (8, (HKV, 4))):
    few = (2.0 ** rng.integers(-4, 0, shape)).astype(np.float32)
    by_key = np.repeat(np.broadcast_to(few, (B, HKV, shape[-1])), each, axis=2)[:, :, :23, None]
    both = [(NUMBERS[x] * by_key).astype(np.float16) for x in codes]
    found = flashtile.attention(q, f8(codes[0]), f8(codes[1]), k_scale=few, v_scale=few, scale_keys=each)
    assert close(found, flashtile.attention(q, *both)), (each, shape)

if "torch" in sys.argv[1:]:
    import torch

    t = [torch.from_numpy(x) for x in (q, table, lengths, k_scale, v_scale)]
    narrow = [torch.from_numpy(x).view(torch.float8_e4m3fn) for x in (k, v)]
    for type in (torch.float16, torch.bfloat16):
        found = flashtile.paged_attention(t[0].to(type), *narrow, t[1], t[2], causal=True, k_scale=t[3], v_scale=t[4])
        assert found.dtype == type
        assert torch.allclose(found.float(), torch.from_numpy(out).float(), atol=3e-2), type
print("right")
