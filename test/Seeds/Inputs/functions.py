"""The autograd functions of the seeds that have one, at the shapes of their tests:
gradients beside float64, by the rule of every test.

usage: functions.py SEEDS CHECKS, the folders of the programs and of gradients_check.py
"""
import pathlib
import runpy
import sys

import numpy as np
import torch

sys.path.insert(0, sys.argv[2])
from gradients_check import Attention, check  # noqa: E402

seeds = pathlib.Path(sys.argv[1])
fused = runpy.run_path(str(seeds / "001-deepdive/function.py"))["FusedAttention"]
two_stage = runpy.run_path(str(seeds / "004-two-stage/function.py"))["attention"]
torch.manual_seed(20)


def wide(*tensors):
    return [x.detach().double().numpy() for x in tensors]


def case(function, shape, causal, scale, twin=False):
    b, h, s, _ = shape
    inputs = [torch.empty(shape, dtype=torch.float16).normal_(std=0.5).requires_grad_() for _ in range(3)]
    out = function(*inputs, causal, scale)
    dout = torch.randn_like(out)
    found = wide(*torch.autograd.grad(out, inputs, dout))
    keep = np.tril(np.ones((s, s), bool)) if causal != twin else np.ones((s, s), bool)
    problem = Attention(b, h, h, s, s, scale=scale, keep=keep)
    arrays = wide(*inputs)
    _, lse = problem.forward(*arrays)
    half = lambda x: x.astype(np.float16).astype(x.dtype)
    check(problem, arrays, (*wide(out), lse), *wide(dout), None, found, half=True, round=half)


for shape in ((4, 32, 32, 64), (4, 32, 64, 64), (1, 2, 128, 128), (1, 1, 128, 128), (2, 2, 128, 256), (1, 2, 256, 256)):
    case(two_stage, shape, False, 0.5)
case(two_stage, (1, 2, 128, 64), True, 0.5)
case(fused.apply, (1, 2, 300, 64), False, 1.3)
case(fused.apply, (1, 2, 300, 64), True, 1.3)
# The twin: another mask than the function's.
for function in (two_stage, fused.apply):
    try:
        case(function, (1, 2, 128, 64), True, 0.5, twin=True)
    except AssertionError:
        continue
    raise AssertionError("expected that gradients with another mask are refused")
# What is dropped is dropped in both passes: where v is the identity, the output has the factors of p, and
# so has dv of one row.
q, k = (torch.randn(1, 1, 64, 64) for _ in range(2))
v = torch.eye(64).reshape(1, 1, 64, 64).requires_grad_()
out = fused.apply(q, k, v, False, 0.125, 0.5)
assert 0.4 < (out == 0).double().mean() < 0.6
row = torch.zeros_like(out)
row[0, 0, 3] = 1
dv, = torch.autograd.grad(out, v, row)
assert torch.allclose(dv[0, 0, :, 0], out[0, 0, 3], atol=1e-6)
# A frozen k and v have no gradients.
q = torch.randn(1, 1, 32, 64, requires_grad=True)
two_stage(q, k[:, :, :32], k[:, :, :32], False, 0.5).sum().backward()
assert q.grad is not None
print("right")
