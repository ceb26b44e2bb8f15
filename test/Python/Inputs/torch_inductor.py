"""torch.compile as it is called: its own code generator around the operation."""
import sys

import torch
from torch._inductor.utils import run_and_get_code

from flashtile.torch import attention

torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 40, 32) for _ in range(3))


def layer(q, k, v):
    out, lse = attention(q * 2, k, v, causal="top-left", return_lse=True)
    return torch.relu(out) + lse[..., None]


found, code = run_and_get_code(torch.compile(layer, fullgraph=True), q, k, v)
expected = layer(q, k, v)
error = (found - expected).abs().max().item()
assert error <= 1e-6 * expected.abs().max().item(), error
# One call of the operation between two loops of the generator's own.
assert code[0].count("torch.ops.flashtile.attention_lse.default(") == 1, code[0]

# Trained, with its derivative in the second graph.
inputs = [x.requires_grad_() for x in (q, k, v)]
compiled = torch.compile(layer, fullgraph=True)
found, expected = (torch.autograd.grad(f(*inputs).sum(), inputs) for f in (compiled, layer))
for x, y in zip(found, expected):
    assert abs(x - y).max() <= 1e-5 * abs(y).max(), abs(x - y).max()
print("right")
