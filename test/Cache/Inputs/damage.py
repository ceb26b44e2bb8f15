"""Damages a file of the cache in every way that must be noticed."""
import os
import sys

from runs import entries, expect, fresh, lists, run

folder = fresh(sys.argv[1])
cache = folder + "/c"
expect(run(cache), "miss")
[entry] = entries(cache)
good = open(entry, "rb").read()
body = good.index(b"\n", good.index(b"\n") + 1) + 1


def compiles_again(bytes, *said):
    with open(entry, "wb") as out:
        out.write(bytes)
    expect(run(cache), "miss", *said)
    expect(run(cache), "hit")


def flipped(at):
    return good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]


for at in (0, 20, body, body + 200, len(good) // 2, len(good) - 1):
    said = "expected a file that begins with" if at == 0 else "its checksum does not fit"
    compiles_again(flipped(at), said)
for size in (0, 10, body, len(good) // 2, len(good) - 1):
    said = "expected a file that begins with" if size < 18 else "its checksum does not fit"
    compiles_again(good[:size], said)

# Another program's file, and with it one of another build, under this name.
expect(run(cache, "b=1 hq=2 sq=40 d=64 type=f32"), "miss")
[other] = [f for f in entries(cache) if f != entry]
compiles_again(open(other, "rb").read(), "it is of another build or another program")

# The list of a program's kernels is made again; the program is still there.
known = lists(cache)
assert len(known) == 2, known
for path in known:
    whole = open(path, "rb").read()
    with open(path, "wb") as out:
        out.write(whole[:-1])
expect(run(cache), "hit", "its checksum does not fit")
expect(run(cache), "hit")

# A file that others can write, or own, or that is none.
os.chmod(entry, 0o666)
expect(run(cache), "miss", "expected that its owner alone can write it")
expect(run(cache), "hit")
if os.geteuid() == 0:
    os.chown(entry, 65534, 65534)
    expect(run(cache), "miss", "expected the owner 0, found 65534")
    expect(run(cache), "hit")
os.remove(entry)
os.mkfifo(entry)
expect(run(cache), "miss", "expected a file")
expect(run(cache), "hit")
# The twin: the file as it was is used.
compiles_again(good[:-1], "its checksum does not fit")
with open(entry, "wb") as out:
    out.write(good)
expect(run(cache), "hit")
