# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention_backward: gradients of flashtile.attention."""

import functools

from . import _structs as fa
from ._attention import Options, choose_rng, context_of, describe_inputs, four_dims, optional_arrays
from ._plan import Launch, Launches
from ._tensor import Tensor, address, empty_like, row_major

_launches = Launches()
_WANTS = ("q", "k", "v")
# What else has a gradient, by the members that say that there is one and that
# its gradient is wanted, in the order of the arguments.
_CAPTURES = {
    "bias": ("bias", "wantBias"),
    "alibi_slopes": ("hasAlibi", "wantSlopes"),
    "sink": ("hasSink", "wantSink"),
}
_ALL = (*_WANTS, *_CAPTURES, "scale")
_MEMBERS = dict(q="wantQ", k="wantK", v="wantV", scale="wantScale", **{name: x[1] for name, x in _CAPTURES.items()})


@functools.lru_cache(maxsize=1024)
def plan_of(target, members, wants, has_dlse):
    """The plan of the gradients `wants` of the attention of `members`."""
    wanted = fa.BackwardDesc(hasDlse=has_dlse)
    for name in wants:
        setattr(wanted, _MEMBERS[name], 1)
    return context_of(target).attention_backward(fa.AttentionDesc(**dict(members)), wanted)


def _prepare(options, tensors, given, results, wants):
    """The launch of a call. `tensors` are q, k, v and what is `given`, `results`
    out, lse, dout and perhaps dlse, all as `Tensor`; gradients are new and
    row-major."""
    members, arguments = describe_inputs(options, tensors, given)
    layout, target = options.layout, tensors[0].target
    out, lse, dout, *dlse = results
    arguments += [four_dims("out", out, layout), lse, four_dims("dout", dout, layout), *dlse]
    for name in wants:
        if name == "scale":
            arguments.append(Tensor(None, lse.type, (1,), (1,), 0, target))
            continue
        array = tensors[_number(name, given)]
        gradient = Tensor(None, array.type, array.shape, row_major(array.shape), 0, target)
        arguments.append(four_dims("a gradient", gradient, layout) if name in _WANTS else gradient)
    return Launch(plan_of(target, tuple(members.items()), wants, len(dlse)), arguments)


def _number(name, given):
    """Which of the inputs `name` is."""
    return _WANTS.index(name) if name in _WANTS else 3 + given.index(_CAPTURES[name][0])


def _sorted(wants, given):
    """`wants` in the order of the arguments, each once."""
    unknown = [name for name in wants if name not in _ALL]
    if unknown or not wants:
        names = ", ".join(map(repr, _ALL))
        raise ValueError(f"expected wants of {names}, found {unknown[0] if unknown else 'none'!r}")
    for name in wants:
        if name in _CAPTURES and _CAPTURES[name][0] not in given:
            raise ValueError(f"expected wants of what is given, found {name!r} without {name}")
    return tuple(name for name in _ALL if name in wants)


def attention_backward(
    q,
    k,
    v,
    out,
    lse,
    dout,
    *,
    dlse=None,
    wants=_WANTS,
    causal=False,
    window=None,
    prefix=None,
    softcap=0.0,
    scale=None,
    bias=None,
    alibi_slopes=None,
    lengths=None,
    key_ranges=None,
    sink=None,
    score_mod=None,
    mask_mod=None,
    precision="ieee",
    dropout_p=0.0,
    rng=None,
    layout="bhsd",
    stream=None,
):
    """The gradients (dq, dk, dv, ...) of `attention`, from the same arguments.

    out, lse: what attention(..., return_lse=True) gave. dout: the gradient of a
    scalar with respect to out, of its type; dlse: with respect to lse, float32.
    wants: whose gradients; others are None and cost nothing. 'bias',
    'alibi_slopes', 'sink' and 'scale' (float32 [1]; NaN where the scale is 0), as
    far as they are wanted, come behind dq, dk and dv in this order. rng: what the
    attention had, beside the same dropout_p.

    Gradients are new arrays of q's package, of the types and shapes of what they
    are of; the same bits in every run.
    """
    if dropout_p and rng is None:
        raise ValueError("expected the rng of the attention beside dropout_p, int64 [2], found none")
    rng = choose_rng(q, dropout_p, rng)
    given, optional = optional_arrays(bias, alibi_slopes, lengths, key_ranges, sink, rng)
    wants, window = _sorted(wants, given), None if window is None else tuple(window)
    scale = None if scale is None else float(scale)
    arrays = [q, k, v, *optional, out, lse, dout] + ([] if dlse is None else [dlse])
    options = Options(causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, dropout_p, layout, True)
    kind, inputs = (options, given, wants), 3 + len(optional)
    launch, addresses = _launches.get(kind, arrays)
    if launch is None:
        launch, addresses = _launches.add(
            kind, arrays, lambda tensors: _prepare(options, tensors[:inputs], given, tensors[inputs:], wants)
        )
    inputs = {name: (q, k, v, *optional)[_number(name, given)] for name in wants if name != "scale"}
    gradients = {name: empty_like(x, tuple(x.shape), None) for name, x in inputs.items()}
    if "scale" in wants:
        gradients["scale"] = empty_like(q, (1,), "float32")
    addresses += [address(gradient) for gradient in gradients.values()]
    launch.run(addresses, q, stream)
    return tuple(gradients.get(name) for name in (*_WANTS, *(name for name in wants if name not in _WANTS)))
