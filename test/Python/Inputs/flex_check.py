"""flex_attention beside a plain evaluation of the mods at every (b, h, i, j) in
float64, by the error rule of docs/numerics.md."""

import math

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.nn.attention.flex_attention import _vmap_for_bhqkv

from flashtile import flex_attention


def everywhere(mod, sizes, score=None):
    """A mod's results [b, h, i, j], by PyTorch's own vmap."""
    numbers = [torch.arange(n, dtype=torch.int32) for n in sizes]
    with TransformGetItemToIndex():
        if score is None:
            return _vmap_for_bhqkv(mod, prefix=())(*numbers)
        return _vmap_for_bhqkv(mod, prefix=(0,))(score, *numbers)


def unfused(q, k, v, score_mod, keep, scale, type):
    """Output and log-sum-exp computed in `type`, P and the output rounded to v's
    where that is less."""
    group = q.shape[1] // k.shape[1]
    wide = [x.to(type) for x in (q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1))]
    score = (wide[0] @ wide[1].transpose(2, 3)) * scale
    if score_mod:
        score = everywhere(score_mod, score.shape, score).to(type)
    if keep is not None:
        score = torch.where(keep, score, -math.inf)
    largest = score.amax(-1, keepdim=True).clamp(min=torch.finfo(type).min)
    p = (score - largest).exp()
    total = p.sum(-1, keepdim=True)
    lse = (largest + total.log())[..., 0].where(total[..., 0] > 0, -math.inf)
    p = p / total.where(total > 0, 1)
    if type == torch.float64:
        return p @ wide[2], lse
    return (p.to(v.dtype).to(type) @ wide[2]).to(v.dtype).double(), lse.double()


def excess(found, expected, e0, extra, has_mean):
    """None, or what is wrong."""
    found = found.double()
    if found.shape != expected.shape:
        return f"expected the shape {expected.shape}, found {found.shape}"
    special = ~(expected.isfinite() & found.isfinite())
    same = (found == expected) | (found.isnan() & expected.isnan())
    if not same[special].all():
        return "special values at other positions"
    known = expected.isfinite() & e0.isfinite()
    errors = (e0 - expected).abs()[known]
    if not errors.numel():
        return None
    if errors.max() > 0.05 * expected[known].abs().max():
        return "e0 is too large to compare anything"
    error = (found - expected).abs()[known]
    if (error > 2 * errors.max() + extra(expected[known])).any():
        return f"an error of {error.max()}, where e0 is {errors.max()}"
    if has_mean and error.mean() > 1.1 * errors.mean() + extra(expected) / 4:
        return f"a mean error of {error.mean()}, where e0 has {errors.mean()}"
    return None


def wrong(found, q, k, v, score_mod=None, mask_mod=None, scale=None):
    """What is wrong with (output, log-sum-exp), or None."""
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    keep = everywhere(mask_mod, (*q.shape[:3], k.shape[2])) if mask_mod else None
    expected, lse = unfused(q, k, v, score_mod, keep, scale, torch.float64)
    out0, lse0 = unfused(q, k, v, score_mod, keep, scale, torch.float32)
    floor = (1e-6 if q.dtype == torch.float32 else 1e-5) * max(1, v.double().abs().max().item())
    error = excess(found[0], expected, out0, lambda x: floor, True)
    of_lse = excess(found[1], lse, lse0, lambda x: 1e-5 * x.abs().clamp(min=1), False)
    return error and "output: " + error or of_lse and "lse: " + of_lse


def inputs(b=2, hq=4, hkv=2, sq=64, sk=64, d=16, dv=16, type=torch.float32):
    return [torch.randn(b, h, s, e).to(type) for h, s, e in ((hq, sq, d), (hkv, sk, d), (hkv, sk, dv))]


def check(name, score_mod=None, mask_mod=None, block_mask=None, twin=None, arrays=None, scale=None, **sizes):
    """Calls flex_attention and compares. twin: a (score_mod, mask_mod) with which
    the same output is to be refused."""
    q, k, v = arrays or inputs(**sizes)
    mask = block_mask if block_mask is not None else mask_mod
    found = flex_attention(q, k, v, score_mod, mask, scale, enable_gqa=True, return_lse=True)
    error = wrong(found, q, k, v, score_mod, mask_mod, scale)
    assert error is None, (name, error)
    if twin:
        assert wrong(found, q, k, v, *twin, scale) is not None, (name, "the twin was not refused")
    return found
