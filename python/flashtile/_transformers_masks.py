# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks of Hugging Face's transformers as attention's own arguments: a causal
mask, a window, lengths, or the keys from a first to a last one of each query.

`make` is what transformers calls once a forward pass for each kind of layer; the
attention of every such layer reads what it gives.
"""

import torch
from torch.nn.attention.flex_attention import BlockMask
from transformers import masking_utils
from transformers.utils.import_utils import is_tracing


class Mask(BlockMask):
    """A mask [b, 1, sq, sk] that is not written out.

    A BlockMask, for that is what transformers hands on without a look into it.
    causal, window, lengths, key_ranges: as flashtile.attention has them; what all
    of them let pass is seen.
    """

    def __init__(self, shape, *, causal=False, window=None, lengths=None, key_ranges=None):
        self._shape = tuple(shape)
        self.causal, self.window, self.lengths, self.key_ranges = causal, window, lengths, key_ranges

    @property
    def shape(self):
        return self._shape

    def options(self):
        """As arguments of flashtile.torch.attention."""
        return dict(causal=self.causal, window=self.window, lengths=self.lengths, key_ranges=self.key_ranges)

    def to(self, device):
        move = lambda x: None if x is None else x.to(device)
        ranges = None if self.key_ranges is None else tuple(map(move, self.key_ranges))
        return Mask(self._shape, causal=self.causal, window=self.window, lengths=move(self.lengths), key_ranges=ranges)

    def to_dense(self):
        """As a boolean tensor [b, 1, sq, sk], where the mask's own tensors are."""
        b, _, sq, sk = self._shape
        tensors = [x for x in (self.lengths, *(self.key_ranges or ())) if x is not None]
        device = tensors[0].device if tensors else None
        i = torch.arange(sq, device=device)[:, None] + (sk - sq)
        j = torch.arange(sk, device=device)
        seen = torch.ones(b, 1, sq, sk, dtype=torch.bool, device=device)
        left, right = self.window or (None, None)
        if left is not None:
            seen &= j >= i - left
        if right is not None:
            seen &= j <= i + right
        if self.causal:
            seen &= j <= i
        if self.lengths is not None:
            seen &= j < self.lengths.view(b, 1, 1, 1)
        if self.key_ranges is not None:
            first, last = (x[:, None, :, None] for x in self.key_ranges)
            seen &= (first <= j) & (j < last)
        return seen

    def __getitem__(self, index):
        raise TypeError(f"expected that a mask of flashtile's goes to the attention whole, found a part of it: {index}")

    def __repr__(self):
        return f"flashtile.transformers.Mask({self._shape}, {self.options()})"

    __str__ = __repr__


# What transformers' functions of masks are known by: the closures that one
# function makes have its code.
_AND = masking_utils.and_masks().__code__
_WINDOW = masking_utils.sliding_window_overlay(1).__code__
_BOTH_SIDES = masking_utils.sliding_window_bidirectional_overlay(1).__code__


def bounds_of(function):
    """(left, right), if query i sees the keys i - left to i + right and no others,
    None being no bound; None of a function that is not known."""
    if function is masking_utils.causal_mask_function:
        return None, 0
    if function is masking_utils.bidirectional_mask_function:
        return None, None
    code = getattr(function, "__code__", None)
    if code not in (_AND, _WINDOW, _BOTH_SIDES):
        return None
    captured = dict(zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__)))
    if code is _WINDOW:
        return captured["sliding_window"] - 1, None
    if code is _BOTH_SIDES:
        return captured["sliding_window"], captured["sliding_window"]
    parts = [bounds_of(part) for part in captured["mask_functions"]]
    if None in parts:
        return None
    return tuple(min((x for x in side if x is not None), default=None) for side in zip(*parts))


def _intervals(seen):
    """First and last key, the latter not seen, of each row of a boolean tensor, and
    whether it is one interval."""
    starts = seen.clone()
    starts[..., 1:] &= ~seen[..., :-1]
    first = seen.int().argmax(-1).int()
    return first, first + seen.sum(-1, dtype=torch.int32), starts.sum(-1) <= 1


def _from_dense(seen):
    """Any boolean mask [b, 1, sq, sk]: by its intervals where its rows are that."""
    first, last, single = _intervals(seen)
    if is_tracing(seen) or not single.all():
        return seen
    return Mask(seen.shape, key_ranges=(first[:, 0], last[:, 0]))


def _bounded(rows, bounds, padding, shape):
    """first and last, int32 [b, sq], of queries at the places `rows` among the
    keys. padding: the same of each batch's keys, [b], or None."""
    b, _, sq, sk = shape
    left, right = bounds
    first = torch.zeros_like(rows) if left is None else (rows - left).clamp(min=0)
    last = torch.full_like(rows, sk) if right is None else (rows + right + 1).clamp(max=sk)
    if padding is not None:
        first, last = torch.maximum(first, padding[0][:, None]), torch.minimum(last, padding[1][:, None])
    return tuple(x.expand(b, sq).int() for x in (first, last))


def make(
    batch_size,
    q_length,
    kv_length,
    q_offset=0,
    kv_offset=0,
    mask_function=masking_utils.causal_mask_function,
    attention_mask=None,
    allow_is_causal_skip=True,
    allow_is_bidirectional_skip=False,
    **rest,
):
    """The mask of queries q_offset + i on keys kv_offset + j, as transformers asks
    for it: a Mask; None where that is the module's is_causal alone, as with SDPA;
    or a boolean tensor, where some query sees keys in more than one piece or a
    graph is traced that must not depend on elements.

    A padding mask is looked at, which waits for the device, once a call.
    """
    shape = batch_size, 1, q_length, kv_length
    bounds, padding = bounds_of(mask_function), None
    traced = attention_mask is not None and is_tracing(attention_mask)

    def written_out():
        seen = masking_utils.sdpa_mask(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            **{**rest, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False},
        )
        return _from_dense(seen)

    if bounds is None or traced:
        return written_out()
    if attention_mask is not None:
        kept = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
        first, last, single = _intervals(kept[:, kv_offset : kv_offset + kv_length])
        facts = torch.stack([single.all(), (last - first == kv_length).all(), (first == 0).all()])
        single, unpadded, is_right = facts.tolist()
        if not single:
            return written_out()
        padding = None if unpadded else (first, last)

    left, right = bounds
    shift = q_offset - kv_offset  # where query 0 is among the keys
    if isinstance(shift, torch.Tensor) or shift != kv_length - q_length:
        device = rest.get("device", "cpu")
        rows = torch.arange(q_length, device=device)[None] + shift
        ranges = _bounded(rows, bounds, padding, shape)
        if q_length == 1 and left is None and (padding is None or is_right):
            return Mask(shape, lengths=ranges[1][:, 0])
        return Mask(shape, key_ranges=ranges)

    causal = right == 0 and q_length > 1
    left = None if left is None or left >= kv_length - 1 else left
    right = None if right is None or right >= kv_length - 1 or right == 0 else right
    window = None if left is None and right is None else (left, right)
    if padding is None and window is None:
        skip = allow_is_bidirectional_skip if bounds == (None, None) else allow_is_causal_skip
        if skip and (not causal or q_length == kv_length):
            return None
    how = dict(causal=causal, window=window)
    if padding is not None and is_right:
        how["lengths"] = padding[1]
    elif padding is not None:
        how["key_ranges"] = tuple(x[:, None].expand(batch_size, q_length) for x in padding)
    return Mask(shape, **how)
