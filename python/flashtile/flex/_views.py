# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions, views, and what becomes one number again: that is unrolled."""

import itertools
import math

import torch

from ._ops import HANDLERS, Value, handles

# Beyond these a mod that is unrolled would be a program that takes long to compile.
MOST_UNROLLED = 1024


@handles(
    "_to_copy.default",
    "clone.default",
    "detach.default",
    "alias.default",
    "lift_fresh_copy.default",
    "expand.default",
    "contiguous.default",
)
def _same(c):
    return c.each(lambda x: x, c.args[0])


HANDLERS[torch.ops.prims.convert_element_type.default] = _same


def _filled(number_at):
    def handler(c):
        value = number_at(c)
        return c.each(lambda: c.build.constant(value, c.type))

    return handler


handles("new_ones.default", "ones_like.default")(_filled(lambda c: 1))
handles("new_zeros.default", "zeros_like.default")(_filled(lambda c: 0))
handles("new_full.default")(_filled(lambda c: c.args[2]))
handles("full_like.default")(_filled(lambda c: c.args[1]))


def _positions(shape):
    return itertools.product(*map(range, shape))


@handles(
    "unsqueeze.default",
    "squeeze.default",
    "squeeze.dim",
    "squeeze.dims",
    "view.default",
    "reshape.default",
    "_unsafe_view.default",
)
def _reshape(c):
    x = c.args[0]
    if math.prod(c.shape) > MOST_UNROLLED:
        raise NotImplementedError(f"a view of more than {MOST_UNROLLED} elements")
    own = dict(zip(_positions(c.shape), _positions(x.shape)))

    def at(index):
        if index not in own:
            raise NotImplementedError("an index into a view that is known for each element alone")
        return x.at(own[index])

    return Value(c.shape, c.dtype, at)


@handles("permute.default", "transpose.int", "t.default")
def _permute(c):
    x, rank = c.args[0], len(c.args[0].shape)
    order = list(range(rank))
    if len(c.args) == 2:
        order = [d % rank for d in c.args[1]]
    elif len(c.args) == 3:
        one, other = (d % rank for d in c.args[1:])
        order[one], order[other] = other, one
    else:
        order.reverse()
    return Value(c.shape, c.dtype, lambda index: x.at(tuple(index[order.index(d)] for d in range(rank))))


@handles("select.int")
def _select_int(c):
    x, dim, number = c.args
    if isinstance(number, Value):
        raise NotImplementedError("an index beside a whole dimension; x[b, h] in place of x[b, :, h]")
    dim, number = dim % len(x.shape), number % x.shape[dim]
    return Value(c.shape, c.dtype, lambda index: x.at(index[:dim] + (number,) + index[dim:]))


@handles("slice.Tensor")
def _slice(c):
    x, dim = c.args[0], c.arg(1, "dim", 0) % len(c.args[0].shape)
    start, step = c.arg(2, "start") or 0, c.arg(4, "step", 1)
    start = min(start + x.shape[dim] if start < 0 else start, x.shape[dim])

    def moved(n):
        if isinstance(n, int):
            return start + step * n
        number = lambda value: c.build.constant(value, "index")
        return c.build.add(number(start), c.build.multiply(number(step), n))

    return Value(c.shape, c.dtype, lambda index: x.at(index[:dim] + (moved(index[dim]),) + index[dim + 1 :]))


# ===--- Reductions ---===


def _reduced(c, combine, empty):
    """All elements along dimensions, combined."""
    x, dims = c.args[0], c.arg(1, "dim")
    rank = len(x.shape)
    if dims is None or isinstance(dims, (list, tuple)) and not dims:
        dims = range(rank)
    dims = {d % rank for d in ([dims] if isinstance(dims, int) else dims)} if rank else set()
    if math.prod(x.shape[d] for d in dims) > MOST_UNROLLED:
        raise NotImplementedError(f"a reduction of more than {MOST_UNROLLED} elements")
    keeps = len(c.shape) == rank

    def at(index):
        rest = iter(index)
        place = [next(rest) if keeps or d not in dims else None for d in range(rank)]
        sizes = [range(x.shape[d]) if d in dims else [place[d]] for d in range(rank)]
        found = [c.build.convert(x.at(each), c.type, x.wide) for each in itertools.product(*sizes)]
        return c.build.tree(combine, found) if found else c.build.constant(empty, c.type)

    return Value(c.shape, c.dtype, at)


@handles("any.default", "any.dim", "any.dims")
def _any(c):
    return _reduced(c, c.build.either, False)


@handles("all.default", "all.dim", "all.dims")
def _all(c):
    return _reduced(c, c.build.both, True)


@handles("sum.default", "sum.dim_IntList")
def _sum(c):
    return _reduced(c, c.build.add, 0)


@handles("amax.default", "max.default")
def _amax(c):
    return _reduced(c, c.build.most, -math.inf)


@handles("amin.default", "min.default")
def _amin(c):
    return _reduced(c, c.build.least, math.inf)


@handles("dot.default", "vdot.default")
def _dot(c):
    x, y = c.args[:2]
    if math.prod(x.shape) > MOST_UNROLLED:
        raise NotImplementedError(f"a dot of more than {MOST_UNROLLED} elements")
    product = lambda n: c.build.multiply(c.scalar(x, c.type, (n,)), c.scalar(y, c.type, (n,)))
    return Value((), c.dtype, lambda index: c.build.tree(c.build.add, map(product, range(x.shape[0]))))
