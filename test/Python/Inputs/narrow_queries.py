"""Queries in fp8 beside such keys and values: what attention, paged_attention,
varlen_attention and flash_attn_varlen_func give is what they give of the same
numbers in f16."""
import sys

import numpy as np

import flashtile
from f8 import Bytes, e4m3, e5m2
from flashtile.flash_attn import flash_attn_varlen_func

rng = np.random.default_rng(2)
B, HQ, HKV, S, D, DV, PAGE, PAGES, WIDTH = 3, 4, 2, 5, 32, 16, 4, 20, 5
NUMBERS = np.array([e4m3(code) for code in range(256)], np.float32)


def f8(codes):
    return Bytes(10, bytearray(codes.tobytes()), codes.shape)


def draw(*shape):
    """Codes of numbers up to 15 in size."""
    return (rng.integers(0, 0x58, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)


def draw_scales():
    """Powers of two, so that f16 has the products, too."""
    return (2.0 ** rng.integers(-4, 0, (B, HKV))).astype(np.float32)


q_scale, k_scale, v_scale = draw_scales(), draw_scales(), draw_scales()
scales = dict(q_scale=q_scale, k_scale=k_scale, v_scale=v_scale)
lengths = np.array([18, 0, 7], np.int32)
table = rng.permutation(PAGES)[: B * WIDTH].reshape(B, WIDTH).astype(np.int32)
q, keys, values = draw(B, HQ, S, D), draw(B, HKV, 7, D), draw(B, HKV, 7, DV)
k, v = draw(PAGES, HKV, PAGE, D), draw(PAGES, HKV, PAGE, DV)


def wide(codes, scale):
    """[b, h, s, d] of f16; several heads share a scale."""
    by_head = np.repeat(scale, codes.shape[1] // HKV, axis=1)
    return (NUMBERS[codes] * by_head[:, :, None, None]).astype(np.float16)


def wide_pages(codes, scale):
    """Pages of f16, of which each belongs to one sequence."""
    pages = NUMBERS[codes]
    for b in range(B):
        pages[table[b]] *= scale[b][:, None, None]
    return pages.astype(np.float16)


def close(found, expected):
    return np.allclose(found.astype(np.float32), expected.astype(np.float32), rtol=2e-3, atol=2e-3)


# Without pages: the output is new, float16 as asked for, or `out`.
def attend(how=scales, **more):
    out = np.empty((B, HQ, S, DV), np.float16)
    assert flashtile.attention(f8(q), f8(keys), f8(values), out=out, **how, **more) is out
    return out


expected = flashtile.attention(wide(q, q_scale), wide(keys, k_scale), wide(values, v_scale), causal=True)
out = attend(causal=True)
assert close(out, expected) and np.abs(out).max() > 0.1
# The twins: scales of the other head, and none.
assert not close(attend(dict(scales, q_scale=np.ascontiguousarray(q_scale[:, ::-1])), causal=True), expected)
assert not close(attend(dict(k_scale=k_scale, v_scale=v_scale), causal=True), expected)
one = np.ones_like(q_scale)
assert close(attend({}), flashtile.attention(wide(q, one), wide(keys, one), wide(values, one)))
# One for each head, and one for all.
for shape in ((HKV,), (B, 1), ()):
    few = (2.0 ** rng.integers(-4, 0, shape)).astype(np.float32).reshape(shape)
    more = flashtile.attention(wide(q, np.broadcast_to(few, (B, HKV))), wide(keys, one), wide(values, one))
    assert close(attend(dict(q_scale=few)), more), shape
# Keys and values of e5m2 beside them: codes of numbers up to 14 in size.
other = [codes - (codes & 0x78) // 2 + 0x20 & 0xBF | codes & 0x80 for codes in (keys, values)]
found = np.empty((B, HQ, S, DV), np.float16)
flashtile.attention(f8(q), *(Bytes(12, bytearray(x.tobytes()), x.shape) for x in other), out=found)
numbers = np.array([e5m2(code) for code in range(256)], np.float32)
assert close(found, flashtile.attention(wide(q, one), *(numbers[x].astype(np.float16) for x in other)))
assert not close(found, attend({}))
flashtile.prepare(f8(q), f8(keys), f8(values), out=out, **scales)

# Pages, and packed queries over them by vLLM's arguments.
found = np.empty((B, HQ, S, DV), np.float16)
flashtile.paged_attention(f8(q), f8(k), f8(v), table, lengths, causal=True, out=found, **scales)
pages = wide_pages(k, k_scale), wide_pages(v, v_scale)
expected = flashtile.paged_attention(wide(q, q_scale), *pages, table, lengths, causal=True)
assert close(found, expected)
counts = [3, 0, 2]
offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
packed = np.concatenate([q[b, :, :n].transpose(1, 0, 2) for b, n in enumerate(counts)])
nhd = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (k, v)]
found = np.empty((sum(counts), HQ, DV), np.float16)
flash_attn_varlen_func(
    f8(packed), f8(nhd[0]), f8(nhd[1]), offsets, max_seqlen_q=3, max_seqlen_k=18, seqused_k=lengths, block_table=table,
    causal=True, q_descale=q_scale, k_descale=k_scale, v_descale=v_scale, out=found,
)
for b, n in enumerate(counts):
    if n:
        one = slice(b, b + 1)
        each = np.empty((1, HQ, n, DV), np.float16)
        flashtile.paged_attention(
            f8(np.ascontiguousarray(q[one, :, :n])), f8(k), f8(v), table[one], lengths[one], causal=True, out=each,
            **{name: scale[one] for name, scale in scales.items()},
        )
        assert close(found[offsets[b] : offsets[b + 1]], each[0].transpose(1, 0, 2)), b

# Packed keys.
rows = draw(sum(counts), HKV, D), draw(sum(counts), HKV, DV)
flashtile.varlen_attention(f8(packed), f8(rows[0]), f8(rows[1]), offsets, causal=True, out=found, **scales)
by_row = [np.repeat(scale, counts, axis=0) for scale in (np.repeat(q_scale, HQ // HKV, axis=1), k_scale, v_scale)]
all = [(NUMBERS[codes] * scale[:, :, None]).astype(np.float16) for codes, scale in zip((packed, *rows), by_row)]
assert close(found, flashtile.varlen_attention(*all, offsets, causal=True))


def refuses(kind, message, *arrays, **how):
    try:
        flashtile.attention(*arrays, **how)
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


narrow, half = (f8(q), f8(keys), f8(values)), (wide(q, q_scale), f8(keys), f8(values))
refuses(ValueError, "expected an out_dtype float16 or bfloat16, found 'float32'", *narrow, out=out, out_dtype="float32")
refuses(ValueError, "expected no out_dtype but beside a q of 8 bits, found one beside float16", *half, out_dtype="float16")
refuses(ValueError, "expected q_scale of shape (3, 2), found (2, 3)", *narrow, out=out, q_scale=q_scale.T)
refuses(flashtile.Error, "expected scales of queries with queries of 8 bits, found them with queries of f16", *half, q_scale=q_scale)
refuses(flashtile.Error, "expected keys and values of 8 bits beside queries of f8e4m3, found f16", narrow[0], wide(keys, k_scale), wide(values, v_scale), out=out)
refuses(flashtile.Error, "expected an output of f16 or bf16 with queries of f8e4m3, found f32", *narrow, out=out.astype(np.float32))

if "torch" in sys.argv[1:]:
    import torch

    t = {name: torch.from_numpy(scale) for name, scale in scales.items()}
    narrow = [torch.from_numpy(x).view(torch.float8_e4m3fn) for x in (q, keys, values)]
    expected = torch.from_numpy(attend())
    for type, how in (torch.bfloat16, {}), (torch.float16, {"out_dtype": torch.float16}), (torch.float16, {"out_dtype": "float16"}):
        found, lse = flashtile.attention(*narrow, return_lse=True, **t, **how)
        assert found.dtype == type and lse.dtype == torch.float32
        assert torch.allclose(found.float(), expected.float(), atol=3e-2), type
    pages = [torch.from_numpy(x).view(torch.float8_e4m3fn) for x in (q, k, v)]
    found = flashtile.paged_attention(*pages, torch.from_numpy(table), torch.from_numpy(lengths), **t)
    assert found.dtype == torch.bfloat16
print("right")
