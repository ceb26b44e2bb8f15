"""Sums in one step at computed addresses, by kernels that Triton printed, beside NumPy; what they must not do is found.

usage: sums.py FOLDER TARGET ...
"""
import pathlib
import sys

import numpy

import flashtile
from plan import expect, launch

RANDOM = numpy.random.default_rng(41)


def grid(*programs):
    """An array of one element, the sizes of which count."""
    return numpy.broadcast_to(numpy.zeros(1, "float32"), (programs + (1, 1))[:3])


def flat(argument):
    """What a pointer is to."""
    return argument.reshape(-1) if isinstance(argument, numpy.ndarray) else argument


def count_numbers():
    n = 1000
    x, counts = RANDOM.integers(0, 50, n, dtype="int32"), numpy.arange(50, dtype="int32")
    return [x, counts, n], grid(4), 1, counts + numpy.bincount(x, minlength=50), 0


def embedding_gradient():
    rows, columns, words = 70, 50, 11
    gradient = RANDOM.standard_normal((rows, columns)).astype("float32")
    taken, table = RANDOM.integers(0, words, rows, dtype="int32"), numpy.ones((words, columns), "float32")
    exact = table.astype("float64")
    numpy.add.at(exact, taken, gradient)
    # Sums of at most 70 numbers of 5 at most, in any order.
    return [gradient, taken, table, rows, columns], grid(3, 2), 2, exact, 70 * 70 * 5 * 2.0**-24


def sum_positive():
    n = 700
    x, sums = RANDOM.standard_normal(n).astype("float32"), numpy.zeros(128, "float32")
    exact = numpy.zeros(128)
    numpy.add.at(exact, numpy.arange(n) % 128, numpy.maximum(x, 0))
    return [x, sums, n], grid(6), 1, exact, 6 * 6 * 5 * 2.0**-24


def main():
    folder, *targets = sys.argv[1:]
    for target in targets:
        context = flashtile.Context(target)
        for problem in (count_numbers, embedding_gradient, sum_positive):
            name = problem.__name__
            plan = context.module(pathlib.Path(folder, f"{name}.ttir").read_text())
            arguments, programs, at, exact, bound = problem()
            before = arguments[at].copy()
            launch(plan, *map(flat, arguments), programs)
            error = abs(arguments[at] - exact).max()
            assert error <= bound, f"{target}: {name} is {error} off, {bound} allowed"
            # The twin: as if several with one place had been one, or nothing had been added.
            assert abs(before - exact).max() > bound, f"{target}: {name} adds nothing that could be seen"
        if target.startswith("emulator"):
            plan = context.module(pathlib.Path(folder, "count_numbers.ttir").read_text())
            x = numpy.full(1000, 7, "int32")
            x[300] = 50
            expect(flashtile.Error, ["kernels.py:", "out of bounds"], launch, plan, x, numpy.zeros(50, "int32"), 1000,
                   grid(4))
    print(f"{len(targets)} targets, all right")


if __name__ == "__main__":
    main()
