"""Masks of transformers as flashtile describes them, beside the written-out ones
of transformers' own, element by element."""
import itertools

import torch
from transformers import masking_utils as m

import flashtile.transformers
from flashtile._transformers_masks import bounds_of, make

FUNCTIONS = {
    "causal": m.causal_mask_function,
    "full": m.bidirectional_mask_function,
    "window": m.sliding_window_causal_mask_function(4),
    "both sides": m.sliding_window_bidirectional_mask_function(3),
}
KNOWN = {"causal": (None, 0), "full": (None, None), "window": (3, 0), "both sides": (3, 3)}
for name, function in FUNCTIONS.items():
    assert bounds_of(function) == KNOWN[name], (name, bounds_of(function))
other = m.and_masks(m.causal_mask_function, lambda b, h, i, j: j != 2)
assert bounds_of(other) is None and bounds_of(m.or_masks(m.causal_mask_function)) is None


def padding(kind, b, n):
    """Which of n tokens are tokens, as transformers has it."""
    count = torch.tensor([n, n - 3, n - 1, max(n - 7, 1)])[:b, None]
    j = torch.arange(n)[None]
    if kind == "right":
        return j < count
    if kind == "left":
        return j >= n - count
    if kind == "holes":
        return (j % 5 != 3) | (count == n)
    return None if kind is None else torch.ones(b, n, dtype=torch.bool)


def compare(kind, **how):
    """The mask that is made, after it was compared; None is checked for what SDPA
    makes of it."""
    wide = m.sdpa_mask(**{**how, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})
    found = make(**how)
    if found is None:
        i, j = torch.arange(how["q_length"])[:, None], torch.arange(how["kv_length"])
        causal = how["mask_function"] is not FUNCTIONS["full"] and how["q_length"] > 1
        dense = (j <= i if causal else torch.ones_like(j <= i)).expand(wide.shape)
    else:
        dense = found if isinstance(found, torch.Tensor) else found.to_dense()
    assert dense.dtype == torch.bool and torch.equal(dense, wide.expand(dense.shape)), (kind, how, found)
    return found


def all_places():
    """Queries among keys: without a cache, a grown one, one that keeps a window,
    and static ones, whose offset is a tensor or a number."""
    yield 12, 12, 0, 0, 12
    yield 1, 13, 12, 0, 13
    yield 5, 17, 12, 0, 17
    yield 1, 4, 12, 9, 13
    yield 12, 16, torch.tensor(0), 0, 12
    yield 1, 16, torch.tensor(12), 0, 13
    yield 3, 16, 9, 0, 12


kinds = set()
for name, place, pad in itertools.product(FUNCTIONS, all_places(), (None, "none", "right", "left", "holes")):
    q_length, kv_length, q_offset, kv_offset, seen = place
    how = dict(batch_size=4, q_length=q_length, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset)
    how.update(mask_function=FUNCTIONS[name], attention_mask=padding(pad, 4, seen))
    how.update(allow_is_causal_skip=name != "full" and name != "both sides", allow_is_bidirectional_skip=name == "full")
    found = compare((name, place, pad), **how)
    kinds.add(type(found).__name__)
    if place[0] == place[1] and pad in (None, "none") and name in ("causal", "full"):
        assert found is None, (name, found)
    if place[0] == place[1] and pad == "right":  # cheap ones stay cheap
        assert found.lengths is not None and found.key_ranges is None, (name, found)
        assert found.causal == (name in ("causal", "window")), (name, found)
    if place[:2] == (1, 16) and name in ("causal", "full") and pad != "left" and pad != "holes":
        assert found.lengths is not None and found.key_ranges is None, (name, found)
    if pad == "holes" and place[0] > 1:
        assert isinstance(found, torch.Tensor), (name, found)
assert kinds == {"NoneType", "Mask", "Tensor"}, kinds

# Functions that are not known: documents that are packed, chunks, a prefix, and one with a hole.
documents = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2]] * 4)
packed = m.and_masks(m.causal_mask_function, m.packed_sequence_mask_function(documents))
chunked = m.chunked_causal_mask_function(5, torch.tensor([0, 1, 2, 0]))
prefix = m.or_masks(m.causal_mask_function, lambda b, h, i, j: j < 4)
for function, kind in ((packed, "Mask"), (chunked, "Mask"), (prefix, "Mask"), (other, "Tensor")):
    found = compare(kind, batch_size=4, q_length=12, kv_length=12, mask_function=function, allow_is_causal_skip=False)
    assert type(found).__name__ == kind, (found, kind)

# The twins: one key more or less is found.
wrong = flashtile.transformers.Mask((1, 1, 4, 4), causal=True, window=(1, None)).to_dense()
right = m.sdpa_mask(1, 4, 4, mask_function=m.sliding_window_causal_mask_function(3), allow_is_causal_skip=False)
assert not torch.equal(wrong, right)
try:
    flashtile.transformers.Mask((1, 1, 4, 4))[:, :, :, :2]
except TypeError as found:
    assert "whole" in str(found)
else:
    raise AssertionError("expected that a part of a mask is refused")
print("right")
