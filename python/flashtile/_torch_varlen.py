# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed sequences that are trained, as two operations of PyTorch's:
flashtile::varlen_forward and its derivative flashtile::varlen_backward, with fake
implementations as those of _torch_gradients have."""

import functools

import torch

from ._serving import attend as _attend, scale_number, varlen_attention
from ._torch_gradients import define_operation, is_transformed, plain, refuse_second
from ._varlen_backward import varlen_attention_backward

# What both operations have behind their tensors, as a schema has it.
_OPTIONS = (
    "Tensor? alibi_slopes, Tensor? sink, Tensor cu_seqlens_q, Tensor cu_seqlens_k, float? scale, str causal, "
    "int window_left, int window_right, int prefix, float softcap, str? score_mod, str? mask_mod, str precision"
)
# Whose gradients there are: the first tensors of the forward.
_WANTS = ("q", "k", "v", "alibi_slopes", "sink")


def _keywords(slopes, sink, scale, causal, left, right, prefix, softcap, score_mod, mask_mod, precision):
    """The options as flashtile.varlen_attention has them."""
    return dict(
        scale=scale,
        causal=causal or False,
        window=(left, right) if left >= 0 or right >= 0 else None,
        prefix=None if prefix < 0 else prefix,
        softcap=softcap,
        alibi_slopes=plain(slopes),
        sink=plain(sink),
        score_mod=score_mod,
        mask_mod=mask_mod,
        precision=precision,
    )


def _forward(q, k, v, slopes, sink, cu_seqlens_q, cu_seqlens_k, *options):
    inputs = [plain(x) for x in (q, k, v)]
    how = _keywords(slopes, sink, *options)
    return varlen_attention(*inputs, cu_seqlens_q, cu_seqlens_k, return_lse=True, **how)


def _forward_fake(q, k, v, *options):
    return q.new_empty((*q.shape[:2], v.shape[2])), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


def _backward(q, k, v, out, lse, dout, dlse, wants, slopes, sink, cu_seqlens_q, cu_seqlens_k, *options):
    # A sum's gradient has strides 0: the kernels read rows.
    dout = dout if dout.stride(-1) == 1 else dout.contiguous()
    arrays = [plain(x) for x in (q, k, v, out, lse, dout)]
    names = [name for name, wanted in zip(_WANTS, wants) if wanted]
    how = dict(_keywords(slopes, sink, *options), dlse=plain(dlse), wants=names)
    found = iter(varlen_attention_backward(*arrays, cu_seqlens_q, cu_seqlens_k, **how))
    gradients = [next(found) if wanted or name in _WANTS[:3] else None for name, wanted in zip(_WANTS, wants)]
    return tuple(q.new_empty(0) if x is None else x for x in gradients)


def _backward_fake(q, k, v, out, lse, dout, dlse, wants, slopes, sink, *options):
    inputs = zip((q, k, v, slopes, sink), wants)
    return tuple(x.new_empty(x.shape) if wanted else q.new_empty(0) for x, wanted in inputs)


def _keep(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.is_tensor = [isinstance(x, torch.Tensor) for x in inputs]
    ctx.values = [None if tensor else x for x, tensor in zip(inputs, ctx.is_tensor)]
    ctx.save_for_backward(*output, *(x for x in inputs if isinstance(x, torch.Tensor)))


def _differentiate(ctx, dout, dlse):
    out, lse, *tensors = ctx.saved_tensors
    rest = iter(tensors)
    q, k, v, *options = [next(rest) if tensor else x for x, tensor in zip(ctx.values, ctx.is_tensor)]
    wants = list(ctx.needs_input_grad[: len(_WANTS)])
    gradients = [None] * len(ctx.values)
    if any(wants) and (dout is not None or dlse is not None):
        dout = torch.zeros_like(out) if dout is None else dout
        found = torch.ops.flashtile.varlen_backward(q, k, v, out, lse, dout, dlse, wants, *options)
        gradients[: len(_WANTS)] = [gradient if wanted else None for gradient, wanted in zip(found, wants)]
    return tuple(gradients)


def define(library):
    """Both operations, in PyTorch's `library`."""
    inputs = "Tensor q, Tensor k, Tensor v"
    schema = f"({inputs}, {_OPTIONS}) -> (Tensor, Tensor)"
    define_operation(library, "varlen_forward", schema, _forward, _forward_fake, _differentiate, _keep)
    given = "Tensor out, Tensor lse, Tensor dout, Tensor? dlse, bool[] wants"
    schema = f"({inputs}, {given}, {_OPTIONS}) -> ({', '.join(['Tensor'] * len(_WANTS))})"
    refuse = functools.partial(refuse_second, name="varlen_backward")
    define_operation(library, "varlen_backward", schema, _backward, _backward_fake, refuse)


def attention(
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
):
    """flashtile.varlen_attention, differentiable with respect to q, k, v, slopes and
    sinks: gradients have the same bits in every run, are computed of what needs
    them alone, are 0 in rows that belong to no sequence and have no derivative
    themselves. A scale that requires one and transforms of torch.func are a
    ValueError."""
    if is_transformed():
        raise ValueError("expected no transform of torch.func around packed sequences, found one")
    left, right = (-1 if bound is None else int(bound) for bound in window or (None, None))
    keys = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    out, lse = torch.ops.flashtile.varlen_forward(
        q,
        k,
        v,
        alibi_slopes,
        sink,
        cu_seqlens_q,
        keys,
        scale_number(scale),
        "bottom-right" if causal is True else causal or "",
        left,
        right,
        -1 if prefix is None else prefix,
        softcap,
        score_mod,
        mask_mod,
        precision,
    )
    return (out, lse) if return_lse else out


def attend(arrays, optional, out, stream, options, serving, pages):
    """A call of `_serving.attend`, some of whose tensors require a gradient."""
    if not torch.is_grad_enabled():
        optional = {name: plain(x) for name, x in optional.items()}
        return _attend([plain(x) for x in arrays], optional, plain(out), stream, options, serving, pages)
    if pages is not None:
        raise ValueError("expected no array that requires a gradient: of pages none is derived")
    refused = {"out": out, "stream": stream, "out_dtype": serving.get("out_dtype"), "draft": optional["hasDraft"]}
    refused.update(k_scale=optional["hasScales"], q_scale=optional["hasQueryScales"])
    refused.update(split_keys=serving.get("splitKeys"), values_in_keys=serving.get("valuesInKeys"))
    for name, found in refused.items():
        if found is not None:
            raise ValueError(f"expected no {name} where a gradient is required, found {name}={found!r:.40}")
    how = options._asdict()
    del how["dropout_p"], how["layout"]  # packed sequences have neither
    offsets = optional["hasOffsets"], optional["hasKeyOffsets"]
    return attention(*arrays, *offsets, alibi_slopes=optional["hasAlibi"], sink=optional["hasSink"], **how)
