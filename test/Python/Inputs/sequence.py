"""values_in_keys, draft and split_keys of paged_attention and varlen_attention: what
they give is what is given of values apart, and by NumPy; the same bits in any batch."""
import numpy as np

import flashtile

rng = np.random.default_rng(1)
B, HQ, SQ, D, DV, PAGE, WIDTH = 3, 4, 5, 40, 32, 8, 6
lengths = np.array([41, 5, 23], np.int32)
table = rng.permutation(B * WIDTH + 2)[: B * WIDTH].reshape(B, WIDTH).astype(np.int32)
q = rng.standard_normal((B, HQ, SQ, D)).astype(np.float32)
pages = rng.standard_normal((B * WIDTH + 2, 1, PAGE, D)).astype(np.float32)
values = np.ascontiguousarray(pages[..., :DV])


def raises(text, call, *args, **how):
    try:
        call(*args, **how)
    except Exception as error:
        assert text in str(error), error
        return
    raise AssertionError(f"expected an error with {text!r}")


# Values that are columns of the keys.
apart = flashtile.paged_attention(q, pages, values, table, lengths, causal=True)
found = flashtile.paged_attention(q, pages, None, table, lengths, causal=True, values_in_keys=DV)
assert found.shape == apart.shape == (B, HQ, SQ, DV) and np.allclose(found, apart, rtol=1e-5, atol=1e-6)
assert np.abs(apart).max() > 0.1
# The twin: other columns.
other = flashtile.paged_attention(q, pages, np.ascontiguousarray(pages[..., -DV:]), table, lengths, causal=True)
assert not np.allclose(found, other, rtol=1e-2, atol=1e-2)
out, lse = flashtile.paged_attention(q, pages, None, table, lengths, values_in_keys=16, return_lse=True)
assert out.shape == (B, HQ, SQ, 16) and lse.shape == (B, HQ, SQ)
raises("expected either v_pages or values_in_keys, found both", flashtile.paged_attention, q, pages, values, table, lengths, values_in_keys=DV)
raises("expected either v_pages or values_in_keys, found none", flashtile.paged_attention, q, pages, None, table, lengths)
raises("expected values of at most the 40 columns", flashtile.paged_attention, q, pages, None, table, lengths, values_in_keys=41)


def keys_of(b):
    return pages[table[b], 0].reshape(-1, D)[: lengths[b]]


def masked(b, mask):
    """The output of sequence b by NumPy, where query i sees the keys mask[i]."""
    keys = keys_of(b).astype(np.float64)
    s = np.where(mask, q[b] @ keys.T / np.sqrt(D), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ keys[:, :DV]


# A tree of five tokens: each sees its ancestors and itself.
parents = [None, 0, 0, 1, 2]
tree = np.eye(SQ, dtype=bool)
for i, parent in enumerate(parents):
    if parent is not None:
        tree[i] |= tree[parent]
words = (tree << np.arange(SQ)).sum(-1).astype(np.int32)
draft = np.broadcast_to(words[None, :, None], (B, SQ, 1)).copy()
found = flashtile.paged_attention(q, pages, values, table, lengths, draft=draft)
for b in range(B):
    mask = np.concatenate([np.ones((SQ, lengths[b] - SQ), bool), tree], 1)
    assert np.allclose(found[b], masked(b, mask), rtol=1e-4, atol=1e-5)
# The twin: without the draft's mask, and with another's.
assert not np.allclose(found, flashtile.paged_attention(q, pages, values, table, lengths), rtol=1e-2, atol=1e-2)
assert not np.allclose(found, flashtile.paged_attention(q, pages, values, table, lengths, draft=draft[:, ::-1].copy()), rtol=1e-2, atol=1e-2)
# Packed queries over pages, with more words than are needed.
offsets = np.arange(0, B * SQ + 1, SQ, dtype=np.int32)
packed = np.ascontiguousarray(q.transpose(0, 2, 1, 3).reshape(B * SQ, HQ, D))
more = np.concatenate([draft.reshape(-1, 1), np.full((B * SQ, 1), -1, np.int32)], 1)
again = flashtile.paged_attention(packed, pages, values, table, lengths, cu_seqlens_q=offsets, draft=more)
assert np.allclose(again.reshape(B, SQ, HQ, DV).transpose(0, 2, 1, 3), found, rtol=1e-5, atol=1e-6)
raises("expected a draft of shape (3, 5, 1) or more words, found (3, 4, 1)", flashtile.paged_attention, q, pages, values, table, lengths, draft=draft[:, 1:].copy())
raises("expected draft of int32", flashtile.paged_attention, q, pages, values, table, lengths, draft=draft.astype(np.int64))

# The same bits in any batch.
def decode(sequences, **how):
    """One query of each of `sequences`."""
    return flashtile.paged_attention(
        q[sequences, :, :1].copy(), pages, values, table[sequences].copy(), lengths[sequences].copy(), **how
    )


alone = decode([0], split_keys=16)
for sequences in ([0, 1], [2, 1, 0], [1] * 16 + [0]):
    assert np.array_equal(decode(sequences, split_keys=16)[sequences.index(0)], alone[0])
assert not np.array_equal(decode([0], split_keys=24), alone)
raises("expected split_keys of 1 or more, found 0", decode, [0], split_keys=0)
print("right")
