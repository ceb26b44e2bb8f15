"""products.py write DIR | check DIR left|rows|columns

All 65536 f16 times some, as .npy for the kernels of products.mlir; checks that
what they computed is what Python computes, exactly, and that infinities and NaN
are where they belong. Prints the number of products.
"""
import array
import math
import struct
import sys

# Ones, all bits of the significand, subnormal, the largest, special values.
Y = [1.0, -1.0, 1.5, -1.9990234375, 1.0009765625, 1.125, 0.333251953125, 2.0**-24, -3 * 2.0**-24, 1023 * 2.0**-24, 65504.0, -65504.0,
     math.inf, -math.inf, math.nan, 0.0, -0.0]
X = [struct.unpack("<e", struct.pack("<H", bits))[0] for bits in range(65536)]


def write(path, rows, columns, values):
    """`values`: those that are not 0, by their place."""
    data = array.array("H", bytes(2 * rows * columns))
    for place, value in values:
        data[place] = value
    header = str({"descr": "<f2", "fortran_order": False, "shape": (rows, columns)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data.tobytes())


def read(path):
    data = open(path, "rb").read()
    length, = struct.unpack("<H", data[8:10])
    return array.array("f", data[10 + length:])


def main():
    command, folder = sys.argv[1:3]
    if command == "write":
        write(f"{folder}/x.npy", 65536, 32, [(32 * n, n) for n in range(65536)])
        write(f"{folder}/xt.npy", 32, 65536, [(n, n) for n in range(65536)])
        write(f"{folder}/y.npy", 64, 32, [(32 * n, struct.unpack("<H", struct.pack("<e", y))[0]) for n, y in enumerate(Y)])
        return
    found = read(f"{folder}/{sys.argv[3]}.npy")
    assert len(found) == 65536 * 64, len(found)
    for m, y in enumerate(Y):
        of = found[m::64] if sys.argv[3] == "left" else found[65536 * m:65536 * (m + 1)]
        for n, x in enumerate(X):
            expected = x * y  # exact in binary64
            if of[n] != expected and not (math.isnan(expected) and math.isnan(of[n])):
                sys.exit(f"{x} ({n:#06x}) times {y}: expected {expected}, found {of[n]}")
    print(f"{len(X) * len(Y)} products")


main()
