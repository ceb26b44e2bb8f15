"""Runs one sequence in batches of 1, 3 and 17, at other places and among other
neighbours, and compares the bits of its results.

usage: batch_invariance.py FOLDER FORM SPEC [OPTION of fa-run ...]

FORM is padded, paged or ragged, SPEC what is asked for besides sizes. The sequence
has KEYS keys and QUERIES queries (environment); with HEADS=2 batches but the first
have twice as many heads, of which the first half is the sequence's. Prints "same" or
"differs", and writes the bits to FOLDER/bits.
"""
import os
import random
import struct
import subprocess
import sys

folder, form, spec, *options = sys.argv[1:]
KEYS, QUERIES = int(os.environ.get("KEYS", 200)), int(os.environ.get("QUERIES", 1))
D, PAGE, GROUP, KV_HEADS = 32, 16, 2, 2
rng = random.Random(1)
os.makedirs(folder, exist_ok=True)


def write(name, descr, shape, data):
    text = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    path = f"{folder}/{name}.npy"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)
    return f"--{name}={path}"


def integers(name, shape, numbers):
    return write(name, "<i4", shape, struct.pack(f"<{len(numbers)}i", *numbers))


def rows(heads, count):
    """Rows of f16 of each head, as bytes."""
    return [[struct.pack(f"<{D}e", *(rng.gauss(0, 1) for _ in range(D))) for _ in range(count)] for _ in range(heads)]


def sequence(heads, queries, keys):
    return rows(heads * GROUP, queries), rows(heads, keys), rows(heads, keys)


OWN = sequence(KV_HEADS, QUERIES, KEYS)


def batch(count, heads):
    """Sequences of which one is OWN, and its number."""
    place = rng.randrange(count)
    all = []
    for n in range(count):
        # Padded queries are as many for all.
        queries = rng.randrange(1, 7) if form == "ragged" else QUERIES
        keys = rng.randrange(1, 40) if n % 8 or KEYS > 1000 else rng.randrange(KEYS, 2 * KEYS)
        all.append(sequence(heads, queries, keys))
    more = sequence(heads - KV_HEADS, QUERIES, KEYS)
    all[place] = tuple(own + others for own, others in zip(OWN, more))
    return all, place


def padded(name, parts, longest):
    data = b"".join(row for heads in parts for head in heads for row in head + [bytes(2 * D)] * (longest - len(head)))
    return write(name, "<f2", (len(parts), len(parts[0]), longest, D), data)


def packed(name, parts):
    heads = range(len(parts[0]))
    data = b"".join(row for h in heads for part in parts for row in part[h])
    return write(name, "<f2", (len(heads), sum(len(part[0]) for part in parts), D), data)


def paged(name, parts, table, width, pages):
    """Each sequence's keys in its pages; others hold 0."""
    heads = len(parts[0])
    memory = [[[bytes(2 * D)] * PAGE for _ in range(heads)] for _ in range(pages)]
    for b, part in enumerate(parts):
        for h in range(heads):
            for j, row in enumerate(part[h]):
                memory[table[b * width + j // PAGE]][h][j % PAGE] = row
    data = b"".join(row for page in memory for head in page for row in head)
    return write(name, "<f2", (pages, heads, PAGE, D), data)


def arguments(all):
    q, k, v = zip(*all)
    lengths = [len(part[0]) for part in k]
    if form == "ragged":
        starts = [[0], [0]]
        for parts, offsets in zip((q, k), starts):
            for part in parts:
                offsets.append(offsets[-1] + len(part[0]))
        names = zip(("offsets", "key-offsets"), starts)
        return [packed("q", q), packed("k", k), packed("v", v)] + [
            integers(name, (len(offsets),), offsets) for name, offsets in names
        ]
    given = [padded("q", q, QUERIES), integers("lengths", (len(all),), lengths)]
    if form == "padded":
        return given + [padded(name, parts, max(lengths)) for name, parts in (("k", k), ("v", v))]
    width = max(-(-n // PAGE) for n in lengths) + rng.randrange(3)
    order = list(range(len(all) * width + 3))
    rng.shuffle(order)
    table = order[: len(all) * width]
    given += [paged(name, parts, table, width, len(order)) for name, parts in (("k", k), ("v", v))]
    return given + [integers("table", (len(all), width), table)]


def bits(all, place, heads):
    """The bits of the sequence's output, head by head."""
    out = f"{folder}/out.npy"
    kind = {"padded": "lengths", "paged": f"page={PAGE}", "ragged": "ragged"}[form]
    command = ["fa-run", "--attention", f"type=f16 {kind} {spec}", *arguments(all), f"--out={out}", "--cache=off", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    with open(out, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0] :]
    row = 2 * D
    before = [len(q[0]) for q, _, _ in all[:place]]
    result = b""
    for h in range(KV_HEADS * GROUP):
        if form == "ragged":
            first = h * (len(data) // row // (heads * GROUP)) + sum(before)
        else:
            first = (place * heads * GROUP + h) * QUERIES
        result += data[first * row : (first + QUERIES) * row]
    return result


found = []
for count in (1, 3, 17):
    heads = KV_HEADS * (int(os.environ.get("HEADS", 1)) if count > 1 else 1)
    all, place = batch(count, heads)
    found.append(bits(all, place, heads))
assert len(found[0]) == KV_HEADS * GROUP * QUERIES * 2 * D and any(found[0])
with open(f"{folder}/bits", "wb") as file:
    file.write(found[0])
print("same" if len(set(found)) == 1 else "differs")
