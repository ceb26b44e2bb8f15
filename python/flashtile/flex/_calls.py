# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that were seen: what all with equal mods have in common, and their launches."""

import functools
import typing

import torch

from .._attention import context_of
from .._plan import Launch, describe_module
from .._structs import F32
from .._tensor import NAMES, address, empty_like, facts, tensor
from ._blocks import Blocks, Lists, empty, is_capturing
from ._expr import Expressions, coordinates_of
from ._kinds import Kinds, plain
from ._program import Program, stored
from ._rows import COMPARISONS
from ._translate import Mod

_MOST, _MOST_KEPT = 1024, 16

# Calls that were seen, by what their mods are known by (see _keys), and repeats of
# those that read no tensor but queries, keys and values.
known_calls, _numbers_alone = {}, {}


@functools.lru_cache(maxsize=_MOST)
def plan_of(target, text):
    return context_of(target).module(text)


@functools.lru_cache(maxsize=_MOST)
def _describe(text):
    return describe_module(text)["attentions"][0]


class Call:
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
        self.mask_letters = coordinates_of(mask) if mask else set()
        self.kinds = functools.cache(lambda block: Kinds(build.without_bounds(mask), block))
        self.launches, self.gradients = {}, {}

    @functools.cached_property
    def of_mask(self):
        """What faModuleDescribe says of the mask."""
        return _describe(self.program.text)

    def values(self, score_tensors, mask_tensors, blocks, sizes, device, known=None):
        """The tensor of this call for each table; of tensors that want a gradient,
        with the graph of its derivative. known: `values_of_mask`, if they are."""
        values = self._evaluated([(self.score, score_tensors)], sizes, device)
        if known is not None:
            return values | known | self._evaluated([(self.lists, blocks.lists.keys())], sizes, device)
        lists = blocks.lists and blocks.lists.keys()
        of_mask = [(self.mask, mask_tensors), (self.blocks, [blocks.kinds]), (self.lists, lists)]
        if not self._is_kept(mask_tensors, blocks) or is_capturing(device):
            return values | self._evaluated(of_mask, sizes, device)
        known = self, *sizes.values(), _stream_of(device)
        kept = blocks.kept.get(known)
        if kept is None:
            if len(blocks.kept) >= _MOST_KEPT:
                empty(blocks.kept, device)
            with torch.inference_mode(False):
                kept = blocks.kept[known] = self._evaluated(of_mask, sizes, device)
        return values | kept

    def values_of_mask(self, tensors, sizes, device):
        return self._evaluated([(self.mask, tensors)], sizes, device)

    def _is_kept(self, mask_tensors, blocks):
        return blocks.kept is not None and self.is_kept and not wants_gradient(mask_tensors)

    def growing_keys(self, mask_tensors, blocks, sizes, device):
        """Whether keys grow, of each comparison by which the mask has bounds if they do;
        nothing where that cannot be known."""
        if not self.mask or not self.mask.growing or not self._is_kept(mask_tensors, blocks):
            return []
        known = blocks.kept.get((self, "grows"))
        if known is None:
            if is_capturing(device):
                return []
            with torch.inference_mode(False), torch.no_grad():
                results = self.mask.evaluate(mask_tensors, sizes, device)
                known = blocks.kept[self, "grows"] = [bool(results[step].all()) for step in self.mask.growing]
        return known

    def _evaluated(self, given, sizes, device):
        """`values` of those tables that `given`, pairs of a mod and its tensors, have."""
        values = {}
        for mod, tensors in given:
            tables = [table for table in self.tables if mod and table.mod is mod]
            if not tables:
                continue
            learned = wants_gradient(tensors)
            own = (lambda x: x) if learned else plain
            with torch.set_grad_enabled(learned):
                results = mod.evaluate(tensors, sizes, device)
                values |= {table: stored(own(results[table.step]), device) for table in tables}
        return values


