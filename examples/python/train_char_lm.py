#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small GPT that learns this repository's documentation, character by
character: once with FlashTile's attention and once with PyTorch's, from the same
weights and on the same batches. The two losses are printed and drawn.

    PYTHONPATH=python FLASHTILE_LIBRARY=build/lib/libflashtile.so python examples/python/train_char_lm.py

About a minute on a CPU; --device=cuda for a card. With --alibi positions are no
embedding but ALiBi's penalty in a window of half the context: PyTorch's attention is given
both as a mask of context x context numbers, FlashTile's as a slope a head and two
bounds. With --bias as well each layer learns a number for each head and distance, which
is added to the scores: PyTorch's attention is given a mask that is made of them in every
step, FlashTile's reads the table, and makes the table's gradient.
"""

import argparse
import copy
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from flashtile import flex_attention
from flashtile.torch import attention, scaled_dot_product_attention


class Block(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.heads, width = how.heads, how.width
        self.distances = nn.Parameter(torch.zeros(how.heads, how.context)) if how.bias else None
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, attend):
        batch, length, width = x.shape
        # Heads are views of the projection: nobody copies them.
        q, k, v = self.project(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        own = [self.distances] if self.distances is not None else []
        x = x + self.out(attend(q, k, v, *own).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, characters, how):
        super().__init__()
        self.embed = nn.Embedding(characters, how.width)
        self.places = None if how.alibi else nn.Parameter(0.02 * torch.randn(how.context, how.width))
        self.blocks = nn.ModuleList(Block(how) for _ in range(how.layers))
        self.norm, self.head = nn.LayerNorm(how.width), nn.Linear(how.width, characters)

    def forward(self, text, attend):
        x = self.embed(text)
        if self.places is not None:
            x = x + self.places
        for block in self.blocks:
            x = block(x, attend)
        return self.head(self.norm(x))


def attentions(how):
    """The same attention by both."""
    if not how.alibi:
        return {
            "FlashTile": lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
            "PyTorch": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        }
    window = how.context // 2
    slopes = 2.0 ** (-8 / how.heads * torch.arange(1, how.heads + 1, device=how.device))
    places = torch.arange(how.context, device=how.device)
    distance = places[:, None] - places
    mask = torch.where((distance >= 0) & (distance <= window), -slopes[:, None, None] * distance, -torch.inf)
    if how.bias:

        def changed(table):
            return lambda score, b, h, i, j: score - slopes[h] * (i - j) + table[h, i - j]

        def seen(b, h, i, j):
            return (j <= i) & (i - j <= window)

        return {
            "FlashTile": lambda q, k, v, table: flex_attention(q, k, v, changed(table), seen),
            "PyTorch": lambda q, k, v, table: F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask + table[:, distance.clamp(min=0)]
            ),
        }
    return {
        "FlashTile": lambda q, k, v: attention(q, k, v, window=(window, 0), alibi_slopes=slopes),
        "PyTorch": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    }


def train(name, model, attend, text, how):
    """The loss of each step."""
    generator = torch.Generator().manual_seed(how.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=how.rate)
    losses, begin = [], time.perf_counter()
    for step in range(how.steps):
        starts = torch.randint(len(text) - how.context - 1, (how.batch, 1), generator=generator)
        window = text[starts + torch.arange(how.context + 1)].to(how.device)
        loss = F.cross_entropy(model(window[:, :-1], attend).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if sys.stderr.isatty():
            done = 30 * (step + 1) // how.steps
            print(f"\r{name:9} [{'#' * done}{'.' * (30 - done)}] {losses[-1]:.3f} ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{name}: loss {losses[0]:.3f} to {losses[-1]:.3f} in {time.perf_counter() - begin:.0f} s")
    return losses


def draw(curves, path):
    """The losses as an SVG, the second one's line in dashes over the first's."""
    width, height, edge = 640, 320, 40
    highest, count = max(map(max, curves.values())), max(map(len, curves.values()))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">']
    for loss in range(int(highest) + 1):
        y = height - edge - loss / highest * (height - 2 * edge)
        parts.append(f'<path d="M{edge} {y:.1f}H{width - edge}" stroke="#ddd"/><text x="{edge - 16}" y="{y + 4:.1f}">{loss}</text>')
    for n, (name, losses) in enumerate(curves.items()):
        points = (
            f"{edge + i / max(count - 1, 1) * (width - 2 * edge):.1f},{height - edge - y / highest * (height - 2 * edge):.1f}"
            for i, y in enumerate(losses)
        )
        color, dash = (("#c33", "none"), ("#36c", "6 4"))[n]
        style = f'fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{" ".join(points)}" {style}/>')
        parts.append(f'<text x="{width - edge - 90}" y="{edge + 16 * n}" fill="{color}">{name} {losses[-1]:.3f}</text>')
    parts.append(f'<text x="{width / 2 - 40}" y="{height - 12}">step, of {count}</text></svg>')
    pathlib.Path(path).write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Trains a small GPT with both attentions.")
    for name, value in dict(steps=150, batch=8, context=128, width=64, heads=4, layers=2, seed=1).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--alibi", action="store_true")
    parser.add_argument("--bias", action="store_true", help="beside --alibi: a bias that is learned")
    parser.add_argument("--svg", default="train_char_lm.svg")
    how = parser.parse_args()
    if how.bias and not how.alibi:
        parser.error("expected --alibi beside --bias, found none")
    root = pathlib.Path(__file__).resolve().parents[2]
    words = "".join(path.read_text() for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))])
    characters = sorted(set(words))
    number = {character: n for n, character in enumerate(characters)}
    text = torch.tensor([number[character] for character in words])
    torch.manual_seed(how.seed)
    model = Model(len(characters), how).to(how.device)
    curves = {name: train(name, copy.deepcopy(model), attend, text, how) for name, attend in attentions(how).items()}
    draw(curves, how.svg)
    ours, theirs = curves.values()
    apart = abs(ours[-1] - theirs[-1])
    print(f"{len(words)} characters; the losses end {apart:.1e} apart; drawn in {how.svg}")
    # Rounding alone sets the two apart: by little of what was learned.
    return apart > 0.01 * (theirs[0] - theirs[-1])


if __name__ == "__main__":
    sys.exit(main())
