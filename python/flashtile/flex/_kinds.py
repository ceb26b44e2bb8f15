# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which blocks of keys are seen by which blocks of queries, by a mask in kinds.mlir, and
the lists of those that are, by lists.mlir: a launch each, and nothing waits for a card."""

import functools
import os
import re

import torch

from .._attention import context_of
from .._plan import Launch
from .._tensor import facts, tensor
from ._expr import Region

ABSENT, PARTIAL, FULL = 0, 1, 2  # of the elements of a block none, some or all are seen

_ROWS, _BLOCK = 8, 128  # of kinds.mlir
_TYPES = re.compile(r"\b(index|f32|i1|i32|i64)\b")
_MOST = 1024


class _Memory:
    """The tensors that a mask reads, as arguments of a kernel, in order of first use."""

    def __init__(self):
        self.tables, self._sizes = [], {}

    def number(self, table):
        if table not in self.tables:
            self.tables.append(table)
        return self.tables.index(table)

    @staticmethod
    def type(table):
        rank = max(len(table.shape), 1)  # a number is one of one element
        return f"memref<{'?x' * rank}{table.element}, strided<[{', '.join('?' * rank)}]>>"

    def size(self, table, dim):
        return self._sizes.setdefault((self.number(table), dim), f"%size{len(self._sizes)}")

    def sizes(self, tile):
        """The lines that compute the sizes, as tiles."""
        for (number, dim), name in self._sizes.items():
            yield f"{name}_of = arith.constant {dim} : index"
            yield f"{name}_number = memref.dim %t{number}, {name}_of : {self.type(self.tables[number])}"
            yield f"{name} = tile.broadcast {name}_number : index -> {tile('index')}"


class _Tiles(Region):
    """The text of an expression for a tile of elements. tile: gives the type of one.
    early: lines that come before those in which queries are known, which are computed
    once for all queries of a block."""

    def __init__(self, memory, tile):
        super().__init__(memory)
        self._tile, self.early, self._has_query = tile, [], {}

    def _is_early(self, expr):
        """Whether no query is in it; what it is computed of was asked for before."""
        has = any(self._has_query.get(arg, arg.coordinate == "i") for arg in expr.args)
        return not self._has_query.setdefault(expr, has)

    def _add(self, text):
        name = f"%{len(self.lines) + len(self.early)}"
        self._target.append(f"{name} = {text}")
        return name

    def _of_tiles(self, text):
        """An operation on numbers as one on tiles."""
        if text.startswith("arith.constant "):
            value, _, type = text.removeprefix("arith.constant ").partition(" : ")
            return f"arith.constant dense<{value}> : {self._tile(type or 'i1')}"
        head, _, types = text.rpartition(" : ")
        if head.startswith("arith.select "):
            types = "i1, " + types
        return f"{head} : {_TYPES.sub(lambda found: self._tile(found[1]), types)}"

    def _compute(self, expr, args):
        self._target = self.early if self._is_early(expr) else self.lines
        if expr.text == "size":
            return self._captures.size(*expr.read[0])
        if not expr.read:
            return self._add(self._of_tiles(expr.text.format(*args)))
        table, index, memory = expr.read[0], self._tile("index"), self._captures
        element = self._tile(table.element)
        args = args or [self._add(f"arith.constant dense<0> : {index}")]
        types = ", ".join([index] * len(args))
        place = f"%t{memory.number(table)}[{', '.join(args)}]"
        found = self._add(f"tile.gather {place} : {memory.type(table)}, ({types}) -> {element}")
        if table.type == "index":
            return self._add(f"arith.index_cast {found} : {element} to {index}")
        return found if table.element == "f32" else self._add(f"arith.extf {found} : {element} to {self._tile('f32')}")


def plain(x):
    """Without the graph of its derivative and without a class of its own."""
    return x.detach() if x.requires_grad or type(x) is not torch.Tensor else x


def _read(name):
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _of_block(block):
    """kinds.mlir for blocks of as many queries and keys."""
    found = _read("kinds.mlir").replace(f"dense<{_BLOCK * _BLOCK}>", f"dense<{block * block}>")
    for keys in ("x{}x", "%c{} ", "constant {} :"):
        found = found.replace(keys.format(_BLOCK), keys.format(block))
    return found


def _text(mask, block, memory):
    # Before the mask is in it, whose numbers are its own.
    found = _of_block(block)
    tile = lambda type: f"tensor<{_ROWS}x{block}x{type}>"
    region = _Tiles(memory, tile)
    seen = region.name(mask)
    given = "".join(
        f", %t{n}: {memory.type(table)} {{tile.access = #tile.access<in>}}" for n, table in enumerate(memory.tables)
    )
    found = found.replace("#tile.access<out>})", f"#tile.access<out>}}{given})", 1)
    loop, line = "  %counts = scf.for", f"    %seen = arith.constant dense<true> : {tile('i1')}\n"
    assert loop in found and line in found
    found = found.replace("%seen :", f"{seen} :")
    found = found.replace(line, "".join(f"    {each}\n" for each in region.lines))
    return found.replace(loop, "".join(f"  {each}\n" for each in (*memory.sizes(tile), *region.early)) + loop)


@functools.lru_cache(maxsize=_MOST)
def _plan(target, text):
    return context_of(target).module(text)


class _Kernel:
    """A program, with its launches by what arrays are known by."""

    def __init__(self, text):
        self.text, self._launches = text, {}

    def __call__(self, *arrays):
        known = tuple(map(facts, arrays))
        launch = self._launches.get(known)
        if launch is None:
            described = [tensor(array) for array in arrays]
            launch = Launch(_plan(described[0].target, self.text), described)
            if len(self._launches) >= _MOST:
                self._launches.clear()
            self._launches[known] = launch
        launch.run([array.data_ptr() for array in arrays], arrays[0])


class Kinds:
    """The kernel of `mask`, an expression of b, h, i and j, for blocks of as many
    queries and keys. tables: what it reads."""

    def __init__(self, mask, block):
        memory = _Memory()
        self.kernel, self.tables = _Kernel(_text(mask, block, memory)), memory.tables

    def __call__(self, values, shape, device):
        """ABSENT, PARTIAL or FULL of each block, int32 of `shape`: batches, heads,
        blocks of queries and of keys. values: of each table the tensor of this call."""
        kinds = torch.empty(shape, dtype=torch.int32, device=device)
        read = (plain(values[table]) for table in self.tables)
        self.kernel(kinds, *(x.reshape(x.shape or (1,)) for x in read))
        return kinds


_lists = _Kernel(_read("lists.mlir"))


def lists_of(kinds):
    """(blocks, counts) of tile.block_lists, int32, of `kinds`, one behind the other in
    the last dimension."""
    blocks = torch.empty_like(kinds, memory_format=torch.contiguous_format)
    counts = torch.empty(*kinds.shape[:3], 2, dtype=torch.int32, device=kinds.device)
    _lists(kinds, blocks, counts)
    return blocks, counts
