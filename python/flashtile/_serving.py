# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.varlen_attention and flashtile.paged_attention: sequences that lie one
behind the other, and keys and values in pages that a table names."""

from . import _structs as fa
from ._attention import SCALES, Options, as_scales, describe, element_types, four_dims, plan_of, positive, scale_arrays
from ._plan import Launch, Launches
from ._tensor import NAMES, Tensor, address, empty_like, row_major

_launches = Launches()
# What a launch takes behind q, k and v, in its order: the member that asks for
# it, and of integers the argument's name and how many dimensions it has.
_OPTIONAL = ("hasAlibi", "hasLengths", "hasSink", "hasOffsets", "hasKeyOffsets", "hasPages", *SCALES)
_OPTIONAL += ("hasDraft",)
_INTEGERS = {
    "hasLengths": ("lengths", 1),
    "hasOffsets": ("cu_seqlens_q", 1),
    "hasKeyOffsets": ("cu_seqlens_k", 1),
    "hasPages": ("block_table", 2),
}


# Of those, what no member of its own asks for.
_WITHOUT_MEMBER = ("v_scale",)


def _serving_members(split_keys, values_in_keys, v, v_name, out_dtype, scale_keys):
    """The members of an AttentionDesc that say how a call is served, and the type
    of its output."""
    members = {} if out_dtype is None else {"out_dtype": out_dtype}
    if split_keys is not None:
        members["splitKeys"] = positive("split_keys", split_keys)
    if scale_keys is not None:
        members["scaleKeys"] = positive("scale_keys", scale_keys)
    if (values_in_keys is None) == (v is None):
        raise ValueError(f"expected either {v_name} or values_in_keys, found {'none' if v is None else 'both'}")
    if values_in_keys is not None:
        members.update(valuesInKeys=1, headDimV=int(values_in_keys))
    return members


def _check_draft(found, q, is_packed):
    """Words of bits, [b, sq, words] or packed [rows, words], of a q [b, hq, sq, d]
    or [hq, rows, d]."""
    _check("draft", found, 2 if is_packed else 3, fa.I32)
    wanted = (q.shape[1],) if is_packed else (q.shape[0], q.shape[2])
    words = 1 if is_packed else -(-q.shape[2] // 32)
    if found.shape[:-1] != wanted or found.shape[-1] < words:
        raise ValueError(f"expected a draft of shape {(*wanted, words)} or more words, found {found.shape}")


def _check(name, found, rank, type=None):
    if len(found.shape) != rank:
        raise ValueError(f"expected {name} of {rank} dimensions, found the shape {found.shape}")
    if type is not None and found.type != type:
        raise ValueError(f"expected {name} of {NAMES[type]}, found {NAMES[found.type]}")


def check_integers(given, optional):
    """An error unless those of `optional`, the members `given`, that have to be
    integers are, of as many dimensions as they should have."""
    for member, array in zip(given, optional):
        if member in _INTEGERS:
            _check(_INTEGERS[member][0], array, _INTEGERS[member][1], fa.I32)


def heads_first(name, found, is_packed, layout):
    """`found` as a launch takes it: [b, h, s, d], or packed [h, rows, d]."""
    if not is_packed:
        return four_dims(name, found, layout)
    _check(name, found, 3)
    return found.permuted(1, 0, 2)


def _batch(given, optional, q):
    """How many sequences there are."""
    for member, more in ("hasOffsets", 1), ("hasKeyOffsets", 1), ("hasPages", 0):
        if member in given:
            return optional[given.index(member)].shape[0] - more
    return q.shape[0]


def _prepare(options, serving, pages, tensors, given):
    """The launch of a call. `tensors` are q, k, v and what is `given`, which names
    the optional ones by their members; an out is the last one."""
    layout, serving = options.layout, dict(serving)
    q, k, *optional = tensors
    v = k if "valuesInKeys" in serving else optional.pop(0)
    out = optional.pop() if given[-1] == "out" else None
    given = [member for member in given if member != "out"]
    check_integers(given, optional)
    has_pages, is_packed = "hasPages" in given, "hasOffsets" in given
    order = ("bshd" if pages == "nhd" else "bhsd") if has_pages else layout
    names = ("k_pages", "v_pages") if has_pages else ("k", "v")
    inputs = [heads_first("q", q, is_packed, layout)]
    inputs += (heads_first(n, x, "hasKeyOffsets" in given, order) for n, x in zip(names, (k, v)))
    d, dv = inputs[0].shape[-1], serving.pop("headDimV", inputs[2].shape[-1])
    if "valuesInKeys" in serving:
        inputs.pop()
    members, scale = describe(options, d)
    members.update((name, value) for name, value in serving.items() if name != "out_dtype")
    asked = [member for member in given if member not in _WITHOUT_MEMBER]
    members.update(headDim=d, headDimV=dv, **dict.fromkeys(asked, 1))
    members.update(element_types(q, inputs[1], out, serving.get("out_dtype")))
    b = _batch(given, optional, inputs[0])
    for n, member in enumerate(given):
        if member in SCALES:
            heads = inputs[1].shape[0 if "hasKeyOffsets" in given else 1]
            optional[n] = as_scales(SCALES[member], optional[n], b, heads, serving.get("scaleKeys"))
    if "hasDraft" in given:
        _check_draft(optional[-1], inputs[0], is_packed)
    shape = (*q.shape[:-1], dv)
    if out is None:
        out = Tensor(None, members["type"], shape, row_major(shape), 0, q.target)
    elif not out.writable:
        raise ValueError("expected an out that can be written, found a read-only one")
    outputs = [heads_first("out", out, is_packed, layout)]
    if options.return_lse:
        lse = inputs[0].shape[:-1]
        outputs.append(Tensor(None, fa.F32, lse, row_major(lse), 0, q.target))
    plan, type = plan_of(q.target, tuple(members.items())), NAMES[out.type] if out.type != q.type else None
    return Launch(plan, [*inputs, *optional, scale, *outputs], shape, type)


def scale_number(scale):
    """A scale as a launch takes it: a number, which has no gradient here."""
    if scale is None or scale.__class__ is float:
        return scale
    if getattr(scale, "requires_grad", False):
        import torch

        if torch.is_grad_enabled():
            raise ValueError(
                "expected a scale that requires no gradient: of packed sequences and pages none is derived for it; "
                "found a tensor that requires one"
            )
        scale = scale.detach()
    return float(scale)


def attend(arrays, optional, out, stream, options, serving, pages=None):
    """Runs a call of q, k and v, `arrays`, and of what is `optional`, by member, as
    `options` and `serving`, members as `_serving_members` gives them, say."""
    window = None if options.window is None else tuple(options.window)
    options = options._replace(window=window, scale=scale_number(options.scale))
    call = arrays, optional, out, stream, options, serving, pages
    arrays = [array for array in arrays if array is not None]  # v may be none
    given = tuple(member for member in _OPTIONAL if optional.get(member) is not None)
    arrays = [*arrays, *(optional[member] for member in given)]
    if out is not None:
        given += ("out",)
        arrays.append(out)
    serving = tuple(serving.items())
    kind = options, serving, pages, given
    launch, addresses = _launches.get(kind, arrays)
    if launch is None:
        if any(getattr(array, "requires_grad", False) for array in arrays):  # no launch that is known has such
            from .torch import attend_packed

            return attend_packed(*call)
        launch, addresses = _launches.add(
            kind, arrays, lambda tensors: _prepare(options, serving, pages, tensors, given)
        )
    q = arrays[0]
    if out is None:
        out = empty_like(q, launch.shape, launch.type)
        addresses.append(address(out))
    if options.return_lse:
        *rows, _ = launch.shape
        if "hasOffsets" in given or options.layout == "bshd":
            rows[-2:] = rows[:-3:-1]  # heads before queries
        lse = empty_like(q, tuple(rows), NAMES[fa.F32])
        addresses.append(address(lse))
    launch.run(addresses, q, stream)
    return (out, lse) if options.return_lse else out


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
    q_scale=None,
    k_scale=None,
    v_scale=None,
    scale_keys=None,
    values_in_keys=None,
    draft=None,
    split_keys=None,
    score_mod=None,
    mask_mod=None,
    precision="ieee",
    return_lse=False,
    out=None,
    out_dtype=None,
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

    q, k and v may be float8_e4m3fn, or k and v beside a q of 16 bits; q_scale,
    k_scale, v_scale, scale_keys and out_dtype are as `paged_attention` has them, and so are
    values_in_keys, with v None, draft, int32 [rows, words], and split_keys.

    The rest is as in `flashtile.attention`, of each sequence by itself: a query of
    n counts from its first row, and causal is of the bottom right of its own
    queries and keys.

    Returns the output [rows, hq, dv], `out` if it is given; with return_lse also
    the log-sum-exp, float32 [hq, rows]. Rows that belong to no sequence are not
    written. PyTorch's q, k, v, slopes and sinks that require a gradient give
    outputs that have one (flashtile.torch.varlen_attention), and
    `varlen_attention_backward` is for other packages.
    """
    keys = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    optional = {"hasAlibi": alibi_slopes, "hasSink": sink, "hasOffsets": cu_seqlens_q, "hasKeyOffsets": keys}
    optional.update(scale_arrays(q_scale, k_scale, v_scale), hasDraft=draft)
    options = Options(causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, return_lse=return_lse)
    serving = _serving_members(split_keys, values_in_keys, v, "v", out_dtype, scale_keys)
    return attend([q, k, v], optional, out, stream, options, serving)


