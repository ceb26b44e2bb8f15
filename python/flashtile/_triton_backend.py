# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashTile as a backend and a driver of Triton's, made when flashtile.triton is
first used.

Triton asks its driver which target is current, a backend of that target for the
stages of a compilation, and the driver again for what launches the result. That
interface is the same from 3.2 to 3.9 but for what is noted here. The backend is
NVIDIA's of the installed version, for what the front end asks of one – options,
formats, the smallest dot –, with one stage, TTIR, which comes before anything that
is NVIDIA's. The functions of JITFunction that call all this change with each
version, and so none of them is replaced.
"""

import collections
import ctypes
import functools
import inspect
import itertools
import linecache
import re
import threading
import time
from contextlib import contextmanager

import triton
from triton._C.libtriton import ir, passes
from triton.backends import Backend, backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler.compiler import CompiledKernel

from . import _structs as fa
from ._library import Error, check, library, version
from ._plan import Context, last_counters
from ._tensor import Tensor, tensor
from .triton import BankConflicts, CheckError, Launched

_NAME = "flashtile"
_DEVICE_FAILED = 3  # FA_ERROR_DEVICE: of the emulator, what it found


# ===--- Arguments ---=== #


class _Array:
    """An array as Triton wants one: it asks for the address and the type, and
    autotuning for what is here besides."""

    def __init__(self, array):
        self.array, self.described = array, tensor(array)
        self.dtype = getattr(array, "dtype")

    def data_ptr(self):
        return self.described.data

    def zero_(self):
        self.array[...] = 0

    def clone(self):
        return _Array(self.array.copy())

    def copy_(self, other):
        self.array[...] = other.array


def as_argument(value):
    """`value`, if Triton takes it as it is; else, an array, in a form that it does,
    and one of NumPy's numbers, which are no arrays, as Python's."""
    if hasattr(value, "data_ptr") or not (hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")):
        return value
    is_number = getattr(value, "ndim", None) == 0 and not hasattr(value, "__setitem__")
    return value.item() if is_number else _Array(value)


def _memory(value):
    """The memory of an array, from its first to its last element, as a Tensor of
    one dimension."""
    value = getattr(value, "base", value)  # of triton.reinterpret
    if isinstance(value, _Array):
        found = value.described
    else:
        found = tensor(value.detach() if hasattr(value, "detach") else value)
    if any(stride < 0 for stride in found.strides):
        raise ValueError(f"expected an array without negative strides, found {found.strides} elements")
    count = 1 + sum((size - 1) * stride for size, stride in zip(found.shape, found.strides))
    return Tensor(found.owner, found.type, [0 if 0 in found.shape else count], [1], found.data, found.target)


_SCALARS = {"i32": fa.I32, "i64": fa.I64, "u32": fa.I32, "u64": fa.I64, "fp32": fa.F32}


def _scalar(value, type):
    if type not in _SCALARS:
        raise TypeError(f"expected a number of type {', '.join(_SCALARS)}, found {value!r} of type {type}")
    if type == "fp32":
        return fa.Argument(type=fa.F32, f32=value)
    return fa.Argument(type=_SCALARS[type], i64=value)


class _Launcher:
    """Launches one specialisation of a kernel. Triton calls it with the grid and
    all arguments, of which constants were compiled in."""

    def __init__(self, source, metadata):
        names = source.fn.arg_names
        constants = {names[key] if isinstance(key, int) else key for key in source.constants}
        constants |= {names[key[0]] for key in source.constants if isinstance(key, tuple) and len(key) == 1}
        self._types = {n: t for n, t in source.signature.items() if n not in constants and t != "constexpr"}
        self._names = names
        # 3.2 passes no constants that are marked as such.
        self._plain = [p.name for p in source.fn.params if not p.is_constexpr]

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter, leave, *arguments):
        names = self._names if len(arguments) == len(self._names) else self._plain
        values, given = [], []
        for name, value in zip(names, arguments):
            type = self._types.get(name)
            if type is None:
                continue
            if isinstance(type, tuple) or not re.fullmatch(r"\*?\w+", type):
                raise TypeError(f"argument {name}: expected an array or a number, found one of type {type}")
            given.append(name)
            values.append(_memory(value).argument() if type[0] == "*" else _scalar(value, type))
        function.launch(values, given, (x, y, z), stream)


# ===--- Kernels ---=== #


_last = threading.local()  # launch: of this thread


class _Kernel:
    """A text that Triton printed, with the plan that is made of it when it is
    first launched."""

    def __init__(self, text, context, raise_attention):
        self._text, self._context, self._raise = text, context, raise_attention

    @functools.cached_property
    def _plan(self):
        try:
            return self._context.module(self._text, raise_attention=self._raise)
        except Error as error:
            raise _explained(Error, error) from None

    def launch(self, values, names, grid, stream):
        nothing = ctypes.c_float(0)  # whose sizes are the grid
        values.append(Tensor(nothing, fa.F32, grid, [0, 0, 0], ctypes.addressof(nothing)).argument())
        arguments, handle = (fa.Argument * len(values))(*values), self._plan._handle
        try:
            if self._context.target.startswith("cuda"):
                check(library.faPlanEnqueue(handle, stream, arguments, len(values)))
            else:
                check(library.faPlanLaunch(handle, arguments, len(values)))
        except Error as error:
            if "not raised: " in str(error):
                error = Error(error.status, _named(str(error), names))
            found = self._context.target.startswith("emulator") and error.status == _DEVICE_FAILED
            raise _explained(CheckError if found else Error, error) from None
        _last.launch = self, arguments, names, last_counters()

    def describe(self, arguments, names, counters):
        """How a launch ran, whose arrays need not be there any more."""
        name, conflicts = _name_of(self._text), _conflicts(counters)
        if self._raise == "off":
            return Launched(name, False, f"not raised: @{name}: raise_attention is 'off'", conflicts)
        why = self._plan.not_raised(arguments)
        text = why or "\n  ".join(self._plan.describe()["raised"])
        return Launched(name, why is None, _named(_with_source(text), names), conflicts)


def _conflicts(counters):
    """Bank conflicts by the line, of counts by what stands in it."""
    if counters is None:
        return None
    lines = collections.Counter()
    for place, count in counters["bank_conflicts_at"].items():
        found = _PLACE.match(place + ": ")
        lines[(found["file"], int(found["line"])) if found else (None, None)] += count
    return [BankConflicts(*line, count) for line, count in lines.most_common()]


def last_launch():
    launch = getattr(_last, "launch", None)
    return launch and launch[0].describe(*launch[1:])


def _named(text, names):
    """`text` of a proof with the names of arguments, whose numbers leave out those
    that Triton made constants of."""
    known = {str(number): name for number, name in enumerate(names)}
    return re.sub(
        r"\bargument (\d+)\b", lambda found: f"{found[0]} ({known[found[1]]})" if found[1] in known else found[0], text
    )


def _name_of(text):
    return re.search(r'tt\.func public @"?([^"(]+)', text)[1]


# What the emulator and the lowering write, and MLIR's own form of a location.
_PLACE = re.compile(r"(?P<file>[^\n]*?\.py):(?P<line>\d+):\d+: (?:(?P<kind>[a-z][a-z -]+): )?")
_NESTED = re.compile(r'^loc\(.*"([^"]+\.py)":(\d+):(\d+)\)*: ')


def _with_source(text):
    """`text` with, behind each line that names one, the line of the Python source."""
    lines = []
    for line in text.splitlines():
        line = _NESTED.sub(r"\1:\2:\3: ", line)
        lines.append(line)
        place = _PLACE.match(line)
        source = linecache.getline(place["file"], int(place["line"])).strip() if place else ""
        lines += [f"    {source}"] if source else []
    return "\n".join(lines)


def _explained(kind, error):
    """`error` with lines of the Python source."""
    text = _with_source(str(error))
    place = _PLACE.match(text)
    if kind is Error or not place:
        return kind(error.status, text)
    return kind(error.status, text, place["kind"], place["file"], int(place["line"]))


# ===--- The backend ---=== #

_Nvidia = backends["nvidia"].compiler


class _Compiler(_Nvidia):
    """Stops at TTIR, inlined and folded: block pointers and descriptors, which say
    where tensors end, are still there."""

    @staticmethod
    def supports_target(target):
        return target.backend == _NAME

    def __init__(self, target):
        super().__init__(target)
        self.binary_ext = "ttir"

    def hash(self):
        return f"{_NAME}-{version()}"

    def pack_metadata(self, metadata):
        return ()

    def add_stages(self, stages, options, *language):
        stages["ttir"] = _make_ttir

def _make_ttir(module, metadata, *rest):
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)
    manager.run(module, *["make_ttir"][: "arg1" in ir.pass_manager.run.__doc__])  # a name, of late
    text = str(module)
    metadata["name"] = _name_of(text)
    metadata["shared"] = 0
    return text


# ===--- The driver ---=== #


class _Utils:
    """What Triton asks a driver about the machine and its code."""

    def __init__(self, context, raise_attention):
        self._context, self._raise = context, raise_attention
        # 3.5 and newer ask for the most threads of a block, too.
        self._facts = (0, 0, 1024) if "n_max_threads" in CompiledKernel._init_handles.__code__.co_names else (0, 0)

    def get_device_properties(self, device):
        return {"max_shared_mem": 1 << 30, "multiprocessor_count": 1, "warpSize": 32}

    def load_binary(self, name, binary, shared, device):
        kernel = _Kernel(binary.decode(), self._context, self._raise)
        return (kernel, kernel, *self._facts)

    def unload_module(self, module):
        pass


def _context(target):
    # An attention has kernels for any launch, of which each runs one or two.
    return Context(target, compile="lazy", counters=target.startswith("emulator:"))


class _Driver(DriverBase):
    """Launches on one target, kernels that are attention as one or not. Triton
    keeps what it compiled by the number of the device, and so each has its own."""

    _numbers = itertools.count(1 << 20)

    def __init__(self, target, raise_attention):
        self.target, self._number = target, next(self._numbers)
        self.utils, self.launcher_cls = _Utils(_context(target), raise_attention), _Launcher

    @classmethod
    def is_active(cls):
        return False  # but by activate

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        found = re.search(r"sm_(\d+)", self.target)
        return GPUTarget(_NAME, int(found[1]) if found else 90, 32)

    def get_current_device(self):
        return self._number

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device):
        if not self.target.startswith("cuda"):
            return 0
        import torch

        return torch.cuda.current_stream().cuda_stream

    def get_active_torch_device(self):
        import torch

        return torch.device(self.target if self.target.startswith("cuda") else "cpu")

    def get_device_interface(self):
        import torch

        return torch.cuda

    def get_benchmarker(self):
        if self.target.startswith("cuda"):
            return triton.testing.do_bench
        return _measure

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(64 << 20, dtype=torch.int, device=self.get_active_torch_device())

    def clear_cache(self, cache):
        cache.zero_()


def _measure(call, *, quantiles=None, **others):
    """Milliseconds of one call, which is enough to choose, and in the emulator to
    check each configuration."""
    start = time.perf_counter()
    call()
    elapsed = (time.perf_counter() - start) * 1e3
    return [elapsed] * len(quantiles) if quantiles else elapsed


backends.setdefault(_NAME, Backend(compiler=_Compiler, driver=_Driver))

driver_of = functools.cache(_Driver)


def activate(driver):
    """None: Triton's own."""
    if driver is None:
        triton.runtime.driver.reset_active()
    else:
        triton.runtime.driver.set_active(driver)


@contextmanager
def active(driver):
    """`driver` for the time of a with block. What was active before may be
    Triton's own, of a machine without a card, which must not be asked for."""
    config = triton.runtime.driver
    name = "_active" if "_active" in vars(config) else "active"
    before = vars(config)[name]
    config.set_active(driver)
    try:
        yield
    finally:
        setattr(config, name, before)


def is_interpreted(kernel):
    """Whether TRITON_INTERPRET made `kernel` a Python function's interpreter."""
    while hasattr(kernel, "fn") and not inspect.isfunction(kernel.fn):
        kernel = kernel.fn
    return type(kernel).__name__ == "InterpretedFunction"
