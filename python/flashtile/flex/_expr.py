# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions of one element, and their text in MLIR.

An expression is an operation in MLIR's words, of type f32, index or i1. Equal
expressions are one object, so that what is said twice is computed once; whether
one reads the score decides in which region it can be.
"""

import math
import operator
import struct


class Expr:
    """One operation.

    number: younger expressions have greater ones. text: the operation, with {0},
    {1}, ... for the names of its `args`, or the name of an argument. type:
    "f32", "index" or "i1". value: of a constant the number, else None. natural:
    an index known to be at least 0. reads_score: whether it depends on the score.
    read: (table, indices) of a read of a table, else None.
    """

    __slots__ = ("number", "text", "args", "type", "value", "natural", "reads_score", "read")

    def __init__(self, number, text, args, type, value, natural, read):
        self.number, self.text, self.args, self.type = number, text, args, type
        self.value, self.natural, self.read = value, natural, read
        self.reads_score = text == "%s" or any(arg.reads_score for arg in args)

    @property
    def coordinate(self):
        """The letter of a coordinate, b, h, i or j, else None."""
        return self.text[1] if self.text in ("%b", "%h", "%i", "%j") else None


def float_text(value):
    """A float as an f32 constant of MLIR's."""
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:  # beyond f32
        bits = 0x7F800000 if value > 0 else 0xFF800000
    return f"0x{bits:08X}"


