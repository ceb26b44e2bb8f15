# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.attention: one call, compiled when its kind is first seen."""

import functools
import inspect
import math
from typing import NamedTuple, Optional, Tuple, Union

from . import _structs as fa
from ._plan import Context, Launch, Launches
from ._tensor import NAMES, Tensor, address, empty_like, row_major, tensor

_CAUSAL = {False: 0, None: 0, True: 1, "bottom-right": 1, "top-left": 2}
_PRECISION = {"ieee": 0, "tf32": 1}

_launches = Launches()


class Options(NamedTuple):
    """What a call of any of the functions is asked for beside arrays, by the names
    of their arguments; part of what a launch is known by. A plain tuple in this
    order is equal to it."""

    causal: Union[bool, str, None] = False
    window: Optional[Tuple[Optional[int], Optional[int]]] = None
    prefix: Optional[int] = None
    softcap: float = 0.0
    scale: Optional[float] = None
    score_mod: Optional[str] = None
    mask_mod: Optional[str] = None
    precision: str = "ieee"
    dropout_p: float = 0.0
    layout: str = "bhsd"
    return_lse: bool = False


@functools.lru_cache(maxsize=None)
def context_of(target):
    return Context(target, compile="lazy")


@functools.lru_cache(maxsize=1024)
def plan_of(target, members):
    return context_of(target).attention(fa.AttentionDesc(**dict(members)))


def _bias_pattern(bias, b, hq, sq, sk):
    """Which of b, h, q and k the bias has: a letter, or 1 where it is the same
    for all."""
    if len(bias.shape) != 4:
        raise ValueError(f"expected a bias of four dimensions, found the shape {bias.shape}")
    sizes = zip("bhqk", bias.shape, (b, hq, sq, sk))
    return "".join("1" if size == 1 and full != 1 else letter for letter, size, full in sizes)


def four_dims(name, found, layout):
    if len(found.shape) != 4:
        raise ValueError(f"expected {name} of four dimensions, found the shape {found.shape}")
    return found.permuted(0, 2, 1, 3) if layout == "bshd" else found


# Of optional arrays, those that no member of an AttentionDesc asks for by itself.
_WITHOUT_MEMBER = ("last", "rng", "v_scale")
# What elements of 8 bits are multiplied with: the members that ask for it.
SCALES = {"hasScales": "k_scale", "v_scale": "v_scale", "hasQueryScales": "q_scale"}


def scale_arrays(q_scale, k_scale, v_scale):
    """Scales by the members that ask for them; of keys and values both, or none."""
    if (k_scale is None) != (v_scale is None):
        raise ValueError(f"expected k_scale and v_scale, found {'v_scale' if k_scale is None else 'k_scale'} alone")
    return {"hasScales": k_scale, "v_scale": v_scale, "hasQueryScales": q_scale}


def as_scales(name, found, b, heads, scale_keys=None):
    """Scales as a launch takes them, [b, heads], of any strides: one for each
    sequence and KV head, for each head, or one for all; with `scale_keys` those of
    keys and values [b, heads, n], where n is what there is."""
    if found.type != fa.F32:
        raise ValueError(f"expected {name} of {NAMES[fa.F32]}, found {NAMES[found.type]}")
    wanted = (b, heads)
    if scale_keys is not None and name != "q_scale":
        if not found.shape:
            raise ValueError(f"expected {name} of shape {(b, heads, 'n')} with scale_keys, found ()")
        wanted += found.shape[-1:]
    missing = len(wanted) - len(found.shape)
    shape = (1,) * missing + found.shape
    if missing < 0 or any(has not in (1, size) for has, size in zip(shape, wanted)):
        raise ValueError(f"expected {name} of shape {wanted}, found {found.shape}")
    strides = (0,) * missing + found.strides
    strides = [0 if has == 1 and size != 1 else step for has, size, step in zip(shape, wanted, strides)]
    return Tensor(found.owner, found.type, wanted, strides, found.data, found.target, found.writable)


def positive(name, number):
    if int(number) < 1:
        raise ValueError(f"expected {name} of 1 or more, found {number}")
    return int(number)


def element_types(q, k, out, out_dtype):
    """The members of an AttentionDesc that say the types of elements: its own is
    q's or, of a q of 8 bits, that of the output."""
    type, narrow = q.type, (fa.F8E4M3, fa.F8E5M2)
    if type in narrow:
        name = "bfloat16" if out_dtype is None else getattr(out_dtype, "__name__", str(out_dtype)).rpartition(".")[2]
        if name not in ("float16", "bfloat16"):
            raise ValueError(f"expected an out_dtype float16 or bfloat16, found {out_dtype!r}")
        type = out.type if out is not None and out_dtype is None else NAMES.index(name)
    elif out_dtype is not None:
        raise ValueError(f"expected no out_dtype but beside a q of 8 bits, found one beside {NAMES[type]}")
    members = {"type": type}
    if q.type != type:
        members["qType"] = q.type
    if k.type in narrow:  # else a launch says what k has to be
        members["kvType"] = k.type
    return members


