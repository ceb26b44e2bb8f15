# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of blocks of keys that are made of a mask_mod, where it comes without a
BlockMask.

A mask that captures no tensor is known by its key and by sizes for ever, so that its
blocks are looked at once. What one that captures tensors says may be another thing at
each call: its lists are a BlockMask's, whose owner says when that is made anew.
"""

import torch

from ._blocks import ABSENT, Tables, are_walked, can_be_looked_at, empty, finish, is_capturing, kinds_of, lists_of_kinds

_BLOCKS = 128, 64  # of as many queries and keys: the first that divides both
_LEAST_KEYS = 512
_MOST = 256

# Lists by what they are made of, None where no list is shorter than what is walked
# without; and those that graphs read, whose end is not known.
_made, _read_by_graphs = {}, []


def _count_between(is_seen, has_lower, has_upper):
    """How many blocks lie between the bounds that a kernel has of the keys of each
    block of queries, if these are as narrow as they may be."""
    columns = is_seen.shape[-1]
    place = torch.arange(columns, device=is_seen.device)
    first = torch.where(is_seen, place, columns).amin(-1)
    last = torch.where(is_seen, place, -1).amax(-1)
    begin = first if has_lower else torch.zeros_like(first)
    end = last + 1 if has_upper else torch.full_like(last, columns)
    return (end - begin).clamp(min=0).sum()


def _make(mask_mod, sizes, block_size, device, *bounds):
    kinds = kinds_of(mask_mod, sizes, block_size, device)
    is_seen = kinds != ABSENT
    is_shorter = bool(is_seen.sum() < _count_between(is_seen, *bounds))
    lists = lists_of_kinds(kinds) if is_shorter else None
    finish(device)
    return lists


def tables_for(mods, call, sizes, device):
    """(Tables, size of blocks) with lists of the blocks of the mask of `mods`, whose
    `call` has none; None where it walks as few as it may without."""
    mask_key, mask_tensors = mods.mask_known
    if mask_key is None or mask_tensors or not call.is_kept or sizes["j"] < _LEAST_KEYS:
        return None
    lengths = sizes["i"], sizes["j"]
    block = next((size for size in _BLOCKS if are_walked(lengths, (size, size))), None)
    if block is None or call.of_mask["mask"] != "elements":
        return None
    bounds = call.of_mask["has_lower_bound"], call.of_mask["has_upper_bound"]
    of_one = [sizes[letter] if letter in call.mask_letters else 1 for letter in "bh"]
    looked_at, block_size = (*of_one, *lengths), (block, block)
    known = mask_key, bounds, looked_at, device
    if known not in _made:
        if is_capturing(device) or not can_be_looked_at(looked_at, block, device):
            return None
        if len(_made) >= _MOST:
            empty(_made, device)
        with torch.inference_mode(False), torch.no_grad():
            _made[known] = _make(mods.mask, looked_at, block_size, device, *bounds)
    lists = _made[known]
    if lists is None:
        return None
    if is_capturing(device) and not any(lists is read for read in _read_by_graphs):
        _read_by_graphs.append(lists)
    return Tables(None, lists), block_size
