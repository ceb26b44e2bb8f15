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
import typing

import torch
from torch.nn.attention import flex_attention as _torchs

from .._attention import context_of
from .._library import Error
from .._plan import Launch
from .._structs import F32
from .._tensor import NAMES, address, current_stream, empty_like, facts, tensor
from ._blocks import Blocks, Lists, Tables, is_capturing, tables_of
from ._expr import Expressions
from ._gradients import Attention, differentiate
from ._keys import key_of
from ._program import Program, stored
from ._rows import COMPARISONS
from ._trace import Unsupported
from ._translate import Mod

__all__ = ["flex_attention", "Unsupported"]

_logger = logging.getLogger("flashtile")
_COMPILE = 2  # FA_ERROR_COMPILE
_MOST, _MOST_KEPT = 1024, 16
# What a captured tensor is read at that has a gradient: coordinates in their
# order or, beside batches and heads, one place that is computed.
_LEARNED = {"".join(letters) for count in range(5) for letters in itertools.combinations("bhij", count)}
_LEARNED |= {"".join(letters) for count in range(1, 4) for letters in itertools.permutations("bh?", count)}

# Calls that were seen, by what their mods are known by (see _keys), and launches of
# those that read no tensor but queries, keys and values.
_known, _repeats = {}, {}


@functools.lru_cache(maxsize=_MOST)
def _plan(target, text):
    return context_of(target).module(text)


class _Call:
    """What all calls with equal mods, types and head dims have in common."""

    def __init__(
        self, score_mod, mask_mod, blocks_shape, has_lists, block_size, bounded, tensors, device, dtype, dims, has_lse
    ):
        build = Expressions()
        self.blocks = Blocks(blocks_shape, block_size, build) if blocks_shape else None
        self.lists = Lists(block_size) if has_lists else None
        # Without a key, tensors are those of the trace.
        captured = tensors or (None, None)
        self.score = Mod(score_mod, True, device, build, captured[0]) if score_mod else None
        self.mask = Mod(mask_mod, False, device, build, captured[1], bounded) if mask_mod else None
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

    def values(self, score_tensors, mask_tensors, blocks, sizes, device):
        """The tensor of this call for each table; of tensors that want a gradient,
        with the graph of its derivative."""
        values = self._evaluated([(self.score, score_tensors)], sizes, device)
        of_mask = [(self.mask, mask_tensors), (self.blocks, [blocks.kinds]), (self.lists, blocks.lists)]
        if not self._is_kept(mask_tensors, blocks) or is_capturing(device):
            return values | self._evaluated(of_mask, sizes, device)
        # Of each stream its own, for none waits for another.
        stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        known = self, *sizes.values(), stream
        kept = blocks.kept.get(known)
        if kept is None:
            if len(blocks.kept) >= _MOST_KEPT:
                blocks.kept.clear()
            with torch.inference_mode(False):
                kept = blocks.kept[known] = self._evaluated(of_mask, sizes, device)
        return values | kept

    def _is_kept(self, mask_tensors, blocks):
        return blocks.kept is not None and self.is_kept and not _wants_gradient(mask_tensors)

    def has_growing_keys(self, mask_tensors, blocks, sizes, device):
        """Whether keys grow wherever the mask has bounds by that; True where that
        cannot be known."""
        if not self.mask or not self.mask.growing or not self._is_kept(mask_tensors, blocks):
            return True
        known = blocks.kept.get((self, "grows"))
        if known is None and not is_capturing(device):
            with torch.inference_mode(False), torch.no_grad():
                results = self.mask.evaluate(mask_tensors, sizes, device)
                known = all(bool(results[step].all()) for step in self.mask.growing)
            blocks.kept[self, "grows"] = known
        return known is not False

    def _evaluated(self, given, sizes, device):
        """`values` of those tables that `given`, pairs of a mod and its tensors, have."""
        values = {}
        for mod, tensors in given:
            tables = [table for table in self.tables if mod and table.mod is mod]
            if not tables:
                continue
            learned = _wants_gradient(tensors)
            own = (lambda x: x) if learned else _plain
            with torch.set_grad_enabled(learned):
                results = mod.evaluate(tensors, sizes, device)
                values |= {table: stored(own(results[table.step]), device) for table in tables}
        return values


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
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


class _Mods(typing.NamedTuple):
    """score_mod and mask_mod, and `key_of` each."""

    score: typing.Optional[typing.Callable]
    mask: typing.Optional[typing.Callable]
    score_known: tuple
    mask_known: tuple


def _find(mods, blocks, block_size, query, value, has_lse, bounds=True):
    """The call, and the tensors of this one that score_mod and mask_mod capture.
    bounds: whether mask_mod may have some where keys grow."""
    # Lists of blocks are less than what one bound leaves.
    bounded = (("eq",) if blocks.lists else COMPARISONS) if bounds else ()
    dims = query.shape[3], value.shape[3]
    shape = None if blocks.kinds is None else tuple(blocks.kinds.shape)
    rest = shape, blocks.lists is not None, block_size, bounded, query.device, query.dtype, dims, has_lse
    (score_key, score_tensors), (mask_key, mask_tensors) = mods.score_known, mods.mask_known
    key = (score_key, mask_key, rest) if score_key and mask_key else None
    call = _known.get(key)
    if call is None:
        tensors = (score_tensors, mask_tensors) if key else None
        blocks_shape, has_lists, block_size, bounded, *rest = rest
        call = _Call(mods.score, mods.mask, blocks_shape, has_lists, block_size, bounded, tensors, *rest)
        if key and call.is_kept:
            if len(_known) >= _MOST:
                _known.clear()
            _known[key] = call
    if key is None:
        score_tensors, mask_tensors = (mod.own if mod else [] for mod in (call.score, call.mask))
    return call, score_tensors, mask_tensors


