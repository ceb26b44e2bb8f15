# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What depends on b, h and q_idx alone, or on kv_idx alone, through other tensors.

`offsets[document[q_idx]]` is one number for each query. Read by each element it
is a read at an index that was read, of which a mask's bounds cannot be; PyTorch
computes it once a call for all queries, and what elements read is that vector,
at q_idx: a bound of the keys that a query sees.
"""

import torch

from . import _conditions, _functions
from ._ops import HANDLERS, Value, aten

_LETTERS = "bhij"  # batch, head, query, key
_QUERIES, _KEYS = frozenset("bhi"), frozenset("j")
_CONVERSIONS = (aten._to_copy.default, aten.clone.default, aten.detach.default)


def _is_elementwise(target):
    handler = HANDLERS.get(target)
    return target in _CONVERSIONS or handler and handler.__module__ in (_functions.__name__, _conditions.__name__)


def coordinate(letter, sizes, device):
    """All numbers of one coordinate: of b, h and i as three dimensions, of j one."""
    numbers = torch.arange(sizes[letter], dtype=torch.int32, device=device)
    place = _LETTERS.index(letter)
    return numbers if letter == "j" else numbers.reshape([-1 if d == place else 1 for d in range(3)])


def row(x, missing, dtype):
    """Without the dimensions of coordinates that it does not depend on."""
    return x.to(dtype).squeeze(missing)


class Rows:
    """Finds them. add_step: adds a step to a Mod's and gives its value."""

    def __init__(self, add_step, read):
        self._add_step, self._read = add_step, read
        # (letters, whether it reads at what was read) of each node.
        self._facts, self._steps, self._values = {}, {}, {}

    def add_coordinate(self, node, letter):
        self._facts[node] = frozenset(letter), False
        self._steps[node] = None, letter

    def add(self, node, inputs, values):
        """Notes what `node` depends on, if it is such a thing."""
        shown = node.meta.get("val")
        if not isinstance(shown, torch.Tensor) or shown.dim():
            return
        is_read = node.target is aten.index.Tensor
        if is_read:
            table, indices = node.args
            is_whole = values[table].table and len(indices) == len(values[table].shape) and None not in indices
            if not is_whole:
                return
            inputs = indices
        elif not _is_elementwise(node.target):
            return
        varying = [n for n in inputs if not values[n].table]
        if any(n not in self._facts for n in varying) or any(values[n].shape for n in inputs):
            return
        letters = frozenset().union(*(self._facts[n][0] for n in varying))
        if letters and (letters <= _QUERIES or letters <= _KEYS):
            is_deep = any(self._facts[n][1] for n in varying)
            is_deep |= is_read and any(n.op != "placeholder" for n in varying)
            self._facts[node] = letters, is_deep

    def replace(self, node, inputs, values):
        """Makes those of the inputs that `node`, which is none, takes into tables."""
        if node in self._facts:
            return
        for n in inputs:
            if self._facts.get(n, (None, False))[1]:
                values[n] = self._value(n, values)

    def _value(self, node, values):
        if node not in self._values:
            letters, dtype = self._facts[node][0], node.meta["val"].dtype
            missing = () if letters <= _KEYS else tuple(d for d in range(3) if _LETTERS[d] not in letters)
            step = self._add_step(row, (self._step(node, values), missing, dtype), {})
            place = [letter for letter in _LETTERS if letter in letters]
            shape = (-1,) * len(place)
            self._values[node] = Value((), dtype, lambda index: self._read(step, dtype, shape, place))
        return self._values[node]

    def _step(self, node, values):
        known = self._steps.get(node)
        if known is None:
            known = self._steps[node] = self._new_step(node, values)
        elif isinstance(known, tuple):  # a coordinate, which is a step only if it is needed
            known = self._steps[node] = self._add_step("coordinate", known[1], None)
        return known

    def _new_step(self, node, values):
        if values[node].table:  # a number; with a dimension, as what it meets has
            return self._add_step(torch.Tensor.reshape, (values[node].table, 1), {})
        step = lambda n: self._step(n, values)
        if node.target is aten.index.Tensor:
            table, indices = node.args
            return self._add_step(node.target, (values[table].table, [step(n) for n in indices]), {})
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), step)
        return self._add_step(node.target, args, kwargs)
