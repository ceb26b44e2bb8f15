"""Runs kernels that Triton printed in the emulator on inputs that they are not made for: each fault is found, at its line.

usage: run_faults.py FOLDER TARGET
"""
import re
import sys

import problems
import run_kernels


def slot(value):
    """The 20th token goes to slot `value`."""
    def change(inputs):
        inputs[4][20] = value if value is not None else inputs[4][21]
    return change


def row(value):
    """Row 50 goes to row `value`; or is read from there."""
    def change(inputs):
        inputs[1][50] = value
    return change


FAR = 1 << 24  # rows: no other array lies there

FAULTS = [
    ("write_cache", slot(FAR), "tl.store(key_cache", r"out of bounds: llvm\.store"),
    ("write_cache", slot(None), "tl.store(key_cache", r"race: llvm\.store .* of argument 2 was written by"),
    ("permute_rows", row(FAR), "tl.store(out + to", r"out of bounds: llvm\.store"),
    ("permute_rows", row(-FAR), "tl.store(out + to", r"out of bounds: llvm\.store"),
    ("gather_rows", row(FAR), "tl.load(x + tl.load(table", r"out of bounds: llvm\.load"),
]


def main():
    folder, target = sys.argv[1:]
    source = open(__file__.replace("run_faults", "kernels")).read().splitlines()
    failures = 0
    for name, change, line, expected in FAULTS:
        inputs, grid, _ = getattr(problems, name)()
        change(inputs)
        _, said = run_kernels.run(f"{folder}/{name}.ttir", target, inputs, grid)
        found = re.search(rf"error: kernels\.py:(\d+):\d+: {expected}", said.stderr)
        right = said.returncode == 3 and found and line in source[int(found[1]) - 1]
        print(f"{name}: {'found' if right else said.stdout + said.stderr}")
        failures += not right
    print(f"{len(FAULTS)} faults on {target}, {failures} failures")
    sys.exit(bool(failures))


main()
