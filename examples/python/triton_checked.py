# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels under test on a laptop: `pytest triton_checked.py`, or run it.

Two kernels have a fault each, and results that look right: where programs run
one after the other, as with TRITON_INTERPRET=1, nobody notices. The emulator does,
and names the line. Needs Triton and NumPy; no card, no PyTorch.
"""

import numpy
import triton
import triton.language as tl

import flashtile.triton

TARGET = "emulator:sm_80"


@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def scale_without_mask(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at)  # FAULT: the last block reads past the end
    tl.store(out + at, values * factor, mask=at < n)


@triton.jit
def sum_of(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    before = tl.load(total)
    tl.store(total, before + part)  # FAULT: all programs do so at once, and tl.atomic_add is meant


@triton.jit
def sum_of_all(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def numbers(n=1000):
    return numpy.linspace(0, 1, n, dtype="float32")


def line_of(mark):
    return next(n for n, line in enumerate(open(__file__), 1) if line.rstrip().endswith(mark))


def found_by(kernel, grid, *arguments, **meta):
    """What the emulator finds in a launch."""
    try:
        flashtile.triton.wrap(kernel, TARGET)[grid](*arguments, **meta)
    except flashtile.triton.CheckError as error:
        return error
    raise AssertionError("nothing was found")


def test_right_kernel_passes():
    x, out = numbers(), numpy.zeros(1000, "float32")
    flashtile.triton.wrap(scale, TARGET)[(triton.cdiv(1000, 256),)](x, out, 1000, 3.0, BLOCK=256)
    assert (out == x * numpy.float32(3)).all()


def test_missing_mask_is_found():
    x, out = numbers(), numpy.zeros(1000, "float32")
    error = found_by(scale_without_mask, (4,), x, out, 1000, 3.0, BLOCK=256)
    assert error.kind == "out of bounds"
    assert error.line == line_of("past the end")


def test_race_is_found():
    error = found_by(sum_of, (4,), numbers(), numpy.zeros(1, "float32"), 1000, BLOCK=256)
    assert error.kind == "race"
    assert line_of("is meant") - 1 <= error.line <= line_of("is meant")


def test_atomic_sum_passes():
    x, total = numpy.ones(1000, "float32"), numpy.zeros(1, "float32")
    flashtile.triton.wrap(sum_of_all, TARGET)[(4,)](x, total, 1000, BLOCK=256)
    assert total[0] == 1000  # such sums are exact, in any order


if __name__ == "__main__":
    x, out = numbers(), numpy.zeros(1000, "float32")
    print(found_by(scale_without_mask, (4,), x, out, 1000, 3.0, BLOCK=256))
    print(found_by(sum_of, (4,), numbers(), numpy.zeros(1, "float32"), 1000, BLOCK=256))
    test_right_kernel_passes()
    test_missing_mask_is_found()
    test_race_is_found()
    test_atomic_sum_passes()
