# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of a BlockMask say: which blocks of keys queries see at all.

A block that is listed as partial is seen where mask_mod says so, a full one
whole, and one that is not listed nowhere. create_block_mask lists what its
mask_mod says; from_kv_blocks may list less, as top-k selections of blocks do.
"""

import weakref

import torch
from torch.nn.attention.flex_attention import create_mask, noop_mask

from ._keys import key_of
from ._translate import Table

ABSENT, PARTIAL, FULL = 0, 1, 2
_MOST_CHECKED = 1 << 24  # elements of a mask; a second or less

_known = weakref.WeakKeyDictionary()


class Blocks:
    """The tables of a BlockMask as one of `kinds`: int32 [B, H, blocks of queries,
    blocks of keys], where B and H may be 1."""

    def __init__(self, shape, block_size, build):
        self.reads_values = False
        table = Table(self, 0, torch.int32, shape)
        b, h, i, j = build.coordinates
        first = build.constant(0, "index")
        whole = [build.constant(size, "index") for size in block_size]
        place = [b if shape[0] > 1 else first, h if shape[1] > 1 else first]
        place += [build.divide_floor(x, size) for x, size in zip((i, j), whole)]
        kind = build.read(table, place)
        self.full = build.compare("eq", kind, build.constant(FULL, "index"))
        self.partial = build.compare("eq", kind, build.constant(PARTIAL, "index"))

    def evaluate(self, tensors, sizes, device):
        return tensors


def _listed(kinds, counts, indices, kind):
    """Writes `kind` where `indices`, of which the first `counts` are valid, say."""
    number = torch.arange(indices.shape[-1], device=indices.device)
    is_valid = number < counts.unsqueeze(-1)
    # One column more takes what is not valid.
    target = torch.where(is_valid, indices.long(), kinds.shape[-1] - 1)
    kinds.scatter_(-1, target, kind)


def _kinds(mask):
    lead = (1,) * (3 - mask.kv_num_blocks.dim())
    counts = mask.kv_num_blocks.reshape(lead + mask.kv_num_blocks.shape)
    columns = -(-mask.seq_lengths[1] // mask.BLOCK_SIZE[1])
    kinds = torch.zeros(*counts.shape, columns + 1, dtype=torch.int32, device=counts.device)
    _listed(kinds, counts, mask.kv_indices.reshape(lead + mask.kv_indices.shape), PARTIAL)
    if mask.full_kv_num_blocks is not None:
        counts = mask.full_kv_num_blocks.reshape(lead + mask.full_kv_num_blocks.shape)
        _listed(kinds, counts, mask.full_kv_indices.reshape(lead + mask.full_kv_indices.shape), FULL)
    return kinds[..., :columns].contiguous()


def _is_implied(mask, kinds):
    """Whether mask_mod alone says all that the tables do."""
    if mask.mask_mod is noop_mask:
        return bool((kinds != ABSENT).all())
    (b, h, _, _), (q, k), (rows, columns) = kinds.shape, mask.seq_lengths, mask.BLOCK_SIZE
    if b * h * q * k > _MOST_CHECKED:
        return False
    seen = create_mask(mask.mask_mod, b, h, q, k, kinds.device)
    padding = (0, -k % columns, 0, -q % rows)
    blocks = lambda x: x.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows))
    some = blocks(torch.nn.functional.pad(seen, padding)).any(-1).any(-2)
    every = blocks(torch.nn.functional.pad(seen, padding, value=True)).all(-1).all(-2)
    return bool(((kinds != ABSENT) | ~some).all() and ((kinds != FULL) | every).all())


def _state(mask):
    """What `kinds_of` depends on; None where not all of that can be known."""
    key, captured = key_of(mask.mask_mod)
    tensors = mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices, *captured
    given = [tensor for tensor in tensors if tensor is not None]
    if key is None or any(tensor.is_inference() for tensor in given):  # which have no versions
        return None
    return (key, mask.BLOCK_SIZE, mask.seq_lengths, [tensor._version for tensor in given]), given


def _is_same(state, other):
    return state[0] == other[0] and all(x is y for x, y in zip(state[1], other[1]))


def kinds_of(mask):
    """The kinds of a BlockMask's blocks, or None where its mask_mod says the same
    by itself. Looked at once, and again when something of it has changed."""
    state = _state(mask)
    if state is None:
        return _kinds(mask)
    known = _known.get(mask)
    if known is None or not _is_same(known[0], state):
        kinds = _kinds(mask)
        known = _known[mask] = state, None if _is_implied(mask, kinds) else kinds
    return known[1]
