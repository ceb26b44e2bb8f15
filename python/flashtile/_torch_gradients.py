# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention that is trained, as two operations of PyTorch's.

flashtile::attention_forward gives what flashtile::attention_backward, its
derivative, needs: the output and the log-sum-exp. Both have fake
implementations, so that a graph has the two and nothing else of a layer.
"""

import dataclasses
from typing import Optional

import torch

from ._attention import attention as _attention
from ._backward import attention_backward as _attention_backward

# What both operations have behind their tensors, as a schema has it.
_OPTIONS = (
    "float? scale, str causal, int window_left, int window_right, int prefix, float softcap, "
    "Tensor? bias, Tensor? alibi_slopes, Tensor? lengths, Tensor? first, Tensor? last, Tensor? sink, "
    "str? score_mod, str? mask_mod, str precision, float dropout_p, Tensor? rng, Tensor? learned_scale"
)
# Tensors that scores are computed with and that have gradients, too.
CAPTURES = ("bias", "alibi_slopes", "sink", "learned_scale")
WANTS = ("q", "k", "v", "bias", "alibi_slopes", "sink", "scale")


@dataclasses.dataclass
class Options:
    """What is asked for, in the schema's order."""

    scale: Optional[float]
    causal: str
    window_left: int
    window_right: int
    prefix: int  # -1: none
    softcap: float
    bias: Optional[torch.Tensor]
    alibi_slopes: Optional[torch.Tensor]
    lengths: Optional[torch.Tensor]
    first: Optional[torch.Tensor]
    last: Optional[torch.Tensor]
    sink: Optional[torch.Tensor]
    score_mod: Optional[str]
    mask_mod: Optional[str]
    precision: str
    dropout_p: float
    rng: Optional[torch.Tensor]  # int64 [2]: seed and offset
    learned_scale: Optional[torch.Tensor]  # one number, in place of scale; a launch reads it on the host

    def values(self):
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def keywords(self):
        """As flashtile.attention has them."""
        bounded = self.window_left >= 0 or self.window_right >= 0
        return dict(
            scale=self.scale if self.learned_scale is None else float(self.learned_scale),
            causal=self.causal or False,
            window=(self.window_left, self.window_right) if bounded else None,
            prefix=None if self.prefix < 0 else self.prefix,
            softcap=self.softcap,
            bias=plain(self.bias),
            alibi_slopes=plain(self.alibi_slopes),
            lengths=self.lengths,
            key_ranges=None if self.first is None else (self.first, self.last),
            sink=plain(self.sink),
            score_mod=self.score_mod,
            mask_mod=self.mask_mod,
            precision=self.precision,
            dropout_p=self.dropout_p,
            rng=self.rng,
        )


def plain(tensor):
    """Without the graph of its derivative, which a kernel does not see."""
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor


def _forward(q, k, v, want_lse, *values):
    found = _attention(plain(q), plain(k), plain(v), return_lse=want_lse, **Options(*values).keywords())
    return found if want_lse else (found, q.new_empty(0, dtype=torch.float32))


def _forward_fake(q, k, v, want_lse, *values):
    lse = q.new_empty(q.shape[:3] if want_lse else 0, dtype=torch.float32)
    return q.new_empty((*q.shape[:3], v.shape[3])), lse


def _backward(q, k, v, out, lse, dout, dlse, wants, *values):
    how = Options(*values).keywords()
    # A sum's gradient has strides 0: the kernels read rows.
    dout = dout if dout.stride(-1) == 1 else dout.contiguous()
    names = [name for name, wanted in zip(WANTS, wants) if wanted]
    arrays = [plain(x) for x in (q, k, v, out, lse, dout)]
    found = iter(_attention_backward(*arrays, dlse=plain(dlse), wants=names, **how))
    gradients = [next(found) if wanted or name in WANTS[:3] else None for name, wanted in zip(WANTS, wants)]
    if wants[-1]:
        scale = Options(*values).learned_scale
        gradients[-1] = gradients[-1].to(scale.device, scale.dtype).reshape(scale.shape)
    return tuple(q.new_empty(0) if x is None else x for x in gradients)


