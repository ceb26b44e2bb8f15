# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What depends on b, h and q_idx alone, or on kv_idx alone, through other tensors.

`offsets[document[q_idx]]` is one number for each query. Read by each element it
is a read at an index that was read, of which a mask's bounds cannot be; PyTorch
computes it once a call for all queries, and what elements read is that vector,
at q_idx: a bound of the keys that a query sees. Where `document[kv_idx]` grows
with the key, `document[q_idx] == document[kv_idx]` has two such bounds, and
`q_idx >= starts[document[kv_idx]]` has one.
"""

import operator

import torch

from . import _conditions, _functions
from ._bounds import bounds
from ._ops import HANDLERS, Value, aten

_LETTERS = "bhij"  # batch, head, query, key
_QUERIES, _KEYS = frozenset("bhi"), frozenset("j")
# Whether keys that compare so with a number have a first and a last one, and whether
# the number itself is none.
_KEY_BOUNDS = {
    "eq": (True, True, False),
    "lt": (False, True, True),
    "le": (False, True, False),
    "ge": (True, False, False),
    "gt": (True, False, True),
}
_MIRRORED = {"eq": "eq", "lt": "gt", "le": "ge", "ge": "le", "gt": "lt"}
_COMPARED = {getattr(aten, name).Tensor: name for name in _KEY_BOUNDS}
COMPARISONS = tuple(_KEY_BOUNDS)
_CONVERSIONS = (aten._to_copy.default, aten.clone.default, aten.detach.default)


def _is_elementwise(target):
    handler = HANDLERS.get(target)
    return target in _CONVERSIONS or handler and handler.__module__ in (_functions.__name__, _conditions.__name__)


def coordinate(letter, sizes, device):
    """All numbers of one coordinate: of b, h and i as three dimensions, of j one."""
    numbers = torch.arange(sizes[letter], dtype=torch.int32, device=device)
    return numbers if letter == "j" else numbers.reshape(_places(letter))


def _places(letter):
    return [-1 if letter == each else 1 for each in _LETTERS[:3]]


def row(x, missing, dtype):
    """Without the dimensions of coordinates that it does not depend on."""
    return x.to(dtype).squeeze(missing) if missing else x.to(dtype)


_NAMES = {"b": "batches", "h": "heads", "i": "queries", "j": "keys"}


def first_of(tensor, d, letter, sizes):
    """What dimension `d` has at all numbers of a coordinate."""
    if tensor.shape[d] == sizes[letter]:
        return tensor
    if tensor.shape[d] < sizes[letter]:
        raise ValueError(
            f"expected a captured tensor of at least {sizes[letter]} {_NAMES[letter]} in dimension {d}, "
            f"found the shape {tuple(tensor.shape)}"
        )
    return tensor.narrow(d, 0, sizes[letter])


class Rows:
    """Finds them. add_step: adds a step to a Mod's and gives its value. growing: the
    steps that say whether keys grow, of which a mask has bounds; bounded: the
    comparisons, of COMPARISONS, that have some."""

    def __init__(self, add_step, read, bounded):
        self._add_step, self._read, self._bounded = add_step, read, bounded
        self.growing = []
        # (letters, depth) of each node: 0 without a read, 1 with one at coordinates
        # alone, 2 with one at what is computed.
        self._facts, self._steps, self._vectors = {}, {}, {}
        self._parts = {}  # the same of vectors, rows of a table, of which one element is taken

    def add_coordinate(self, node, letter):
        self._facts[node] = frozenset(letter), 0
        self._steps[node] = None, letter

    def add(self, node, inputs, values):
        """Notes what `node` depends on, if it is such a thing."""
        shown = node.meta.get("val")
        if not isinstance(shown, torch.Tensor):
            return
        if self._element_of_part(node, values):
            facts = self._parts[node.args[0]]
        elif node.target is aten.index.Tensor:
            facts = self._facts_of_read(node, values)
        elif _is_elementwise(node.target) and not shown.dim():
            facts = self._facts_of_inputs(inputs, values)
        else:
            return
        if facts:
            (self._parts if shown.dim() else self._facts)[node] = facts

    def _element_of_part(self, node, values):
        """(dimension from the end, number) of what a `node` takes of a part, or None."""
        if not node.args or node.args[0] not in self._parts:
            return None
        dims = node.args[0].meta["val"].dim()
        if node.target is aten.select.int:
            _, d, number = node.args
            return d % dims - dims, number
        if node.target is aten.index.Tensor and len(node.args[1]) == 1:
            index = values[node.args[1][0]]
            number = index.at(()).value if index.shape == () else None
            return None if number is None else (-dims, number)
        return None

    def _facts_of_inputs(self, inputs, values):
        varying = [n for n in inputs if not values[n].table]
        if any(n not in self._facts for n in varying) or any(values[n].shape for n in inputs):
            return None
        letters = frozenset().union(*(self._facts[n][0] for n in varying))
        if not letters or not (letters <= _QUERIES or letters <= _KEYS):
            return None
        return letters, max(self._facts[n][1] for n in varying)

    def _facts_of_read(self, node, values):
        table, indices = node.args
        facts = self._facts_of_inputs(indices, values) if values[table].table and None not in indices else None
        if not facts:
            return None
        is_computed = facts[1] or any(n.op != "placeholder" for n in indices if not values[n].table)
        return facts[0], 2 if is_computed else 1

    def replace(self, node, inputs, values):
        """Makes those of the inputs that `node`, which is none, takes into tables."""
        if node in self._facts:
            return
        for n in inputs:
            if self._facts.get(n, (None, 0))[1] == 2:
                values[n] = self._read_at(n, self._vector(n, values), n.meta["val"].dtype)

    def bounds(self, node, inputs, values):
        """(first, last, is_whole) of a comparison of integers, one of which is read for
        the key, and the other for the query or its number: where it holds, first <=
        kv_idx < last, and where is_whole is not 0, it holds there everywhere. first or
        last is None where there is none such. Else None."""
        name = _COMPARED.get(node.target)
        if name not in self._bounded or len(inputs) != 2 or any(n not in self._facts for n in inputs):
            return None
        letters, depths = zip(*(self._facts[n] for n in inputs))
        side = next((n for n in range(2) if letters[n] == _KEYS and depths[n]), None)
        if side is None or any(n.meta["val"].dtype not in (torch.int32, torch.int64) for n in inputs):
            return None
        key, row = inputs[side], inputs[1 - side]
        if not letters[1 - side] <= _QUERIES or not (depths[1 - side] or name != "eq" and row.op == "placeholder"):
            return None
        *sides, is_strict = _KEY_BOUNDS[_MIRRORED[name] if side else name]
        vectors = self._vector(key, values), self._vector(row, values)
        found = self._add_step(bounds, (*vectors, is_strict), {})
        of_row = lambda n: self._read_at(row, self._add_step(operator.getitem, (found, n), {}), torch.int32)
        first, last = (of_row(n) if has_bound else None for n, has_bound in enumerate(sides))
        grows = self._add_step(operator.getitem, (found, 2), {})
        self.growing.append(grows.number)
        return first, last, self._read(self._add_step("of batches", (grows,), None), torch.int32, (-1,), "b")

    def _vector(self, node, values):
        """The step that computes `node` for all of its coordinates."""
        if node not in self._vectors and self._is_vector(node):
            table, (index,) = node.args
            self._vectors[node] = self._add_step("elements", (values[table].table, *self._facts[index][0]), None)
        elif node not in self._vectors:
            letters = self._facts[node][0]
            missing = () if letters <= _KEYS else tuple(d for d in range(3) if _LETTERS[d] not in letters)
            step = self._step(node, values)
            self._vectors[node] = self._add_step(row, (step, missing, node.meta["val"].dtype), {})
        return self._vectors[node]

    @staticmethod
    def _is_vector(node):
        """Whether it is a tensor of one dimension, read at one coordinate."""
        is_read = node.target is aten.index.Tensor and not node.meta["val"].dim()
        return is_read and [n and n.op for n in node.args[1]] == ["placeholder"]

    def _read_at(self, node, step, dtype):
        """What `step` computed, at the coordinates of `node`."""
        letters = [letter for letter in _LETTERS if letter in self._facts[node][0]]
        shape = (-1,) * len(letters)
        return Value((), dtype, lambda index: self._read(step, dtype, shape, letters))

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
        if element := self._element_of_part(node, values):
            part = node.args[0]
            if part.target is aten.index.Tensor and values[part.args[0]].table:  # of the table, which is less to read
                table, indices = part.args
                column = self._add_step(aten.select.int, (values[table].table, *element), {})
                return self._add_step(aten.index.Tensor, (column, [step(n) for n in indices]), {})
            return self._add_step(aten.select.int, (step(part), *element), {})
        if node.target is aten.index.Tensor:
            table, indices = node.args
            if self._is_vector(node):
                (letter,), numbers = self._facts[node][0], self._vector(node, values)
                return (
                    numbers if letter == "j" else self._add_step(torch.Tensor.reshape, (numbers, _places(letter)), {})
                )
            return self._add_step(node.target, (values[table].table, [step(n) for n in indices]), {})
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), step)
        return self._add_step(node.target, args, kwargs)
