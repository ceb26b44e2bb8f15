"""flex_attention with the mods that PyTorch's post on FlexAttention has, written
here anew, and with what else mods are made of: one of each kind of operation."""

import math

import torch
import torch.nn.functional as F
from flex_check import check, inputs, wrong
from torch.nn.attention.flex_attention import and_masks, or_masks

from flashtile import flex_attention

torch.manual_seed(0)
B, H, S = 2, 4, 64
half = torch.bfloat16


def causal(b, h, q, k):
    return q >= k


def before(b, h, q, k):
    return q > k


def window(b, h, q, k):
    return q - k <= 9


def padded(lengths):
    return lambda b, h, q, k: k < lengths[b]


slopes = torch.exp2(-torch.arange(1, H + 1).float())
bias, relative_table = torch.randn(B, H, S, S), torch.randn(H, 2 * S)
document, lengths = torch.arange(S) // 11, torch.tensor([40, 3], dtype=torch.int32)

# The post's mods; a twin has another mod, which must be seen.
check("none", twin=(None, causal))
check("relative", lambda s, b, h, q, k: s + (q - k), twin=(lambda s, b, h, q, k: s + (k - q), None))
check("relative table", lambda s, b, h, q, k: s + relative_table[h, q - k + S])
check("alibi", lambda s, b, h, q, k: s + slopes[h] * (k - q), causal, twin=(None, causal))
check("softcap", lambda s, b, h, q, k: 2 * torch.tanh(s / 2), twin=(lambda s, b, h, q, k: 3 * torch.tanh(s / 3), None))
check("bias", lambda s, b, h, q, k: s + bias[b, h, q, k])
check("causal by score", lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")), twin=(None, before))
check("causal", None, causal, twin=(None, before))
check("causal, bf16", None, causal, type=half, twin=(None, before))
check("window", None, and_masks(causal, window), twin=(None, causal))
check("prefix", None, or_masks(causal, lambda b, h, q, k: k < 20), twin=(None, causal))
check("documents", None, lambda b, h, q, k: document[q] == document[k])
check("padding", None, padded(lengths), twin=(None, padded(lengths + 1)))
check("documents by score", lambda s, b, h, q, k: torch.where(document[q] == document[k], s, -math.inf), causal)


def natten(b, h, q, k):
    q_x, q_y, k_x, k_y = q // 8, q % 8, k // 8, k % 8
    x, y = q_x.clamp(1, 6), q_y.clamp(1, 6)
    return ((x - k_x).abs() <= 1) & ((y - k_y).abs() <= 1)


check("natten", None, natten)


def in_document(mod, offsets):
    of = torch.bucketize(torch.arange(S), offsets, right=True) - 1

    def mod_of_document(s, b, h, q, k):
        inner = mod(s, b, h, q - offsets[of[q]], k - offsets[of[k]])
        return torch.where(of[q] == of[k], inner, -float("inf"))

    return mod_of_document


check("jagged", in_document(lambda s, b, h, q, k: s + slopes[h] * (k - q), torch.tensor([0, 9, 40])))

# Lengths that differ, a captured tensor that is longer, rows without a key.
longer = torch.arange(300) // 7
check("few queries", None, lambda b, h, q, k: longer[q + 40] >= longer[k], sq=5, sk=50)
check("tables of two lengths", None, lambda b, h, q, k: longer[q] == longer[k], sq=30, sk=75)
out, lse = check("rows without keys", None, lambda b, h, q, k: (q >= k) & (q > 10), twin=(None, causal))
assert (out[:, :, :11] == 0).all() and (lse[:, :, :11] == -math.inf).all()
check("a scale", scale=0.7, twin=None)
check("heads of two widths", None, causal, d=24, dv=8)

# One of each kind of operation.
flags, numbers, doubles, few = (
    torch.rand(S) > 0.3,
    torch.randn(5, S).half(),
    torch.randn(S).double(),
    torch.randint(0, 5, (S,)).byte(),
)
one, tiny, vectors = torch.tensor(0.5), torch.tensor(3, dtype=torch.int64), torch.randn(B, H, S, 4)
scores = {
    "functions": lambda s, b, h, q, k: torch.exp(-s.abs()) + torch.sin(s) * torch.cos(s) - torch.sigmoid(s) + F.silu(s),
    "powers": lambda s, b, h, q, k: (
        s**2 - s**3 / 7 + 2 ** (-s) + (s.abs() + 0.1) ** 0.5 + torch.rsqrt(s * s + 1) - s.square()
    ),
    "logarithms": lambda s, b, h, q, k: (
        torch.log(s.abs() + 1) + torch.log2(s.abs() + 2) + torch.log1p(s.abs()) + torch.expm1(-s.abs())
    ),
    "rounding": lambda s, b, h, q, k: (
        torch.floor(s) + torch.ceil(s / 3) + torch.round(s * 2) + torch.trunc(s) + torch.sign(s)
    ),
    "limits": lambda s, b, h, q, k: (
        torch.maximum(s.clamp(-1, 1), torch.minimum(s, s * 0.5)) + s.clamp(min=0.2) + F.relu(s)
    ),
    "activations": lambda s, b, h, q, k: F.gelu(s) + F.gelu(s, approximate="tanh") + F.softplus(s) + F.leaky_relu(s),
    "divisions": lambda s, b, h, q, k: (
        s / (q + 1) + (q - k) / 7 + (q - k) // 5 + (q - k) % 5 + torch.fmod(s, 0.5) + s % 0.4
    ),
    "toward zero": lambda s, b, h, q, k: s + torch.div(q - k, 5, rounding_mode="trunc") * 0.1,
    "dividing by what is read": lambda s, b, h, q, k: s + (q // few[k].int().clamp(min=1)) * 0.01,
    "bits": lambda s, b, h, q, k: s + ((q & 5) | (k ^ 3)) * 0.1 + ((q << 2) >> 3) * 0.01 - (~k) * 0.01,
    "conditions": lambda s, b, h, q, k: torch.where((q > k) ^ (q % 2 == 0), s, s * 0.5) + (q == k),
    "captured numbers": lambda s, b, h, q, k: s * one + tiny * 0.1 + numbers[2, k] + doubles[q] + torch.tensor(0.25),
    "negative indices": lambda s, b, h, q, k: s + relative_table[h, q - k] + relative_table[-1, -3] + numbers[-2][k],
    "parts of tables": lambda s, b, h, q, k: s + bias[b][h][q][k] + bias[0, 1, 2:5, 3].sum(),
    "vectors": lambda s, b, h, q, k: (
        s + torch.dot(vectors[b, h, q], vectors[b, 0, k]) + (vectors[b, h, k] > 0).sum() * 0.1
    ),
    "computed from tables alone": lambda s, b, h, q, k: s * torch.sigmoid(slopes)[h] + bias.mean() + slopes.max(),
    "an addition of minus infinity": lambda s, b, h, q, k: s + torch.where(q >= k, 0.0, -float("inf")),
    "an index of a float": lambda s, b, h, q, k: (
        s + slopes[(s.abs() * 2).int().clamp(max=3)] * 0 + slopes[(h * 1.0).long()]
    ),
}
for name, mod in scores.items():
    check(name, mod)  # at all keys: q - k is below 0 as well
# Keys beyond the last one are computed, where 0 is read.
divisors = torch.tensor([-1, 1, 3, -4, 7])[torch.arange(50) % 5]
by_key = lambda s, b, h, q, k: s + (q - k) // divisors[k] * 0.1 + (q - 30) % divisors[k] * 0.1
check("divisors", lambda s, b, h, q, k: by_key(s, b, h, q, k) + torch.fmod(q - k, divisors[k]) * 0.1, sk=50)
# Numbers that 32 bits do not hold, and products that they do not, of numbers that they do.
far, least = torch.arange(S) * (2**33 + 5), torch.full((S,), -(2**31), dtype=torch.int32)
masks = {
    "64 bits": lambda b, h, q, k: (far[k] * (q + 1)) % 7 < 3,
    "products": lambda b, h, q, k: (((least[k].long() + k) * 3) % 11 < 4) | (q == k),
    "a captured boolean": lambda b, h, q, k: flags[k] | (q == k),
    "not": lambda b, h, q, k: ~flags[q] | ~(q < k),
    "bytes": lambda b, h, q, k: few[q] >= few[k],
    "a mask of floats": lambda b, h, q, k: torch.sqrt((q - k) ** 2 + 1.0) < 9.5,
    "masked_fill": lambda b, h, q, k: (q >= k).masked_fill(k == 3, True),
    "by head": lambda b, h, q, k: torch.where(h < 2, q >= k, k < 30),
    "any": lambda b, h, q, k: (few[:3].int() * 9 == k - k % 9).any() | (q == k),
}
for name, mod in masks.items():
    check(name, None, mod, twin=(None, None))

# A comparison that must fail, of each kind: an output, a log-sum-exp, a position.
q, k, v = inputs()
found = flex_attention(q, k, v, None, causal, enable_gqa=True, return_lse=True)
assert wrong(found, q, k, v, None, causal) is None
assert "output" in wrong((found[0] + 1e-4, found[1]), q, k, v, None, causal)
assert "mean" in wrong((found[0] + 0.6e-6 * v.abs().max(), found[1]), q, k, v, None, causal)
assert "lse" in wrong((found[0], found[1] + 1e-3), q, k, v, None, causal)
found[0][0, 0, 0, 0] = math.nan
assert "positions" in wrong(found, q, k, v, None, causal)
print("right")
