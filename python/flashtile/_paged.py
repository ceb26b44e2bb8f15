# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.paged_attention: keys and values in pages that a table names."""

from . import _structs as fa
from ._attention import describe, four_dims, plan_of
from ._plan import Launch
from ._tensor import NAMES, Tensor, address, choose_stream, empty_like, facts, row_major, tensor

# As those of flashtile.attention.
_launches = {}
_MOST_LAUNCHES = 1024


def _prepare(options, pages, tensors, given):
    """The launch of a call. `tensors` are q, the pages of k and v, what is
    `given` in the order of a launch, the table, and an out if that is given."""
    layout, return_lse, out = options[-2], options[-1], None
    if "out" in given:
        *tensors, out = tensors
    if pages not in ("hnd", "nhd"):
        raise ValueError(f"expected pages 'hnd' or 'nhd', found {pages!r}")
    order = "bshd" if pages == "nhd" else "bhsd"
    q = four_dims("q", tensors[0], layout)
    k, v = (four_dims(n, t, order) for n, t in zip(("k_pages", "v_pages"), tensors[1:3]))
    for name, found in zip(("lengths", "block_table"), (tensors[3 + given.index("hasLengths")], tensors[-1])):
        rank = 2 if name == "block_table" else 1
        if found.type != fa.I32 or len(found.shape) != rank:
            kind = f"{NAMES[found.type]} of the shape {found.shape}"
            raise ValueError(f"expected {name} of int32 with {rank} dimensions, found {kind}")
    (b, hq, sq, d), dv = q.shape, v.shape[3]
    members, scale = describe(options, d)
    members.update(type=q.type, headDim=d, headDimV=dv, hasPages=1)
    members.update((member, 1) for member in given if member != "out")
    shape = (b, sq, hq, dv) if layout == "bshd" else (b, hq, sq, dv)
    if out is None:
        out = Tensor(None, q.type, shape, row_major(shape), 0, q.target)
    elif not out.writable:
        raise ValueError("expected an out that can be written, found a read-only one")
    arguments = [q, k, v, *tensors[3:], scale, four_dims("out", out, layout)]
    if return_lse:
        arguments.append(Tensor(None, fa.F32, (b, hq, sq), row_major((b, hq, sq)), 0, q.target))
    return Launch(plan_of(q.target, tuple(members.items())), arguments, shape)


def paged_attention(
    q,
    k_pages,
    v_pages,
    block_table,
    lengths,
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
    layout="bhsd",
    pages="hnd",
    return_lse=False,
    out=None,
    stream=None,
):
    """`attention` over keys and values in pages, without a copy of them.

    k_pages [n, hkv, page, d], v_pages [n, hkv, page, dv] with any strides, of any
    page size; with pages="nhd" the second and third dimensions change places.
    block_table: int32 [b, m], the pages of each sequence in order; lengths: int32
    [b], its keys, 0 to m · page. What lies behind a length, in pages or in the
    table, is not read. Both are read when the launch runs.

    The diagonal of causal, window and ALiBi is that of each sequence: query i is
    at key i + lengths[b] - sq. All else is as `attention` has it; gradients are
    not computed.
    """
    if lengths is None:
        raise ValueError("expected lengths, int32 [b], found None")
    arrays = [q, k_pages, v_pages]
    if any(getattr(array, "requires_grad", False) for array in arrays):
        raise ValueError("expected arrays that require no gradient: those of pages are not computed")
    optional = {"hasAlibi": alibi_slopes, "hasLengths": lengths, "hasSink": sink}
    given = tuple(member for member, array in optional.items() if array is not None)
    arrays += [optional[member] for member in given] + [block_table]
    if out is not None:
        given += ("out",)
        arrays.append(out)
    window = None if window is None else tuple(window)
    options = causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, 0.0, layout, return_lse
    known = tuple(facts(array) for array in arrays)
    key = None if None in known else (options, pages, given, known)
    launch = _launches.get(key)
    if launch:
        addresses = [address(array) for array in arrays]
    else:
        described = [tensor(array) for array in arrays]
        launch = _prepare(options, pages, described, given)
        addresses = [array.data for array in described]
        if key:
            if len(_launches) >= _MOST_LAUNCHES:
                _launches.clear()
            _launches[key] = launch
    if out is None:
        out = empty_like(q, launch.shape, None)
        addresses.append(address(out))
    if return_lse:
        b, x, y, _ = launch.shape
        lse = empty_like(q, (b, y, x) if layout == "bshd" else (b, x, y), NAMES[fa.F32])
        addresses.append(address(lse))
    owner = None
    if launch.target != "cpu":
        stream, owner = choose_stream(q, stream)
    launch(addresses, stream, owner)
    return (out, lse) if return_lse else out
