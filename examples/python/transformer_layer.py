#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small transformer layer of PyTorch's whose attention is replaced: the same
weights, the same inputs, the outputs compared.

    PYTHONPATH=python FLASHTILE_LIBRARY=build/lib/libflashtile.so python examples/python/transformer_layer.py
"""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn

from flashtile.torch import attention


class SelfAttention(nn.Module):
    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        # Heads are views of the projection: nobody copies them.
        q, k, v = self.project(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = self.attend(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width=128, heads=4, attend=None):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, attend)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def main():
    torch.manual_seed(0)
    theirs = Layer(attend=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    ours = copy.deepcopy(theirs)
    # PyTorch's is_causal counts from the top left.
    ours.attention.attend = lambda q, k, v: attention(q, k, v, causal="top-left")
    x = torch.randn(2, 200, 128)
    with torch.no_grad():
        reference = copy.deepcopy(theirs).double()(x.double())
        found, expected = ours(x), theirs(x)
    difference = (found - reference).abs().max().item()
    print(f"largest difference {difference:.2e}, of PyTorch's own attention {(expected - reference).abs().max():.2e}")
    # The rule of docs/numerics.md, with PyTorch's own layer as the unfused one.
    return difference > 2 * (expected - reference).abs().max().item() + 1e-6


if __name__ == "__main__":
    sys.exit(main())
