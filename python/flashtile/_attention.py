# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention: one call, compiled when its kind is first seen."""

import functools
import math

from . import _library as fa
from ._plan import Context
from ._tensor import NAMES, current_stream, empty_like, tensor

_CAUSAL = {False: 0, None: 0, True: 1, "bottom-right": 1, "top-left": 2}
_PRECISION = {"ieee": 0, "tf32": 1}


@functools.lru_cache(maxsize=None)
def _context(target):
    return Context(target)


@functools.lru_cache(maxsize=1024)
def _plan(target, members):
    return _context(target).attention(fa.AttentionDesc(**dict(members)))


def _bias_pattern(bias, b, hq, sq, sk):
    """Which of b, h, q and k the bias has: a letter, or 1 where it is the same
    for all."""
    if len(bias.shape) != 4:
        raise ValueError(f"expected a bias of four dimensions, found the shape {bias.shape}")
    sizes = zip("bhqk", bias.shape, (b, hq, sq, sk))
    return "".join("1" if size == 1 and full != 1 else letter for letter, size, full in sizes)


def _four_dims(name, array, layout):
    found = tensor(array)
    if len(found.shape) != 4:
        raise ValueError(f"expected {name} of four dimensions, found the shape {found.shape}")
    return found.permuted(0, 2, 1, 3) if layout == "bshd" else found


def attention(
    q,
    k,
    v,
    *,
    causal=False,
    window=None,
    prefix=None,
    softcap=0.0,
    scale=None,
    bias=None,
    alibi_slopes=None,
    lengths=None,
    key_ranges=None,
    sink=None,
    score_mod=None,
    mask_mod=None,
    precision="ieee",
    layout="bhsd",
    return_lse=False,
    out=None,
    stream=None,
):
    """softmax(mod(scale · q kᵀ), masked) v, without a copy of anything.

    q [b, hq, sq, d], k [b, hkv, sk, d], v [b, hkv, sk, dv] with any strides, of
    float32, float16 or bfloat16, hq a multiple of hkv; with layout="bshd" the
    second and third dimensions change places, of the result as well.

    causal: True or "bottom-right": query i sees keys j <= i + sk - sq;
        "top-left" (what PyTorch's is_causal means): j <= i.
    window: (left, right) keys around i + sk - sq; None or -1 is no bound.
    prefix: keys below it are seen by all. softcap: c · tanh(score / c).
    scale: 1/sqrt(d) unless given. bias: of q's type, [b|1, hq|1, sq|1, sk|1].
    alibi_slopes: float32 [hq]. lengths: int32 [b], valid keys. sink: float32
    [hq]. key_ranges: (first, last), int32 [b, sq] both: of documents.
    score_mod, mask_mod: tile IR of one element; docs/python.md.
    precision: "ieee", or "tf32": dots of float32 may round their operands.

    Returns the output [b, hq, sq, dv], `out` if it is given, else a new array
    of q's package; with return_lse also the log-sum-exp, float32 [b, hq, sq].
    On a card it is enqueued on `stream`, or on the package's current one.
    """
    if causal not in _CAUSAL:
        raise ValueError(f"expected causal False, True, 'bottom-right' or 'top-left', found {causal!r}")
    if precision not in _PRECISION:
        raise ValueError(f"expected the precision 'ieee' or 'tf32', found {precision!r}")
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"expected the layout 'bhsd' or 'bshd', found {layout!r}")
    tq, tk, tv = (_four_dims(n, a, layout) for n, a in (("q", q), ("k", k), ("v", v)))
    (b, hq, sq, d), sk, dv = tq.shape, tk.shape[2], tv.shape[3]
    members = {"type": tq.type, "headDim": d, "headDimV": dv, "causal": _CAUSAL[causal]}
    members["precision"] = _PRECISION[precision]
    members["softcap"] = float(softcap or 0)
    if window is not None:
        left, right = (-1 if bound is None else int(bound) for bound in window)
        members.update(hasWindow=1, windowLeft=left, windowRight=right)
    if prefix is not None:
        members.update(hasPrefix=1, prefix=int(prefix))
    arguments = [tq, tk, tv]
    if bias is not None:
        bias = tensor(bias)
        members["bias"] = _bias_pattern(bias, b, hq, sq, sk).encode()
        arguments.append(bias)
    for member, array in (("hasAlibi", alibi_slopes), ("hasLengths", lengths)):
        if array is not None:
            members[member] = 1
            arguments.append(tensor(array))
    if key_ranges is not None:
        members["hasDocuments"] = 1
        arguments.extend(tensor(array) for array in key_ranges)
    if sink is not None:
        members["hasSink"] = 1
        arguments.append(tensor(sink))
    for member, text in (("scoreMod", score_mod), ("maskMod", mask_mod)):
        if text is not None:
            members[member] = text.encode()
    members["hasLse"] = int(return_lse)
    if out is None:
        out = empty_like(q, (b, hq, sq, dv) if layout == "bhsd" else (b, sq, hq, dv), None)
    arguments += [float(1 / math.sqrt(d) if scale is None else scale), _four_dims("out", out, layout)]
    if return_lse:
        lse = empty_like(q, (b, hq, sq), NAMES[fa.F32])
        arguments.append(tensor(lse))
    if tq.target != "cpu" and stream is None:
        stream = current_stream(q)
    _plan(tq.target, tuple(members.items()))(*arguments, stream=stream)
    return (out, lse) if return_lse else out
