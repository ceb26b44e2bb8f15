"""special.py DIR f16|f32 WHICH

Q, K and V of one head, 300 by 80, as DIR/q.npy, k.npy and v.npy, with
infinities and NaN where WHICH says: q, k, v (some of each), or none.
"""
import math
import random
import struct
import sys

# The last columns fill no tile: infinities meet the zeros behind them, if these
# are in one operand alone.
ROWS, COLUMNS = 300, 80
INFINITY, NAN = math.inf, math.nan
# Rows, columns and values. In V of one row more than one: of both signs in a column.
SPECIAL = {
    "q": [(7, 3, INFINITY), (70, 0, -INFINITY), (150, 63, NAN), (200, 79, -INFINITY), (299, 31, INFINITY)],
    "k": [(11, 32, INFINITY), (20, 70, -INFINITY), (299, 5, -INFINITY)],
    "v": [(0, 0, INFINITY), (5, 63, -INFINITY), (33, 40, NAN), (256, 17, INFINITY), (257, 17, -INFINITY), (299, 33, INFINITY)],
}


def main():
    random.seed(3)
    folder, kind, which = sys.argv[1:]
    letter = {"f16": "e", "f32": "f"}[kind]
    for name in "qkv":
        data = [random.gauss(0, 1) for _ in range(ROWS * COLUMNS)]
        if name == which:
            for row, column, value in SPECIAL[name]:
                data[row * COLUMNS + column] = value
        header = str({"descr": f"<f{struct.calcsize(letter)}", "fortran_order": False, "shape": (1, 1, ROWS, COLUMNS)})
        header += " " * (-(len(header) + 11) % 64) + "\n"
        with open(f"{folder}/{name}.npy", "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(data)}{letter}", *data))


main()
