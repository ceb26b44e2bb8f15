"""The operation of PyTorch's: its own checks of it, torch.compile, views
without a copy, and what it gives beside PyTorch's attention."""
import torch
import torch.nn.functional as F

import flashtile
from flashtile.torch import attention

torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 40, 32) for _ in range(3))


def unfused(q, k, v, mask):
    scores = (q @ k.transpose(2, 3)) / 32**0.5
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1) @ v


def error(found, *, causal=False, mask=None):
    """The largest error against float64, and its bound (docs/numerics.md)."""
    mask = torch.ones(40, 40, dtype=bool) if mask is None else mask
    mask = mask.tril() if causal else mask
    wide = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask)
    e0 = (unfused(q, k, v, mask) - wide).abs().max().item()
    return (found - wide).abs().max().item(), 2 * e0 + 1e-6 * max(1, v.abs().max().item())


def close(found, **how):
    ours, bound = error(found, **how)
    assert ours <= bound, (ours, bound)


close(attention(q, k, v))
close(attention(q, k, v, causal="top-left"), causal=True)
assert error(attention(q, k, v), causal=True)[0] > 0.1  # the twin
i, j = torch.arange(40)[:, None], torch.arange(40)[None]
close(attention(q, k, v, causal=True, window=(8, None)), mask=(j <= i) & (j >= i - 8))

options = (0.2, "top-left", -1, -1, 5.0)
torch.library.opcheck(torch.ops.flashtile.attention.default, (q, k, v, *options))
torch.library.opcheck(torch.ops.flashtile.attention_lse.default, (q, k, v, *options))

# torch.compile keeps it as one operation of the graph and traces it without
# running it.
graphs = []


def backend(module, inputs):
    graphs.append(module)
    return module.forward


def layer(q, k, v):
    return attention(q * 2, k, v, causal="top-left") + 1


for how in (backend, "aot_eager"):
    torch._dynamo.reset()
    assert torch.equal(torch.compile(layer, backend=how, fullgraph=True)(q, k, v), layer(q, k, v))
assert [n for n in graphs[0].graph.nodes if "flashtile" in str(n.target)], graphs[0].graph

# Views and bfloat16, by DLPack.
packed = torch.randn(2, 40, 3, 4, 32, dtype=torch.bfloat16)
views = [packed[:, :, n] for n in range(3)]
found = flashtile.attention(*views, layout="bshd")
assert found.dtype == torch.bfloat16 and found.shape == (2, 40, 4, 32)
expected = flashtile.attention(*(x.transpose(1, 2).contiguous() for x in views)).transpose(1, 2)
assert torch.equal(found, expected)

try:  # that has flashtile.torch.attention
    torch.ops.flashtile.attention(q.requires_grad_(), k, v).sum().backward()
except RuntimeError as found:
    assert "flashtile" in str(found), found
else:
    raise AssertionError("expected that it has no derivative")
print("right")