def _stream_of(device):
    """The stream of a card, each of which has what is kept of its own: none waits for
    another."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def _scalar(build, value, type):
    return build.convert(value.at(()), type, value.wide)


def wants_gradient(tensors):
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


class Mods(typing.NamedTuple):
    """score_mod and mask_mod, and `key_of` each."""

    score: typing.Optional[typing.Callable]
    mask: typing.Optional[typing.Callable]
    score_known: tuple
    mask_known: tuple


def find(mods, blocks, block_size, query, value, has_lse, bounds=True):
    """The call, and the tensors of this one that score_mod and mask_mod capture.
    bounds: whether mask_mod may have some where keys grow."""
    # Lists of blocks are less than what one bound leaves.
    bounded = (("eq",) if blocks.lists else COMPARISONS) if bounds else ()
    dims = query.shape[3], value.shape[3]
    shape = None if blocks.kinds is None else tuple(blocks.kinds.shape)
    rest = shape, blocks.lists is not None, block_size, bounded, query.device, query.dtype, dims, has_lse
    (score_key, score_tensors), (mask_key, mask_tensors) = mods.score_known, mods.mask_known
    key = (score_key, mask_key, rest) if score_key and mask_key else None
    call = known_calls.get(key)
    if call is None:
        tensors = (score_tensors, mask_tensors) if key else None
        blocks_shape, has_lists, block_size, bounded, *rest = rest
        call = Call(mods.score, mods.mask, blocks_shape, has_lists, block_size, bounded, tensors, *rest)
        if key and call.is_kept:
            if len(known_calls) >= _MOST:
                known_calls.clear()
            known_calls[key] = call
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
        plan = plan_of(target, text) if call.launches else context_of(target).module(text, launch=arguments)
        launch = Launch(plan, arguments, shape)
        if len(call.launches) >= _MOST:
            call.launches.clear()
        call.launches[known] = launch
    return launch


class Repeat(typing.NamedTuple):
    """A launch and what it reads beside queries, keys and values, for calls like the
    one before."""

    launch: Launch
    captures: list
    addresses: list
    has_lse: bool


class Repeats:
    """Of calls without gradients those that were seen with these mods, blocks and
    shapes: nothing but what mods are known by is looked at again."""

    def __init__(self, mods, blocks, arrays, *options):
        (score_key, score_tensors), (mask_key, mask_tensors) = mods.score_known, mods.mask_known
        self._known, self._key = blocks.repeats, None
        if self._known is None and blocks.kinds is None and not blocks.lists and not mask_tensors:
            self._known = _numbers_alone
        is_known = score_key and mask_key and not score_tensors and self._known is not None
        device = arrays[0].device
        if not is_known or wants_gradient([*arrays, *mask_tensors]) or is_capturing(device):
            return
        given = [facts(x) for x in arrays]
        if None not in given and all(type(x) in (float, int, bool, type(None)) for x in options):
            self._key = score_key, mask_key, *given, *options, _stream_of(device)

    def find(self):
        return self._known.get(self._key) if self._key else None

    def keep(self, call, scale, numbers, has_lse, arrays):
        """Keeps the launch of this call; its captures are what follows three of
        `arrays`."""
        if not self._key or not call.is_kept:
            return
        # Lists are those of a mask that is numbers alone, too.
        if self._known is _numbers_alone and any(table.mod is not call.lists for table in call.tables):
            return
        if len(self._known) >= _MOST:
            empty(self._known, arrays[0].device)
        launch, captures = _launch(call, scale, [plain(x) for x in arrays], numbers, has_lse), arrays[3:]
        self._known[self._key] = Repeat(launch, captures, [address(x) for x in captures], has_lse)


def run_call(call, scale, numbers, has_lse, arrays):
    """`run` of queries, keys, values and captures."""
    arrays = [plain(x) for x in arrays]
    launch = _launch(call, scale, arrays, numbers, has_lse)
    return run(launch, arrays[:3], [address(x) for x in arrays[3:]], has_lse)


def run(launch, given, captured, has_lse):
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
