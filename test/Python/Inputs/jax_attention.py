"""flashtile.jax.attention: outputs and gradients under jit, compared with
float64, in all its options, and what is refused."""
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax_check import B, HQ, SK, SQ, case, check_forward, i, j, make, normal, refused, wide

import flashtile
from flashtile.jax import attention, count_calls

bottom = j <= i + SK - SQ
lengths = jnp.array([SK, 9], "int32")
first = jnp.asarray(np.repeat((i // 5 * 5).astype(np.int32).T, B, 0))
last = jnp.minimum(first + 7, SK)
seen = (j[None] < np.asarray(lengths)[:, None, None])[:, None]
bias, slopes, sink = normal(1, HQ, SQ, SK), abs(normal(HQ)), normal(HQ)
per_key = normal(B, 1, 1, SK)
away = abs(i + SK - SQ - j)
column = wide(slopes)[0][:, None, None]

problem, inputs = case({}, dlse=True)
case({"causal": True}, keep=bottom)
case({"causal": "top-left"}, keep=j <= i, dlse=True)
case({"causal": True}, keep=bottom, type="bfloat16")
case({"causal": True}, keep=bottom, type="float16")
case({"window": (5, None), "causal": True, "softcap": 2.0}, keep=bottom & (j >= i + SK - SQ - 5), softcap=2.0)
case({"lengths": lengths}, keep=seen)
case({"key_ranges": (first, last)}, keep=((wide(first)[0][..., None] <= j) & (j < wide(last)[0][..., None]))[:, None])
case({"bias": bias}, added=wide(bias)[0], learned=[("bias", 1.0)])
case({"bias": per_key}, added=wide(per_key)[0], learned=[("bias", 1.0)])
case({"alibi_slopes": slopes, "causal": True}, keep=bottom, added=-column * away, learned=[("alibi_slopes", -away)])
case({"sink": sink}, sink=wide(sink)[0], learned=[("sink", None)])
half = "%half = arith.constant 0.5 : f32\n%score = arith.mulf %s, %half : f32"
case({"score_mod": half, "mask_mod": "%keep = arith.cmpi sle, %j, %i : index"}, keep=j <= i, factor=0.5)

# Heads behind queries, as JAX's own attention has them: read and written where they are.
turn = lambda x: jnp.swapaxes(x, 1, 2)
turned = [turn(x) for x in inputs]
out, lse = attention(*turned, layout="bshd", return_lse=True, scale=0.3)
check_forward(problem, inputs, turn(out))
assert lse.shape == (B, HQ, SQ)
gradient = lambda layout, x: jax.grad(lambda *x: attention(*x, layout=layout).sum(), (0, 1, 2))(*x)
for a, b in zip(gradient("bshd", turned), gradient("bhsd", inputs)):
    assert jnp.array_equal(turn(a), b)
compiled = jax.jit(lambda *x: attention(*x, layout="bshd")).lower(*turned).compile().as_text()
assert compiled.count("custom-call(") == 1 and "transpose" not in compiled, compiled

# Each call is one of XLA's, and no Python is in it.
before, jitted = count_calls(), jax.jit(attention)
for _ in range(3):
    jitted(*inputs).block_until_ready()
assert count_calls() == before + 3

# What is not wanted is not computed.
text = str(jax.make_jaxpr(jax.grad(lambda *x: attention(*x, bias=bias).sum()))(*inputs))
assert '\\"wants\\": [\\"q\\"], \\"dlse\\": 0' in text or '"wants": ["q"], "dlse": 0' in text, text

# Dropout, by the program that docs/numerics.md shows.
words = (pathlib.Path(sys.argv[1]) / "docs/numerics.md").read_text()
names = {"np": np}
exec(re.search("```python\n(def dropout.*?)```", words, re.DOTALL).group(1), names)
key = jax.random.key(5)
bits = np.asarray(jax.random.bits(key, (4,), jnp.uint32)).view(np.int64)
case({"dropout_p": 0.3, "rng": key}, factors=names["dropout"](0.3, bits, B, HQ, SQ, SK))
case({"dropout_p": 0.3, "rng": jax.random.PRNGKey(5)}, factors=names["dropout"](0.3, bits, B, HQ, SQ, SK))

# The twins: another mask and another derivative are found.
refused(AssertionError, "error", lambda: check_forward(problem, inputs, attention(*inputs, scale=0.3, causal=True)))
refused(AssertionError, "error", lambda: case({"lengths": lengths}))
twice = [("bias", 2.0)]
refused(AssertionError, "dlearned 0: error", lambda: case({"bias": bias}, added=wide(bias)[0], learned=twice))

# What is refused, when it is traced.
q, k, v = inputs
refused(flashtile.Error, "", lambda: attention(q, k, v, bias=bias.astype("int32")))
refused(flashtile.Error, "", lambda: jax.jit(attention)(q, k[:, :, :5], v))
refused(flashtile.Error, "", lambda: attention(q, k.astype("bfloat16"), v))
refused(TypeError, "int8", lambda: attention(*(x.astype("int8") for x in inputs)))
refused(ValueError, "bottom-right", lambda: attention(q, k, v, causal="left"))
refused(ValueError, "an rng beside dropout_p", lambda: attention(q, k, v, dropout_p=0.1))
refused(ValueError, "no rng without", lambda: attention(q, k, v, rng=key))
refused(TypeError, "", lambda: jax.jit(lambda scale: attention(q, k, v, scale=scale))(0.5))
loss = lambda q: attention(q, k, v).sum()
refused(TypeError, "custom_vjp", lambda: jax.jvp(loss, (q,), (q,)))
refused(NotImplementedError, "second derivative", lambda: jax.grad(lambda q: jax.grad(loss)(q).sum())(q))
print("right")
