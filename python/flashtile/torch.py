# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention as an operation of PyTorch's, for torch.compile.

    from flashtile.torch import attention
    out = attention(q, k, v, causal="top-left")

The operation is torch.ops.flashtile.attention. It has a fake implementation, so
that a graph is traced without running it, and no derivative.
"""

from typing import Optional, Tuple

import torch

from ._attention import attention as _attention


def _plain(tensor):
    """Without the graph of its derivative, which a kernel does not see."""
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor


def _run(q, k, v, scale, causal, window_left, window_right, softcap, bias, score_mod, mask_mod, return_lse):
    return _attention(
        _plain(q),
        _plain(k),
        _plain(v),
        scale=scale,
        causal=causal or False,
        window=None if window_left < 0 and window_right < 0 else (window_left, window_right),
        softcap=softcap,
        bias=_plain(bias),
        score_mod=score_mod,
        mask_mod=mask_mod,
        return_lse=return_lse,
    )


@torch.library.custom_op("flashtile::attention", mutates_args=())
def _op(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: Optional[float] = None,
    causal: str = "",
    window_left: int = -1,
    window_right: int = -1,
    softcap: float = 0.0,
    bias: Optional[torch.Tensor] = None,
    score_mod: Optional[str] = None,
    mask_mod: Optional[str] = None,
) -> torch.Tensor:
    return _run(q, k, v, scale, causal, window_left, window_right, softcap, bias, score_mod, mask_mod, False)


@torch.library.custom_op("flashtile::attention_lse", mutates_args=())
def _op_lse(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: Optional[float] = None,
    causal: str = "",
    window_left: int = -1,
    window_right: int = -1,
    softcap: float = 0.0,
    bias: Optional[torch.Tensor] = None,
    score_mod: Optional[str] = None,
    mask_mod: Optional[str] = None,
) -> Tuple[torch.Tensor, torch.Tensor]:
    return _run(q, k, v, scale, causal, window_left, window_right, softcap, bias, score_mod, mask_mod, True)


@_op.register_fake
def _(q, k, v, *rest, **options):
    return q.new_empty((*q.shape[:3], v.shape[3]))


@_op_lse.register_fake
def _(q, k, v, *rest, **options):
    lse = q.new_empty(q.shape[:3], dtype=torch.float32)
    return q.new_empty((*q.shape[:3], v.shape[3])), lse


def attention(
    q,
    k,
    v,
    *,
    scale=None,
    causal=False,
    window=None,
    softcap=0.0,
    bias=None,
    score_mod=None,
    mask_mod=None,
    return_lse=False,
):
    """As flashtile.attention, with the options that are listed here."""
    left, right = (-1 if bound is None else bound for bound in window or (None, None))
    op = torch.ops.flashtile.attention_lse if return_lse else torch.ops.flashtile.attention
    kind = "bottom-right" if causal is True else causal or ""
    return op(q, k, v, scale, kind, left, right, softcap, bias, score_mod, mask_mod)
