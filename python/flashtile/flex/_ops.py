# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's operations, as far as they are said of one element.

A value that is no number, such as a row of a captured table, is a number for
each of its elements: what becomes one number again (any, sum, dot) is unrolled.
"""

import torch

aten = torch.ops.aten


def type_of(dtype):
    """f32, index or i1; None for what has no numbers like these."""
    if dtype == torch.bool:
        return "i1"
    if dtype.is_floating_point:
        return "f32"
    return "index" if not dtype.is_complex else None


class Value:
    """A tensor of expressions: shape, PyTorch's dtype, and `at` an index, a tuple
    of numbers and, where it is known for each element alone, expressions.

    table: of what is the same for all elements, the step that computes it.
    """

    def __init__(self, shape, dtype, at, table=None):
        self.shape, self.dtype, self.table = tuple(shape), dtype, table
        self._at, self._known = at, {}
        if not self.shape and table is None:
            self.at(())

    def at(self, index):
        if index not in self._known:
            self._known[index] = self._at(index)
        return self._known[index]

    @property
    def wide(self):
        return self.dtype == torch.int64


class Call:
    """What a handler is given: the operation's arguments as Values and Python's
    numbers, and how its result looks."""

    def __init__(self, build, node_args, kwargs, shape, dtype):
        self.build, self.args, self.kwargs = build, node_args, kwargs
        self.shape, self.dtype, self.type = tuple(shape), dtype, type_of(dtype)

    def arg(self, number, name=None, default=None):
        if number < len(self.args):
            return self.args[number]
        return self.kwargs.get(name, default)

    def scalar(self, x, type, index=()):
        """`x`, a Value or number, as an expression of `type`; of a Value the
        element that broadcasting puts at `index`."""
        if not isinstance(x, Value):
            return self.build.constant(x, type)
        skipped = len(index) - len(x.shape)
        own = tuple(0 if size == 1 else at for size, at in zip(x.shape, index[skipped:]))
        return self.build.convert(x.at(own), type, x.wide or self.dtype == torch.int64)

    def each(self, function, *args, type=None):
        """`function` of the elements of `args`, as `type` or as the result."""
        type = type or self.type

        def at(index):
            return function(*[self.scalar(x, type, index) for x in args])

        return Value(self.shape, self.dtype, at)

    def common(self, *args):
        """The type in which numbers are compared."""
        kinds = {type_of(x.dtype) if isinstance(x, Value) else _type_of_number(x) for x in args}
        return next(kind for kind in ("f32", "index", "i1") if kind in kinds)


def _type_of_number(x):
    return "i1" if isinstance(x, bool) else "index" if isinstance(x, int) else "f32"


HANDLERS = {}
# Of other packages' operations, by name.
NAMED = {}


def handles(*names):
    """Registers a handler of the aten operations `names`, as far as this PyTorch
    has them. It takes a Call and gives a Value."""

    def register(handler):
        for name in names:
            packet, overload = name.split(".")
            if hasattr(aten, packet) and hasattr(getattr(aten, packet), overload):
                HANDLERS[getattr(getattr(aten, packet), overload)] = handler
        return handler

    return register