def _backward_fake(q, k, v, out, lse, dout, dlse, wants, *values):
    how = Options(*values)
    inputs = (q, k, v, *(getattr(how, name) for name in CAPTURES))
    return tuple(x.new_empty(x.shape) if wanted else q.new_empty(0) for x, wanted in zip(inputs, wants))


def _keep(ctx, inputs, output):
    q, k, v, _, *values = inputs
    ctx.set_materialize_grads(False)
    ctx.is_tensor = [isinstance(x, torch.Tensor) for x in values]
    ctx.values = [None if tensor else x for x, tensor in zip(values, ctx.is_tensor)]
    ctx.save_for_backward(q, k, v, *output, *(x for x in values if isinstance(x, torch.Tensor)))


def _differentiate(ctx, dout, dlse):
    q, k, v, out, lse, *tensors = ctx.saved_tensors
    rest = iter(tensors)
    values = [next(rest) if tensor else x for x, tensor in zip(ctx.values, ctx.is_tensor)]
    # Behind q, k and v comes whether the log-sum-exp is wanted, then the options.
    places = [0, 1, 2] + [4 + n for n, field in enumerate(dataclasses.fields(Options)) if field.name in CAPTURES]
    wants = [ctx.needs_input_grad[place] for place in places]
    gradients = [None] * (4 + len(values))
    if any(wants) and (dout is not None or dlse is not None):
        dout = torch.zeros_like(out) if dout is None else dout
        inputs = q, k, v, out, lse, dout, dlse, wants, *values
        found = _run(torch.ops.flashtile.attention_backward, _Backward, *inputs)
        for place, gradient, wanted in zip(places, found, wants):
            gradients[place] = gradient if wanted else None
    return tuple(gradients)


def refuse_second(ctx, *gradients, name="attention_backward"):
    raise RuntimeError(
        f"flashtile::{name} has no derivative: second derivatives of attention are not computed; "
        "expected backward() without a graph of its own (create_graph=False)"
    )


class _Forward(torch.autograd.Function):
    """attention_forward for the transforms of torch.func, to which a derivative
    that is registered means nothing."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs):
        return torch.ops.flashtile.attention_forward(*inputs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _keep(ctx, inputs, output)

    @staticmethod
    def backward(ctx, dout, dlse):
        return _differentiate(ctx, dout, dlse)


class _Backward(torch.autograd.Function):
    """The same of attention_backward."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs):
        return torch.ops.flashtile.attention_backward(*inputs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        refuse_second(ctx, *gradients)


def _run(op, function, *inputs):
    return function.apply(*inputs) if is_transformed() else op(*inputs)


def is_transformed():
    """Whether a transform of torch.func looks at what runs."""
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def run(*inputs):
    """attention_forward, whatever looks at it."""
    return _run(torch.ops.flashtile.attention_forward, _Forward, *inputs)


def define_operation(library, name, schema, function, fake, differentiate, keep=None):
    """flashtile::`name`, with a fake implementation and a derivative."""
    library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(name, function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"flashtile::{name}", fake, lib=library)
    torch.library.register_autograd(f"flashtile::{name}", differentiate, setup_context=keep, lib=library)


def define(library):
    """Both operations, in PyTorch's `library`."""
    inputs = "Tensor q, Tensor k, Tensor v"
    forward = f"({inputs}, bool want_lse, {_OPTIONS}) -> (Tensor, Tensor)"
    define_operation(library, "attention_forward", forward, _forward, _forward_fake, _differentiate, _keep)
    given = "Tensor out, Tensor lse, Tensor dout, Tensor? dlse, bool[] wants"
    backward = f"({inputs}, {given}, {_OPTIONS}) -> ({', '.join(['Tensor'] * len(WANTS))})"
    define_operation(library, "attention_backward", backward, _backward, _backward_fake, refuse_second)
