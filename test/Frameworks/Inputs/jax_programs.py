"""Attention in JAX, as linalg by the passes of its own wheel.

usage: jax_programs.py check | keep FOLDER
"""

import dataclasses
import os
import re

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before it is imported

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from programs import KERNELS, PART, Program, main, numbers

B, H, G, D = 2, 4, 2, 16  # batches, heads, heads of K and V, elements of a head
S, T = 24, 40  # queries, keys

attention = jax.nn.dot_product_attention


def by_hand(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(D)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return jnp.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v)


def einsum(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) * D**-0.5
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None]
    p = jax.nn.softmax(jnp.where(j <= i, s, -jnp.inf))
    return jnp.einsum("bhqk,bkhd->bqhd", p, v)


def grouped_einsum(q, k, v):
    q = q.reshape(B, S, G, H // G, D)
    s = jnp.einsum("bqhgd,bkhd->bhgqk", q, k) * D**-0.5
    return jnp.einsum("bhgqk,bkhd->bqhgd", jax.nn.softmax(s), v).reshape(B, S, H, D)


def block(x, wq, wk, wv, wo):
    q, k, v = ((x @ w).reshape(B, S, H, D) for w in (wq, wk, wv))
    return attention(q, k, v, is_causal=True).reshape(B, S, H * D) @ wo


def decoder(x, y, wq, wk, wo):
    """Attention of x to itself and then to y, as in a decoder's layer."""
    h = x + attention(x, x, x, is_causal=True)
    q, k = ((z.reshape(B, -1, H * D) @ w).reshape(B, -1, H, D) for z, w in ((h, wq), (y, wk)))
    return h + (attention(q, k, y).reshape(B, S, H * D) @ wo).reshape(h.shape)


def gated(q, k, v, g):
    return attention(q, k, v) * jax.nn.sigmoid(g)


def gradients_of(function):
    def gradients(*inputs):
        return jax.vjp(function, *inputs[:-1])[1](inputs[-1])

    return gradients


def causal(q, k, v):
    return attention(q, k, v, is_causal=True)


def shifted(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(D)
    e = jnp.exp(s - jax.lax.stop_gradient(s.max(-1, keepdims=True)))
    return jnp.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v)


def own_gradients(q, k, v, dout):
    """Of a softmax written out, with its output, which is copied: the kernels of the gradients read it in workspace."""
    out, backward = jax.vjp(shifted, q, k, v)
    return out, *backward(dout)


def loss_gradients(x, wq, wk, wv, wo):
    """Of weights of deviation 1, which a network's are not: with scores in the hundreds rounding decides everything."""
    loss = lambda *w: jnp.sum(block(x, *(m / np.sqrt(H * D).astype("float32") for m in w)) ** 2)
    return jax.grad(loss, argnums=(0, 1, 2, 3))(wq, wk, wv, wo)


queries = numbers(B, S, H, D, seed=1)
keys, values = (numbers(B, T, H, D, seed=n) for n in (2, 3))
few_keys, few_values = keys[:, :, :G], values[:, :, :G]
same_keys, same_values = keys[:, :S], values[:, :S]
heads_first = [x.swapaxes(1, 2) for x in (queries, keys, values)]
lengths = np.array([13, 0], "int32")  # of the second no key is seen
query_lengths = np.array([9, 24], "int32")
mask = numbers(B, 1, S, T, seed=4) > 0
mask[0, 0, 5] = False
douts = numbers(B, S, H, D, seed=12)
weights = [numbers(H * D, H * D, seed=n) / 8 for n in range(5, 9)]
NAME = "jax.nn.dot_product_attention(q, k, v"
TWO = "the function has 1 gradients of an attention and attentions beside them"

PROGRAMS = [
    Program("full", NAME + ")", attention, [queries, keys, values]),
    Program("bf16", NAME + ") of bfloat16", attention, [queries, keys, values], type="bfloat16"),
    Program("causal", NAME + ", is_causal=True)", lambda q, k, v: attention(q, k, v, is_causal=True),
            [queries, same_keys, same_values]),
    Program("window", NAME + ", local_window_size=(5, 3))", lambda q, k, v: attention(q, k, v, local_window_size=(5, 3)),
            [queries, same_keys, same_values]),
    Program("lengths", NAME + ", key_value_seq_lengths=n)", lambda q, k, v, n: attention(q, k, v, key_value_seq_lengths=n),
            [queries, keys, values, lengths]),
    Program("bias", NAME + ", bias=b)", lambda q, k, v, b: attention(q, k, v, bias=b),
            [queries, keys, values, numbers(1, H, S, T, seed=10)]),
    Program("mask", NAME + ", mask=m)", lambda q, k, v, m: attention(q, k, v, mask=m), [queries, keys, values, mask]),
    Program("grouped", NAME + ") with grouped heads", attention, [queries, few_keys, few_values]),
    Program("grouped_causal", NAME + ", is_causal=True) with grouped heads, of bfloat16",
            lambda q, k, v: attention(q, k, v, is_causal=True), [queries, few_keys[:, :S], few_values[:, :S]], type="bfloat16"),
    Program("by_hand", "A softmax written out", by_hand, heads_first),
    Program("einsum", "jnp.einsum, jax.nn.softmax and jnp.where", einsum, [queries, keys, values]),
    Program("grouped_einsum", "jnp.einsum and jax.nn.softmax with grouped heads", grouped_einsum, [queries, few_keys, few_values]),
    Program("query_lengths", NAME + ", query_seq_lengths=m, key_value_seq_lengths=n)",
            lambda q, k, v, m, n: attention(q, k, v, query_seq_lengths=m, key_value_seq_lengths=n),
            [queries, keys, values, query_lengths, lengths], outcome=PART, reason="its result is not returned as it is, or in another shape"),
    Program("block", "A layer with projections before and behind " + NAME + ", is_causal=True)", block,
            [numbers(B, S, H * D, seed=11), *weights], outcome=PART, reason="q is computed in the function, where a view of an argument is expected"),
    Program("decoder", "Attention to itself, causal, and to others, with projections and residuals", decoder,
            [queries, keys, *[weights[n] for n in (0, 1, 3)]], outcome=PART, reason="the function has 2 attentions, where one is expected"),
    Program("gated", NAME + ") times a gate for each element", gated, [queries, keys, values, numbers(B, S, H, D, seed=13)],
            outcome=PART, reason="its result is not returned as it is, or in another shape"),
    Program("gradients", "jax.vjp of " + NAME + ", is_causal=True)", gradients_of(causal),
            [queries, same_keys, same_values, douts], outcome=KERNELS, reason=TWO),
    Program("gradients_bias", "jax.vjp of " + NAME + ", bias=b) in q, k and v",
            lambda q, k, v, b, d: gradients_of(lambda q, k, v: attention(q, k, v, bias=b))(q, k, v, d),
            [queries, keys, values, numbers(1, H, S, T, seed=10), douts], outcome=KERNELS, reason=TWO),
    Program("gradients_by_hand", "jax.vjp of a softmax written out, and its output", own_gradients,
            [*heads_first, douts.swapaxes(1, 2)], outcome=PART, reason=TWO),
    Program("gradients_layer", "jax.grad of a layer with projections", loss_gradients,
            [numbers(B, S, H * D, seed=11), *(8 * m for m in weights)], outcome=PART, reason=TWO),
]


def arrays(program, type):
    return [jnp.asarray(x, type if x.dtype.kind == "f" else x.dtype) for x in program.inputs]


def text_of(program):
    """`program` in linalg: the passes take no algorithm of a dot, which says that it accumulates in f32."""
    lowered = jax.jit(program.function).lower(*arrays(program, program.type)).compiler_ir("stablehlo")
    passes = "func.func(chlo-legalize-to-stablehlo),stablehlo-legalize-to-linalg,canonicalize,cse"

    def drop_algorithm(op):
        if op.name == "stablehlo.dot_general" and "algorithm" in op.attributes:
            del op.attributes["algorithm"]
        return ir.WalkResult.ADVANCE

    with lowered.context:
        stablehlo.register_stablehlo_passes()
        module = ir.Module.parse(str(lowered))  # what is lowered stays JAX's
        module.operation.walk(drop_algorithm)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return re.sub(r"^module @\S+ attributes \{.*\} \{", "module {", str(module), flags=re.MULTILINE) + "\n"


def outputs(program, type):
    results = jax.jit(program.function)(*arrays(program, type))
    return [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]


def own_of(program):
    return outputs(program, program.type)


def reference_of(program):
    exact = [x if x.dtype.kind in "bi" else x.astype("float64") for x in program.saved]
    with jax.enable_x64(True):
        return outputs(dataclasses.replace(program, inputs=exact), "float64")


if __name__ == "__main__":
    for program in PROGRAMS:
        program.saved = [np.asarray(x) for x in arrays(program, program.type)]
    main(PROGRAMS, text_of, own_of, reference_of, "jax " + jax.__version__, "Inputs/jax_programs.py")
