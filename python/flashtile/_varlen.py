# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.varlen_attention: sequences of different lengths, one behind the other."""

from . import _structs as fa
from ._attention import describe, plan_of
from ._plan import Launch
from ._tensor import NAMES, Tensor, address, choose_stream, empty_like, facts, row_major, tensor

# As _attention._launches.
_launches = {}
_MOST_LAUNCHES = 1024


def _check(name, found, rank, type=None):
    if len(found.shape) != rank:
        raise ValueError(f"expected {name} of {rank} dimensions, found the shape {found.shape}")
    if type is not None and found.type != type:
        raise ValueError(f"expected {name} of {NAMES[type]}, found {NAMES[found.type]}")


def _prepare(options, tensors, given):
    """The launch of a call. `tensors` are q, k, v, the offsets of queries and of
    keys and what is `given`, as `Tensor`; an out is the last one."""
    q, k, v, offsets, key_offsets, *optional = tensors
    for name, array in zip("qkv", (q, k, v)):
        _check(name, array, 3)
    for name, array in (("cu_seqlens_q", offsets), ("cu_seqlens_k", key_offsets)):
        _check(name, array, 1, fa.I32)
    (total, hq, d), dv = q.shape, v.shape[2]
    members, scale = describe(options, d)
    members.update(type=q.type, headDim=d, headDimV=dv, hasOffsets=1, hasKeyOffsets=1)
    out = optional.pop() if "out" in given else None
    members.update((member, 1) for member in given if member != "out")
    shape = total, hq, dv
    if out is None:
        out = Tensor(None, q.type, shape, row_major(shape), 0, q.target)
    elif not out.writable:
        raise ValueError("expected an out that can be written, found a read-only one")
    _check("out", out, 3)
    heads_first = [array.permuted(1, 0, 2) for array in (q, k, v, out)]
    outputs = heads_first[3:]
    if options[-1]:
        outputs.append(Tensor(None, fa.F32, (hq, total), row_major((hq, total)), 0, q.target))
    inputs = [*heads_first[:3], *optional, offsets, key_offsets, scale]
    return Launch(plan_of(q.target, tuple(members.items())), inputs + outputs, shape)


def varlen_attention(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k=None,
    *,
    causal=False,
    window=None,
    prefix=None,
    softcap=0.0,
    scale=None,
    alibi_slopes=None,
    sink=None,
    score_mod=None,
    mask_mod=None,
    precision="ieee",
    return_lse=False,
    out=None,
    stream=None,
):
    """`flashtile.attention` of each of several sequences of any lengths, which lie
    one behind the other, without padding.

    q [rows, hq, d], k [key rows, hkv, d], v [key rows, hkv, dv] with any strides.
    cu_seqlens_q, cu_seqlens_k: int32 [b + 1], beside the others: sequence n has the
    rows cu_seqlens_q[n] to cu_seqlens_q[n + 1] - 1 and keys likewise; without the
    latter as many keys as queries. They are read where they are when the kernel
    runs: no launch waits for them, and a captured graph may be replayed with other
    ones. They ascend from 0 or more to at most the rows; what they cannot be is
    not seen, but nothing outside of the arrays is touched.

    The rest is as in `flashtile.attention`, of each sequence by itself: a query of
    n counts from its first row, and causal is of the bottom right of its own
    queries and keys.

    Returns the output [rows, hq, dv], `out` if it is given; with return_lse also
    the log-sum-exp, float32 [hq, rows]. Rows that belong to no sequence are not
    written. There are no gradients of packed sequences: arrays that require one
    are a ValueError.
    """
    arrays, given = [q, k, v, cu_seqlens_q, cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k], ()
    for member, array in (("hasAlibi", alibi_slopes), ("hasSink", sink), ("out", out)):
        if array is not None:
            given += (member,)
            arrays.append(array)
    window = None if window is None else tuple(window)
    options = causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, 0.0, "bhsd", return_lse
    known = tuple(facts(array) for array in arrays)
    key = None if None in known else (options, given, known)
    launch = _launches.get(key)
    if launch:
        addresses = [address(array) for array in arrays]
    else:
        if any(getattr(array, "requires_grad", False) for array in arrays):
            raise ValueError("expected no array that requires a gradient: of packed sequences none is derived")
        described = [tensor(array) for array in arrays]
        launch = _prepare(options, described, given)
        addresses = [array.data for array in described]
        if key:
            if len(_launches) >= _MOST_LAUNCHES:
                _launches.clear()
            _launches[key] = launch
    # Of a launch: q, k, v, what is optional, the offsets, the results.
    last = [addresses.pop()] if out is not None else []
    addresses = addresses[:3] + addresses[5:] + addresses[3:5] + last
    if out is None:
        out = empty_like(q, launch.shape, None)
        addresses.append(address(out))
    if return_lse:
        total, hq, _ = launch.shape
        lse = empty_like(q, (hq, total), NAMES[fa.F32])
        addresses.append(address(lse))
    owner = None
    if launch.target != "cpu":
        stream, owner = choose_stream(q, stream)
    launch(addresses, stream, owner)
    return (out, lse) if return_lse else out
