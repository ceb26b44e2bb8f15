"""products.py write DIR f16|f32 | check DIR f16|f32 left|rows|columns

Numbers times some others, as .npy for the kernels of products.mlir; checks that
what they computed is what Python computes, and that infinities and NaN are where
they belong. Prints the number of products. Of f16 all 65536 numbers, whose products
are exact. Of f32 as many by chance: three pieces of each leave out what is below
2^-22 of a product, for other numbers by chance as often above 0 as below.
"""
import array
import math
import random
import struct
import sys

COUNT = 65536
SPECIAL = [math.inf, -math.inf, math.nan, 0.0, -0.0]
FORMAT = {"f16": "<e", "f32": "<f"}
WORDS = {"f16": "H", "f32": "I"}


def bits(kind, x):
    return struct.unpack("<" + WORDS[kind], struct.pack(FORMAT[kind], x))[0]


def number(kind, word):
    return struct.unpack(FORMAT[kind], struct.pack("<" + WORDS[kind], word))[0]


def operands(kind):
    """The words of x, and y."""
    if kind == "f16":
        # Ones, all bits of the significand, subnormal, the largest.
        return range(COUNT), [1.0, -1.0, 1.5, -1.9990234375, 1.0009765625, 1.125, 0.333251953125, 2.0**-24, -3 * 2.0**-24, 1023 * 2.0**-24, 65504.0, -65504.0] + SPECIAL
    # Exponents from -40 to 59: no product of pieces is flushed. What is NaN by its last bit alone, the largest ones.
    random.seed(5)
    words = [random.getrandbits(23) | random.randrange(87, 187) << 23 | random.getrandbits(1) << 31 for _ in range(COUNT - 32)]
    words += [bits(kind, x) for x in SPECIAL] + [0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F7FFFFF, 0x3F807FFF, 0x3F808000, 0x3F80FFFF]
    words += [bits(kind, 1.0)] * (COUNT - len(words))
    y = [1.0, -1.0, 1.5, -1.99999988079071044921875, 1.00000011920928955078125, 1 / 3, math.pi, 1.00390613079071044921875, 2.0**60, -3e-18, 7e17] + SPECIAL
    y += [random.uniform(-2, 2) for _ in range(128 - len(y))]
    return words, [number(kind, bits(kind, x)) for x in y]


def write(path, kind, rows, columns, values):
    """`values`: words that are not 0, by their place."""
    data = array.array(WORDS[kind], bytes(rows * columns * array.array(WORDS[kind]).itemsize))
    for place, value in values:
        data[place] = value
    header = str({"descr": {"f16": "<f2", "f32": "<f4"}[kind], "fortran_order": False, "shape": (rows, columns)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data.tobytes())


def read(path):
    data = open(path, "rb").read()
    length, = struct.unpack("<H", data[8:10])
    return array.array("f", data[10 + length:])


def rounded(x):
    """To f32, or infinity."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def main():
    command, folder, kind = sys.argv[1:4]
    words, ys = operands(kind)
    if command == "write":
        write(f"{folder}/x.npy", kind, COUNT, 32, [(32 * n, word) for n, word in enumerate(words)])
        write(f"{folder}/xt.npy", kind, 32, COUNT, list(enumerate(words)))
        write(f"{folder}/y.npy", kind, 128, 32, [(32 * n, bits(kind, y)) for n, y in enumerate(ys)])
        return
    found = read(f"{folder}/{sys.argv[4]}.npy")
    assert len(found) == COUNT * 128, len(found)
    errors, count = [], 0
    for m, y in enumerate(ys):
        of = found[m::128] if sys.argv[4] == "left" else found[COUNT * m:COUNT * (m + 1)]
        by_chance = m >= 17
        for n in range(m % 32 if by_chance else 0, COUNT, 32 if by_chance else 1):
            word = words[n]
            x = number(kind, word)
            count += 1
            expected = rounded(x * y)
            if of[n] == expected or (math.isnan(expected) and math.isnan(of[n])):
                error = 0.0
            elif kind == "f32" and abs(x * y) >= 2.0**143 and math.isnan(of[n]):
                continue  # a product of pieces with the other sign may overflow, too
            elif kind == "f32" and math.isfinite(expected) and x * y:
                error = (of[n] - x * y) / (x * y)
            else:
                error = math.inf
            if not abs(error) <= 2.0**-22:
                sys.exit(f"{x} ({word:#x}) times {y}: expected {expected}, found {of[n]}")
            if by_chance:
                errors.append(error)
    if errors and abs(sum(errors)) > 2.0**-28 * len(errors):
        sys.exit(f"expected errors as often above 0 as below, found {sum(errors) / len(errors)} on average")
    print(f"{count} products")


main()
