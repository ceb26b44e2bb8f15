"""Runs kernels that Triton printed by fa-run and compares what they write with float64.

usage: run_kernels.py FOLDER TARGET NAME ...

FOLDER has NAME.ttir (texts of kernels.py). An error is at most what docs/numerics.md allows: e0 is that of the same
formula in the types that the kernel has, by NumPy. Kernels run as they are written (--raise=off). The twin of each kernel, compared with inputs of another seed, fails.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy

import problems


def run(text, target, inputs, grid, raises="off"):
    """(what the kernel wrote, what fa-run said)"""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        words, outputs = ["fa-run", text, f"--target={target}", f"--raise={raises}"], []
        words.append("--grid=" + "x".join(map(str, grid)))
        for number, value in enumerate(inputs):
            if isinstance(value, numpy.ndarray):
                numpy.save(folder / f"{number}.npy", value)
                words += ["--in", folder / f"{number}.npy"]
            elif isinstance(value, tuple):
                outputs.append(folder / f"out{number}.npy")
                words += ["--in", "x".join(map(str, value)), "--out", outputs[-1]]
            else:
                words += ["--in", str(value)]
        found = subprocess.run(words, capture_output=True, text=True)
        return [numpy.load(x) for x in outputs if x.exists()], found


def main():
    folder, target, *names = sys.argv[1:]
    failures = 0
    for name in names:
        inputs, grid, reference = getattr(problems, name.split(".")[0])()
        outputs, said = run(f"{folder}/{name}.ttir", target, inputs, grid)
        exact, plain = reference(numpy.float64), reference(numpy.float32)
        if said.returncode or len(outputs) != len(exact):
            wrong = [said.stdout + said.stderr]
        else:
            wrong = problems.compare(outputs, exact, plain)
        print(f"{name}: {'; '.join(wrong) or 'right'}")
        failures += bool(wrong)
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


if __name__ == "__main__":
    main()
