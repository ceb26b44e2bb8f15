# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention_backward: gradients of flashtile.attention."""

import functools

from . import _structs as fa
from ._attention import context_of, describe_inputs, four_dims, optional_arrays
from ._plan import Launch
from ._tensor import Tensor, address, choose_stream, empty_like, facts, row_major, tensor

# As those of flashtile.attention.
_launches = {}
_MOST_LAUNCHES = 1024
_WANTS = ("q", "k", "v")


@functools.lru_cache(maxsize=1024)
def _plan(target, members, wants, has_dlse):
    wanted = fa.BackwardDesc(wantQ=wants[0], wantK=wants[1], wantV=wants[2], hasDlse=has_dlse)
    return context_of(target).attention_backward(fa.AttentionDesc(**dict(members)), wanted)


def _prepare(options, tensors, given, results, wants):
    """The launch of a call. `tensors` are q, k, v and what is `given`, `results`
    out, lse, dout and perhaps dlse, all as `Tensor`; gradients are new and
    row-major."""
    members, arguments = describe_inputs(options, tensors, given)
    layout, target = options[-2], tensors[0].target
    out, lse, dout, *dlse = results
    arguments += [four_dims("out", out, layout), lse, four_dims("dout", dout, layout), *dlse]
    for array, wanted in zip(tensors, wants):
        if wanted:
            gradient = Tensor(None, array.type, array.shape, row_major(array.shape), 0, target)
            arguments.append(four_dims("a gradient", gradient, layout))
    return Launch(_plan(target, tuple(members.items()), wants, len(dlse)), arguments)


def _flags(wants):
    unknown = [name for name in wants if name not in _WANTS]
    if unknown or not wants:
        raise ValueError(f"expected wants of 'q', 'k' and 'v', found {unknown[0] if unknown else 'none'!r}")
    return tuple(name in wants for name in _WANTS)


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
    layout="bhsd",
    stream=None,
):
    """The gradients (dq, dk, dv) of `attention`, from the same arguments.

    out, lse: what attention(..., return_lse=True) gave. dout: the gradient of a
    scalar with respect to out, of its type; dlse: with respect to lse, float32.
    wants: whose gradients; others are None and cost nothing.

    Gradients are new arrays of q's package, of the types and shapes of q, k and
    v; the same bits in every run.
    """
    wants, window = _flags(wants), None if window is None else tuple(window)
    given, optional = optional_arrays(bias, alibi_slopes, lengths, key_ranges, sink)
    arrays = [q, k, v, *optional, out, lse, dout] + ([] if dlse is None else [dlse])
    options = causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, layout, True
    known = tuple(facts(array) for array in arrays)
    key = None if None in known else (options, given, wants, known)
    launch = _launches.get(key)
    if launch:
        addresses = [address(array) for array in arrays]
    else:
        inputs = 3 + len(optional)
        arrays = [tensor(array) for array in arrays]
        launch = _prepare(options, arrays[:inputs], given, arrays[inputs:], wants)
        addresses = [array.data for array in arrays]
        if key:
            if len(_launches) >= _MOST_LAUNCHES:
                _launches.clear()
            _launches[key] = launch
    gradients = [empty_like(x, tuple(x.shape), None) if wanted else None for x, wanted in zip((q, k, v), wants)]
    addresses += [address(gradient) for gradient in gradients if gradient is not None]
    owner = None
    if launch.target != "cpu":
        stream, owner = choose_stream(q, stream)
    launch(addresses, stream, owner)
    return tuple(gradients)
