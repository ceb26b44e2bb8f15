# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.append: keys and values of new tokens into a cache."""

import functools

from . import _structs as fa
from ._attention import context_of
from ._plan import Launch, Launches
from ._tensor import NAMES

_launches = Launches()
_ROPE = {None: 0, "interleaved": 1, "halves": 2}


@functools.lru_cache(maxsize=1024)
def _plan(target, members):
    return context_of(target).append(fa.AppendDesc(**dict(members)))


def _check(name, found, rank, *types):
    if len(found.shape) != rank:
        raise ValueError(f"expected {name} of {rank} dimensions, found the shape {found.shape}")
    if types and found.type not in types:
        expected = " or ".join(NAMES[type] for type in types)
        raise ValueError(f"expected {name} of {expected}, found {NAMES[found.type]}")


def _prepare(tensors, rope, has_queries, pages):
    """The launch of a call, whose arrays are `tensors`."""
    k, v, slots, *caches = tensors[:5]
    for name, rows in (("k", k), ("v", v)):
        _check(name, rows, 3)
    _check("slots", slots, 1, fa.I64)
    for name, cache in zip(("k_cache", "v_cache"), caches):
        _check(name, cache, 4, k.type)
        if not cache.writable:
            raise ValueError(f"expected a {name} that can be written, found a read-only one")
    if pages == "nhd":
        caches = [cache.permuted(0, 2, 1, 3) for cache in caches]
    members = {"type": k.type, "headDim": k.shape[2], "headDimV": v.shape[2], "rope": _ROPE[rope]}
    if rope:
        positions, cos, sin, *q = tensors[5:]
        _check("positions", positions, 1, fa.I32, fa.I64)
        for name, table in (("cos", cos), ("sin", sin)):
            _check(name, table, 2, fa.F32, k.type)
        members.update(rotaryDim=2 * cos.shape[1], tableType=cos.type)
        members.update(hasWidePositions=int(positions.type == fa.I64), hasQueries=int(has_queries))
        if has_queries:
            _check("q", q[0], 3, k.type)
            if not q[0].writable:
                raise ValueError("expected a q that can be written, found a read-only one")
    return Launch(_plan(k.target, tuple(members.items())), [k, v, slots, *caches, *tensors[5:]])


def append(
    k,
    v,
    k_cache,
    v_cache,
    slots,
    *,
    rope=None,
    positions=None,
    cos=None,
    sin=None,
    q=None,
    pages="hnd",
    stream=None,
):
    """Writes keys and values of new tokens into a cache, rotated if asked for.

    k [tokens, hkv, d], v [tokens, hkv, dv]. k_cache [pages, hkv, page, d], v_cache
    [pages, hkv, page, dv] with any strides; with pages="nhd" the second and third
    dimensions change places. slots: int64 [tokens]: token n goes to row
    slots[n] % page of page slots[n] // page; -1 keeps it nowhere. A cache without
    pages, [b, hkv, rows, d], has b of them. No two tokens have the same slot.

    rope: "halves" (elements i and i + rotary / 2 are a pair, as GPT-NeoX has it) or
    "interleaved" (2i and 2i + 1, as GPT-J has it), with positions, int32 or int64
    [tokens], and cos and sin [positions, rotary / 2], float32 or of k's type;
    columns from rotary on stay as they are. q [tokens, hq, d] is rotated by the
    same positions, where it is.

    Slots and positions are read when the launch runs, so that a captured graph sees
    new ones. A slot that there is not is written nowhere.
    """
    if rope not in _ROPE:
        raise ValueError(f"expected rope None, 'halves' or 'interleaved', found {rope!r}")
    if pages not in ("hnd", "nhd"):
        raise ValueError(f"expected pages 'hnd' or 'nhd', found {pages!r}")
    rotation = {"positions": positions, "cos": cos, "sin": sin}
    for name, array in rotation.items():
        if (array is None) == bool(rope):
            raise ValueError(f"expected {name} beside rope and not without, found rope {rope!r}")
    if q is not None and not rope:
        raise ValueError("expected rope beside q, which is rotated, found None")
    arrays = [k, v, slots, k_cache, v_cache]
    if rope:
        arrays += [positions, cos, sin]
    if q is not None:
        arrays.append(q)
    kind = rope, q is not None, pages
    launch, addresses = _launches.get(kind, arrays)
    if launch is None:
        if any(getattr(array, "requires_grad", False) for array in arrays):  # no launch that is known has such
            raise ValueError("expected no array that requires a gradient: of an append none is derived")
        launch, addresses = _launches.add(kind, arrays, lambda tensors: _prepare(tensors, rope, q is not None, pages))
    launch.run(addresses, k, stream)
