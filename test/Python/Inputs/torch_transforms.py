"""Attention that is trained with PyTorch: what looks at its operations (torch.compile,
torch.func, checkpoints), scaled_dot_product_attention, and what is refused."""
import torch
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

import flashtile
from flashtile.torch import attention, scaled_dot_product_attention

torch.manual_seed(6)
B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 13, 21, 16, 8
q, k, v = (torch.randn(s).requires_grad_() for s in ((B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV)))
frozen = [x.detach() for x in (q, k, v)]
bias, slopes = torch.randn(1, HQ, SQ, SK), torch.rand(HQ)
lengths, first = torch.tensor([SK, 9], dtype=torch.int32), torch.zeros(B, SQ, dtype=torch.int32)
HALF = "%half = arith.constant 0.5 : f32\n%score = arith.mulf %s, %half : f32"


def gradients(inputs, found, cotangent):
    return torch.autograd.grad(found, inputs, cotangent)


# ===--- torch.compile, torch.func, checkpoints ---------------------------------------------


def layer(q, k, v):
    return attention(q * 2, k, v, causal=True).square()


graphs = []


def note(module, inputs):
    graphs.append([str(n.target) for n in module.graph.nodes if "flashtile" in str(n.target)])
    return module.forward


expected = torch.autograd.grad(layer(q, k, v).sum(), (q, k, v))
inner = lambda module, inputs: make_boxed_func(note(module, inputs))
for backend in ("aot_eager", aot_autograd(fw_compiler=inner, bw_compiler=inner)):
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    found = torch.autograd.grad(compiled(q, k, v).sum(), (q, k, v))
    assert all(abs(x - y).max() <= 1e-6 * abs(y).max() for x, y in zip(found, expected))
names = [f"flashtile.attention_{name}.default" for name in ("forward", "backward")]
assert graphs == [names[:1], names[1:]], graphs
kept = torch.utils.checkpoint.checkpoint(layer, q, k, v, use_reentrant=False)
assert all(torch.equal(x, y) for x, y in zip(torch.autograd.grad(kept.sum(), (q, k, v)), expected))
found = torch.func.grad(lambda *x: layer(*x).sum(), argnums=(0, 1, 2))(*frozen)
assert all(torch.equal(x, y) for x, y in zip(found, expected))
stacked = [torch.stack([x, 2 * x]) for x in frozen]
found = torch.func.vmap(torch.func.grad(lambda *x: layer(*x).sum()))(*stacked)
assert torch.equal(found[0], expected[0]) and not torch.equal(found[1], expected[0])
seed = torch.tensor([3, 1])
inputs = q, k, v, True, 0.2, "top-left", -1, -1, -1, 5.0, bias, slopes, lengths, first, first + 7, None, HALF, None, "ieee", 0.3, seed
for learned_scale in (None, torch.tensor(0.2)):
    torch.library.opcheck(torch.ops.flashtile.attention_forward.default, (*inputs, learned_scale))

# ===--- scaled_dot_product_attention -----------------------------------------------------------

same = [torch.randn(B, HQ, SQ, D).requires_grad_() for _ in range(3)]
float_mask = torch.randn(SQ, SQ)
for options in (
    {},
    dict(is_causal=True),
    dict(attn_mask=torch.rand(B, 1, SQ, SQ) < 0.8),
    dict(attn_mask=float_mask, scale=0.3),
    dict(attn_mask=float_mask.clone().requires_grad_()),
    dict(attn_mask=torch.randn(B, HQ, SQ, SQ).requires_grad_()),
):
    wanted = same + [x for x in options.values() if getattr(x, "requires_grad", False)]
    ours, theirs = (f(*same, **options) for f in (scaled_dot_product_attention, F.scaled_dot_product_attention))
    assert ours.shape == theirs.shape and torch.allclose(ours, theirs, atol=1e-5), options
    cotangent = torch.randn_like(ours)
    for x, y in zip(gradients(wanted, ours, cotangent), gradients(wanted, theirs, cotangent)):
        assert torch.allclose(x, y, atol=1e-5), options
grouped = scaled_dot_product_attention(q, k, v, enable_gqa=True)
assert torch.allclose(grouped, F.scaled_dot_product_attention(q, k, v, enable_gqa=True), atol=1e-5)
for shapes in ([(5, D)] * 3, [(3, 5, D)] * 3, [(2, 3, 4, 5, D)] * 3):
    flat = [torch.randn(shape) for shape in shapes]
    assert torch.allclose(scaled_dot_product_attention(*flat), F.scaled_dot_product_attention(*flat), atol=1e-5)

# ===--- Errors ------------------------------------------------------------------------------------


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"expected '{text}'")


for name, x in (("bias", bias), ("alibi_slopes", slopes), ("sink", torch.zeros(HQ))):
    trained = {name: x.clone().requires_grad_()}
    with torch.no_grad():
        assert not attention(*frozen, **trained).requires_grad
refused(ValueError, "expected attn_mask or is_causal", lambda: scaled_dot_product_attention(*same, float_mask, is_causal=True))
refused(ValueError, "without enable_gqa", lambda: scaled_dot_product_attention(q, k, v))
refused(ValueError, "expected no out", lambda: flashtile.attention(q, k, v, out=torch.empty(B, HQ, SQ, DV)))
refused(flashtile.Error, "math.cbrt", lambda: attention(q, k, v, score_mod="%score = math.cbrt %s : f32").sum().backward())
gradient, = torch.autograd.grad(attention(q, k, v).square().sum(), q, create_graph=True)
refused(RuntimeError, "second derivatives of attention", lambda: gradient.sum().backward())
double = torch.func.grad(lambda q: torch.func.grad(lambda q: attention(q, *frozen[1:]).sum())(q).sum())
refused(RuntimeError, "second derivatives of attention", lambda: double(frozen[0]))
print("right")
