# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notebook's FusedAttention with the backward that it leaves empty."""

import flashtile
import torch


class FusedAttention(torch.autograd.Function):
    """dropout(mask(softmax(q kᵀ · softmax_scale))) v of [b, h, s, d]."""

    @staticmethod
    def forward(ctx, q, k, v, causal, softmax_scale, dropout_p=0.0):
        ctx.how = dict(causal="top-left" if causal else False, scale=softmax_scale)
        if dropout_p:
            # The backward drops the same elements again: by their seed, not by a mask.
            ctx.how.update(dropout_p=dropout_p, rng=torch.randint(2**62, (2,), device=q.device))
        q, k, v = (x.detach() for x in (q, k, v))
        out, lse = flashtile.attention(q, k, v, return_lse=True, **ctx.how)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        q, k, v, out, lse = (x.detach() for x in ctx.saved_tensors)
        dq, dk, dv = flashtile.attention_backward(q, k, v, out, lse, dout.contiguous(), **ctx.how)
        return dq, dk, dv, None, None, None