def describe(options, head_dim):
    """The members of an AttentionDesc that no array decides, and the scale."""
    if options.causal not in _CAUSAL:
        raise ValueError(f"expected causal False, True, 'bottom-right' or 'top-left', found {options.causal!r}")
    if options.precision not in _PRECISION:
        raise ValueError(f"expected the precision 'ieee' or 'tf32', found {options.precision!r}")
    if options.layout not in ("bhsd", "bshd"):
        raise ValueError(f"expected the layout 'bhsd' or 'bshd', found {options.layout!r}")
    members = {"causal": _CAUSAL[options.causal], "softcap": float(options.softcap or 0)}
    members.update(hasLse=int(options.return_lse), precision=_PRECISION[options.precision])
    if options.dropout_p:
        members["dropout"] = float(options.dropout_p)
    if options.window is not None:
        left, right = (-1 if bound is None else int(bound) for bound in options.window)
        members.update(hasWindow=1, windowLeft=left, windowRight=right)
    if options.prefix is not None:
        members.update(hasPrefix=1, prefix=int(options.prefix))
    for member, text in (("scoreMod", options.score_mod), ("maskMod", options.mask_mod)):
        if text is not None:
            members[member] = text.encode()
    scale = options.scale
    return members, float(1 / math.sqrt(max(head_dim, 1)) if scale is None else scale)


def describe_inputs(options, tensors, given):
    """The members of an AttentionDesc of a call, and the inputs of its launch, to
    the scale. `tensors` are q, k, v and what is `given`, but for an out."""
    layout = options.layout
    q, k, v = (four_dims(n, t, layout) for n, t in zip("qkv", tensors))
    (b, hq, sq, d), sk = q.shape, k.shape[2]
    members, scale = describe(options, d)
    members.update(type=q.type, headDim=d, headDimV=v.shape[3])
    for member, array in zip(given, tensors[3:]):
        if member == "bias":
            members["bias"] = _bias_pattern(array, b, hq, sq, sk).encode()
        elif member not in _WITHOUT_MEMBER:
            members[member] = 1
    return members, [q, k, v, *tensors[3:], scale]


def _prepare(options, tensors, given, out_dtype=None, scale_keys=None):
    """The launch of a call. `tensors` are its arrays as `Tensor`, `given` says
    which of the optional ones there are; what is not among them is new and
    row-major."""
    layout, return_lse, out = options.layout, options.return_lse, None
    if "out" in given:  # the last one
        *tensors, out = tensors
    members, arguments = describe_inputs(options, tensors, given)
    q, k, v = arguments[:3]
    members.update(element_types(q, k, out, out_dtype))
    if scale_keys is not None:
        members["scaleKeys"] = positive("scale_keys", scale_keys)
    for n, member in enumerate(given, 3):
        if member in SCALES:
            arguments[n] = as_scales(SCALES[member], arguments[n], q.shape[0], k.shape[1], scale_keys)
    b, hq, sq, _ = q.shape
    dv = v.shape[3]
    shape = (b, sq, hq, dv) if layout == "bshd" else (b, hq, sq, dv)
    if out is None:
        out = Tensor(None, members["type"], shape, row_major(shape), 0, q.target)
    elif not out.writable:
        raise ValueError("expected an out that can be written, found a read-only one")
    outputs = [four_dims("out", out, layout)]
    if return_lse:
        outputs.append(Tensor(None, fa.F32, (b, hq, sq), row_major((b, hq, sq)), 0, q.target))
    plan = plan_of(q.target, tuple(members.items()))
    return Launch(plan, arguments + outputs, shape, NAMES[out.type] if out.type != q.type else None)


def choose_rng(q, dropout_p, rng):
    """The seed and the offset of dropout: those that are given, or PyTorch's next
    ones; None without dropout."""
    if not dropout_p:
        if rng is not None:
            raise ValueError("expected no rng without dropout_p, found one")
        return None
    if rng is not None:
        return rng
    if type(q).__module__.partition(".")[0] != "torch":
        raise ValueError("expected an rng beside dropout_p, int64 [2], found none: NumPy has no seed to take one from")
    from .torch import draw_rng

    return draw_rng(q)


