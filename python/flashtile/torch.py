# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention as an operation of PyTorch's, for torch.compile.

    from flashtile.torch import attention
    out = attention(q, k, v, causal="top-left")

The operation is torch.ops.flashtile.attention. It has a fake implementation, so
that a graph is traced without running it, and no derivative: what is trained is
torch.ops.flashtile.attention_forward (_torch_gradients.py). Where
libflashtile-torch.so can be loaded, its kernels for the CPU and for CUDA are
that library's, and no Python is between PyTorch and the launch: `dispatch` is
then "c++", else "python".
"""

import functools
from typing import Optional, Tuple

import torch

from . import _torch_extension, _torch_gradients, _torch_varlen
from ._attention import attention as _attention
from ._torch_gradients import plain
from ._torch_varlen import attend as attend_packed
from ._torch_varlen import attention as varlen_attention

# ROCm's cards are not CUDA's, though PyTorch calls them so.
_extension = None if torch.version.hip else _torch_extension.load()
dispatch = "c++" if _extension else "python"
_library = torch.library.Library("flashtile", "FRAGMENT")


def count_calls():
    """How many calls this process has launched from C++."""
    return _extension.flashtileTorchCountCalls() if _extension else 0


class _WithoutDerivative(torch.autograd.Function):
    """A function of tensors; whoever asks for its derivative is refused."""

    @staticmethod
    def forward(ctx, function, *arguments):
        with torch._C._AutoDispatchBelowAutograd():
            return function(*arguments)

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError(
            "trying to backward through the operation flashtile::attention, which has no derivative: "
            "flashtile.torch.attention has one"
        )


def _without_derivative(output, *inputs):
    return _WithoutDerivative.apply(lambda output, *_: output.detach(), output, *inputs)


def _define(name, function):
    """`function` as flashtile::name. Where there are kernels in C++, it is for
    tensors that they are not for, and autograd is theirs as well: Python has it
    only where a graph is traced, by what has no kernels."""
    if not _extension:
        torch.library.custom_op(f"flashtile::{name}", function, mutates_args=())
        return
    schema = torch.library.infer_schema(function, mutates_args=())
    _library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, function, "CompositeExplicitAutograd")
    op = getattr(torch.ops.flashtile, name).default
    for key in (torch._C.DispatchKey.AutogradCPU, torch._C.DispatchKey.AutogradCUDA):
        op.py_impl(key)(functools.partial(_WithoutDerivative.apply, op))


def _run(q, k, v, scale, causal, window_left, window_right, softcap, bias, score_mod, mask_mod, return_lse):
    options = _torch_extension.describe_options(
        scale, causal, window_left, window_right, softcap, score_mod, mask_mod, return_lse
    )
    return _attention(plain(q), plain(k), plain(v), bias=plain(bias), **options)


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


_define("attention", _op)
_define("attention_lse", _op_lse)
_torch_gradients.define(_library)
_torch_varlen.define(_library)


@torch.library.register_fake("flashtile::attention")
def _(q, k, v, *rest, **options):
    return q.new_empty((*q.shape[:3], v.shape[3]))


@torch.library.register_fake("flashtile::attention_lse")
def _(q, k, v, *rest, **options):
    lse = q.new_empty(q.shape[:3], dtype=torch.float32)
    return q.new_empty((*q.shape[:3], v.shape[3])), lse


if _extension:
    _library.define("without_derivative(Tensor output, Tensor q, Tensor k, Tensor v, Tensor bias) -> Tensor")
    _library.impl("without_derivative", _without_derivative, "CompositeImplicitAutograd")


def draw_rng(q, generator=None):
    """A seed and an offset of dropout, int64 [2] where q is, from `generator` or
    the default one of q's device. Where that one's state is restored, as by
    activation checkpoints, they are the same again; each replay of a CUDA graph
    has new ones."""
    return torch.randint(2**63 - 1, (2,), dtype=torch.int64, device=q.device, generator=generator)


def _wants_gradient(*tensors):
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors)


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
    prefix=None,
    alibi_slopes=None,
    lengths=None,
    key_ranges=None,
    sink=None,
    precision="ieee",
    dropout_p=0.0,
    rng=None,
    generator=None,
):
    """As flashtile.attention, differentiable with respect to q, k, v, a bias,
    slopes, a sink and a scale that is a tensor of one number. Such a scale is
    read on the host: on a card each call waits for it.

    Gradients are the same bits in every run, are computed of what needs them
    alone, and have no derivative themselves. Without an rng dropout takes one
    from `generator`, or from the default one of q's device, once a call.
    """
    left, right = (-1 if bound is None else bound for bound in window or (None, None))
    kind = "bottom-right" if causal is True else causal or ""
    if dropout_p and rng is None:
        rng = draw_rng(q, generator)
    elif rng is not None and not dropout_p:
        raise ValueError("expected no rng without dropout_p, found one")
    learned = None
    if isinstance(scale, torch.Tensor):
        if scale.numel() != 1 or not scale.is_floating_point():
            found = f"{scale.dtype} of {tuple(scale.shape)}"
            raise ValueError(f"expected a scale of one floating-point number, found {found}")
        scale, learned = None, scale
    rest = prefix, alibi_slopes, lengths, key_ranges, sink, rng, learned
    trained = _wants_gradient(q, k, v, bias, alibi_slopes, sink, learned)
    if trained or precision != "ieee" or any(x is not None for x in rest):
        first, last = key_ranges or (None, None)
        below = -1 if prefix is None else prefix
        options = bias, alibi_slopes, lengths, first, last, sink, score_mod, mask_mod, precision, float(dropout_p), rng
        out, lse = _torch_gradients.run(
            q, k, v, trained or return_lse, scale, kind, left, right, below, softcap, *options, learned
        )
        return (out, lse) if return_lse else out
    op = torch.ops.flashtile.attention_lse if return_lse else torch.ops.flashtile.attention
    arguments = q, k, v, scale, kind, left, right, softcap, bias, score_mod, mask_mod
    if dispatch == "python" or torch.compiler.is_compiling():
        return op(*arguments)
    try:
        return op(*arguments)
    except RuntimeError as error:  # what PyTorch makes of all that C++ says
        raise _torch_extension.original(error) from None


def attention_with_layout(q, k, v, *, layout, return_lse, out, stream, **how):
    """flashtile.attention of tensors some of which require a gradient."""
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"expected the layout 'bhsd' or 'bshd', found {layout!r}")
    if not torch.is_grad_enabled():
        how.update({name: plain(how[name]) for name in ("bias", "alibi_slopes", "sink")})
        how["scale"] = None if how["scale"] is None else float(how["scale"])
        how.update(layout=layout, return_lse=return_lse, out=plain(out), stream=stream)
        return _attention(plain(q), plain(k), plain(v), **how)
    for name, found in (("out", out), ("stream", stream)):
        if found is not None:
            raise ValueError(f"expected no {name} where a gradient is required, found {name}={found!r:.40}")
    if layout == "bhsd":
        return attention(q, k, v, return_lse=return_lse, **how)
    found, lse = attention(*(x.transpose(1, 2) for x in (q, k, v)), return_lse=True, **how)
    return (found.transpose(1, 2), lse) if return_lse else found.transpose(1, 2)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """torch.nn.functional.scaled_dot_product_attention by `attention`: the same
    arguments with the same meaning, is_causal of the top left among them. Rows
    whose keys are all masked are 0, and dropout is by flashtile's random numbers,
    seeded by PyTorch's."""
    if attn_mask is not None and is_causal:
        raise ValueError("expected attn_mask or is_causal, found both")
    if not enable_gqa and query.shape[-3:-2] != key.shape[-3:-2]:
        raise ValueError(
            f"expected as many heads of key as of query without enable_gqa, found {key.shape[-3]} and {query.shape[-3]}"
        )
    leading = query.shape[:-3]

    def four(x):
        """[..., h, s, d] as [b, h, s, d]; without heads h is 1."""
        return x.reshape(-1, *(x.shape[-3:] if x.dim() > 2 else (1, *x.shape[-2:])))

    bias = attn_mask
    if bias is not None:
        if bias.dtype == torch.bool:
            bias = torch.zeros_like(bias, dtype=query.dtype).masked_fill_(~bias, -torch.inf)
        if bias.dim() > 4:
            bias = bias.expand(*leading, *bias.shape[-3:]).flatten(0, -4)
        bias = bias.reshape((1,) * (4 - bias.dim()) + bias.shape)
    causal = "top-left" if is_causal else False
    how = dict(bias=bias, scale=scale, causal=causal, dropout_p=dropout_p)
    out = attention(four(query), four(key), four(value), **how)
    return out.reshape(*query.shape[:-1], value.shape[-1])
