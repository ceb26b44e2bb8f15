"""Runs kept texts of kernels of programs.py, without Triton, by the C interface, and compares what they write with float64.

usage: run_kept.py FOLDER TARGET NAME.N ...

FOLDER has NAME.N.ttir, which run_programs.py --write wrote for the Nth run.
"""
import pathlib
import sys

import numpy

import flashtile
import problems
import programs_data
from flashtile import _structs
from flashtile._library import check, library
from flashtile._tensor import Tensor, tensor


def as_argument(value):
    """As Triton passes it: a pointer is all of the memory."""
    if isinstance(value, int):
        return _structs.Argument(type=_structs.I32, i64=value)
    if isinstance(value, float):
        return _structs.Argument(type=_structs.F32, f32=value)
    found = tensor(value)
    return Tensor(value, found.type, [value.size], [1], found.data).argument()


def launch(plan, run):
    """What the kernel wrote, outputs in order."""
    arguments, _, grid, _ = run
    values, outputs = [], []
    for value in arguments.values():
        if isinstance(value, programs_data.Out):
            nothing = numpy.nan if value.type.startswith("float") else -1
            value = numpy.full(value.shape, nothing, value.type)
            outputs.append(value)
        if isinstance(value, int) and value == 1:
            continue  # a constant of the text
        values.append(as_argument(value))
    nothing, sizes = numpy.zeros(1, "float32"), (*grid, 1, 1)[:3]
    values.append(Tensor(nothing, _structs.F32, sizes, [0, 0, 0], tensor(nothing).data).argument())
    check(library.faPlanLaunch(plan._handle, (_structs.Argument * len(values))(*values), len(values)))
    return outputs


def main():
    folder, target, *names = sys.argv[1:]
    context, failures = flashtile.Context(target), 0
    for name in names:
        kernel, number = name.split(".")
        run = getattr(programs_data, kernel)()[int(number)]
        try:
            outputs = launch(context.module(pathlib.Path(folder, f"{name}.ttir").read_text()), run)
            wrong = problems.compare(outputs, run[3](numpy.float64), run[3](numpy.float32))
        except flashtile.Error as error:
            wrong = [str(error)]
        print(f"{name}: {'; '.join(wrong) or 'right'}", flush=True)
        failures += bool(wrong)
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


main()
