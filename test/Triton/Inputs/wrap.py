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
def doubled(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    tl.store(x + at, tl.load(x + at, mask=mask) * 2, mask=mask)  # over what was read


@triton.jit
def counted(x):
    tl.store(x + tl.program_id(0), tl.load(x + tl.program_id(0)) + 1.0)


@triton.jit
def added_up(x, out, steps, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    for step in range(steps):
        tl.store(out + at, tl.load(out + at) + tl.load(x + step * B * tl.num_programs(0) + at))


@triton.jit
def shifted(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    values = tl.load(x + at + 1, mask=at + 1 < n)
    tl.store(x + at, values, mask=at + 1 < n)  # the next program has read it, or will


@triton.jit
def summed(x, out, count, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))
    tl.atomic_add(count + tl.arange(0, B), 1, mask=at < n)


@triton.jit
def asserting(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.assume(n > 0)  # a promise
    values = tl.load(x + at, mask=at < n, other=1.0)
    tl.device_assert(values > -2, "x is above -2")  # an assertion
    tl.store(out + at, values, mask=at < n)


@triton.jit
def printing(x, out):
    tl.device_print("x", tl.load(x))
    tl.store(out, 1.0)


@triton.jit
def sums_of_sums(x, out, rows, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)  # kept in shared memory, whose banks its rows share
    tl.store(rows + tl.arange(0, R), tl.cumsum(tl.sum(a, 1), 0))
    tl.store(out + at, a + tl.cumsum(tl.sum(a, 0), 0)[None, :])


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


def check_shared_arrays(target, x):
    wrap, cdiv, n = flashtile.triton.wrap, triton.cdiv, len(x)
    # In place, by tiles of more and of fewer elements than a block has threads.
    for B in (512, 64, 16):
        again = x.copy()
        wrap(doubled, target)[(cdiv(n, B),)](again, n, B=B)
        assert (again == 2 * x).all()
        sums = x[: 4 * B].copy()
        wrap(added_up, target)[(2,)](x, sums[: 2 * B], 2, B=B)
        assert (sums[: 2 * B] == x[: 2 * B] + x[: 2 * B] + x[2 * B : 4 * B]).all()
    again = x[:100].copy()
    wrap(counted, target)[(100,)](again)
    assert (again == x[:100] + 1).all()
    # Sums of many programs.
    whole = numpy.arange(n, dtype="float32") % 17
    total, count = numpy.zeros(1, "float32"), numpy.zeros(256, "int32")
    wrap(summed, target)[(cdiv(n, 256),)](whole, total, count, n, B=256)
    assert total[0] == whole.sum(dtype="float64") and count.sum() == n, (total, count)


def check_bank_conflicts():
    """They are told by the line, where they are counted."""
    x = numpy.random.default_rng(6).standard_normal((64, 32)).astype("float32")
    out, rows = numpy.empty_like(x), numpy.empty(64, "float32")
    for target in ("emulator:sm_80", "cpu"):
        flashtile.triton.wrap(sums_of_sums, target)[(1,)](x, out, rows, R=64, B=32)
        found = flashtile.triton.last_launch().bank_conflicts
        if target == "cpu":
            assert found is None, found
            continue
        assert found and {type(c) for c in found} == {flashtile.triton.BankConflicts}, found
        assert found == sorted(found, key=lambda c: -c.count) and found[-1].count > 0, found
        assert {os.path.basename(c.file) for c in found} == {HERE}, found
        assert line_of("whose banks its rows share") in [c.line for c in found], found
        # What has none.
        flashtile.triton.wrap(add, target)[(1,)](x, x, out, 64, B=64)
        assert flashtile.triton.last_launch().bank_conflicts == []


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
        check_shared_arrays(target, x)
    check_shared_arrays("emulator:gfx942", x)
    # What is found, at its line of Python, with the line itself.
    emulated = "emulator:sm_80"
    found = expect(flashtile.triton.CheckError, ["out of bounds", "argument 0, which has 12000 bytes", "# this one"],
                   wrap(without_mask, emulated)[(3,)], x, out, n, B=1024)
    assert (found.kind, os.path.basename(found.file), found.line) == ("out of bounds", HERE, line_of("# this one"))
    found = expect(flashtile.triton.CheckError, ["race", "argument 1"], wrap(one_sum, emulated)[(3,)], x,
                   numpy.zeros(1, "float32"), n, B=1024)
    assert found.kind == "race" and found.line in (line_of("before = "), line_of("# all programs"))
    found = expect(flashtile.triton.CheckError, ["race", "argument 0"], wrap(shifted, emulated)[(12,)], x.copy(), n,
                   B=256)
    assert found.kind == "race" and found.line in (line_of("x + at + 1"), line_of("# the next program"))
    # What is asserted, with debug=True as Triton has it, and promised.
    below = x.copy()
    below[2000] = -3
    wrap(asserting, emulated)[(3,)](x.clip(-1), out, n, B=1024, debug=True)
    found = expect(flashtile.triton.CheckError, ["failed assertion", '"x is above -2"', "# an assertion"],
                   wrap(asserting, emulated)[(3,)], below, out, n, B=1024, debug=True)
    assert (found.kind, found.line) == ("failed assertion", line_of("# an assertion"))
    found = expect(flashtile.triton.CheckError, ["broken promise", "tl.assume"], wrap(asserting, emulated)[(1,)], x,
                   out, -5, B=1024)
    assert (found.kind, found.line) == ("broken promise", line_of("# a promise"))
    wrap(asserting, "cpu")[(3,)](below, out, n, B=1024, debug=True)
    assert out[2000] == -3
    # A whole tile has no elements outside.
    wrap(without_mask, emulated)[(2,)](x, out, n, B=1024)
    # A part of an array is all that there is of it.
    expect(flashtile.triton.CheckError, ["out of bounds"], wrap(add, emulated)[(3,)], x[:2999], y, out, n, B=1024)
    check_bank_conflicts()
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
