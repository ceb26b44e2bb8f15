# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of a BlockMask say: which blocks of keys queries see at all.

A block that is listed as partial is seen where mask_mod says so, a full one
whole, and one that is not listed nowhere. create_block_mask lists what its
mask_mod says; from_kv_blocks may list less, as top-k selections of blocks do.
What is listed is also what a kernel walks, where the mask itself is no list of
intervals of keys.
"""

import itertools
import typing
import weakref

import torch
from torch.nn.attention.flex_attention import create_mask, noop_mask

from ._keys import key_of
from ._kinds import ABSENT, FULL, PARTIAL, lists_of
from ._translate import Table

# Elements of a mask that is looked at, at a time and in all: on a CPU, a second or
# less, and on a card.
_CHUNK = 1 << 24
_MOST_CHECKED = {"cpu": _CHUNK, "cuda": 1 << 30}
_MULTIPLE = 64  # of the sizes of blocks that kernels walk

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


class Lists:
    """Which blocks of keys are walked, as two tables that no region reads:
    tile.block_lists of docs/generated/attributes.md. block_size: of queries and
    keys. are_partial: there is a mask that the BlockMask does not know, so that no
    block is seen whole."""

    def __init__(self, block_size):
        self.reads_values = self.are_partial = False
        self.block_size = block_size
        self.tables = [Table(self, step, torch.int32, (-1,) * 4) for step in range(2)]

    def evaluate(self, tensors, sizes, device):
        return expanded(tensors, sizes["b"], sizes["h"], self.are_partial)


def expanded(lists, b, h, are_partial):
    """(blocks, counts) of so many batches and heads; are_partial: no block is seen
    whole."""
    blocks, counts = lists
    if are_partial:
        counts = torch.nn.functional.pad(counts[..., 1:], (1, 0))
    return [x.expand(b, h, -1, -1) for x in (blocks, counts)]


class Walked:
    """Lists of the blocks of `kinds`, int32 [b or 1, h or 1, blocks of queries, blocks of
    keys]. block_size: of queries and keys. is_kept: calls to come walk them, too."""

    def __init__(self, kinds, block_size, is_kept):
        self.kinds, self.block_size = kinds, block_size
        self._is_kept, self._made = is_kept, {}

    def keys(self):
        """(blocks, counts) of tile.block_lists, of one or all batches and heads."""
        return self._list("keys", lambda: self.kinds)

    def queries(self, heads, kv_heads):
        """Those of tile.query_lists, of one or all batches and KV heads."""

        def turned():
            group = heads // kv_heads
            if self.kinds.shape[1] == 1:
                each = self.kinds.unsqueeze(1).expand(-1, -1, group, -1, -1)
            else:
                each = self.kinds.unflatten(1, (kv_heads, group))
            return each.permute(0, 1, 4, 2, 3).flatten(3).contiguous()

        return self._list((heads, kv_heads), turned)

    def _list(self, known, kinds):
        found = self._made.get(known)
        if found is None:
            with torch.inference_mode(False), torch.no_grad():
                found = lists_of(kinds())
            if self._is_kept and not is_capturing(self.kinds.device):
                finish(self.kinds.device)
                self._made[known] = found
        return found


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


def _chunks(mask, b, h, q, k, rows):
    """(where, what is seen there), of all that `mask` says: where are slices of
    batches, heads and blocks of `rows` queries, and what is seen is bool."""
    device = mask.kv_num_blocks.device
    if b * h * q * k <= _CHUNK:
        yield ..., create_mask(mask.mask_mod, b, h, q, k, device)
        return
    most = max(_CHUNK // k // rows, 1)  # blocks
    for batch, head, first in itertools.product(range(b), range(h), range(0, -(-q // rows), most)):
        begin, end = first * rows, min((first + most) * rows, q)
        at = lambda b, h, i, j: mask.mask_mod(b + batch, h + head, i + begin, j)
        where = slice(batch, batch + 1), slice(head, head + 1), slice(first, first + most)
        yield where, create_mask(at, 1, 1, end - begin, k, device)


def _is_implied(mask, kinds):
    """Whether mask_mod alone says all that the tables do."""
    if mask.mask_mod is noop_mask:
        return bool((kinds != ABSENT).all())
    (b, h, _, _), (q, k), (rows, columns) = kinds.shape, mask.seq_lengths, mask.BLOCK_SIZE
    if b * h * q * k > _MOST_CHECKED.get(kinds.device.type, 0) or rows * k > _CHUNK:
        return False
    blocks = lambda x: x.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows))
    for where, seen in _chunks(mask, b, h, q, k, rows):
        padding = (0, -k % columns, 0, -seen.shape[-2] % rows)
        some = blocks(torch.nn.functional.pad(seen, padding)).any(-1).any(-2)
        every = blocks(torch.nn.functional.pad(seen, padding, value=True)).all(-1).all(-2)
        kind = kinds[where]
        if not bool((((kind != ABSENT) | ~some) & ((kind != FULL) | every)).all()):
            return False
    return True


def are_walked(lengths, block_size):
    """Whether kernels walk such blocks of so many queries and keys."""
    return lengths[1] > 0 and not any(size % block or block % _MULTIPLE for size, block in zip(lengths, block_size))


def _state(mask, key, captured):
    """What `Tables` depend on; None where not all of that can be known."""
    tensors = mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices, *captured
    given = [tensor for tensor in tensors if tensor is not None]
    if key is None or any(tensor.is_inference() for tensor in given):  # which have no versions
        return None
    versions = [(tensor._version, tensor.data_ptr()) for tensor in given]
    return (key, mask.BLOCK_SIZE, mask.seq_lengths, versions), given


def _is_same(state, other):
    return state[0] == other[0] and all(x is y for x, y in zip(state[1], other[1]))


class Tables(typing.NamedTuple):
    """What tables say. kinds: of the blocks, or None where mask_mod says the same by
    itself. lists: what is `Walked`, or None. kept and repeats:
    dictionaries for what calls compute of the mask and for their launches, or None
    where that is right for one call alone."""

    kinds: typing.Optional[torch.Tensor]
    lists: typing.Optional[Walked]
    kept: typing.Optional[dict] = None
    repeats: typing.Optional[dict] = None


class _Known(typing.NamedTuple):
    """What is known of a BlockMask. captured: Tables that a graph may read."""

    state: tuple
    tables: Tables
    captured: list


def is_capturing(device):
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _walked(mask, kinds, is_kept):
    return Walked(kinds, mask.BLOCK_SIZE, is_kept) if are_walked(mask.seq_lengths, mask.BLOCK_SIZE) else None


def _as_given(mask):
    kinds = _kinds(mask)
    return Tables(kinds, _walked(mask, kinds, False))


@torch.inference_mode(False)  # training may be next
@torch.no_grad()
def _looked_at(mask):
    kinds = _kinds(mask)
    tables = Tables(None if _is_implied(mask, kinds) else kinds, _walked(mask, kinds, True), {}, {})
    finish(kinds.device)
    return tables


def finish(device):
    """What was computed is there for calls on other streams, too."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def empty(kept, device):
    """Clears a dictionary of tensors when no launch reads them any more."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    kept.clear()


def tables_of(mask, mod_known=None):
    """The Tables of a BlockMask; mod_known: `key_of` its mask_mod. Looked at once,
    and again when something of it has changed. A graph that is captured may read them
    as long as the mask is there."""
    state = _state(mask, *(mod_known or key_of(mask.mask_mod)))
    if state is None:
        return _as_given(mask)
    known = _known.get(mask)
    is_known = known is not None and _is_same(known.state, state)
    if is_capturing(mask.kv_num_blocks.device):
        if not is_known:
            return _as_given(mask)
        if not any(known.tables is tables for tables in known.captured):
            known.captured.append(known.tables)
    if not is_known:
        known = _known[mask] = _Known(state, _looked_at(mask), known.captured if known else [])
    return known.tables
