"""Inputs and expected gradients of examples/kernels/attention_backward.mlir.

    backward.py write FOLDER QUERIES KEYS    two heads, head size 64
    backward.py compare FOLDER NAME [twin]   dq, dk or dv beside float64

The rule is that of every test: at the most twice the largest error of the same
formula unfused, and 1.1 times its mean error, with a floor. Unfused: dots in
f32, P and dS rounded to f16 before theirs. What is compared with a twin is a
gradient that lacks delta, and must fail.
"""

import ast
import math
import operator
import random
import struct
import sys

HEADS, DEPTH, SCALE = 2, 64, 0.125


def write(path, sizes, values, kind="e"):
    descr = {"e": "<f2", "f": "<f4"}[kind]
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(sizes)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        f.write(struct.pack(f"<{len(values)}{kind}", *values))


def read(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10 : 10 + n].decode())
    kind = {"<f2": "e", "<f4": "f"}[head["descr"]]
    count = math.prod(head["shape"])
    return head["shape"], list(struct.unpack(f"<{count}{kind}", data[10 + n :]))


def rounded(value, kind="e"):
    return struct.unpack(f"<{kind}", struct.pack(f"<{kind}", value))[0]


def rows(values, head, count):
    start = head * count * DEPTH
    return [values[start + r * DEPTH : start + (r + 1) * DEPTH] for r in range(count)]


def times(a, b):
    """a · bᵀ, both lists of rows."""
    return [[sum(map(operator.mul, x, y)) for y in b] for x in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def softmax(q, k):
    p, lse = [], []
    for scores in times(q, k):
        top = max(scores) * SCALE
        weights = [math.exp(s * SCALE - top) for s in scores]
        total = sum(weights)
        p.append([w / total for w in weights])
        lse.append(top + math.log(total))
    return p, lse


def generate(folder, queries, keys):
    random.seed(7)
    tensors = {}
    for name, count in (("q", queries), ("k", keys), ("v", keys), ("dout", queries)):
        values = [random.gauss(0, 1) for _ in range(HEADS * count * DEPTH)]
        # Scores of the last head are far below 0: P of a key that is not there would be infinite.
        shift, last = {"q": 2.0, "k": -2.0}.get(name), (HEADS - 1) * count * DEPTH
        if shift:
            values[last:] = [shift + x / 8 for x in values[last:]]
        values = [rounded(x) for x in values]
        write(f"{folder}/{name}.npy", (HEADS, count, DEPTH), values)
        tensors[name] = values
    lse, delta = [], []
    for head in range(HEADS):
        q, k, v, dout = (
            rows(tensors[name], head, count)
            for name, count in (("q", queries), ("k", keys), ("v", keys), ("dout", queries))
        )
        p, row = softmax(q, k)
        out = [[rounded(x) for x in line] for line in times(p, transposed(v))]
        lse += row
        delta += [sum(map(operator.mul, x, y)) for x, y in zip(out, dout)]
    write(f"{folder}/lse.npy", (HEADS, queries), lse, "f")
    write(f"{folder}/delta.npy", (HEADS, queries), delta, "f")


def gradients(q, k, v, dout, lse, delta, name, cast):
    """dq, dk or dv of a head; `cast` rounds P and dS."""
    p = [
        [math.exp(s * SCALE - row) for s in scores] for scores, row in zip(times(q, k), lse)
    ]
    if name == "dv":
        weights = [[cast(x) for x in line] for line in p]
        return times(transposed(weights), transposed(dout))
    dp = times(dout, v)
    ds = [
        [cast(x * (y - row)) for x, y in zip(*lines)]
        for *lines, row in zip(p, dp, delta)
    ]
    if name == "dq":
        result = times(ds, transposed(k))
    else:
        result = times(transposed(ds), transposed(q))
    return [[x * SCALE for x in line] for line in result]


def compare(folder, name, twin):
    loaded = {each: read(f"{folder}/{each}.npy") for each in ("q", "k", "v", "dout", "lse", "delta", name)}
    queries, keys = loaded["q"][0][1], loaded["k"][0][1]
    count = queries if name == "dq" else keys
    assert loaded[name][0] == (HEADS, count, DEPTH), loaded[name][0]
    errors, unfused, largest = [], [], 0.0
    for head in range(HEADS):
        q, dout = (rows(loaded[each][1], head, queries) for each in ("q", "dout"))
        k, v = (rows(loaded[each][1], head, keys) for each in ("k", "v"))
        lse, delta = (loaded[each][1][head * queries : (head + 1) * queries] for each in ("lse", "delta"))
        if twin:
            delta = [0.0] * queries
        exact = gradients(q, k, v, dout, lse, delta, name, lambda x: x)
        plain = gradients(q, k, v, dout, lse, delta, name, rounded)
        for line, exact_line, plain_line in zip(rows(loaded[name][1], head, count), exact, plain):
            for found, expected, other in zip(line, exact_line, plain_line):
                errors.append(abs(found - expected))
                unfused.append(abs(rounded(other) - expected))
                largest = max(largest, abs(expected))
    assert not any(map(math.isnan, errors)), "NaN"
    floor = 1e-5 * max(1.0, largest)
    worst, mean = max(errors), sum(errors) / len(errors)
    bound, mean_bound = 2 * max(unfused) + floor, 1.1 * sum(unfused) / len(unfused) + floor / 4
    print(f"{name}: max error {worst:.3g} (bound {bound:.3g}), mean {mean:.3g} (bound {mean_bound:.3g})")
    sys.exit(not (worst <= bound and mean <= mean_bound))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        generate(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        compare(sys.argv[2], sys.argv[3], len(sys.argv) > 4)
