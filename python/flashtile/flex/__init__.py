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

from .._library import Error
from ._blocks import Tables, tables_of
from ._calls import Mods, Repeats, find, plan_of, run, run_call, wants_gradient
from ._gradients import Attention, differentiate
from ._keys import key_of
from ._listed import listed_of, query_bounds_of
from ._trace import Unsupported

__all__ = ["flex_attention", "Unsupported"]

_logger = logging.getLogger("flashtile")
_COMPILE = 2  # FA_ERROR_COMPILE
_MOST = 1024
_LISTED = Tables(None, ())  # there are lists, which are to be made
# What a captured tensor is read at that has a gradient: coordinates in their
# order or, beside batches and heads, one place that is computed.
_LEARNED = {"".join(letters) for count in range(5) for letters in itertools.combinations("bhij", count)}
_LEARNED |= {"".join(letters) for count in range(1, 4) for letters in itertools.permutations("bh?", count)}


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


def _attend(query, key, value, score_mod, block_mask, scale, enable_gqa, has_lse):
    _check(query, key, value, block_mask, enable_gqa)
    blocks, block_size = Tables(None, None), None
    has_blocks = isinstance(block_mask, _torchs.BlockMask)
    mask_mod = block_mask.mask_mod if has_blocks else block_mask
    if mask_mod is _torchs.noop_mask:
        mask_mod = None
    mods = Mods(score_mod, mask_mod, key_of(score_mod), key_of(mask_mod))
    if has_blocks and block_mask.BLOCK_SIZE[0] != _torchs._LARGE_SPARSE_BLOCK_SIZE:
        blocks, block_size = tables_of(block_mask, mods.mask_known), block_mask.BLOCK_SIZE
    repeats = Repeats(mods, blocks, [query, key, value], scale, enable_gqa, has_lse)
    if repeat := repeats.find():
        return run(repeat.launch, [query, key, value], repeat.addresses, repeat.has_lse)
    (b, h, i, d), j = query.shape, key.shape[2]
    if key.shape[0] != b and key.shape[0] == 1:
        key, value = (x.expand(b, -1, -1, -1) for x in (key, value))
    trained = wants_gradient([query, key, value])
    find_call = functools.partial(find, mods, blocks, block_size, query, value)
    call, score_tensors, mask_tensors = find_call(has_lse or trained)
    learned = wants_gradient([*score_tensors, *mask_tensors])
    if learned and not trained and not has_lse:
        call, score_tensors, mask_tensors = find_call(True)
    trained = trained or learned
    has_lse = has_lse or trained
    sizes = {"b": b, "h": h, "i": i, "j": j}
    # Where keys don't grow, the blocks that are listed are what is known of the mask.
    if blocks.lists and not all(call.growing_keys(mask_tensors, blocks, sizes, query.device)):
        call, score_tensors, mask_tensors = find_call(has_lse, bounds=False)
    of_mask = None
    if mods.mask and not has_blocks and (listed := listed_of(mods, call, sizes, query.device)):
        block_size = listed.block, listed.block
        walking, *own = find(mods, _LISTED, block_size, query, value, has_lse, bounds=False)
        known = walking.values_of_mask(own[1], sizes, query.device)
        if lists := listed.lists(walking, known):
            call, (score_tensors, mask_tensors) = walking, own
            blocks, of_mask = Tables(None, lists), known
    values = call.values(score_tensors, mask_tensors, blocks, sizes, query.device, of_mask)
    captures, numbers = call.program.arguments(values, sizes)
    _check_learned(captures, call.program.patterns())
    if getattr(scale, "requires_grad", False) and torch.is_grad_enabled():
        raise Unsupported(
            "flex_attention: expected a scale without a gradient, found a tensor that requires one; multiply with it "
            "in score_mod, or use flashtile.torch.attention"
        )
    scale = float(1 / math.sqrt(max(d, 1)) if scale is None else scale)
    arrays = [query, key, value, *captures]
    run_arrays = functools.partial(run_call, call, scale, numbers, has_lse)
    if trained:
        walked = None
        if blocks.lists:
            walked = blocks.lists if query_bounds_of(call) else None
        elif mods.mask and not has_blocks:
            listed = listed_of(mods, call, sizes, query.device, of_queries=True)
            walked = listed and listed.lists(call, values)
        backward = functools.partial(differentiate, call, plan_of, scale, numbers, walked)
        return Attention.apply(run_arrays, backward, *arrays)
    repeats.keep(call, scale, numbers, has_lse, arrays)
    return run_arrays(arrays)


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
