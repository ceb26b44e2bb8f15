"""Inputs and expected gradients of a tensor or a number that scores are multiplied with.

    captured.py write FOLDER PROGRAM.mlir KIND    KIND: of b, h, q, k a letter where the bias has that size, else 1;
                                                  or a name of TABLES; or number
    captured.py compare FOLDER KIND [twin]        db.npy beside float64

Two batches, two query heads of one KV head, and a mask. The rule: at most twice the largest error of the same formula in
f32, and a floor of 1e-6 of the largest sum of absolute terms, as an element of the bias is a sum. The twin leaves out a
batch, and must fail.
"""

import math
import random
import sys

from backward import read, rounded, write

BATCHES, HEADS, QUERIES, KEYS, DEPTH, SCALE = 2, 2, 70, 45, 16, 0.25
SIZES = {"b": BATCHES, "h": HEADS, "q": QUERIES, "k": KEYS, "1": 1}
BUCKETS, NUMBER = 9, 0.25
# Tables that are read at computed places: sizes; the place at batch, head, query and key; how it is computed, and read.
TABLES = {
    "distance": (
        (HEADS, QUERIES + KEYS - 1),
        lambda b, h, i, j: h * (QUERIES + KEYS - 1) + i - j + KEYS - 1,
        [
            "%d = arith.subi %i, %j : index",
            f"%most = arith.constant {KEYS - 1} : index",
            "%at = arith.addi %d, %most : index",
        ],
        "%h, %at",
    ),
    "behind": (  # rises with the key
        (QUERIES + KEYS - 1,),
        lambda b, h, i, j: j - i + QUERIES - 1,
        [
            "%d = arith.subi %j, %i : index",
            f"%most = arith.constant {QUERIES - 1} : index",
            "%at = arith.addi %d, %most : index",
        ],
        "%at",
    ),
    "bucket": (  # more than a tile's, of each batch
        (BUCKETS, BATCHES),
        lambda b, h, i, j: min((i - j) // 4, BUCKETS - 1) * BATCHES + b,
        [
            "%d = arith.subi %i, %j : index",
            "%four = arith.constant 4 : index",
            "%part = arith.divsi %d, %four : index",
            f"%last = arith.constant {BUCKETS - 1} : index",
            "%at = arith.minsi %part, %last : index",
        ],
        "%at, %b",
    ),
}

PROGRAM = """
!t = tensor<?x?x?x{depth}xf16>
!l = tensor<?x?x?xf32>
!b = {type}
func.func @f(%q: !t, %k: !t, %v: !t, %bias: !b, %c: f32) -> (!t, !l)
    attributes {{tile.vjp_wrt = array<i64: 3>, tile.vjp_of = array<i64: 0>}} {{
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%bias : !b) : !t, !t, !t -> !t lse !l
  score {{
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: !b):
    {read}
    %g = arith.mulf %e, %s : f32
    %m = arith.addf %s, %g : f32
    tile.yield %m : f32
  }}
  mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index, %x: !b):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }}
  return %o, %lse : !t, !l
}}
"""


def sizes_of(kind):
    if kind in TABLES:
        return TABLES[kind][0]
    return (1,) if kind == "number" else [SIZES[letter] for letter in kind]


def read_of(kind):
    """The type of what is captured, and how a score reads it."""
    if kind == "number":
        return "f32", ["%zero = arith.constant 0.0 : f32", "%e = arith.addf %x, %zero : f32"]
    if kind in TABLES:
        sizes, _, lines, places = TABLES[kind]
        return f"tensor<{'?x' * len(sizes)}f32>", [*lines, f"%e = tensor.extract %x[{places}] : !b"]
    names = {"b": "%b", "h": "%h", "q": "%i", "k": "%j", "1": "%zero"}
    places = ", ".join(names[letter] for letter in kind)
    sizes = "x".join("1" if letter == "1" else "?" for letter in kind)
    return f"tensor<{sizes}xf32>", ["%zero = arith.constant 0 : index", f"%e = tensor.extract %x[{places}] : !b"]


class Problem:
    """Rows by batch, head and number; `cast` rounds each number that is computed."""

    def __init__(self, tensors, kind, cast):
        self.tensors, self.kind, self.cast = tensors, kind, cast

    def row(self, name, b, h, n):
        heads, count = (1, KEYS) if name in "kv" else (HEADS, QUERIES)
        start = ((b * heads + (0 if name in "kv" else h)) * count + n) * DEPTH
        return self.tensors[name][start : start + DEPTH]

    def place(self, *at):
        if self.kind in TABLES:
            return TABLES[self.kind][1](*at)
        if self.kind == "number":
            return 0
        n = 0
        for letter, x in zip(self.kind, at):
            n = n * SIZES[letter] + (0 if letter == "1" else x)
        return n

    def dot(self, x, y):
        total = 0.0
        for a, c in zip(x, y):
            total = self.cast(total + a * c)
        return total

    def scores(self, b, h, i):
        """Pairs: what comes of q and k, and the score."""
        q, cast, pairs = self.row("q", b, h, i), self.cast, []
        for j in range(min(i + 1, KEYS)):
            x = cast(SCALE * self.dot(q, self.row("k", b, h, j)))
            pairs.append((x, cast(x + cast(x * self.tensors["bias"][self.place(b, h, i, j)]))))
        return pairs

    def forward(self, b, h, i):
        scores = [s for _, s in self.scores(b, h, i)]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        p = [w / sum(weights) for w in weights]
        rows = [self.row("v", b, h, j) for j in range(len(p))]
        out = [sum(x * row[d] for x, row in zip(p, rows)) for d in range(DEPTH)]
        return out, top + math.log(sum(weights))

    def gradient(self, batches=BATCHES, given=None):
        """The bias's gradient and the sums of the sizes of its terms; `given`: out and lse of each row."""
        count = math.prod(sizes_of(self.kind))
        sums, sizes, cast = [0.0] * count, [0.0] * count, self.cast
        for b in range(batches):
            for h in range(HEADS):
                for i in range(QUERIES):
                    out, lse = given(b, h, i) if given else self.forward(b, h, i)
                    dout = self.row("dout", b, h, i)
                    delta = self.dot(dout, out)
                    for j, (x, s) in enumerate(self.scores(b, h, i)):
                        dp = self.dot(dout, self.row("v", b, h, j))
                        term = cast(x * cast(cast(math.exp(cast(s - lse))) * cast(dp - delta)))
                        at = self.place(b, h, i, j)
                        sums[at] = cast(sums[at] + term)
                        sizes[at] += abs(term)
        return sums, sizes


def generate(folder, program, kind):
    random.seed(11)
    tensors = {}
    for name, heads, count in (("q", HEADS, QUERIES), ("k", 1, KEYS), ("v", 1, KEYS), ("dout", HEADS, QUERIES)):
        tensors[name] = [rounded(random.gauss(0, 1)) for _ in range(BATCHES * heads * count * DEPTH)]
        write(f"{folder}/{name}.npy", (BATCHES, heads, count, DEPTH), tensors[name])
    sizes = sizes_of(kind)
    tensors["bias"] = [rounded(random.gauss(0, 1), "f") for _ in range(math.prod(sizes))]
    if kind == "number":
        tensors["bias"] = [NUMBER]
    write(f"{folder}/bias.npy", sizes, tensors["bias"], "f")
    exact = Problem(tensors, kind, float)
    rows = [exact.forward(b, h, i) for b in range(BATCHES) for h in range(HEADS) for i in range(QUERIES)]
    write(f"{folder}/out.npy", (BATCHES, HEADS, QUERIES, DEPTH), [x for out, _ in rows for x in out])
    write(f"{folder}/lse.npy", (BATCHES, HEADS, QUERIES), [lse for _, lse in rows], "f")
    type, lines = read_of(kind)
    with open(program, "w") as file:
        file.write(PROGRAM.format(depth=DEPTH, type=type, read="\n    ".join(lines)))


def compare(folder, kind, twin):
    tensors = {}
    for name in ("q", "k", "v", "dout", "bias", "out", "lse"):
        _, tensors[name] = read(f"{folder}/{name}.npy")
    _, found = read(f"{folder}/db.npy")
    given = lambda b, h, i: (
        tensors["out"][((b * HEADS + h) * QUERIES + i) * DEPTH :][:DEPTH],
        tensors["lse"][(b * HEADS + h) * QUERIES + i],
    )
    exact, terms = Problem(tensors, kind, float).gradient(BATCHES - 1 if twin else BATCHES)
    e0, _ = Problem(tensors, kind, lambda x: rounded(x, "f")).gradient(given=given)
    allowed = 2 * max(abs(x - y) for x, y in zip(e0, exact)) + 1e-6 * max(terms)
    if twin:
        allowed = 1e-3 * max(map(abs, exact))
    worst = max(abs(x - y) if x == x else math.inf for x, y in zip(found, exact))
    assert len(found) == len(exact), len(found)
    print(f"db of {kind}: largest error {worst:.3g}, allowed {allowed:.3g}")
    sys.exit(not worst <= allowed)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        generate(*sys.argv[2:])
    else:
        compare(*sys.argv[2:4], sys.argv[4:] == ["twin"])
