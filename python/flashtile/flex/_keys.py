# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a callable is known by, so that it is traced once.

A key has all that a trace can depend on: the code, and the values of what the
code reads, its closure, defaults and globals, to the end. Tensors are in it by
what they are (type, shape, device), and are given beside it in order: their
elements are read at each call. Where something cannot be known to be all, as an
attribute of an object or a function of another package, there is no key, and
who asks traces at each call: that is slower and never wrong.
"""

import builtins
import dis
import functools
import math
import types

import torch

_NUMBERS = (int, float, bool, str, bytes, complex, type(None), type(...), torch.dtype, torch.device)
_MOST_ITEMS = 256

# What code may ask of tensors, of torch and of math: nothing that reads an
# element, changes something or depends on more than its arguments.
_NAMES = frozenset(
    """abs absolute add all amax amin any arange arctan asin acos atan atan2 bfloat16 bitwise_and bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor bool ceil clamp clamp_max clamp_min clip contiguous cos cosh
    detach device dim div dot double dtype e eq erf exp exp2 expand expm1 float float16 float32 float64 floor
    floor_divide fmod full full_like functional ge gelu gt half hardtanh inf int int16 int32 int64 int8 isinf isnan
    leaky_relu le log log10 log1p log2 logical_and logical_not logical_or logical_xor long lt masked_fill max maximum
    min minimum mul multiply nan ndim ne neg new_full new_ones new_tensor new_zeros nn not_equal numel ones ones_like
    permute pi pow prod reciprocal relu remainder reshape round rsqrt rsub scalar_tensor select shape sigmoid sign silu
    sin sinh size softplus special sqrt square squeeze sub subtract sum tan tanh tensor to transpose true_divide trunc
    type_as uint8 unsqueeze view where zeros zeros_like""".split()
)
_BUILTINS = frozenset(
    """abs all any bool dict divmod enumerate float int isinstance len list max min pow range reversed round slice
    sorted sum tuple zip""".split()
)
# Instructions that have an effect on more than the call's own variables.
_EFFECTS = ("STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_SUBSCR", "STORE_SLICE", "DELETE_", "IMPORT_")


class _Unknown(Exception):
    """Something that a trace may depend on is not known."""


@functools.lru_cache(maxsize=4096)
def _globals_of(code):
    """The names of globals that `code` reads, or None where it may do more than
    what keys know."""
    names = set()
    for instruction in dis.get_instructions(code):
        op, arg = instruction.opname, instruction.argval
        if op.startswith(_EFFECTS) or op.startswith("STORE_DEREF") and arg not in code.co_cellvars:
            return None
        if instruction.opcode in dis.hasname:
            if op in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(arg)
            elif op not in ("LOAD_ATTR", "LOAD_METHOD") or arg not in _NAMES:
                return None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _globals_of(constant)
            if inner is None:
                return None
            names.update(inner)
    return tuple(sorted(names))


def _is_torchs(name):
    return isinstance(name, str) and name.split(".")[0] in ("torch", "math")


class _Keys:
    def __init__(self):
        self.tensors, self._numbers, self._seen = [], {}, {}

    def of(self, value):
        kind = type(value)
        if kind is float:  # 0.0 and -0.0 are equal, and nan is not
            return kind, repr(value)
        if kind in _NUMBERS:
            return kind, value
        if kind in (torch.Tensor, torch.nn.Parameter):
            return self._tensor(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind in (tuple, list, torch.Size):
            return kind, self._all(value)
        if kind is dict:
            return kind, self._all(value), self._all(value.values())
        if kind is functools.partial:
            return kind, *map(self.of, (value.func, value.args, value.keywords, vars(value)))
        if kind is types.ModuleType and value in (torch, math, torch.nn, torch.nn.functional):
            return kind, value.__name__
        if kind is types.BuiltinFunctionType and self._is_pure(value):
            return kind, value
        if kind is type and any(value is known for known in (int, float, bool, tuple, list)):
            return kind, value
        raise _Unknown

    @staticmethod
    def _is_pure(function):
        name = function.__name__
        if getattr(builtins, name, None) is function:
            return name in _BUILTINS
        owner = function.__self__  # no tensor, whose method it would be
        if not isinstance(owner, (type, types.ModuleType)):
            return False
        return name in _NAMES and _is_torchs(getattr(owner, "__module__", None) or owner.__name__)

    def _all(self, values):
        if len(values) > _MOST_ITEMS:
            raise _Unknown
        return tuple([self.of(value) for value in values])

    def _tensor(self, tensor):
        number = self._numbers.get(id(tensor))
        if number is None:
            number = self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return number, tensor.dtype, tensor.shape, tensor.device, self.of(vars(tensor)) if vars(tensor) else None

    def _function(self, function):
        if id(function) in self._seen:
            return "again", self._seen[id(function)]
        self._seen[id(function)] = len(self._seen)
        code, values = function.__code__, function.__globals__
        key = [code, *map(self.of, (function.__defaults__, function.__kwdefaults__, vars(function)))]
        try:
            key.append(self._all([cell.cell_contents for cell in function.__closure__ or ()]))
        except ValueError:  # a cell that has no value yet
            raise _Unknown from None
        if _is_torchs(values.get("__name__")):
            return (*key, function.__module__)  # PyTorch's own are as they are
        names = _globals_of(code)
        if names is None:
            raise _Unknown
        for name in names:
            if name in values:
                key.append(self.of(values[name]))
            elif name in _BUILTINS:
                key.append(name)
            else:
                raise _Unknown
        return tuple(key)


def key_of(mod):
    """(key, tensors): what `mod` is known by and the tensors that it reads, in
    order; the key is None where not all of that is known."""
    keys = _Keys()
    try:
        key = keys.of(mod), torch.get_default_dtype()
        hash(key)
    except (_Unknown, TypeError):
        return None, []
    return key, keys.tensors