class Expressions:
    """Makes expressions, each once, with what is obvious folded. unbounded: of those
    that say bounds of keys beside a comparison, the comparison."""

    def __init__(self):
        self._known, self.unbounded = {}, {}
        coordinate = lambda name: self.make(name, type="index", natural=True)
        self.score = self.make("%s", type="f32")
        self.coordinates = [coordinate(name) for name in ("%b", "%h", "%i", "%j")]

    def make(self, text, *args, type, value=None, natural=False, read=None):
        key = text, tuple(map(id, args)), type, read and read[0]
        if key not in self._known:
            self._known[key] = Expr(len(self._known), text, args, type, value, natural, read)
        return self._known[key]

    def constant(self, value, type):
        if type == "i1":
            text = "true" if value else "false"
            return self.make(f"arith.constant {text}", type="i1", value=bool(value))
        if type == "index":
            value = int(value)
            return self.make(f"arith.constant {value} : index", type="index", value=value, natural=value >= 0)
        return self.make(f"arith.constant {float_text(value)} : f32", type="f32", value=float(value))

    def read(self, table, indices):
        """An element of `table`, which has its `type`."""
        return self.make("read", *indices, type=table.type, read=(table, indices))

    def without_bounds(self, expr):
        """What `expr` is with the `unbounded` ones alone."""
        needed = lambda one: [self.unbounded[one]] if one in self.unbounded else one.args
        seen, missing, found = set(), [expr], {}
        while missing:
            one = missing.pop()
            if one not in seen:
                seen.add(one)
                missing.extend(needed(one))
        for one in sorted(seen, key=lambda one: one.number):  # an operand is older
            args = tuple(found[each] for each in needed(one))
            if one in self.unbounded:
                found[one] = args[0]
            elif args == one.args:
                found[one] = one
            else:
                read = one.read and (one.read[0], args)
                found[one] = self.make(one.text, *args, type=one.type, value=one.value, natural=one.natural, read=read)
        return found[expr]

    # ===--- Conversions ---===

    def convert(self, x, type, wide=False):
        """`x` as another type. wide: integers may need more than 32 bits."""
        if x.type == type:
            return x
        if x.value is not None:
            return self.constant(x.value != 0 if type == "i1" else x.value, type)
        if type == "i1":
            zero = self.constant(0, x.type)
            return self.compare("ne", x, zero)
        if x.type == "i1":
            return self.select(x, self.constant(1, type), self.constant(0, type))
        width = "i64" if wide else "i32"
        if type == "f32":
            narrow = self.make(f"arith.index_cast {{0}} : index to {width}", x, type=width)
            return self.make(f"arith.sitofp {{0}} : {width} to f32", narrow, type="f32")
        whole = self.make(f"arith.fptosi {{0}} : f32 to {width}", x, type=width)
        return self.make(f"arith.index_cast {{0}} : {width} to index", whole, type="index")

    # ===--- Arithmetic ---===

    def unary(self, op, x):
        return self.make(f"{op} {{0}} : f32", x, type="f32")

    def float(self, op, x, y):
        return self.make(f"{op} {{0}}, {{1}} : f32", x, y, type="f32")

    def integer(self, op, x, y, natural=False):
        return self.make(f"arith.{op} {{0}}, {{1}} : index", x, y, type="index", natural=natural)

    def add(self, x, y):
        if x.type == "f32":
            return self.float("arith.addf", x, y)
        if x.value is not None and y.value is not None:
            return self.constant(x.value + y.value, "index")
        if x.value == 0 or y.value == 0:
            return y if x.value == 0 else x
        return self.integer("addi", x, y, x.natural and y.natural)

    def subtract(self, x, y):
        if x.type == "f32":
            return self.float("arith.subf", x, y)
        if x.value is not None and y.value is not None:
            return self.constant(x.value - y.value, "index")
        return x if y.value == 0 else self.integer("subi", x, y)

    def multiply(self, x, y):
        if x.type == "f32":
            return self.float("arith.mulf", x, y)
        if x.value is not None and y.value is not None:
            return self.constant(x.value * y.value, "index")
        if x.value == 1 or y.value == 1:
            return y if x.value == 1 else x
        return self.integer("muli", x, y, x.natural and y.natural)

    def divide_floor(self, x, y):
        """x / y of integers, rounded down."""
        return self._whole(x, y)[0]

    def divide_toward_zero(self, x, y):
        if x.natural and y.natural:
            return self._whole(x, y)[0]
        return self._whole_toward_zero("divsi", x, y)

    def remainder(self, x, y):
        """x - y · floor(x / y): with the sign of y, as Python's."""
        return self._whole(x, y)[1]

    def remainder_toward_zero(self, x, y):
        """With the sign of x, as C's."""
        if x.natural and y.natural:
            return self._whole(x, y)[1]
        return self._whole_toward_zero("remsi", x, y)

    def _divisor(self, y):
        """`y`, or 1 where it is one of the two numbers that trap: keys beyond the
        last one are computed, too, and what they read is 0."""
        if y.value is not None and y.value not in (0, -1):
            return y
        one, zero = self.constant(1, "index"), self.constant(0, "index")
        traps = self.compare("eq", y, zero)
        if not y.natural:
            traps = self.either(traps, self.compare("eq", y, self.constant(-1, "index")))
        return self.select(traps, one, y)

    def _whole_toward_zero(self, op, x, y):
        result = self.integer(op, x, self._divisor(y))
        if y.natural:
            return result
        zero = self.constant(0, "index")
        minus = self.compare("eq", y, self.constant(-1, "index"))
        return self.select(minus, self.subtract(zero, x) if op == "divsi" else zero, result)

    def _whole(self, x, y):
        """Quotient, rounded down, and remainder."""
        divisor = self._divisor(y)
        if x.natural and y.natural:
            return self.integer("divui", x, divisor, True), self.integer("remui", x, divisor, True)
        zero = self.constant(0, "index")
        quotient, rest = self.integer("divsi", x, divisor), self.integer("remsi", x, divisor)
        inexact = self.compare("ne", rest, zero)
        differs = self.compare("ne", self.compare("lt", rest, zero), self.compare("lt", divisor, zero))
        down = self.both(inexact, differs)
        quotient = self.select(down, self.subtract(quotient, self.constant(1, "index")), quotient)
        rest = self.select(down, self.add(rest, divisor), rest, y.natural)
        if not y.natural:  # -1 divides all
            minus = self.compare("eq", y, self.constant(-1, "index"))
            quotient = self.select(minus, self.subtract(zero, x), quotient)
            rest = self.select(minus, zero, rest)
        return quotient, rest

    def least(self, x, y):
        if x.type == "f32":
            return self.float("arith.minimumf", x, y)
        return self.integer("minsi", x, y, x.natural and y.natural)

    def most(self, x, y):
        if x.type == "f32":
            return self.float("arith.maximumf", x, y)
        return self.integer("maxsi", x, y, x.natural or y.natural)

    def absolute(self, x):
        if x.type == "f32":
            return self.unary("math.absf", x)
        return self.most(x, self.subtract(self.constant(0, "index"), x)) if not x.natural else x

    # ===--- Conditions ---===

    def compare(self, predicate, x, y):
        """predicate: eq, ne, lt, le, gt, ge; x and y of one type."""
        if x.value is not None and y.value is not None:
            return self.constant(getattr(operator, predicate)(x.value, y.value), "i1")
        if x.type == "f32":
            full = {"ne": "une"}.get(predicate, "o" + predicate)
            return self.make(f"arith.cmpf {full}, {{0}}, {{1}} : f32", x, y, type="i1")
        full = predicate if predicate in ("eq", "ne") else "s" + predicate
        if x.type == "i1":  # false < true, which is -1 of one bit with a sign
            full = full.replace("s", "u")
        return self.make(f"arith.cmpi {full}, {{0}}, {{1}} : {x.type}", x, y, type="i1")

    def both(self, x, y):
        for one, other in ((x, y), (y, x)):
            if one.value is not None:
                return other if one.value else one
        return self.make("arith.andi {0}, {1} : i1", x, y, type="i1")

    def either(self, x, y):
        for one, other in ((x, y), (y, x)):
            if one.value is not None:
                return one if one.value else other
        return self.make("arith.ori {0}, {1} : i1", x, y, type="i1")

    def negate(self, x):
        if x.value is not None:
            return self.constant(not x.value, "i1")
        return self.make("arith.xori {0}, {1} : i1", x, self.constant(True, "i1"), type="i1")

    def select(self, condition, x, y, natural=False):
        if condition.value is not None:
            return x if condition.value else y
        natural = natural or x.natural and y.natural
        text = f"arith.select {{0}}, {{1}}, {{2}} : {x.type}"
        return self.make(text, condition, x, y, type=x.type, natural=natural)

    def tree(self, combine, exprs):
        """All of `exprs` combined, in pairs: no deeper than it must be."""
        exprs = list(exprs)
        while len(exprs) > 1:
            pairs = [combine(x, y) for x, y in zip(exprs[::2], exprs[1::2])]
            exprs = pairs + exprs[2 * len(pairs) :]
        return exprs[0]