def optional_arrays(bias, alibi_slopes, lengths, key_ranges, sink, rng):
    """Which of the optional arrays there are, by their members, and these."""
    first, last = key_ranges or (None, None)
    optional = {
        "bias": bias,
        "hasAlibi": alibi_slopes,
        "hasLengths": lengths,
        "hasDocuments": first,
        "last": last,
        "hasSink": sink,
        "rng": rng,
    }
    given = tuple(member for member, array in optional.items() if array is not None)
    return given, [optional[member] for member in given]


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
    dropout_p=0.0,
    rng=None,
    q_scale=None,
    k_scale=None,
    v_scale=None,
    scale_keys=None,
    layout="bhsd",
    return_lse=False,
    out=None,
    out_dtype=None,
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
    dropout_p: each probability is dropped with it, by rng, a seed and an offset,
    int64 [2]; of PyTorch's tensors its generator gives one to each call that has
    none.
    q, k, v may be float8_e4m3fn, or k and v beside a q of 16 bits; q_scale,
    k_scale, v_scale: float32 [b, hkv], [hkv] or one for all, what they are
    multiplied with; with scale_keys=N k_scale and v_scale are [b, hkv, n], each for N
    keys that follow each other. out_dtype, of such a q: bfloat16 unless given, or
    float16.

    Returns the output [b, hq, sq, dv], `out` if it is given, else a new array
    of q's package; with return_lse also the log-sum-exp, float32 [b, hq, sq].
    On a card it is enqueued on `stream`, or on the package's current one.
    PyTorch's tensors that require a gradient give outputs that have one.
    """
    arrays, given = [q, k, v], ()
    if dropout_p or rng is not None:
        rng = choose_rng(q, dropout_p, rng)
    if (
        bias is not None
        or alibi_slopes is not None
        or lengths is not None
        or key_ranges is not None
        or sink is not None
        or rng is not None
    ):
        given, optional = optional_arrays(bias, alibi_slopes, lengths, key_ranges, sink, rng)
        arrays += optional
    if k_scale is not None or v_scale is not None or q_scale is not None:
        for member, array in scale_arrays(q_scale, k_scale, v_scale).items():
            if array is not None:
                given += (member,)
                arrays.append(array)
    if out is not None:
        given += ("out",)
        arrays.append(out)
    window = None if window is None else tuple(window)
    learns = scale.__class__ is not float and getattr(scale, "requires_grad", False)
    if scale is not None and not learns:
        scale = float(scale)  # what a launch is known by has a value, not an identity
    # Options, without the time that a call of it takes.
    options = causal, window, prefix, softcap, scale, score_mod, mask_mod, precision, dropout_p, layout, return_lse
    kind = options, given, out_dtype, scale_keys
    launch, addresses = (None, None) if learns else _launches.get(kind, arrays)
    if launch is None:
        # No launch that is known has such arrays.
        if learns or any(getattr(array, "requires_grad", False) for array in arrays):
            from .torch import attention_with_layout

            refused = dict(q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, scale_keys=scale_keys, out_dtype=out_dtype)
            for name, found in refused.items():
                if found is not None:
                    raise ValueError(f"expected no {name} where a gradient is required, found one")
            tensors = dict(bias=bias, alibi_slopes=alibi_slopes, lengths=lengths, key_ranges=key_ranges, sink=sink)
            tensors["rng"] = rng
            how = dict(Options(*options)._asdict(), **tensors)
            return attention_with_layout(q, k, v, out=out, stream=stream, **how)
        prepare = lambda tensors: _prepare(Options(*options), tensors, given, out_dtype, scale_keys)
        launch, addresses = _launches.add(kind, arrays, prepare)
    if out is None:
        out = empty_like(q, launch.shape, launch.type)
        addresses.append(address(out))
    if return_lse:
        b, x, y, _ = launch.shape
        lse = empty_like(q, (b, y, x) if layout == "bshd" else (b, x, y), NAMES[fa.F32])
        addresses.append(address(lse))
    launch.run(addresses, q, stream)
    return (out, lse) if return_lse else out


_SIGNATURE = inspect.signature(attention)


def prepare(*args, **how):
    """Compiles and loads what `attention` runs with these arguments, and computes
    nothing: such a call, in the capture of a graph or where time is measured,
    compiles nothing then."""
    call = _SIGNATURE.bind(*args, **how)
    call.apply_defaults()
    call = call.arguments
    optional = "bias", "alibi_slopes", "lengths", "key_ranges", "sink"
    rng = choose_rng(call["q"], call["dropout_p"], call["rng"])
    given, optional = optional_arrays(*(call[name] for name in optional), rng)
    arrays = [call["q"], call["k"], call["v"], *optional]
    scales = scale_arrays(*(call[name] for name in ("q_scale", "k_scale", "v_scale")))
    for member, array in scales.items():
        if array is not None:
            given += (member,)
            arrays.append(array)
    if call["out"] is not None:
        given += ("out",)
        arrays.append(call["out"])
    call["window"] = None if call["window"] is None else tuple(call["window"])
    if call["scale"] is not None:
        call["scale"] = float(call["scale"])
    options = Options(*(call[name] for name in Options._fields))
    tensors = [tensor(array) for array in arrays]
    _prepare(options, tensors, given, call["out_dtype"], call["scale_keys"]).prepare()
