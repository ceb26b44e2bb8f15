# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A traced mod as an expression, and the tensors that it reads at each call."""

import operator

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from . import _conditions, _functions, _views  # noqa: F401 (they register handlers)
from ._ops import HANDLERS, NAMED, Call, Value, aten, type_of
from ._rows import COMPARISONS, Rows, coordinate, first_of
from ._trace import Trace, Unsupported

# What memory holds of each type, and what is made of it at a call where a
# launch has no such type.
_ELEMENTS = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int32: "i32",
    torch.int64: "i64",
}
CONVERTED = {
    torch.float64: torch.float32,
    torch.bool: torch.int32,
    torch.int8: torch.int32,
    torch.int16: torch.int32,
    torch.uint8: torch.int32,
}
# Of integers of fewer bits sums and products would wrap.
_COMPUTED = (torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Table:
    """A tensor that is read in a region: step `step` of `Mod.evaluate`."""

    def __init__(self, mod, step, dtype, shape):
        self.mod, self.step, self.dtype, self.shape = mod, step, dtype, tuple(shape)
        self.element = _ELEMENTS.get(CONVERTED.get(dtype, dtype))
        if self.element is None:
            raise NotImplementedError(f"a captured tensor of {dtype}")
        self.type = "index" if self.element in ("i32", "i64") else "f32"


class _Step:
    """The result of a step, as an argument of a later one."""

    def __init__(self, number):
        self.number = number


def _getter(x, needs):
    """A function of all results that gives `x` with those of steps in their place;
    adds the numbers of these steps to `needs`."""
    if type(x) is _Step:
        needs.append(x.number)
        return operator.itemgetter(x.number)
    if isinstance(x, (tuple, list)):
        getters = [_getter(each, needs) for each in x]
        return lambda results: [get(results) for get in getters]
    if isinstance(x, dict):
        named = {name: _getter(each, needs) for name, each in x.items()}
        return lambda results: {name: get(results) for name, get in named.items()}
    return lambda results: x


class Mod:
    """A score_mod or mask_mod: `result`, an expression of `build`.

    What depends on no element, but on captured tensors, is no expression but a
    list of steps that PyTorch computes at each call: `evaluate`. captured: the
    tensors whose elements are read at a call, or None to take those of the trace.
    bounded: the comparisons of which the result has bounds where keys grow. growing:
    the steps, of those that are kept, that say whether they do.
    """

    def __init__(self, mod, takes_score, device, build, captured=None, bounded=COMPARISONS):
        trace = Trace(mod, takes_score, device)
        self.reads_values = trace.reads_values
        self._build, self._trace, self._steps, self._tables = build, trace, [], {}
        self._constants = {}
        self._captured = {id(tensor): n for n, tensor in enumerate(captured or ())}
        # Tensors of the trace: those of the caller must not be kept alive.
        self.own = [] if captured is None else None
        values, arguments = {}, iter(([build.score] if takes_score else []) + build.coordinates)
        self._rows = Rows(self._add_step, self._read_row, bounded)
        for node in trace.nodes:
            if node.op == "call_function" and not node.users:
                continue  # as is what reads a number, which then is one of Python's
            inputs = node.all_input_nodes
            if node.op == "call_function":
                self._rows.add(node, inputs, values)
            self._rows.replace(node, inputs, values)
            try:
                value = self._value(node, values, arguments)
                limits = self._rows.bounds(node, inputs, values)
                values[node] = self._bounded(value, *limits) if limits else value
            except NotImplementedError as error:
                raise Unsupported(self._refusal(node, error)) from None
        self.result, self.growing = values[node], self._rows.growing
        self._trace = self._build = self._captured = self._constants = self._rows = None

    def _refusal(self, node, error):
        detail = f": {error}" if str(error) else ""
        found = f"{node.target}{self._trace.place(node)}{detail}"
        return f"flex_attention: expected what can be said of one element, found {found}"

    def keep(self, tables):
        """Of the steps, those that `tables` need are left."""
        wanted = [table.step for table in tables if table.mod is self]
        kept = {}
        while wanted:
            step = wanted.pop()
            if step not in kept:
                target, args, kwargs = self._steps[step]
                kept[step] = target, _getter(args, wanted), kwargs and _getter(kwargs, wanted)
        self._kept = sorted(kept.items())
        self.growing = [step for step in self.growing if step in kept]

    def evaluate(self, tensors, sizes, device):
        """The result of each step, None where it is not needed. tensors: those that
        were captured; sizes: how many there are of b, h, i and j."""
        results = [None] * len(self._steps)
        for number, (target, args, kwargs) in self._kept:
            args = args(results)
            if target == "captured":
                found = tensors[args]
            elif target == "constant":
                found = args
            elif target == "coordinate":
                found = coordinate(args, sizes, device)
            elif target == "elements":
                found = first_of(args[0], 0, args[1], sizes)
            elif target == "of batches":
                found = args[0].expand(sizes["b"])
            else:
                found = target(*args, **kwargs(results)) if kwargs else target(*args)
            results[number] = found
        return results

    # ===--- Nodes ---===

    def _value(self, node, values, arguments):
        if node.op == "placeholder":
            argument = next(arguments)
            dtype = torch.float32 if argument.type == "f32" else torch.int32
            if argument.coordinate:
                self._rows.add_coordinate(node, argument.coordinate)
            return Value((), dtype, lambda index: argument)
        if node.op == "output":
            return self._output(node, values)
        if node.op == "get_attr":
            return self._constant(node)
        inputs = []
        map_arg((node.args, node.kwargs), lambda n: inputs.append(n))
        if node.target is aten.lift_fresh_copy.default and inputs[0].op == "get_attr":
            tensor = getattr(self._trace.module, inputs[0].target)
            if not tensor.dim():  # a number that the code made a tensor of
                number = tensor.item()
                return Value((), tensor.dtype, lambda index: self._number(number, tensor.dtype))
        if node.target is aten._local_scalar_dense.default:
            return values[inputs[0]]  # its only element
        shown = node.meta.get("val")
        if (
            node.target is not operator.getitem
            and isinstance(shown, (list, tuple))
            and all(values[n].table for n in inputs)
        ):
            return self._later(node, values, torch.empty(()))  # read by getitem alone
        if not isinstance(shown, torch.Tensor):
            raise NotImplementedError("a result that is no tensor")
        if not inputs and not shown.dim() and node.target in (aten.scalar_tensor.default, aten.full.default):
            number = node.args[-1]
            return Value((), shown.dtype, lambda index: self._number(number, shown.dtype))
        if all(values[n].table for n in inputs):
            return self._later(node, values, shown)
        if node.target is aten.index.Tensor:
            return self._index(node, values, shown)
        handler = HANDLERS.get(node.target) or NAMED.get(str(node.target))
        if handler is None:
            raise NotImplementedError
        if shown.dtype not in _COMPUTED:
            raise NotImplementedError(f"a result of {shown.dtype}")
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n])
        return handler(Call(self._build, args, kwargs, shown.shape, shown.dtype))

    def _number(self, number, dtype):
        return self._build.constant(number, type_of(dtype))

    def _output(self, node, values):
        (result,) = node.args
        if not isinstance(result, Node):
            raise NotImplementedError("a result that is no tensor")
        value = values[result]
        if value.shape:
            raise NotImplementedError(f"a result of shape {value.shape} for one element")
        return value

    def _add_step(self, target, args, kwargs):
        self._steps.append((target, args, kwargs))
        return _Step(len(self._steps) - 1)

    def _step(self, target, args, kwargs, shown):
        return self._table(self._add_step(target, args, kwargs).number, shown.dtype, shown.shape)

    def _table(self, number, dtype, shape):
        """Step `number` as a value."""
        value = Value(shape, dtype, lambda index: self._read(value, index), table=_Step(number))
        return value

    def _constant(self, node):
        tensor = getattr(self._trace.module, node.target)
        known = self._constants.get(node.target)
        if known is None:
            number = self._captured.get(id(tensor))
            if number is not None:
                known = self._step("captured", number, None, tensor)
            elif self.own is not None:
                self.own.append(tensor)
                known = self._step("captured", len(self.own) - 1, None, tensor)
            else:  # made by the code
                known = self._step("constant", tensor, None, tensor)
            self._constants[node.target] = known
        return known

    def _later(self, node, values, shown):
        """A step of `evaluate`, for no element is in it."""

        def argument(n):
            if n.target is not aten._local_scalar_dense.default:
                return values[n].table
            return self._add_step(n.target, (values[n].table,), {})

        args, kwargs = map_arg((node.args, node.kwargs), argument)
        return self._step(node.target, args, kwargs, shown)

    # ===--- Reads ---===

    def _index(self, node, values, shown):
        table, indices = values[node.args[0]], [n if n is None else values[n] for n in node.args[1]]
        if any(n is not None and type_of(n.dtype) != "index" for n in indices):
            raise NotImplementedError("an index that is no integer")
        shapes = [n.shape for n in indices if n is not None]
        if None in indices and any(shapes):
            raise NotImplementedError("a tensor of indices beside a whole dimension")
        indices += [None] * (len(table.shape) - len(indices))
        rank = len(torch.broadcast_shapes(*shapes))

        def at(index):
            own, rest, place = index[:rank], iter(index[rank:]), []
            for d, n in enumerate(indices):
                if n is None:
                    place.append(next(rest))
                    continue
                skipped = rank - len(n.shape)
                x = n.at(tuple(0 if size == 1 else i for size, i in zip(n.shape, own[skipped:])))
                place.append(self._wrapped(x, table, d))
            return table.at(tuple(place))

        return Value(shown.shape, shown.dtype, at)

    def _wrapped(self, x, value, d):
        """An index into dimension `d` of `value`: below 0 it counts from the end."""
        build, size = self._build, value.shape[d]
        if x.value is not None:
            return x.value + size if x.value < 0 else x.value
        if x.natural:
            return x
        if value.table:
            size = build.make("size", type="index", natural=True, read=((self._table_of(value), d), ()))
        else:
            size = build.constant(size, "index")
        return build.select(build.compare("lt", x, build.constant(0, "index")), build.add(x, size), x)

    def _read(self, value, index):
        """An element of a table; `index` has numbers and expressions."""
        place = [self._build.constant(x, "index") if isinstance(x, int) else x for x in index]
        return self._element(self._table_of(value), place)

    def _bounded(self, value, first, last, is_whole):
        """A comparison, beside which its bounds are said."""
        build, key = self._build, self._build.coordinates[3]
        inside = build.both(
            build.constant(True, "i1") if first is None else build.compare("ge", key, first.at(())),
            build.constant(True, "i1") if last is None else build.compare("lt", key, last.at(())),
        )
        holds = lambda: build.either(build.convert(is_whole, "i1"), value.at(()))

        def bounded(index):
            found = build.both(holds(), inside)
            build.unbounded[found] = value.at(())
            return found

        return Value((), value.dtype, bounded)

    def _read_row(self, step, dtype, shape, letters):
        """An element of what a step computes for the coordinates `letters`."""
        table = self._numbered(step.number, dtype, shape)
        return self._element(table, [x for x in self._build.coordinates if x.coordinate in letters])

    def _element(self, table, place):
        element = self._build.read(table, place)
        return self._build.convert(element, "i1") if table.dtype == torch.bool else element

    def _table_of(self, value):
        return self._numbered(value.table.number, value.dtype, value.shape)

    def _numbered(self, number, dtype, shape):
        if number not in self._tables:
            self._tables[number] = Table(self, number, dtype, shape)
        return self._tables[number]
