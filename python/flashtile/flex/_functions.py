# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of numbers: arithmetic, exponentials, rounding, limits."""

import math

from ._ops import NAMED, Value, handles


def _float_functions():
    for name in "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt tanh sin cos tan atan asin acos sinh cosh erf".split():
        op = "math." + name
        handles(name + ".default")(lambda c, op=op: c.each(lambda x: c.build.unary(op, x), c.args[0]))


_float_functions()


def _rounding(name, op):
    def handler(c):
        return c.each(lambda x: c.build.unary(op, x) if c.type == "f32" else x, c.args[0])

    handles(name + ".default")(handler)


for _name, _op in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "roundeven")):
    _rounding(_name, "math." + _op)


def _unary(*names):
    """A handler (build, x) of the result's type."""

    def register(function):
        handles(*names)(lambda c: c.each(lambda x: function(c.build, x), c.args[0]))
        return function

    return register


def _one(build, x):
    return build.constant(1, x.type)


def _zero(build, x):
    return build.constant(0, x.type)


@_unary("neg.default")
def _neg(build, x):
    return build.unary("arith.negf", x) if x.type == "f32" else build.subtract(_zero(build, x), x)


@_unary("abs.default")
def _abs(build, x):
    return build.absolute(x)


@_unary("sign.default", "sgn.default")
def _sign(build, x):
    zero, one = _zero(build, x), _one(build, x)
    minus = build.constant(-1, x.type)
    below = build.select(build.compare("lt", x, zero), minus, zero if x.type == "index" else x)
    return build.select(build.compare("gt", x, zero), one, below)


@_unary("reciprocal.default")
def _reciprocal(build, x):
    return build.float("arith.divf", _one(build, x), x)


@_unary("square.default")
def _square(build, x):
    return build.multiply(x, x)


@_unary("relu.default")
def _relu(build, x):
    return build.most(x, _zero(build, x))


@_unary("sigmoid.default")
def _sigmoid(build, x):
    power = build.unary("math.exp", build.unary("arith.negf", x))
    return _reciprocal(build, build.add(_one(build, x), power))


@_unary("silu.default")
def _silu(build, x):
    return build.multiply(x, _sigmoid(build, x))


@handles("gelu.default")
def _gelu(c):
    build = c.build
    constant = lambda value: build.constant(value, "f32")

    def exact(x):
        erf = build.unary("math.erf", build.multiply(x, constant(math.sqrt(0.5))))
        return build.multiply(build.multiply(x, constant(0.5)), build.add(constant(1), erf))

    def by_tanh(x):
        cube = build.multiply(x, build.multiply(x, x))
        inner = build.add(x, build.multiply(constant(0.044715), cube))
        tanh = build.unary("math.tanh", build.multiply(constant(math.sqrt(2 / math.pi)), inner))
        return build.multiply(build.multiply(x, constant(0.5)), build.add(constant(1), tanh))

    return c.each(by_tanh if c.kwargs.get("approximate") == "tanh" else exact, c.args[0])


@handles("softplus.default")
def _softplus(c):
    build, beta, threshold = c.build, c.arg(1, "beta", 1), c.arg(2, "threshold", 20)

    def at(x):
        scaled = build.multiply(x, build.constant(beta, "f32"))
        curve = build.unary("math.log1p", build.unary("math.exp", scaled))
        curve = build.float("arith.divf", curve, build.constant(beta, "f32"))
        return build.select(build.compare("gt", scaled, build.constant(threshold, "f32")), x, curve)

    return c.each(at, c.args[0])


@handles("leaky_relu.default")
def _leaky_relu(c):
    build, slope = c.build, c.build.constant(c.arg(1, "negative_slope", 0.01), "f32")
    at = lambda x: build.select(build.compare("gt", x, _zero(build, x)), x, build.multiply(x, slope))
    return c.each(at, c.args[0])


@handles("logical_not.default", "bitwise_not.default")
def _not(c):
    if c.type == "i1":
        return c.each(c.build.negate, c.args[0], type="i1")
    return c.each(lambda x: c.build.integer("xori", x, c.build.constant(-1, "index")), c.args[0])


@handles("isnan.default")
def _isnan(c):
    return c.each(lambda x: c.build.compare("ne", x, x), c.args[0], type="f32")


@handles("isinf.default")
def _isinf(c):
    infinity = c.build.constant(math.inf, "f32")
    return c.each(lambda x: c.build.compare("eq", c.build.absolute(x), infinity), c.args[0], type="f32")


# ===--- Arithmetic of two ---===


