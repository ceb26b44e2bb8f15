"""special.py DIR WHICH

Q, K and V of one head, f16, 300 by 64, as DIR/q.npy, k.npy and v.npy, with
infinities and NaN where WHICH says: q, k, v (some of each), or none.
"""
import array
import random
import struct
import sys

ROWS, COLUMNS = 300, 64
INFINITY, NAN = 0x7C00, 0x7E00
# Rows, columns and bits. In V of one row more than one: of both signs in a column.
SPECIAL = {
    "q": [(7, 3, INFINITY), (70, 0, INFINITY | 0x8000), (150, 63, NAN), (299, 31, INFINITY)],
    "k": [(11, 32, INFINITY), (299, 5, INFINITY | 0x8000)],
    "v": [(0, 0, INFINITY), (5, 63, INFINITY | 0x8000), (33, 40, NAN), (256, 17, INFINITY), (257, 17, INFINITY | 0x8000), (299, 33, INFINITY)],
}


def main():
    random.seed(3)
    for name in "qkv":
        data = array.array("H", [struct.unpack("<H", struct.pack("<e", random.gauss(0, 1)))[0] for _ in range(ROWS * COLUMNS)])
        if name == sys.argv[2]:
            for row, column, bits in SPECIAL[name]:
                data[row * COLUMNS + column] = bits
        header = str({"descr": "<f2", "fortran_order": False, "shape": (1, 1, ROWS, COLUMNS)})
        header += " " * (-(len(header) + 11) % 64) + "\n"
        with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data.tobytes())


main()
