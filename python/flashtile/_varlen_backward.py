# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.varlen_attention_backward: gradients of flashtile.varlen_attention."""

from . import _structs as fa
from ._attention import Options, describe
from ._backward import plan_of
from ._plan import Launch, Launches
from ._serving import check_integers, heads_first
from ._tensor import Tensor, address, new_like, row_major

_launches = Launches()
_ROWS = ("q", "k", "v")
# What else has a gradient, by the members that say that there is one.
_LEARNED = {"alibi_slopes": "hasAlibi", "sink": "hasSink"}
_WANTS = (*_ROWS, *_LEARNED)
# What a launch takes behind q, k and v, in its order, by the members that ask
# for it.
_OPTIONAL = ("hasAlibi", "hasSink", "hasOffsets", "hasKeyOffsets")


def _prepare(options, tensors, given, results, wants):
    """The launch of a call. `tensors` are q, k, v and what is `given`, `results`
    out, lse, dout and perhaps dlse, all as `Tensor`; gradients are row-major."""
    inputs = [heads_first(name, x, True, "bhsd") for name, x in zip(_ROWS, tensors)]
    optional = tensors[3:]
    check_integers(given, optional)
    members, scale = describe(options, inputs[0].shape[-1])
    members.update(type=inputs[0].type, headDim=inputs[0].shape[-1], headDimV=inputs[2].shape[-1])
    members.update(dict.fromkeys(given, 1))
    out, lse, dout, *dlse = results
    arguments = [*inputs, *optional, scale]
    arguments += [heads_first("out", out, True, "bhsd"), lse, heads_first("dout", dout, True, "bhsd"), *dlse]
    for name in wants:
        of = tensors[_number(name, given)]
        gradient = Tensor(None, of.type, of.shape, row_major(of.shape), 0, of.target)
        arguments.append(heads_first("a gradient", gradient, True, "bhsd") if name in _ROWS else gradient)
    return Launch(plan_of(inputs[0].target, tuple(members.items()), wants, len(dlse)), arguments)


def _number(name, given):
    """Which of the inputs `name` is."""
    return _ROWS.index(name) if name in _ROWS else 3 + given.index(_LEARNED[name])


def varlen_attention_backward(
    q,
    k,
    v,
    out,
    lse,
    dout,
    cu_seqlens_q,
    cu_seqlens_k=None,
    *,
    dlse=None,
    wants=_ROWS,
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
):
    """The gradients (dq, dk, dv) of `varlen_attention`, from the same arguments.

    out, lse: what varlen_attention(..., return_lse=True) gave. dout: the gradient
    of a scalar with respect to out, of its type; dlse: with respect to lse,
    float32 [hq, rows]. wants: whose gradients; others are None and cost nothing.
    'alibi_slopes' and 'sink', as far as they are wanted, come behind dq, dk and dv
    in this order.

    Gradients are new arrays of q's package, of the types and shapes of what they
    are of, 0 in rows that belong to no sequence; the same bits in every run. On a
    card they are enqueued on the package's current stream.
    """
    if not wants or any(name not in _WANTS for name in wants):
        raise ValueError(f"expected wants of {', '.join(map(repr, _WANTS))}, found {tuple(wants)!r}")
    wants = tuple(name for name in _WANTS if name in wants)
    keys = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    optional = dict(zip(_OPTIONAL, (alibi_slopes, sink, cu_seqlens_q, keys)))
    given = tuple(member for member in _OPTIONAL if optional[member] is not None)
    for name in wants:
        if name in _LEARNED and _LEARNED[name] not in given:
            raise ValueError(f"expected wants of what is given, found {name!r} without {name}")
    arrays = [q, k, v, *(optional[member] for member in given), out, lse, dout] + ([] if dlse is None else [dlse])
    window = None if window is None else tuple(window)
    scale = None if scale is None else float(scale)
    options = Options(causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, return_lse=True)
    kind, inputs = (options, given, wants), 3 + len(given)
    launch, addresses = _launches.get(kind, arrays)
    if launch is None:
        launch, addresses = _launches.add(
            kind, arrays, lambda tensors: _prepare(options, tensors[:inputs], given, tensors[inputs:], wants)
        )
    inputs = {name: arrays[_number(name, given)] for name in wants}
    # No launch writes rows of no sequence.
    gradients = {name: new_like(array, tuple(array.shape), None, "zeros") for name, array in inputs.items()}
    addresses += [address(gradient) for gradient in gradients.values()]
    launch.run(addresses, q)
    return tuple(gradients.get(name) for name in (*_ROWS, *(name for name in wants if name in _LEARNED)))
