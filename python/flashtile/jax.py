# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention as an operation of JAX's.

    from flashtile.jax import attention
    out = jax.jit(attention)(q, k, v)

A call is one custom call of XLA's to libflashtile-jax.so, which launches: no
Python is between XLA and the kernel. docs/jax.md is the manual.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from ._attention import Options, optional_arrays
from ._jax_calls import Call, operation, vary, varying_axes
from ._jax_extension import count_calls

__all__ = ["attention", "count_calls"]

# Members of a description, by the names of flashtile.attention_backward's wants.
_WANTS = {"q": "q", "k": "k", "v": "v", "bias": "bias", "hasAlibi": "alibi_slopes", "hasSink": "sink"}


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class _Wants:
    """Whose gradients are wanted, beside arrays."""

    names: tuple


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _run(call, arrays):
    """The operation, as a part of a derivative, which has none itself."""
    return operation(call)(*arrays)


@_run.defjvp
def _(call, arrays, tangents):
    raise NotImplementedError(
        "expected one derivative of flashtile.jax.attention, in reverse; found a second derivative, "
        "which is not computed"
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(call, arrays):
    found = operation(call)(*arrays)
    return found if call.options.return_lse else found[0]


def _forward(call, arrays):
    names = call.inputs()
    wants = tuple(_WANTS[name] for name, x in zip(names, arrays) if name in _WANTS and x.perturbed)
    values = tuple(x.value for x in arrays)
    with_lse = call._replace(options=call.options._replace(return_lse=True))
    out, lse = _run(with_lse, values)
    return (out, lse) if call.options.return_lse else out, (values, out, lse, _Wants(wants))


def _backward(call, kept, gradients):
    values, out, lse, wants = kept
    is_zero = lambda x: isinstance(x, jax.custom_derivatives.SymbolicZero)
    dout, dlse = gradients if call.options.return_lse else (gradients, None)
    if not wants.names or (is_zero(dout) and (dlse is None or is_zero(dlse))):
        return ((None,) * len(values),)
    results = (out, lse, jnp.zeros_like(out) if is_zero(dout) else dout)
    has_dlse = dlse is not None and not is_zero(dlse)
    results += (dlse,) if has_dlse else ()
    options = call.options._replace(return_lse=True)
    found = iter(_run(Call(options, call.given, wants.names, has_dlse), values + results))
    return (tuple(next(found) if _WANTS.get(name) in wants.names else None for name in call.inputs()),)


_attention.defvjp(_forward, _backward, symbolic_zeros=True)


def _rng(rng, dropout_p):
    """A seed and an offset, int64 [2] or in halves, of a key of jax.random's."""
    if rng is None:
        if dropout_p:
            raise ValueError("expected an rng beside dropout_p, a key of jax.random's, found none")
        return None
    if not dropout_p:
        raise ValueError("expected no rng without dropout_p, found one")
    rng = jnp.asarray(rng)
    if rng.dtype == jnp.int64:
        return rng
    return jax.random.bits(rng, (4,), jnp.uint32)


def attention(
    q,
    k,
    v,
    *,
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
    return_lse=False,
):
    """As flashtile.attention, of JAX's arrays, for jit, grad, vmap and shard_map.

    Differentiable with respect to q, k, v, a bias, slopes and a sink, in reverse
    and once. What is no array is known when it is traced. rng: a key of
    jax.random's, which says which elements dropout drops.
    """
    if dropout_p or rng is not None:
        rng = _rng(rng, dropout_p)
    given, optional = optional_arrays(bias, alibi_slopes, lengths, key_ranges, sink, rng)
    window = None if window is None else tuple(window)
    scale = None if scale is None else float(scale)
    options = Options(
        causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, dropout_p, layout, return_lse
    )
    arrays = [jnp.asarray(x) for x in (q, k, v, *optional)]
    # Of what all devices of shard_map have, gradients are summed over them.
    return _attention(Call(options, given), vary(arrays, varying_axes(arrays)))