def coordinates_of(expr):
    """The letters of the coordinates that `expr` depends on."""
    missing, seen, letters = [expr], set(), set()
    while missing:
        one = missing.pop()
        if one not in seen:
            seen.add(one)
            letters |= {one.coordinate} - {None}
            missing.extend(one.args)
    return letters


def split_mask(build, score):
    """A score as (keep, score): where `keep` does not hold it is -inf. keep is
    None if that is nowhere, or depends on the score."""
    is_masked = lambda x: x.value == -math.inf
    kind = score.text.split()[0]
    if kind == "arith.select":
        condition, x, y = score.args
        if not condition.reads_score and (is_masked(x) or is_masked(y)):
            rest, own = (y, build.negate(condition)) if is_masked(x) else (x, condition)
            keep, rest = split_mask(build, rest)
            return build.both(own, keep) if keep else own, rest
    if kind == "arith.addf":
        for x, y in (score.args, score.args[::-1]):
            keep, added = split_mask(build, y) if not y.reads_score else (None, y)
            if keep:
                more, x = split_mask(build, x)
                return build.both(keep, more) if more else keep, build.add(x, added)
    return None, score


class Region:
    """The text of a region: lines that are added as values are named.

    captures: has `element(table, place)`, the name and type of the argument that
    is read at the expressions `place`, and `size(table, dim)`, the name of one.
    """

    def __init__(self, captures):
        self.lines, self._names, self._captures = [], {}, captures

    def name(self, expr):
        """The name of the value, which is computed if it has none yet."""
        missing, new = [expr], set()
        while missing:
            one = missing.pop()
            if one not in new and one not in self._names and not one.text.startswith("%"):
                new.add(one)
                missing.extend(one.args)
        for one in sorted(new, key=lambda one: one.number):  # an operand is older
            self._names[one] = self._compute(one, [self._name(arg) for arg in one.args])
        return self._name(expr)

    def _name(self, expr):
        return expr.text if expr.text.startswith("%") else self._names[expr]

    def _add(self, text):
        self.lines.append(f"%{len(self.lines)} = {text}")
        return f"%{len(self.lines) - 1}"

    def _compute(self, expr, args):
        if expr.text == "size":
            return self._captures.size(*expr.read[0])
        if not expr.read:
            return self._add(expr.text.format(*args))
        table, place = expr.read
        name, type = self._captures.element(table, place)
        found, element = self._add(f"tensor.extract {name}[{', '.join(args)}] : {type}"), table.element
        if table.type == "index":
            return self._add(f"arith.index_cast {found} : {element} to index")
        return found if element == "f32" else self._add(f"arith.extf {found} : {element} to f32")
