# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention as an operation of PyTorch's, for torch.compile.

    from flashtile.torch import attention
    out = attention(q, k, v, causal="top-left")

The operation is torch.ops.flashtile.attention. It has a fake implementation, so
that a graph is traced without running it, and no derivative. Where
libflashtile-torch.so can be loaded, its kernels for the CPU and for CUDA are
that library's, and no Python is between PyTorch and the launch: `dispatch` is
then "c++", else "python".
"""

import functools
from typing import Optional, Tuple

import torch

from . import _torch_extension
from ._attention import attention as _attention

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
        raise RuntimeError("trying to backward through flashtile::attention, which has no derivative")


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


def _plain(tensor):
    """Without the graph of its derivative, which a kernel does not see."""
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor


def _run(q, k, v, scale, causal, window_left, window_right, softcap, bias, score_mod, mask_mod, return_lse):
    options = _torch_extension.describe_options(
        scale, causal, window_left, window_right, softcap, score_mod, mask_mod, return_lse
    )
    return _attention(_plain(q), _plain(k), _plain(v), bias=_plain(bias), **options)


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
    arguments = q, k, v, scale, kind, left, right, softcap, bias, score_mod, mask_mod
    if dispatch == "python" or torch.compiler.is_compiling():
        return op(*arguments)
    try:
        if torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in (q, k, v, bias)):
            return _WithoutDerivative.apply(op, *arguments)
        return op(*arguments)
    except RuntimeError as error:  # what PyTorch makes of all that C++ says
        raise _torch_extension.original(error) from None
