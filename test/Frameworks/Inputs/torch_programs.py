"""Attention in PyTorch, as linalg by torch-mlir.

usage: torch_programs.py check | keep FOLDER
"""

import torch
from torch.nn.functional import scaled_dot_product_attention as attention
from torch_mlir import fx

from programs import PART, Program, main, numbers

B, H, G, D = 2, 4, 2, 16  # batches, heads, heads of K and V, elements of a head
S, T = 24, 40  # queries, keys


def by_hand(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / D**0.5, -1) @ v


def filled(q, k, v, m):
    s = (q @ k.transpose(-1, -2) * D**-0.5).masked_fill(~m, -torch.inf)
    return torch.softmax(s, -1) @ v


def block(x, packed, out):
    q, k, v = (x @ packed).reshape(B, S, 3, H, D).permute(2, 0, 3, 1, 4)
    return attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, S, H * D) @ out


def two(x, y, z):
    h = attention(x, x, x, is_causal=True) + x
    return attention(h, y, z) + h


queries = numbers(B, H, S, D, seed=1)
keys, values = (numbers(B, H, T, D, seed=n) for n in (2, 3))
same_keys, same_values = keys[:, :, :S], values[:, :, :S]
mask = numbers(B, 1, S, T, seed=4) > 0
mask[0, 0, 5] = False  # sees no key: 0
seen = numbers(S, T, seed=5) > 0
NAME = "torch.nn.functional.scaled_dot_product_attention(q, k, v"


def causal(q, k, v):
    return attention(q, k, v, is_causal=True)


PROGRAMS = [
    Program("full", NAME + ")", attention, [queries, keys, values]),
    Program("f16", NAME + ") of float16", attention, [queries, keys, values], type="float16"),
    Program("bf16", NAME + ") of bfloat16", attention, [queries, keys, values], type="bfloat16"),
    Program("causal", NAME + ", is_causal=True)", causal, [queries, same_keys, same_values]),
    Program("causal_bf16", NAME + ", is_causal=True) of bfloat16", causal, [queries, same_keys, same_values], type="bfloat16"),
    Program("grouped", NAME + ", enable_gqa=True)", lambda q, k, v: attention(q, k, v, enable_gqa=True),
            [queries, keys[:, :G], values[:, :G]]),
    Program("mask", NAME + ", attn_mask=m) of booleans", lambda q, k, v, m: attention(q, k, v, attn_mask=m),
            [queries, keys, values, mask]),
    Program("bias", NAME + ", attn_mask=m) of floats", lambda q, k, v, m: attention(q, k, v, attn_mask=m),
            [queries, keys, values, numbers(S, T, seed=6)]),
    Program("scale", NAME + ", scale=0.3)", lambda q, k, v: attention(q, k, v, scale=0.3), [queries, keys, values]),
    Program("by_hand", "torch.softmax between two products", by_hand, [queries, keys, values]),
    Program("filled", "masked_fill and torch.softmax between two products", filled, [queries, keys, values, seen]),
    Program("block", "A layer with projections before and behind " + NAME + ", is_causal=True)", block,
            [numbers(B, S, H * D, seed=7), numbers(H * D, 3 * H * D, seed=8) / 8, numbers(H * D, H * D, seed=9) / 8],
            outcome=PART, reason="q is computed in the function, where a view of an argument is expected"),
    Program("two", "Two attentions with residuals, the second to other keys", two, [queries, keys, values],
            outcome=PART, reason="the function has 2 attentions, where one is expected"),
]


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def tensors(program):
    """The inputs, rounded to the program's type, as float64."""
    floats = getattr(torch, program.type)
    inputs = (torch.from_numpy(x.copy()) for x in program.inputs)
    return [x if x.dtype == torch.bool else x.to(floats).double() for x in inputs]


def rounded(program):
    return [x if x.dtype == torch.bool else x.to(getattr(torch, program.type)) for x in tensors(program)]


def text_of(program):
    module = fx.export_and_import(Module(program.function), *rounded(program), output_type="linalg-on-tensors", func_name="main")
    return str(module)


def own_of(program):
    return [program.function(*rounded(program)).double().numpy()]


def reference_of(program):
    return [program.function(*tensors(program)).numpy()]


def bits(tensor):
    """`tensor` as fa-run reads it: bfloat16 is two bytes without a type."""
    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else tensor.numpy()


if __name__ == "__main__":
    for program in PROGRAMS:
        program.saved = [bits(x) for x in rounded(program)]
    main(PROGRAMS, text_of, own_of, reference_of, "torch-mlir 20261001 with torch " + torch.__version__.split("+")[0], "Inputs/torch_programs.py")