def paged_attention(
    q,
    k_pages,
    v_pages,
    block_table,
    lengths,
    *,
    cu_seqlens_q=None,
    causal=False,
    window=None,
    prefix=None,
    softcap=0.0,
    scale=None,
    alibi_slopes=None,
    sink=None,
    q_scale=None,
    k_scale=None,
    v_scale=None,
    scale_keys=None,
    values_in_keys=None,
    draft=None,
    split_keys=None,
    score_mod=None,
    mask_mod=None,
    precision="ieee",
    layout="bhsd",
    pages="hnd",
    return_lse=False,
    out=None,
    out_dtype=None,
    stream=None,
):
    """`attention` over keys and values in pages, without a copy of them.

    k_pages [n, hkv, page, d], v_pages [n, hkv, page, dv] with any strides, of any
    page size; with pages="nhd" the second and third dimensions change places.
    block_table: int32 [b, m], the pages of each sequence in order; lengths: int32
    [b], its keys, 0 to m · page. What lies behind a length, in pages or in the
    table, is not read. Both are read when the launch runs.

    cu_seqlens_q: int32 [b + 1], where each sequence's queries begin in q, then
    [rows, hq, d], as `varlen_attention` has it; lse is then [hq, rows].

    k_pages and v_pages may be float8_e4m3fn where q is float16 or bfloat16, which
    is half of the bytes, and q as well; they are widened without rounding. k_scale
    and v_scale, float32 on q's device, [b, hkv], [hkv] or one for all, are what
    keys and values are multiplied with; both or none. With scale_keys=N they are
    [b, hkv, n]: key j of a sequence, wherever it lies, has number j // N. q_scale is the same of a q of
    float8_e4m3fn: of the KV head that a query's head shares. The output of such a q
    is of out_dtype, bfloat16 unless it is given, or float16; of `out`, if there is
    one.

    values_in_keys: values are the first so many columns of the keys, as absorbed
    MLA has them; v_pages is then None.

    draft: int32 [b, sq, words], or packed [rows, words]: which of the last sq keys
    each query sees, beside all keys before them: of query i, bit n % 32 of word
    n // 32 is whether it sees key lengths[b] - sq + n.

    split_keys: where keys are split, each split has so many, and nothing else is
    chosen by what the launch has besides a sequence: its results have the same bits
    in any batch.

    The diagonal of causal, window and ALiBi is that of each sequence: query i is
    at key i + lengths[b] - sq. All else is as `attention` has it; gradients are
    not computed.
    """
    if lengths is None:
        raise ValueError("expected lengths, int32 [b], found None")
    if pages not in ("hnd", "nhd"):
        raise ValueError(f"expected pages 'hnd' or 'nhd', found {pages!r}")
    optional = {
        "hasAlibi": alibi_slopes,
        "hasLengths": lengths,
        "hasSink": sink,
        "hasOffsets": cu_seqlens_q,
        "hasPages": block_table,
        **scale_arrays(q_scale, k_scale, v_scale),
        "hasDraft": draft,
    }
    options = Options(causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, 0.0, layout, return_lse)
    serving = _serving_members(split_keys, values_in_keys, v_pages, "v_pages", out_dtype, scale_keys)
    return attend([q, k_pages, v_pages], optional, out, stream, options, serving, pages)
