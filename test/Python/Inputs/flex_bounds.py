"""The keys that are equal to a number, by the kernel of flex_attention's: on a
target beside NumPy's searchsorted.

    flex_bounds.py TARGET FOLDER
"""

import os
import subprocess
import sys

import numpy as np
import torch

from flashtile.flex._bounds import text

target, folder = sys.argv[1:]
random = np.random.default_rng(0)
sorted_keys = np.sort(random.integers(-5, 40, 600))
one_falls = np.arange(600)
one_falls[512] = 0
cases = {
    "sorted": sorted_keys,
    "long": np.sort(random.integers(-(2**31), 2**31, 1030)),
    "alike": np.full(33, 7),
    "one": np.array([3]),
    "the first pair falls": np.array([2, 1, 3, 4]),
    "a pair of two tiles falls": one_falls,
    "mixed": random.integers(0, 9, 200),
}


def run(program, keys, rows):
    """first, last and grows, of as many rows as keys."""
    names = [os.path.join(folder, name) for name in ("program.mlir", "keys.npy", "rows.npy", "f.npy", "l.npy", "g.npy")]
    with open(names[0], "w", encoding="utf-8") as file:
        file.write(program)
    np.save(names[1], keys)
    np.save(names[2], rows)
    inputs = [f"--in={name}" for name in names[1:3]]
    outputs = [part for name in names[3:] for part in ("--out", name)]
    command = ["fa-run", names[0], "--entry=bounds", f"--target={target}", *inputs, *outputs]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    first, last, grows = (np.load(name) for name in names[3:])
    return first, last, grows[0]


def is_right(found, keys, rows, side="right", is_strict=False):
    first, last, grows = found
    if grows != (np.diff(keys) >= 0).all():
        return False
    if not grows:
        return (first == 0).all() and (last == len(keys)).all()
    expected = [np.searchsorted(keys, rows, each) for each in ("left", side)]
    return all((x == y).all() for x, y in zip((last, first) if is_strict else (first, last), expected))


for dtype in (torch.int64, torch.int32):
    for is_long in (False, True):
        for name, keys in cases.items():
            keys = keys.astype(str(dtype).split(".")[1])
            rows = random.permutation(keys)
            rows[: len(rows) // 8] += 1  # some that are no keys
            found = run(text(dtype, is_long), keys, rows)
            assert is_right(found, keys, rows), (dtype, is_long, name, found)
            if name == "sorted":  # the twins
                assert not is_right(found, keys, rows, "left")
                assert not is_right(found, keys, rows, is_strict=True)
            found = run(text(dtype, is_long, is_strict=True), keys, rows)
            assert is_right(found, keys, rows, is_strict=True), (dtype, is_long, name, found)
print("bounds are right")