def _launch(call, scale, arrays, numbers, has_lse):
    """The launch of arrays like these, kept by the call."""
    shape = (*arrays[0].shape[:3], arrays[2].shape[3])
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


class _Repeat(typing.NamedTuple):
    """A launch and what it reads beside queries, keys and values, for calls like the
    one before."""

    launch: Launch
    captures: list
    addresses: list
    has_lse: bool


def _repeat_key(arrays, score_known, scale, enable_gqa, has_lse, mask_key):
    """What a call without gradients is known by, beside what its mask captures; None
    where that is not all."""
    key, captured = score_known
    if key is None or mask_key is None or captured or type(scale) not in (float, int, type(None)):
        return None
    device = arrays[0].device
    if _wants_gradient(arrays) or is_capturing(device):
        return None
    given = [facts(x) for x in arrays]
    stream = current_stream(arrays[0]) if device.type == "cuda" else None
    return None if None in given else (key, mask_key, *given, scale, enable_gqa, has_lse, stream)


def _attend(query, key, value, score_mod, block_mask, scale, enable_gqa, has_lse):
    _check(query, key, value, block_mask, enable_gqa)
    blocks, block_size = Tables(None, None), None
    has_blocks = isinstance(block_mask, _torchs.BlockMask)
    mask_mod = block_mask.mask_mod if has_blocks else block_mask
    if mask_mod is _torchs.noop_mask:
        mask_mod = None
    score_known, mask_known = key_of(score_mod), key_of(mask_mod)
    if has_blocks and block_mask.BLOCK_SIZE[0] != _torchs._LARGE_SPARSE_BLOCK_SIZE:
        blocks, block_size = tables_of(block_mask, mask_known), block_mask.BLOCK_SIZE
    repeats = blocks.repeats
    if repeats is None and blocks.kinds is None and not blocks.lists and not mask_known[1]:
        repeats = _repeats  # nothing but numbers is read
    repeat_key = repeats is not None and _repeat_key(
        [query, key, value], score_known, scale, enable_gqa, has_lse, mask_known[0]
    )
    repeat = repeats.get(repeat_key) if repeat_key else None
    if repeat:
        return _run(repeat.launch, [query, key, value], repeat.addresses, repeat.has_lse)
    (b, h, i, d), j = query.shape, key.shape[2]
    if key.shape[0] != b and key.shape[0] == 1:
        key, value = (x.expand(b, -1, -1, -1) for x in (key, value))
    trained = _wants_gradient([query, key, value])
    mods = _Mods(score_mod, mask_mod, score_known, mask_known)
    find = functools.partial(_find, mods, blocks, block_size, query, value)
    call, score_tensors, mask_tensors = find(has_lse or trained)
    learned = _wants_gradient([*score_tensors, *mask_tensors])
    if learned and not trained and not has_lse:
        call, score_tensors, mask_tensors = find(True)
    trained = trained or learned
    has_lse = has_lse or trained
    sizes = {"b": b, "h": h, "i": i, "j": j}
    # Where keys don't grow, the blocks that are listed are what is known of the mask.
    if blocks.lists and not call.has_growing_keys(mask_tensors, blocks, sizes, query.device):
        call, score_tensors, mask_tensors = find(has_lse, bounds=False)
    values = call.values(score_tensors, mask_tensors, blocks, sizes, query.device)
    captures, numbers = call.program.arguments(values, sizes)
    _check_learned(captures, call.program.patterns())
    if getattr(scale, "requires_grad", False) and torch.is_grad_enabled():
        raise Unsupported(
            "flex_attention: expected a scale without a gradient, found a tensor that requires one; multiply with it "
            "in score_mod, or use flashtile.torch.attention"
        )
    scale = float(1 / math.sqrt(max(d, 1)) if scale is None else scale)
    arrays = [query, key, value, *captures]
    if trained:
        run = lambda arrays: _run_call(call, scale, numbers, has_lse, arrays)
        backward = functools.partial(differentiate, call, _plan, scale, numbers)
        return Attention.apply(run, backward, *arrays)
    if repeat_key and call.is_kept and (repeats is not _repeats or not call.tables):
        if len(repeats) >= _MOST:
            repeats.clear()
        launch = _launch(call, scale, [_plain(x) for x in arrays], numbers, has_lse)
        repeats[repeat_key] = _Repeat(launch, captures, [address(x) for x in captures], has_lse)
    return _run_call(call, scale, numbers, has_lse, arrays)


def _run_call(call, scale, numbers, has_lse, arrays):
    arrays = [_plain(x) for x in arrays]
    launch = _launch(call, scale, arrays, numbers, has_lse)
    return _run(launch, arrays[:3], [address(x) for x in arrays[3:]], has_lse)


def _run(launch, given, captured, has_lse):
    """The output and the log-sum-exp of query, key and value, and of what is at the
    addresses `captured`."""
    query = given[0]
    out = empty_like(query, launch.shape, None)
    addresses = [*map(address, given), *captured, address(out)]
    lse = None
    if has_lse:
        lse = empty_like(query, launch.shape[:3], NAMES[F32])
        addresses.append(address(lse))
    launch.run(addresses, query)
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
