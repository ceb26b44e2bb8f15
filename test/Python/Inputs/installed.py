"""The installed package, without NumPy: a memoryview is an array as well."""
import array
import math
import os
import sys

import flashtile

assert os.path.dirname(flashtile.__file__).startswith(sys.prefix), flashtile.__file__
B, H, S, D = 1, 2, 9, 16


def filled(step):
    values = array.array("f", (math.sin(step * n) for n in range(B * H * S * D)))
    return values, memoryview(values).cast("B").cast("f", (B, H, S, D))


(q, vq), (k, vk), (v, vv) = filled(0.1), filled(0.3), filled(0.7)
out, vout = filled(0)
assert flashtile.attention(vq, vk, vv, causal=True, out=vout) is vout
worst = 0.0
for row in range(B * H * S):
    head, i = divmod(row, S)
    dots = [
        math.exp(sum(q[row * D + d] * k[(head * S + j) * D + d] for d in range(D)) / math.sqrt(D)) for j in range(i + 1)
    ]
    for d in range(D):
        expected = sum(p * v[(head * S + j) * D + d] for j, p in enumerate(dots)) / sum(dots)
        worst = max(worst, abs(expected - out[row * D + d]))
print("largest error", worst)
assert worst < 2e-6
