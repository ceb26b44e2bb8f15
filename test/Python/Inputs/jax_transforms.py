"""flashtile.jax.attention under vmap, scan, checkpoints, shard_map on two
devices, with donated buffers, from threads, and in another process."""
import os
import pathlib
import subprocess
import sys
import threading

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
import jax.numpy as jnp
import numpy as np
from gradients_check import Attention
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax_check import B, D, DV, HKV, HQ, SHAPES, SK, SQ, check_forward, i, j, make, normal, refused, wide

from flashtile.jax import attention

N = 3
EXPORTED = {"causal": True, "softcap": 2.0}
if len(sys.argv) > 2:  # the other process: a program that was traced and kept
    q, k, v = make()
    run = jax.export.deserialize(bytearray(pathlib.Path(sys.argv[2]).read_bytes())).call
    problem = Attention(B, HQ, HKV, SQ, SK, scale=D**-0.5, keep=j <= i + SK - SQ, softcap=2.0)
    check_forward(problem, [q, k, v], run(q, k, v))
    sys.exit(print("right in another process"))


def same(found, expected):
    """Of results that are summed in another order."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        bound = 1e-6 * max(1, abs(b).max())
        assert abs(a - b).max() <= bound, f"error {abs(a - b).max()}, expected {bound} at most"


# ===--- vmap ----------------------------------------------------------------------


def mapped(options, axes, how=None):
    """vmap of output, log-sum-exp and gradients beside one at a time. options: the
    arrays among them; axes: which of q, k, v and these are mapped."""
    shapes = [*SHAPES, *(x.shape for x in options.values())]
    arrays = [*make(), *options.values()]
    for n, axis in enumerate(axes):
        if axis is not None:
            more = [arrays[n] * (1 if arrays[n].dtype == jnp.int32 else 1 + m) for m in range(N)]
            arrays[n] = jnp.stack(more, axis)
    floats = [n for n, x in enumerate(arrays) if x.dtype != jnp.int32]
    weights = normal(*SHAPES[0][:3], DV)

    def run(*arrays):
        given = dict(zip(options, arrays[3:]))
        return attention(*arrays[:3], **given, **(how or {}), return_lse=True)

    def gradients(*arrays):
        loss = lambda *x: sum((a * b).sum() for a, b in zip(run(*x), (weights, weights[..., 0])))
        return jax.grad(loss, floats)(*arrays)

    for function in (run, gradients):
        found = jax.jit(jax.vmap(function, axes))(*arrays)
        each = lambda m: [x if a is None else jnp.take(x, m, a) for x, a in zip(arrays, axes)]
        one = jax.jit(function)
        alone = [one(*each(m)) for m in range(N)]
        same(found, jax.tree.map(lambda *x: jnp.stack(x), *alone))


causal = {"causal": True}
mapped({}, (0, 0, 0), causal)
mapped({}, (None, 1, 2), causal)  # queries that all share
mapped({"bias": normal(1, HQ, SQ, SK)}, (0, None, None, None))
mapped({"bias": normal(B, 1, 1, SK)}, (0, 0, 0, 1))
mapped({"bias": normal(1, 1, SQ, SK)}, (0, 0, 0, 0))
mapped({"lengths": jnp.array([SK, 9], "int32")}, (0, 0, 0, None), causal)
mapped({"alibi_slopes": abs(normal(HQ)), "sink": normal(HQ)}, (0, 0, 0, 0, None))
# One element of the batch at a time, as of models that are written for one.
q, k, v = make()
one = lambda q, k, v: attention(q[None], k[None], v[None], causal=True)[0]
same(jax.vmap(one)(q, k, v), attention(q, k, v, causal=True))
twice = jax.vmap(jax.vmap(one))(*(jnp.stack([x, 2 * x]) for x in (q, k, v)))
same(twice[1], attention(2 * q, 2 * k, 2 * v, causal=True))
key = jax.random.key(1)
dropped = lambda q: attention(q, k, v, dropout_p=0.5, rng=key)
assert jnp.array_equal(jax.vmap(dropped)(jnp.stack([q, q]))[1], dropped(q))
text = str(jax.make_jaxpr(jax.vmap(lambda q: attention(q, k, v)))(jnp.stack([q] * N)))
assert text.count("ffi_call[") == 1 and "scan" not in text, text
refused(AssertionError, "error", lambda: same(twice[1], attention(q, k, v, causal=True)))  # the twin

# ===--- Devices -------------------------------------------------------------------

assert len(jax.devices()) == 2
mesh = Mesh(np.array(jax.devices()), ("x",))
spread = lambda *spec: dict(mesh=mesh, in_specs=(PartitionSpec(*spec),) * 3, out_specs=PartitionSpec(*spec))
loss = lambda f: lambda *x: (f(*x) ** 2).sum()
whole = lambda q, k, v: attention(q, k, v, causal=True)
for spec in (("x",), (None, "x")):  # a batch for each, heads for each
    parts = jax.shard_map(whole, **spread(*spec))
    same(jax.jit(parts)(q, k, v), whole(q, k, v))
    gradients = [jax.jit(jax.grad(loss(f), (0, 1, 2)))(q, k, v) for f in (parts, whole)]
    same(*gradients)
    there = NamedSharding(mesh, PartitionSpec(*spec))
    found = jax.jit(parts)(*(jax.device_put(x, there) for x in (q, k, v)))
    assert found.sharding.is_equivalent_to(there, 4), found.sharding
    same(found, whole(q, k, v))
    same(jax.jit(whole)(*(jax.device_put(x, there) for x in (q, k, v))), whole(q, k, v))  # gathered
# Keys and values that each device has the whole of.
specs = (PartitionSpec("x"), PartitionSpec(), PartitionSpec())
shared = jax.shard_map(lambda q, k, v: attention(q, k, v), mesh=mesh, in_specs=specs, out_specs=PartitionSpec("x"))
few = q, k[:1], v[:1]
expected = jnp.concatenate([attention(q[n : n + 1], *few[1:]) for n in range(2)])
same(jax.jit(shared)(*few), expected)
sums = [
    jax.jit(jax.grad(loss(f), (0, 1, 2)))(*few)
    for f in (shared, lambda q, k, v: attention(q, *(jnp.broadcast_to(x, (B, *x.shape[1:])) for x in (k, v))))
]
same(*sums)
second = [jax.device_put(x, jax.devices()[1]) for x in (q, k, v)]
assert jax.jit(whole)(*second).devices() == {jax.devices()[1]}
same(jax.device_put(jax.jit(whole)(*second), jax.devices()[0]), whole(q, k, v))

# ===--- Buffers, loops, threads ---------------------------------------------------

square = [normal(B, HQ, SQ, D) for _ in range(3)]
step = lambda q, k, v: attention(q, k, v, causal=True) + 0.5 * q
kept, given = jax.jit(step), jax.jit(step, donate_argnums=0)
x, y = square[0], square[0] + 0
for _ in range(4):
    before, (x, y) = y, (kept(x, *square[1:]), given(y, *square[1:]))
    assert before.is_deleted()
assert jnp.array_equal(x, y)
looped = jax.jit(lambda x: jax.lax.scan(lambda x, _: (step(x, *square[1:]), None), x, length=4)[0])
assert jnp.array_equal(looped(square[0]), x)
again = jax.checkpoint(step)
same(*(jax.jit(jax.grad(loss(f), (0, 1, 2)))(*square) for f in (again, step)))

results = [None] * 4


def work(n):
    results[n] = [kept(n * square[0], *square[1:]) for _ in range(5)][-1]


threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(jnp.array_equal(x, kept(n * square[0], *square[1:])) for n, x in enumerate(results))

# ===--- Another process -----------------------------------------------------------

allowed = [jax.export.DisabledSafetyCheck.custom_call("flashtile_launch")]
program = jax.export.export(jax.jit(lambda *x: attention(*x, **EXPORTED)), disabled_checks=allowed)(q, k, v)
file = pathlib.Path(sys.argv[1])
file.write_bytes(program.serialize())
print(subprocess.run([sys.executable, __file__, "", str(file)], check=True, capture_output=True, text=True).stdout)
print("right")
