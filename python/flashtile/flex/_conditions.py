# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits, comparisons and what chooses between two."""

from ._ops import Value, handles


def _bits(name, on_bool, on_index):
    overloads = ("Tensor", "Scalar", "Scalar_Tensor")

    def handler(c):
        if c.type == "i1":
            return c.each(lambda x, y: on_bool(c.build, x, y), *c.args[:2])
        natural = lambda x, y: x.natural and y.natural or name == "bitwise_and" and (x.natural or y.natural)
        return c.each(lambda x, y: c.build.integer(on_index, x, y, natural(x, y)), *c.args[:2])

    handles(*[f"{name}.{overload}" for overload in overloads])(handler)


_bits("bitwise_and", lambda build, x, y: build.both(x, y), "andi")
_bits("bitwise_or", lambda build, x, y: build.either(x, y), "ori")
_bits("bitwise_xor", lambda build, x, y: build.compare("ne", x, y), "xori")


@handles("logical_and.default")
def _logical_and(c):
    return c.each(c.build.both, *c.args[:2])


@handles("logical_or.default")
def _logical_or(c):
    return c.each(c.build.either, *c.args[:2])


@handles("logical_xor.default")
def _logical_xor(c):
    return c.each(lambda x, y: c.build.compare("ne", x, y), *c.args[:2])


def _shift(op):
    def handler(c):
        def at(x, y):
            if y.value is None or not 0 <= y.value < 64:
                raise NotImplementedError("a shift by what is no number from 0 to 63")
            return c.build.integer(op, x, y, x.natural and op == "shrsi")

        return c.each(at, *c.args[:2])

    return handler


for _packet, _op in (("left", "shli"), ("right", "shrsi")):
    _names = [f"bitwise_{_packet}_shift.Tensor", f"bitwise_{_packet}_shift.Tensor_Scalar"]
    _names += [f"__{_packet[0]}shift__.Scalar", f"__{_packet[0]}shift__.Tensor"]
    handles(*_names)(_shift(_op))


def _comparison(name):
    def handler(c):
        type = c.common(*c.args[:2])
        return c.each(lambda x, y: c.build.compare(name, x, y), *c.args[:2], type=type)

    handles(f"{name}.Tensor", f"{name}.Scalar")(handler)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name)


@handles("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(c):
    condition, x, y = c.args[:3]
    return _select(c, condition, x, y)


def _select(c, condition, x, y):
    def at(index):
        return c.build.select(c.scalar(condition, "i1", index), c.scalar(x, c.type, index), c.scalar(y, c.type, index))

    return Value(c.shape, c.dtype, at)


@handles("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(c):
    x, condition, value = c.args[:3]
    return _select(c, condition, value, x)
