# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program's _attention, whose forward saves what a backward needs, with one."""

import flashtile
import torch


class _attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, sm_scale):
        ctx.how = dict(causal="top-left" if causal else False, scale=sm_scale)
        q, k, v = (x.detach() for x in (q, k, v))
        o, lse = flashtile.attention(q, k, v, return_lse=True, **ctx.how)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, lse = (x.detach() for x in ctx.saved_tensors)
        # Those that nobody needs are not computed.
        wants = tuple(name for name, needed in zip("qkv", ctx.needs_input_grad) if needed)
        gradients = flashtile.attention_backward(q, k, v, o, lse, do.contiguous(), wants=wants, **ctx.how)
        return *gradients, None, None


attention = _attention.apply
