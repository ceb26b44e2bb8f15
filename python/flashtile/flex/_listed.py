# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of blocks that are made of a mask_mod, where it comes without a BlockMask.

What a mask that captures no tensor says is known by its key and by sizes, and its lists
are kept. Of one that captures tensors they are made at each call, of what these are
then; whether that pays is decided once for tensors at an address, and is no question of
being right.
"""

import math

import torch

from ._blocks import Tables, Walked, are_walked, empty, finish, is_capturing
from ._kinds import ABSENT, FULL

_BLOCKS = 128, 64  # of as many queries and keys: the first that divides both
_LEAST = 512
_MOST = 1024
_MOST_IMAGES = 65535  # batches times heads, which are one dimension of a grid

# What is walked is counted in products of a block, beside which the elements of a mask
# take as long. Lists may take a fifth more than a loop that is not bounded on both sides,
# and at each call on a card as long as so many blocks
# (bench/results/2026-11-28-h200-flex-own.md).
_MASK, _MARGIN = 1, 0.8
_EACH_CALL = {"cuda": 5000, "cpu": 0}

# Lists of masks without tensors by what they are made of; those that graphs read, whose
# end is not known; whether lists pay, and keys grow.
_made, _read_by_graphs, _pays, _growing = {}, [], {}, {}


def _between(is_seen, has_lower, has_upper):
    """How many blocks lie between the bounds that a kernel has of the keys of each
    block of queries, if these are as narrow as they may be."""
    columns = is_seen.shape[-1]
    place = torch.arange(columns, device=is_seen.device)
    first = torch.where(is_seen, place, columns).amin(-1)
    last = torch.where(is_seen, place, -1).amax(-1)
    begin = first if has_lower else torch.zeros_like(first)
    end = last + 1 if has_upper else torch.full_like(last, columns)
    return (end - begin).clamp(min=0).sum().item()


def _do_pay(kinds, images, bounds, each_call):
    """Whether lists of these blocks take less than what is walked without. images: how
    many batches and heads there are of each of `kinds`."""
    is_seen = kinds != ABSENT
    full = (kinds == FULL).sum().item()
    without = images * _between(is_seen, *bounds) * (1 + _MASK)
    listed = images * (is_seen.sum().item() * (1 + _MASK) - full * _MASK)
    if each_call:
        listed += kinds.numel() * _MASK + _EACH_CALL[kinds.device.type]
    return listed < (without if all(bounds) else _MARGIN * without)


def _places(tensors):
    return tuple([x.data_ptr() for x in tensors])


class Listed:
    """The lists of a call's mask. block: of how many queries and keys. bounds: whether
    keys have a lower and an upper one without lists or, if they are `of_queries`,
    queries have."""

    def __init__(self, mods, block, bounds, of_queries, sizes, device):
        self._bounds, self._device, self._sizes, self.block = bounds, device, sizes, block
        self._of_queries, self._each_call = of_queries, bool(mods.mask_known[1])
        mask = mods.mask_known[0], _places(mods.mask_known[1])
        self._known = *mask, block, bounds, of_queries, *sizes.values(), device

    def may_pay(self):
        """False where that was decided, or cannot be now."""
        known = _pays.get(self._known)
        return not is_capturing(self._device) if known is None else known

    def lists(self, call, values):
        """What is `Walked`, by the values of the tables of `call`'s mask; None: that
        does not pay."""
        lead = [self._sizes[letter] if letter in call.mask_letters else 1 for letter in "bh"]
        if math.prod(lead) > _MOST_IMAGES:
            return None
        with torch.inference_mode(False), torch.no_grad():
            return (self._at_each_call if self._each_call else self._kept)(call, values, lead)

    def _decide(self, kinds):
        """Whether lists pay, which is kept. Other threads may do the same."""
        images = self._sizes["b"] * self._sizes["h"] // math.prod(kinds.shape[:2])
        kinds = kinds.transpose(2, 3) if self._of_queries else kinds
        if len(_pays) >= _MOST:
            _pays.clear()
        found = _pays[self._known] = _do_pay(kinds, images, self._bounds, self._each_call)
        return found

    def _kinds(self, call, values, lead):
        shape = *lead, self._sizes["i"] // self.block, self._sizes["j"] // self.block
        return call.kinds(self.block)(values, shape, self._device)

    def _at_each_call(self, call, values, lead):
        kinds, pays = self._kinds(call, values, lead), _pays.get(self._known)
        if pays is None:
            pays = self._decide(kinds)
        return Walked(kinds, (self.block, self.block), False) if pays else None

    def _kept(self, call, values, lead):
        lists = _made.get(self._known)
        if lists is None:
            if is_capturing(self._device):
                return None
            kinds = self._kinds(call, values, lead)
            if not self._decide(kinds):
                return None
            lists = Walked(kinds, (self.block, self.block), True)
            finish(self._device)
            if len(_made) >= _MOST:
                empty(_made, self._device)
            _made[self._known] = lists
        if is_capturing(self._device) and not any(lists is read for read in _read_by_graphs):
            _read_by_graphs.append(lists)
        return lists


def _bounds_of(call, mask_tensors, sizes, device):
    """Whether the keys of the mask have a lower and an upper bound; None where these are
    all of it."""
    if len(_growing) >= _MOST:
        _growing.clear()
    kept = _growing.setdefault(_places(mask_tensors), Tables(None, None, {}))
    said, growing = call.of_mask, call.growing_keys(mask_tensors, kept, sizes, device)
    if not all(growing):  # of several, those that do grow may be enough
        return any(growing), any(growing)
    return (said["has_lower_bound"], said["has_upper_bound"]) if said["mask"] == "elements" else None


def query_bounds_of(call):
    """Whether the queries that see a key have a lower and an upper bound; None where
    these are all of the mask."""
    said = call.of_mask
    if said["mask"] == "none" or said["queries"] == "intervals":
        return None
    return said["has_lower_query_bound"], said["has_upper_query_bound"]


def listed_of(mods, call, sizes, device, of_queries=False):
    """The `Listed` of the mask of `mods`, whose `call` has no lists: of keys or, for
    gradients of keys and values, of queries. None where `call` walks as few as it may
    without, its blocks cannot be walked, or mods have no key, so that each call would
    trace them again."""
    mask_key, mask_tensors = mods.mask_known
    lengths = sizes["i"], sizes["j"]
    is_known = mask_key is not None and mods.score_known[0] is not None and call.is_kept
    if not is_known or lengths[not of_queries] < _LEAST:
        return None
    block = next((size for size in _BLOCKS if are_walked(lengths, (size, size))), None)
    if not block:
        return None
    bounds = query_bounds_of(call) if of_queries else _bounds_of(call, mask_tensors, sizes, device)
    if bounds is None:
        return None
    listed = Listed(mods, block, bounds, of_queries, sizes, device)
    return listed if listed.may_pay() else None
