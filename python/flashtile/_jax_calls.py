# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and its gradients as single operations of JAX's, with a rule for
vmap each: what is mapped becomes part of the batch."""

import functools
from typing import NamedTuple, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from . import _jax_extension as extension
from . import _structs as fa
from ._attention import Options, describe_inputs, four_dims
from ._backward import _CAPTURES
from ._plan import Launch
from ._tensor import NAMES, Tensor, row_major

# Arrays that have no batch.
_PER_HEAD = ("hasAlibi", "hasSink")
_WITHOUT_BATCH = (*_PER_HEAD, "rng")


class Call(NamedTuple):
    """What of an operation is known when it is traced.

    options: as flashtile.attention has them. given: which optional arrays there
    are. wants: of gradients, whose; empty: it is the attention itself.
    """

    options: Options
    given: Tuple[str, ...]
    wants: Tuple[str, ...] = ()
    has_dlse: bool = False

    @property
    def layout(self):
        return self.options.layout

    def inputs(self):
        """Names of the arrays, in order."""
        results = ("out", "lse", "dout", *(("dlse",) if self.has_dlse else ())) if self.wants else ()
        return ("q", "k", "v", *self.given, *results)

    def results(self):
        """Names of what it gives: of gradients, those of the inputs."""
        if self.wants:
            return tuple(_CAPTURES[name][0] if name in _CAPTURES else name for name in self.wants)
        return ("out", "lse") if self.options.return_lse else ("out",)


def _result_shapes(call, arrays):
    """Shape and type of each result."""
    if call.wants:
        of = dict(zip(call.inputs(), arrays))
        return [(of[name].shape, of[name].dtype) for name in call.results()]
    q, _, v = arrays[:3]
    b, x, y, _ = q.shape
    shapes = [((b, x, y, v.shape[3]), q.dtype)]
    if len(call.results()) == 2:
        shapes.append(((b, y, x) if call.layout == "bshd" else (b, x, y), jnp.dtype("float32")))
    return shapes


def _tensor(name, shape, dtype):
    """As the package's other calls describe an array, without an address."""
    if name == "rng":  # int64, in halves where JAX has no 64-bit integers
        shape, dtype = (2,), "int64"
    kind = str(dtype)
    if kind not in NAMES:
        raise TypeError(f"expected elements of {', '.join(NAMES)}, found {kind} of {name}")
    return Tensor(None, NAMES.index(kind), shape, row_major(shape), None)


def _describe(call, arrays):
    """The text of the plan, the scale and the arguments of the launch."""
    names = call.inputs()
    tensors = [_tensor(name, x.shape, x.dtype) for name, x in zip(names, arrays)]
    inputs = 3 + len(call.given)
    members, arguments = describe_inputs(call.options, tensors[:inputs], call.given)
    is_long = lambda tensor: len(tensor.shape) == 4
    results = [_tensor(name, *facts) for name, facts in zip(call.results(), _result_shapes(call, arrays))]
    per_query = lambda name, x: four_dims(name, x, call.layout) if is_long(x) and name != "bias" else x
    rest = [*zip(names[inputs:], tensors[inputs:]), *zip(call.results(), results)]
    arguments += [per_query(name, x) for name, x in rest]
    return extension.key_of(members, call.wants, int(call.has_dlse)), arguments


def _swapped(call, shapes):
    """A bit for each array and result that has queries or keys before heads."""
    if call.layout != "bshd":
        return 0
    names = (*call.inputs(), *call.results())
    return sum(1 << n for n, name in enumerate(names) if len(shapes[n]) == 4 and name != "bias")


def varying_axes(arrays):
    """Inside of shard_map the axes of the mesh along which some of them differ."""
    return frozenset().union(*(jax.typeof(x).manual_axis_type.varying for x in arrays))


def vary(arrays, axes):
    """The arrays, as ones that differ along all of `axes`."""
    missing = [tuple(sorted(axes - varying_axes([x]))) for x in arrays]
    return tuple(jax.lax.pcast(x, more, to="varying") if more else x for x, more in zip(arrays, missing))


def _launch(call, *arrays):
    """One call of XLA's. What is wrong is said now: the plan is made, for the
    processor that JAX has, and looks at the shapes."""
    key, arguments = _describe(call, arrays)
    target = "cuda:0" if jax.default_backend() == "gpu" else "cpu"
    for argument in arguments:
        if isinstance(argument, Tensor):
            argument.target = target
    Launch(extension.plan(key, target), arguments).prepare()
    facts = _result_shapes(call, arrays)
    results = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in facts)
    scale_at = next(n for n, argument in enumerate(arguments) if not isinstance(argument, Tensor))
    shapes = [x.shape for x in arrays] + [shape for shape, _ in facts]
    found = jax.ffi.ffi_call(extension.TARGET, results)(
        *arrays,
        key=key,
        scale=np.float32(arguments[scale_at]),
        scale_at=np.int64(scale_at),
        swapped=np.int64(_swapped(call, shapes)),
    )
    return vary(found, varying_axes(arrays))


def _merge(name, x, is_batched, size, b):
    """An array with what is mapped in its batch."""
    if name == "bias" and x.shape[is_batched] == 1:
        if not is_batched:
            return x  # the same for all
        x = jnp.broadcast_to(x, (size, b, *x.shape[2:]))
    if not is_batched:
        x = jnp.broadcast_to(x, (size, *x.shape))
    return x.reshape(size * x.shape[1], *x.shape[2:])


@functools.lru_cache(maxsize=1024)
def operation(call):
    """The operation of `call`, a function of its arrays that gives a tuple."""

    @jax.custom_batching.custom_vmap
    def launch(*arrays):
        return _launch(call, *arrays)

    @launch.def_vmap
    def _(size, batched, *arrays):
        names, results = call.inputs(), call.results()
        is_batched = [all(jax.tree.leaves(x)) for x in batched]
        # What has no batch to be a part of goes one by one. So does dropout, whose
        # elements are those of a batch's number.
        alone = any(name in _WITHOUT_BATCH and own for name, own in zip(names, is_batched))
        if alone or "rng" in names or any(name in _PER_HEAD for name in results):
            mapped = [x if own else jnp.broadcast_to(x, (size, *x.shape)) for x, own in zip(arrays, is_batched)]
            return jax.lax.map(lambda each: launch(*each), tuple(mapped)), (True,) * len(results)
        b = arrays[0].shape[is_batched[0]]
        merged, wide = [], False
        for name, x, own in zip(names, arrays, is_batched):
            if name in _WITHOUT_BATCH:
                merged.append(x)
                continue
            if name == "bias" and "bias" in results:  # each has a gradient of its own
                wide = x.shape[own] != b
                x, own = jnp.broadcast_to(x if own else x[None], (size, b, *x.shape[own + 1 :])), True
            merged.append(_merge(name, x, own, size, b))
        found = [x.reshape(size, -1, *x.shape[1:]) for x in launch(*merged)]
        if wide:
            n = results.index("bias")
            found[n] = found[n].sum(1, keepdims=True)
        return tuple(found), (True,) * len(results)

    return launch
