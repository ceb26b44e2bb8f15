# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a score and a mask: the text of a tile.attention."""

import torch

from ._expr import Region, split_mask
from ._rows import first_of
from ._translate import CONVERTED

_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


class _Captures:
    """The captures of a program, in order of first use.

    tensors: (table, pattern), where the pattern has for each dimension the letter
    of the coordinate that it is read at, or None: such a dimension is as long as
    there are batches, heads, queries or keys, which lets it be read in tiles.
    sizes: (table, dimension).
    """

    def __init__(self):
        self.tensors, self.sizes = [], []

    def element(self, table, place):
        return f"%t{self.number(table, tuple(x.coordinate for x in place))}", self.type(table)

    def number(self, table, pattern):
        """Which of the tensors it is."""
        if (table, pattern) not in self.tensors:
            self.tensors.append((table, pattern))
        return self.tensors.index((table, pattern))

    def size(self, table, dim):
        if (table, dim) not in self.sizes:
            self.sizes.append((table, dim))
        return f"%n{self.sizes.index((table, dim))}"

    @staticmethod
    def type(table):
        return f"tensor<{'?x' * len(table.shape)}{table.element}>"

    def arguments(self):
        """(name, type) of each, in the regions."""
        tensors = [(f"%t{n}", self.type(table)) for n, (table, _) in enumerate(self.tensors)]
        return tensors + [(f"%n{n}", "index") for n in range(len(self.sizes))]


class Program:
    """score and mask: expressions, or None. lists: of blocks of keys, or None.
    text: the program; its arguments are q, k, v, what `arguments` gives, the scale
    and the outputs. are_partial: there is a mask that tables do not know."""

    def __init__(self, build, score, mask, lists, dtype, head_dim, head_dim_v, has_lse):
        keep, score = split_mask(build, score) if score else (None, None)
        if keep:
            mask = build.both(mask, keep) if mask else keep
        captures = self._captures = _Captures()
        is_whole = mask is None or mask.value is True
        # Of listed blocks those that are partly seen are looked at anyway.
        elements = None if is_whole else build.without_bounds(mask)
        self.has_bounds = elements is not (None if is_whole else mask)
        regions = [
            self._region(score and build.convert(score, "f32"), "f32", ["%s: f32"], captures),
            self._region(None if is_whole else mask, "i1", [], captures),
            self._region(elements, "i1", [], captures),
        ]
        self._regions, self._types, self._has_lse = regions, (_TYPES[dtype], head_dim, head_dim_v), has_lse
        self._lists, self.are_partial = {}, keep is not None
        if lists and not is_whole:
            numbers = [captures.number(table, ("b", "h", None, None)) for table in lists.tables]
            lists.are_partial = self.are_partial
            self._lists["tile.block_lists"] = *numbers, *lists.block_size
        self.text = self._text(captures.arguments(), self._lists, {}, regions[1])

    def _text(self, own, lists, of_function, mask):
        """The program with captures `own`, attributes that are numbers, and the region
        of a mask."""
        element, head_dim, head_dim_v = self._types
        rows = f"tensor<?x?x?x{head_dim}x{element}>"
        values = f"tensor<?x?x?x{head_dim_v}x{element}>"
        # Names of the function must be others than those of its regions.
        given = [(f"%captured{n}", type) for n, (_, type) in enumerate(own)]
        names, types = (", ".join(column) for column in zip(*given)) if given else ("", "")
        header = [f"%q: {rows}", f"%k: {rows}", f"%v: {values}", *(": ".join(each) for each in given), "%scale: f32"]
        lse = "tensor<?x?x?xf32>"
        names_of_results, results = ("%o, %lse", f"({values}, {lse})") if self._has_lse else ("%o", values)
        attributes = " attributes" + self._attributes(of_function) if of_function else ""
        return "\n".join(
            [
                f"func.func @flex_attention({', '.join(header)}) -> {results}{attributes} {{",
                f"  {names_of_results} = tile.attention %q, %k, %v scale %scale"
                + (f" captures({names} : {types})" if own else "")
                + self._attributes(lists)
                + f" : {rows}, {rows}, {values} -> {values}{f' lse {lse}' if self._has_lse else ''}",
                "  score {",
                *self._closed(self._regions[0], own),
                "  } mask {",
                *self._closed(mask, own),
                "  }",
                f"  return {names_of_results} : {results.strip('()')}",
                "}",
            ]
        )

    @staticmethod
    def _attributes(numbers):
        each = (f"{name} = array<i64: {', '.join(map(str, found))}>" for name, found in numbers.items())
        return f" {{{', '.join(each)}}}" if numbers else ""

    def gradients(self, wants, has_dlse, listed=(), block_size=None):
        """The program of gradients of q, k, v and captured tensors, as each is
        wanted, of one with the log-sum-exp: its arguments are the inputs, with the lists
        of blocks of `block_size` before the scale that `listed` has attributes of, the
        outputs, their gradients (the log-sum-exp's, if it has one), and the gradients
        that are wanted."""
        own, lists = self._captures.arguments(), dict(self._lists)
        for name in listed:
            lists[name] = len(own), len(own) + 1, *block_size
            own += [(f"%{kind}{len(own)}", "tensor<?x?x?x?xi32>") for kind in ("blocks", "counts")]
        wrt = [n for n, wanted in enumerate(wants) if wanted]
        of_function = {"tile.vjp_wrt": wrt, "tile.vjp_of": [0, 1] if has_dlse else [0]}
        return self._text(own, lists, of_function, self._regions[2 if listed else 1])

    @staticmethod
    def _region(expr, type, leading, captures):
        """(leading arguments, lines) of the region that yields `expr`, or None."""
        if expr is None or expr.text == "%s":
            return None
        region = Region(captures)
        name = region.name(expr)
        return leading, [*region.lines, f"tile.yield {name} : {type}"]

    @staticmethod
    def _closed(region, own):
        if region is None:
            return []
        leading, lines = region
        coordinates = [f"%{letter}: index" for letter in "bhij"]
        block = ", ".join([*leading, *coordinates, *(": ".join(each) for each in own)])
        return [f"  ^bb0({block}):", *("    " + line for line in lines)]

    def patterns(self):
        """What each captured tensor is read at, in the order of the arguments."""
        return [pattern for _, pattern in self._captures.tensors]

    def tables(self):
        """The tables that it reads, each once."""
        return list(dict.fromkeys(table for table, _ in self._captures.tensors + self._captures.sizes))

    def arguments(self, values, sizes):
        """Views of the captured tensors, then sizes. values: of each table the
        tensor of this call; sizes: of b, h, i and j."""
        found = []
        for table, pattern in self._captures.tensors:
            tensor = values[table]
            for d, letter in enumerate(pattern):
                if letter is not None:
                    tensor = first_of(tensor, d, letter, sizes)
            # As the fast kernels want it.
            if pattern in (("i",), ("j",)) and tensor.stride(0) != 1 and not tensor.is_floating_point():
                tensor = tensor.contiguous()
            found.append(tensor)
        return found, [values[table].shape[d] for table, d in self._captures.sizes]


def stored(tensor, device):
    """`tensor` as a launch takes it: itself, or a copy in a type that one has."""
    wanted = CONVERTED.get(tensor.dtype, tensor.dtype)
    if tensor.device != device and not tensor.dim():
        tensor = tensor.to(device)  # a number may be anywhere, as for PyTorch
    return tensor if tensor.dtype == wanted else tensor.to(wanted)
