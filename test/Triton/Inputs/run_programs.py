"""Launches kernels of programs.py by flashtile.triton and compares what they write with float64.

usage: run_programs.py TARGET NAME ...      compares
       run_programs.py --write FOLDER NAME ...  writes the texts, for where Triton is not

NAME may be NAME:N for the Nth run alone.
"""
import pathlib
import re
import sys

import numpy

import flashtile.triton
import problems
import programs
import programs_data


def runs_of(name):
    name, _, number = name.partition(":")
    runs = getattr(programs_data, name)()
    return name, list(enumerate(runs))[int(number) :][:1] if number else list(enumerate(runs))


def launch(name, run, target):
    """(the compiled kernel, what it wrote, outputs in order)"""
    arguments, constants, grid, _ = run
    outputs = {}
    for argument, value in arguments.items():
        if isinstance(value, programs_data.Out):
            nothing = numpy.nan if value.type.startswith("float") else -1
            outputs[argument] = numpy.full(value.shape, nothing, value.type)
    kernel = flashtile.triton.wrap(getattr(programs, name), target)
    compiled = kernel[grid](**{**arguments, **outputs}, **constants)
    return compiled, list(outputs.values())


def problem_of(name, run, target):
    try:
        _, outputs = launch(name, run, target)
    except flashtile.triton.Error as error:
        return [str(error)]
    reference = run[3]
    return problems.compare(outputs, reference(numpy.float64), reference(numpy.float32))


def without_paths(text):
    return re.sub(r'"[^"\n]*/([\w.]+\.py)"', r'"\1"', text)


def main():
    target, *names = sys.argv[1:]
    if target == "--write":
        folder, *names = names
        for name in names:
            for number, run in runs_of(name)[1]:
                text = launch(name, run, "cpu")[0].asm["ttir"]
                text = without_paths(text if isinstance(text, str) else text.decode())
                pathlib.Path(folder, f"{name}.{number}.ttir").write_text(text)
        return
    failures = 0
    for given in names:
        name, runs = runs_of(given)
        wrong = [x for _, run in runs for x in problem_of(name, run, target)]
        print(f"{given}: {'; '.join(wrong) or 'right'}", flush=True)
        failures += bool(wrong)
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


main()
