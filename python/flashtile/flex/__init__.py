# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's flex_attention, by FlashTile.

    from flashtile import flex_attention
    out = flex_attention(q, k, v, score_mod=alibi, block_mask=causal)

docs/flex-attention.md is the manual.
"""

import functools
import itertools
import logging
import math

import torch
from torch.nn.attention import flex_attention as _torchs

from .._attention import context_of
from .._library import Error
from .._plan import Launch
from .._structs import F32
from .._tensor import NAMES, address, empty_like, facts, tensor
from ._blocks import Blocks, Lists, Tables, tables_of
from ._expr import Expressions
from ._gradients import Attention, differentiate
from ._keys import key_of
from ._program import Program, stored
from ._trace import Unsupported
from ._translate import Mod

__all__ = ["flex_attention", "Unsupported"]

_logger = logging.getLogger("flashtile")
_COMPILE = 2  # FA_ERROR_COMPILE
_MOST = 1024
# What a captured tensor is read at that has a gradient: coordinates in their
# order or, beside batches and heads, one place that is computed.
_LEARNED = {"".join(letters) for count in range(5) for letters in itertools.combinations("bhij", count)}
_LEARNED |= {"".join(letters) for count in range(1, 4) for letters in itertools.permutations("bh?", count)}

# Calls that were seen, by what their mods are known by (see _keys).
_known = {}


@functools.lru_cache(maxsize=_MOST)
def _plan(target, text):
    return context_of(target).module(text)


class _Call:
    """What all calls with equal mods, types and head dims have in common."""

    def __init__(self, score_mod, mask_mod, blocks_shape, has_lists, block_size, tensors, device, dtype, dims, has_lse):
        build = Expressions()
        self.blocks = Blocks(blocks_shape, block_size, build) if blocks_shape else None
        self.lists = Lists(block_size) if has_lists else None
        # Without a key, tensors are those of the trace.
        captured = tensors or (None, None)
        self.score = Mod(score_mod, True, device, build, captured[0]) if score_mod else None
        self.mask = Mod(mask_mod, False, device, build, captured[1]) if mask_mod else None
        self.is_kept = not any(mod and mod.reads_values for mod in (self.score, self.mask))
        score = self.score and _scalar(build, self.score.result, "f32")
        mask = self.mask and _scalar(build, self.mask.result, "i1")
        if self.blocks:
            partial = build.both(self.blocks.partial, mask) if mask else self.blocks.partial
            mask = build.either(self.blocks.full, partial)
        self.program = Program(build, score, mask, self.lists, dtype, *dims, has_lse)
        self.tables = self.program.tables()
        for mod in filter(None, (self.score, self.mask)):
            mod.keep(self.tables)
        self.launches, self.gradients = {}, {}

    def values(self, score_tensors, mask_tensors, blocks, sizes, device, learned):
        """The tensor of this call for each table; if `learned`, with the graph of
        its derivative."""
        results = {}
        own = (lambda x: x) if learned else _plain
        with torch.set_grad_enabled(learned):
            given = score_tensors, mask_tensors, [blocks.kinds], blocks.lists
            for mod, tensors in zip((self.score, self.mask, self.blocks, self.lists), given):
                if mod and any(table.mod is mod for table in self.tables):
                    results[mod] = mod.evaluate(tensors, sizes, device)
            return {table: stored(own(results[table.mod][table.step]), device) for table in self.tables}


def _scalar(build, value, type):
    return build.convert(value.at(()), type, value.wide)


def _plain(x):
    """Without the graph of its derivative and without a class of its own."""
    return x.detach() if x.requires_grad or type(x) is not torch.Tensor else x


def _check(query, key, value, block_mask, enable_gqa):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, torch.Tensor) or x.dim() != 4:
            raise ValueError(f"expected {name} as a tensor of four dimensions, found {getattr(x, 'shape', type(x))}")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(f"expected one type, found {query.dtype}, {key.dtype} and {value.dtype}")
    if query.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise Unsupported(f"flex_attention: expected float32, float16 or bfloat16, found {query.dtype}")
    if query.shape[3] != key.shape[3]:
        raise ValueError(f"expected one head dimension of query and key, found {query.shape[3]} and {key.shape[3]}")
    hq, hkv = query.shape[1], key.shape[1]
    if not enable_gqa and hq != hkv:
        raise ValueError(f"expected as many heads of key as of query, or enable_gqa=True, found {hkv} and {hq}")
    if isinstance(block_mask, _torchs.BlockMask):
        _check_mask(query, key, block_mask)


def _check_mask(query, key, mask):
    if mask.mask_mod is _torchs._sliced_mask_mod_error:
        raise RuntimeError("expected a BlockMask with a mask_mod, found one that was cut out of another and has none")
    if mask.BLOCK_SIZE[0] == mask.BLOCK_SIZE[1] == _torchs._LARGE_SPARSE_BLOCK_SIZE:
        return  # PyTorch's own of no mask
    lengths = query.shape[2], key.shape[2]
    if tuple(mask.seq_lengths) != lengths:
        raise RuntimeError(
            f"expected a BlockMask of {lengths} queries and keys, found one of {tuple(mask.seq_lengths)}"
        )


def _check_learned(captures, patterns):
    for x, pattern in zip(captures, patterns):
        if x.requires_grad and (places := "".join(letter or "?" for letter in pattern)) not in _LEARNED:
            raise Unsupported(
                "flex_attention: expected captured tensors that require a gradient to be read at some of batch, head, "
                "query and key in this order, or at one computed place beside batch and head, found one that is read "
                f"at [{', '.join(places)}]; detach(), torch.no_grad(), or fallback='torch'"
            )


def _wants_gradient(tensors):
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _find(score_mod, mask_mod, blocks, block_size, query, value, has_lse):
    """The call, and the tensors of this one that score_mod and mask_mod capture."""
    dims = query.shape[3], value.shape[3]
    shape = None if blocks.kinds is None else tuple(blocks.kinds.shape)
    rest = shape, blocks.lists is not None, block_size, query.device, query.dtype, dims, has_lse
    score_key, score_tensors = key_of(score_mod)
    mask_key, mask_tensors = key_of(mask_mod)
    key = (score_key, mask_key, rest) if score_key and mask_key else None
    call = _known.get(key)
    if call is None:
        tensors = (score_tensors, mask_tensors) if key else None
        blocks_shape, has_lists, block_size, *rest = rest
        call = _Call(score_mod, mask_mod, blocks_shape, has_lists, block_size, tensors, *rest)
        if key and call.is_kept:
            if len(_known) >= _MOST:
                _known.clear()
            _known[key] = call
    if key is None:
        score_tensors, mask_tensors = (mod.own if mod else [] for mod in (call.score, call.mask))
    return call, score_tensors, mask_tensors


def _launch(call, scale, arrays, numbers, shape, has_lse):
    """The launch of arrays like these, kept by the call."""
    known = scale, *numbers, *map(facts, arrays)
    launch = call.launches.get(known)
    if launch is None:
        described = [tensor(array) for array in arrays]
        outputs = [empty_like(arrays[0], shape, None)]
        if has_lse:
            outputs.append(empty_like(arrays[0], shape[:3], NAMES[F32]))
        arguments = [*described, *numbers, scale, *map(tensor, outputs)]
        target, text = described[0].target, call.program.text
        # The first launch alone takes a fifth of the time; others take a plan for all.
        plan = _plan(target, text) if call.launches else context_of(target).module(text, launch=arguments)
        launch = Launch(plan, arguments, shape)
        if len(call.launches) >= _MOST:
            call.launches.clear()
        call.launches[known] = launch
    return launch


def _attend(query, key, value, score_mod, block_mask, scale, enable_gqa, has_lse):
    _check(query, key, value, block_mask, enable_gqa)
    blocks, block_size, mask_mod = Tables(None, None), None, block_mask
    if isinstance(block_mask, _torchs.BlockMask):
        mask_mod = block_mask.mask_mod
        if block_mask.BLOCK_SIZE[0] != _torchs._LARGE_SPARSE_BLOCK_SIZE:
            blocks, block_size = tables_of(block_mask), block_mask.BLOCK_SIZE
    if mask_mod is _torchs.noop_mask:
        mask_mod = None
    (b, h, i, d), j = query.shape, key.shape[2]
    if key.shape[0] != b and key.shape[0] == 1:
        key, value = (x.expand(b, -1, -1, -1) for x in (key, value))
    trained = _wants_gradient([query, key, value])
    call, score_tensors, mask_tensors = _find(score_mod, mask_mod, blocks, block_size, query, value, has_lse or trained)
    learned = _wants_gradient([*score_tensors, *mask_tensors])
    if learned and not trained and not has_lse:
        call, score_tensors, mask_tensors = _find(score_mod, mask_mod, blocks, block_size, query, value, True)
    trained = trained or learned
    has_lse = has_lse or trained
    sizes = {"b": b, "h": h, "i": i, "j": j}
    values = call.values(score_tensors, mask_tensors, blocks, sizes, query.device, learned)
    captures, numbers = call.program.arguments(values, sizes)
    _check_learned(captures, call.program.patterns())
    if getattr(scale, "requires_grad", False) and torch.is_grad_enabled():
        raise Unsupported(
            "flex_attention: expected a scale without a gradient, found a tensor that requires one; multiply with it "
            "in score_mod, or use flashtile.torch.attention"
        )
    scale = float(1 / math.sqrt(max(d, 1)) if scale is None else scale)
    run = functools.partial(_run, call, scale, numbers, has_lse)
    if not trained:
        return run([query, key, value, *captures])
    backward = functools.partial(differentiate, call, _plan, scale, numbers)
    return Attention.apply(run, backward, query, key, value, *captures)


def _run(call, scale, numbers, has_lse, arrays):
    (b, h, i, _), value = arrays[0].shape, arrays[2]
    arrays = [_plain(x) for x in arrays]
    launch = _launch(call, scale, arrays, numbers, (b, h, i, value.shape[3]), has_lse)
    out = empty_like(arrays[0], launch.shape, None)
    lse = empty_like(arrays[0], launch.shape[:3], NAMES[F32]) if has_lse else None
    launch.run([address(x) for x in (*arrays, out, *([lse] if has_lse else []))], arrays[0])
    return out, lse


@functools.lru_cache(maxsize=_MOST)
def _note(reason):
    _logger.warning("PyTorch's flex_attention runs instead: %s", reason)


@torch.compiler.disable
def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
    fallback=None,
):
    """torch.nn.attention.flex_attention.flex_attention, compiled by FlashTile.

    query [b, hq, sq, d], key [b, hkv, sk, d], value [b, hkv, sk, dv] with any
    strides, of float32, float16 or bfloat16; with enable_gqa hq is a multiple of
    hkv. score_mod(score, b, h, q_idx, kv_idx) and mask_mod(b, h, q_idx, kv_idx)
    are PyTorch's functions of one element; block_mask is a BlockMask or, without
    building one, a mask_mod. scale: 1/sqrt(d) unless given.

    kernel_options: of Triton's kernels; none of them changes a result, and none
    is looked at. return_aux: an AuxRequest, of which lse can be had.
    fallback="torch": PyTorch's own runs what FlashTile cannot say.

    Returns the output [b, hq, sq, dv]; with return_lse also the log-sum-exp,
    float32 [b, hq, sq], with return_aux an AuxOutput. Unsupported, a
    NotImplementedError, names the operation of a mod that cannot be said and its
    line, or a captured tensor that requires a gradient and is read at places of
    which there is none. Gradients of query, key, value and of other captured
    tensors are computed.
    """
    if fallback not in (None, "torch"):
        raise ValueError(f"expected the fallback None or 'torch', found {fallback!r}")
    if return_lse and return_aux is not None:
        raise ValueError("expected return_lse or return_aux, found both")
    has_lse = bool(return_lse or return_aux is not None and return_aux.lse)
    try:
        if return_aux is not None and return_aux.max_scores:
            raise Unsupported("flex_attention: expected return_aux of lse alone, found max_scores")
        out, lse = _attend(query, key, value, score_mod, block_mask, scale, enable_gqa, has_lse)
    except (Unsupported, Error) as error:
        if fallback is None or isinstance(error, Error) and error.status != _COMPILE:
            raise
        _note(str(error))
        if block_mask is not None and not isinstance(block_mask, _torchs.BlockMask):
            sizes = query.shape[0], query.shape[1], query.shape[2], key.shape[2]
            block_mask = _torchs.create_block_mask(block_mask, *sizes, device=query.device)
        options = dict(return_lse=True) if return_lse else {}
        return _torchs.flex_attention(
            query,
            key,
            value,
            score_mod,
            block_mask,
            scale,
            enable_gqa,
            kernel_options=kernel_options,
            return_aux=return_aux,
            **options,
        )
    if return_aux is not None:
        return out, _torchs.AuxOutput(lse=lse if has_lse else None)
    return (out, lse) if return_lse else out
