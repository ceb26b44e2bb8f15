# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What flashtile.flex_attention costs on the CPU, in turns with what it is
compared with: calls beside flashtile.attention and PyTorch's SDPA, and masks
that are read through other tensors beside the causal mask that they are in.

    FLASHTILE_LIBRARY=build/lib/libflashtile.so PYTHONPATH=python bench/host/flex.py
"""

import statistics
import time

import torch
import torch.nn.functional as F

import flashtile
from flashtile import flex_attention

torch.manual_seed(0)
slopes, document = torch.rand(1), torch.arange(16) // 5


def causal(b, h, q, k):
    return q >= k


def alibi(s, b, h, q, k):
    return s + slopes[h] * (k - q)


class Layer:
    factor = 2.0

    def score(self, s, b, h, q, k):
        return s * self.factor


def calls():
    q, k, v = (torch.randn(1, 1, 16, 16) for _ in range(3))
    return {
        "PyTorch's scaled_dot_product_attention, causal": lambda: F.scaled_dot_product_attention(
            q, k, v, is_causal=True
        ),
        "flashtile.attention, causal": lambda: flashtile.attention(q, k, v, causal="top-left"),
        "no mod": lambda: flex_attention(q, k, v),
        "causal": lambda: flex_attention(q, k, v, None, causal),
        "ALiBi and causal": lambda: flex_attention(q, k, v, alibi, causal),
        "documents, a new function at each call": lambda: flex_attention(
            q, k, v, None, lambda b, h, q, k: (document[q] == document[k]) & (q >= k)
        ),
        "a method, traced at each call": lambda: flex_attention(q, k, v, Layer().score, causal),
    }


def masks(length=4096, documents=16):
    q, k, v = (torch.randn(1, 4, length, 64) for _ in range(3))
    starts = torch.arange(0, length, length // documents)
    of = torch.arange(length) // (length // documents)
    shuffled = of[torch.randperm(length)]
    known = {
        "causal": causal,
        "documents by their starts": lambda b, h, q, k: (k >= starts[of[q]]) & (q >= k),
        "documents by equality": lambda b, h, q, k: (of[q] == of[k]) & (q >= k),
        "as many keys by equality, shuffled": lambda b, h, q, k: (shuffled[q] == shuffled[k]) & (q >= k),
    }
    return {name: (lambda mask=mask: flex_attention(q, k, v, None, mask)) for name, mask in known.items()}


def print_table(rows, unit, factor, times):
    for run in rows.values():
        run()
    found = {name: [] for name in rows}
    for _ in range(times):  # in turns
        for name, run in rows.items():
            start = time.perf_counter()
            run()
            found[name].append(factor * (time.perf_counter() - start))
    print(f"| | median, {unit} | least | most |\n| --- | --- | --- | --- |")
    for name, each in found.items():
        print(f"| {name} | {statistics.median(each):.1f} | {min(each):.1f} | {max(each):.1f} |")
    print()


print(f"FlashTile {flashtile.version()}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads\n")
print_table(calls(), "µs", 1e6, 200)
print_table(masks(), "ms", 1e3, 15)