def _scaled(c, x):
    """The second operand of a sum, times alpha."""
    alpha = c.kwargs.get("alpha", 1)
    if alpha == 1:
        return x
    at = lambda index: c.build.multiply(c.scalar(x, c.type, index), c.build.constant(alpha, c.type))
    return Value(x.shape if isinstance(x, Value) else (), c.dtype, at)


@handles("add.Tensor", "add.Scalar")
def _add(c):
    if c.type == "i1":
        return c.each(c.build.either, c.args[0], c.args[1])
    return c.each(c.build.add, c.args[0], _scaled(c, c.args[1]))


@handles("sub.Tensor", "sub.Scalar")
def _sub(c):
    return c.each(c.build.subtract, c.args[0], _scaled(c, c.args[1]))


@handles("rsub.Tensor", "rsub.Scalar")
def _rsub(c):
    return c.each(lambda x, y: c.build.subtract(y, x), _scaled(c, c.args[0]), c.args[1])


@handles("mul.Tensor", "mul.Scalar")
def _mul(c):
    return c.each(c.build.both if c.type == "i1" else c.build.multiply, c.args[0], c.args[1])


def _divide(c, rounding):
    build = c.build
    if c.type == "index":
        whole = build.divide_floor if rounding == "floor" else build.divide_toward_zero
        return c.each(whole, c.args[0], c.args[1])

    def at(x, y):
        quotient = build.float("arith.divf", x, y)
        return build.unary("math." + rounding, quotient) if rounding else quotient

    return c.each(at, c.args[0], c.args[1])


@handles("div.Tensor", "div.Scalar")
def _div(c):
    return _divide(c, None)


@handles("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(c):
    return _divide(c, c.kwargs.get("rounding_mode"))


@handles("floor_divide.default", "floor_divide.Scalar")
def _floor_divide(c):
    return _divide(c, "floor")


@handles("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(c):
    build = c.build
    if c.type == "index":
        return c.each(build.remainder, c.args[0], c.args[1])

    def at(x, y):
        rest = build.float("arith.remf", x, y)
        zero = build.constant(0, "f32")
        differs = build.compare("ne", build.compare("lt", rest, zero), build.compare("lt", y, zero))
        down = build.both(build.compare("ne", rest, zero), differs)
        return build.select(down, build.add(rest, y), rest)

    return c.each(at, c.args[0], c.args[1])


@handles("fmod.Tensor", "fmod.Scalar")
def _fmod(c):
    whole = c.build.remainder_toward_zero
    return c.each(whole if c.type == "index" else lambda x, y: c.build.float("arith.remf", x, y), c.args[0], c.args[1])


@handles("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def _pow(c):
    base, exponent = c.args[:2]
    build = c.build
    if isinstance(exponent, (int, float)) and 0 <= exponent <= 8 and int(exponent) == exponent:
        product = lambda x: build.tree(build.multiply, [x] * int(exponent)) if exponent else _one(build, x)
        return c.each(product, base)
    if c.type != "f32":
        raise NotImplementedError("a power of integers")
    if exponent in (0.5, -0.5) and not isinstance(exponent, Value):
        return c.each(lambda x: build.unary("math.sqrt" if exponent > 0 else "math.rsqrt", x), base)
    if not isinstance(base, Value) and base == 2:
        return c.each(lambda y: build.unary("math.exp2", y), exponent)
    return c.each(lambda x, y: build.float("math.powf", x, y), base, exponent)


@handles("atan2.default")
def _atan2(c):
    return c.each(lambda x, y: c.build.float("math.atan2", x, y), *c.args[:2])


@handles("minimum.default", "min.other")
def _minimum(c):
    return c.each(c.build.least, *c.args[:2])


@handles("maximum.default", "max.other")
def _maximum(c):
    return c.each(c.build.most, *c.args[:2])


def _clamp_with(low_at, high_at):
    def handler(c):
        low = c.arg(low_at, "min") if low_at else None
        high = c.arg(high_at, "max") if high_at else None
        bounds = [(x, way) for x, way in ((low, c.build.most), (high, c.build.least)) if x is not None]

        def at(index):
            value = c.scalar(c.args[0], c.type, index)
            for bound, way in bounds:
                value = way(value, c.scalar(bound, c.type, index))
            return value

        return Value(c.shape, c.dtype, at)

    return handler


handles("clamp.default", "clamp.Tensor", "hardtanh.default")(_clamp_with(1, 2))
handles("clamp_min.default", "clamp_min.Tensor")(_clamp_with(1, None))
handles("clamp_max.default", "clamp_max.Tensor")(_clamp_with(None, 1))


def _approximate_tanh(c):
    return c.each(lambda x: c.build.unary("math.tanh", x), c.args[0])


# attention-gym's, which may be exact.
NAMED["approx.tanh.default"] = _approximate_tanh
