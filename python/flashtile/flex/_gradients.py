# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flex_attention that is trained."""

import torch
from torch.autograd.function import once_differentiable

from .._plan import Launch
from .._tensor import address, empty_like, facts, tensor
from ._blocks import expanded


class Attention(torch.autograd.Function):
    """The output and the log-sum-exp, by `forward` of the arrays, query, key, value
    and captured tensors; their gradients by `backward` (see `differentiate`)."""

    @staticmethod
    def forward(ctx, forward, backward, *arrays):
        out, lse = forward(arrays)
        ctx.run = backward
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arrays, out, lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        *arrays, out, lse = (x.detach() for x in ctx.saved_tensors)
        wants, gradients = ctx.needs_input_grad[2:], [None] * len(arrays)
        if dout is not None or dlse is not None:
            dout = torch.zeros_like(out) if dout is None else dout.detach()
            dlse = None if dlse is None else dlse.detach()
            # A sum's gradient has strides 0: the kernels read rows.
            dout = dout if dout.stride(-1) == 1 else dout.contiguous()
            gradients = ctx.run(arrays, out, lse, dout, dlse, wants)
        return (None, None, *gradients)


def differentiate(call, plan, scale, numbers, walked, arrays, out, lse, dout, dlse, wants):
    """Gradients of those of `arrays` that are wanted, else None.
    plan: gives one of a target and a program's text. walked: the `Walked` blocks of
    queries for those of keys and values, or None."""
    lists, listed = [], []
    if walked and any(wants[1:3]):
        (b, heads), kv_heads = arrays[0].shape[:2], arrays[1].shape[1]
        lists += expanded(walked.queries(heads, kv_heads), b, kv_heads, call.program.are_partial)
        listed.append("tile.query_lists")
        if call.program.has_bounds and not call.lists:
            lists += expanded(walked.keys(), b, heads, call.program.are_partial)
            listed.append("tile.block_lists")
    results = [out, lse, dout] + ([] if dlse is None else [dlse])
    gradients = [empty_like(x, tuple(x.shape), None) if wanted else None for x, wanted in zip(arrays, wants)]
    # A number's gradient is one element.
    outputs = [x if x.dim() else x.view(1) for x in gradients if x is not None]
    known = scale, tuple(wants), *numbers, *map(facts, (*arrays, *lists, *results))
    launch = call.gradients.get(known)
    if launch is None:
        described = [*map(tensor, arrays), *numbers, *map(tensor, lists), scale, *map(tensor, (*results, *outputs))]
        text = call.program.gradients(wants, dlse is not None, listed, walked and walked.block_size)
        launch = Launch(plan(described[0].target, text), described)
        if len(call.gradients) >= 1024:
            call.gradients.clear()
        call.gradients[known] = launch
    launch.run([address(x) for x in (*arrays, *lists, *results, *outputs)], out)
    return tuple(gradients)
