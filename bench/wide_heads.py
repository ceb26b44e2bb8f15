#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of heads above 128 from PyTorch on a card, in turns: flashtile.flex_attention
beside PyTorch's compiled flex_attention and, without a score_mod, cuDNN and
FlashAttention 2 by its SDPA.

    FLASHTILE_LIBRARY=…/libflashtile.so PYTHONPATH=python bench/wide_heads.py

What is timed is one backward of a forward that is kept, between two events, with what
autograd does around it: microseconds, medians of 15.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import flashtile
from flex import time_in_turns

B, H, S, ROUNDS = 2, 16, 4096, 15
PEERS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention 2": SDPBackend.FLASH_ATTENTION}


def causal(b, h, q, k):
    return q >= k


def softcap(s, b, h, q, k):
    return 30 * torch.tanh(s / 30)


PROBLEMS = [
    (256, 256, None, None),
    (256, 256, None, causal),
    (256, 256, softcap, causal),
    (192, 128, None, causal),
]


def attend(peer, q, k, v, is_causal):
    with sdpa_kernel(peer):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def main():
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, FlashTile {flashtile.version()}")
    for d, dv, score, mask in PROBLEMS:
        q, k, v, dout = (torch.randn(B, H, S, n, device="cuda", dtype=torch.bfloat16) for n in (d, d, dv, dv))
        inputs = [x.requires_grad_() for x in (q, k, v)]
        blocks = mask and create_block_mask(mask, None, None, S, S, device="cuda")
        torch.compiler.reset()
        compiled = torch.compile(flex_attention, dynamic=False)
        forwards = {
            "FlashTile": lambda: flashtile.flex_attention(q, k, v, score, blocks),
            "FlexAttention": lambda: compiled(q, k, v, score, blocks),
        }
        if score is None:
            for name, peer in PEERS.items():
                forwards[name] = lambda peer=peer: attend(peer, q, k, v, mask is not None)
        runs, gradients = {}, {}
        for name, forward in forwards.items():
            try:
                out = forward()
                runs[name] = lambda out=out: torch.autograd.grad(out, inputs, dout, retain_graph=True)
                gradients[name] = runs[name]()
            except RuntimeError as error:  # what it has no kernel for
                runs.pop(name, None)
                print(f"  {name}: {str(error).splitlines()[0]}")
        times = time_in_turns(runs)
        ours = gradients["FlashTile"]
        far = {
            name: max(((x - y).abs().max() / y.abs().max()).item() for x, y in zip(ours, each))
            for name, each in gradients.items()
        }
        mods = ", ".join(mod.__name__ for mod in (mask, score) if mod) or "full"
        print(f"D {d}, {dv}, {mods}: ", end="")
        print(", ".join(f"{name} {time:.0f} (differs by {far[name]:.2g})" for name, time in times.items()), flush=True)


if __name__ == "__main__":
    main()
