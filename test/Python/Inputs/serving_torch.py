"""flashtile.merge and flashtile.append on PyTorch's tensors."""
import torch

import flashtile

torch.manual_seed(0)
outs = [torch.randn(2, 3, 9, 64, dtype=torch.bfloat16) for _ in range(2)]
lses = [torch.randn(2, 3, 9) for _ in range(2)]
out, lse = flashtile.merge(outs, lses)
weights = torch.softmax(torch.stack(lses).double(), 0)[..., None]
exact = (weights * torch.stack(outs).double()).sum(0)
assert out.dtype == torch.bfloat16 and (out.double() - exact).abs().max() <= (exact.bfloat16().double() - exact).abs().max() + 1e-3
assert (lse.double() - torch.logsumexp(torch.stack(lses).double(), 0)).abs().max() < 1e-6

# K beside V in one pool.
k, v = (torch.randn(5, 2, 32, dtype=torch.float16) for _ in range(2))
pool = torch.full((4, 8, 2, 64), float("nan"), dtype=torch.float16)
flashtile.append(k, v, pool[..., :32], pool[..., 32:], torch.tensor([3, 9, -1, 31, 0]), pages="nhd")
rows = pool.reshape(32, 2, 64)
assert torch.equal(rows[[3, 9, 31, 0]], torch.cat([k, v], -1)[[0, 1, 3, 4]])
assert rows.isnan().all(-1).all(-1).sum() == 28
try:
    flashtile.merge([outs[0].requires_grad_(), outs[1]], lses)
except ValueError as error:
    assert "expected no array that requires a gradient" in str(error)
else:
    raise AssertionError("expected that a gradient is refused")
print("right")
