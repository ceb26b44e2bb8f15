"""Launches kernels of kernels.py by flashtile.triton and compares what they write with float64, as run_kernels.py does.

usage: wrap_kernels.py TARGET NAME ...
"""
import sys

import numpy

import flashtile.triton

flashtile.triton.activate("cpu")  # before kernels are tuned: 3.2 asks for a driver there

import kernels
import problems

TYPES = {"*fp32": "float32", "*fp16": "float16", "*i32": "int32", "*i64": "int64"}


def launch(name, target):
    """What is wrong with what kernel `name` writes on `target`."""
    kernel = kernels.ALL[name]
    arguments, grid, reference = getattr(problems, name)()
    names = [n for n in kernel.fn.arg_names if n not in kernel.constants]
    outputs = []
    for at, (argument, value) in enumerate(zip(names, arguments)):
        if isinstance(value, tuple):
            kind = TYPES[kernel.types[argument]]
            arguments[at] = numpy.full(value, numpy.nan if kind[0] == "f" else -1, kind)
            outputs.append(arguments[at])
    flashtile.triton.wrap(kernel.fn, target)[grid](*arguments, **kernel.constants)
    return problems.compare(outputs, reference(numpy.float64), reference(numpy.float32))


def main():
    target, *names = sys.argv[1:]
    failures = 0
    for name in names:
        wrong = launch(name, target)
        print(f"{name}: {'; '.join(wrong) or 'right'}")
        failures += bool(wrong)
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


main()
