"""What flashtile.triton says and does beside right results: grids, tuning, findings, errors."""
import os
import sys

import numpy

import flashtile
import flashtile.triton

flashtile.triton.activate("cpu")  # before kernels are tuned: 3.2 asks for a driver there

import triton
import triton.language as tl

HERE = os.path.basename(__file__)


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def without_mask(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    values = tl.load(x + at)  # this one
    tl.store(out + at, values, mask=at < n)


@triton.jit
def one_sum(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    before = tl.load(out)
    total = tl.sum(tl.load(x + at, mask=at < n, other=0.0)[None, :], 1)
    tl.store(out + tl.arange(0, 1), before + total)  # all programs, and nothing between


@triton.autotune([triton.Config({"B": 256}), triton.Config({"B": 1024}, num_warps=8)], key=["n"], reset_to_zero=["out"])
@triton.heuristics({"WHOLE": lambda given: given["n"] % given["B"] == 0})
@triton.jit
def tuned(x, out, n, B: tl.constexpr, WHOLE: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    if WHOLE:
        tl.store(out + at, tl.load(x + at) * 2)
    else:
        tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def printing(x, out):
    tl.device_print("x", tl.load(x))
    tl.store(out, 1.0)


def line_of(text):
    return next(n for n, line in enumerate(open(__file__), 1) if text in line)


def expect(kind, parts, call, *arguments, **meta):
    try:
        call(*arguments, **meta)
    except kind as error:
        missing = [p for p in parts if p not in str(error)]
        assert type(error) is kind and not missing, (type(error), missing, str(error))
        return error
    raise AssertionError(f"expected {kind.__name__}, found none")


def main():
    wrap, cdiv = flashtile.triton.wrap, triton.cdiv
    n = 3000
    x, y = numpy.random.default_rng(5).standard_normal((2, n)).astype("float32")
    for target in ("cpu", "emulator:sm_80", "emulator:sm_90a"):
        for grid in ((3,), (3, 1), lambda meta: (cdiv(meta["n"], meta["B"]),)):
            out = numpy.full(n, numpy.nan, "float32")
            wrap(add, target)[grid](x, y, out, n, B=1024)
            assert (out == x + y).all()
        for length in (n, 2048):
            out = numpy.full(length, numpy.nan, "float32")
            wrap(tuned, target)[lambda meta: (cdiv(length, meta["B"]),)](x, out, length)
            assert (out == 2 * x[:length]).all()
        # NumPy's number, and a grid without programs.
        out = numpy.full(n, numpy.nan, "float32")
        wrap(add, target)[(3,)](x, y, out, numpy.int64(n), B=1024)
        assert (out == x + y).all()
        out = numpy.full(n, numpy.nan, "float32")
        wrap(add, target)[(0,)](x, y, out, n, B=1024)
        assert numpy.isnan(out).all()
    # What is found, at its line of Python, with the line itself.
    emulated = "emulator:sm_80"
    found = expect(flashtile.triton.CheckError, ["out of bounds", "argument 0, which has 12000 bytes", "# this one"],
                   wrap(without_mask, emulated)[(3,)], x, out, n, B=1024)
    assert (found.kind, os.path.basename(found.file), found.line) == ("out of bounds", HERE, line_of("# this one"))
    found = expect(flashtile.triton.CheckError, ["race", "argument 1"], wrap(one_sum, emulated)[(3,)], x,
                   numpy.zeros(1, "float32"), n, B=1024)
    assert found.kind == "race" and found.line in (line_of("before = "), line_of("# all programs"))
    # A whole tile has no elements outside.
    wrap(without_mask, emulated)[(2,)](x, out, n, B=1024)
    # A part of an array is all that there is of it.
    expect(flashtile.triton.CheckError, ["out of bounds"], wrap(add, emulated)[(3,)], x[:2999], y, out, n, B=1024)
    # What cannot be done is an error by name.
    expect(flashtile.Error, [HERE, "tt.print", "in kernel @printing", 'tl.device_print("x"'],
           wrap(printing)[(1,)], x, out)
    expect(TypeError, ["expected a kernel of @triton.jit, found function"], wrap, main)
    expect(flashtile.Error, ["no_such"], wrap, add, "emulator:no_such")
    expect(ValueError, ["negative strides"], wrap(add)[(3,)], x[::-1], y, out, n, B=1024)
    expect(TypeError, ["float64"], wrap(add)[(3,)], x.astype("float64"), y, out, n, B=1024)
    print(f"triton {triton.__version__}: right")


main()
sys.exit(0)
