"""Writes q, k, v and scales for fa-run --attention "kv=f8e4m3": every code of e4m3
that is a number is in K and in V of each head; with --nan one of K and one of V
are NaN, in heads of their own. With --queries=SCALE q has these codes, too, and
a scale. With --e5m2 they are those of e5m2, and an infinity is beside V's NaN."""
import random
import struct
import sys

folder, k_scale, v_scale = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
B, HQ, HKV, SQ, SK, D = 2, 4, 2, 10, 40, 32
q_scale = [float(word.split("=")[1]) for word in sys.argv if word.startswith("--queries=")]
rng = random.Random(1)


def write(name, descr, shape, data):
    text = str({"descr": descr, "fortran_order": False, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(f"{folder}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def codes(rows=SK):
    """Each of the numbers, as often as there is room, in any order, for one head."""
    special = 0x7C if "--e5m2" in sys.argv else 0x7F
    numbers = [code for code in range(256) if code & 0x7F < special]
    all = (numbers * 6)[: rows * D]
    rng.shuffle(all)
    assert set(all) == set(numbers)
    return bytearray(all)


k, v = [codes() for _ in range(B * HKV)], [codes() for _ in range(B * HKV)]
if "--nan" in sys.argv:
    k[1][3 * D + 5] = 0x7F  # all rows of batch 0, KV head 1
    v[2][7 * D + 9] = 0xFF  # column 9 of batch 1, KV head 0
    if "--e5m2" in sys.argv:
        k[1][3 * D + 5] = 0x7D
        v[0][5 * D + 4] = 0xFC  # −inf in column 4 of batch 0, KV head 0
if q_scale:
    q = [codes(SQ) for _ in range(B * HQ)]
    if "--nan" in sys.argv:
        q[7][4 * D + 2] = 0xFF  # row 4 of batch 1, query head 3
    write("q", "|V1", (B, HQ, SQ, D), b"".join(q))
else:
    q = [rng.gauss(0, 1) for _ in range(B * HQ * SQ * D)]
    write("q", "<f2", (B, HQ, SQ, D), struct.pack(f"<{len(q)}e", *q))
write("k", "|V1", (B, HKV, SK, D), b"".join(k))
write("v", "|V1", (B, HKV, SK, D), b"".join(v))
scales = [("k-scale", k_scale), ("v-scale", v_scale)] + [("q-scale", scale) for scale in q_scale]
for name, scale in scales:
    write(name, "<f4", (B, HKV), struct.pack("<4f", *(scale * (n + 1) for n in range(4))))
