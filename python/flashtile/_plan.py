# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts and plans: what include/fa/fa.h has, owned by Python objects."""

import ctypes
import json
import logging
import os
from ctypes import byref, c_char_p, c_void_p

from . import _structs as fa
from ._library import check, library
from ._tensor import Tensor, address, choose_stream, empty_bytes, facts, scalar, tensor

_COMPILE = {"eager": 0, "lazy": 1, "background": 2}
RAISE = {"off": 0, "auto": 1, "only": 2}
_logger = logging.getLogger("flashtile")


def _default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "flashtile")


@fa.LogFunction
def _log(user, level, message):
    _logger.log(logging.WARNING if level else logging.INFO, message.decode(errors="replace"))


class Context:
    """A place to run: "cpu", "cuda" or "cuda:N"; "emulator:sm_80" or another
    architecture runs on the CPU what a card of it would, and checks it.

    threads: of the CPU, 0 for all cores. cache: the folder of compiled
    programs, None for none. progress: called with the name of each phase of a
    compilation; what is true cancels it. ranges: the library of a profiler that
    shows them; that of Nsight Systems, which the environment names, is found.
    tuning: a table that fa-run --tune wrote. host_cpu: the CPU that code for
    "cpu" is made for, by LLVM's name; this machine's. compile: when a plan for any
    launch on a card compiles its kernels: "eager", when it is made; "lazy",
    each when a call first takes it; "background", likewise and the rest by a
    thread of the context's. workspace: the most bytes of a card's memory that
    launches may have in which keys are split, where the arrays' package does not
    give it. counters: whether launches in the emulator count what they ask of the
    memory, for `last_counters`, which takes up to half as long again.
    """

    def __init__(
        self,
        target="cpu",
        *,
        threads=0,
        cache=_default_cache(),
        ptxas=None,
        progress=None,
        ranges=None,
        tuning=None,
        host_cpu=None,
        compile="eager",
        workspace=256 << 20,
        counters=False,
    ):
        self.target, self._handle = target, None
        if compile not in _COMPILE:
            raise ValueError(f"expected compile 'eager', 'lazy' or 'background', found {compile!r}")
        self._progress = fa.ProgressFunction(
            (lambda user, phase: int(bool(progress(phase.decode())))) if progress else 0
        )
        options = fa.ContextOptions(
            threads=threads,
            target=target.encode(),
            ptxas=ptxas.encode() if ptxas else None,
            cacheDirectory=os.fsencode(cache) if cache else None,
            log=_log,
            progress=self._progress,
            ranges=os.fsencode(ranges or os.environ.get("NVTX_INJECTION64_PATH") or "") or None,
            tuning=os.fsencode(tuning) if tuning else None,
            hostCpu=host_cpu.encode() if host_cpu else None,
            compile=_COMPILE[compile],
            workspacePoolBytes=workspace,
            counters=counters,
        )
        handle = c_void_p()
        check(library.faContextCreate(byref(options), byref(handle)))
        self._handle = handle

    def __del__(self):
        if getattr(self, "_handle", None):
            library.faContextDestroy(self._handle)

    def attention(self, desc, launch=None):
        """The plan of an AttentionDesc. `launch`: arrays and numbers, as those
        that the plan will be called with: it is compiled for such calls alone,
        which takes a fraction of the time."""
        return Plan(self, library.faPlanCreateFromAttention, desc, launch)

    def attention_backward(self, desc, backward, launch=None):
        """The plan of the gradients of an AttentionDesc, as a BackwardDesc says."""

        def create(context, desc, plan):
            return library.faPlanCreateFromAttentionBackward(context, desc, byref(backward), plan)

        return Plan(self, create, desc, launch)

    def merge(self, desc, launch=None):
        """The plan of a MergeDesc."""
        return Plan(self, library.faPlanCreateFromMerge, desc, launch)

    def append(self, desc, launch=None):
        """The plan of an AppendDesc."""
        return Plan(self, library.faPlanCreateFromAppend, desc, launch)

    def module(self, text, entry=None, launch=None, raise_attention="off"):
        """The plan of a module in MLIR's textual form, or in Triton's, whose
        kernel then runs as attention if it provably is one: "auto", in launches
        that the proof holds for; "only", in no other; "off", never."""
        desc = _module_desc(text, entry)
        desc.raiseAttention = RAISE[raise_attention]
        return Plan(self, library.faPlanCreateFromModule, desc, launch)


def _module_desc(text, entry):
    data = text.encode()
    return fa.ModuleDesc(text=data, length=len(data), entry=entry.encode() if entry else None)


class Plan:
    """A compiled program; called with its arguments, it runs."""

    def __init__(self, context, create, desc, launch=None):
        self._context, self._handle = context, None
        handle = c_void_p()
        if launch is not None:
            values = _values([a if isinstance(a, (int, float)) else tensor(a) for a in launch])
            given, desc = desc, type(desc).from_buffer_copy(desc)  # `given` keeps the strings
            desc.launch, desc.launchCount = values, len(values)
        check(create(context._handle, byref(desc), byref(handle)))
        self._handle = handle

    def __del__(self):
        if getattr(self, "_handle", None):
            library.faPlanDestroy(self._handle)

    def describe(self):
        """Kernels, tiles, times of the compilation, as a dictionary."""
        return json.loads(library.faPlanDescribe(self._handle))

    def not_raised(self, arguments):
        """Why a launch with these arguments, as the library takes them, of a
        kernel that may run as attention does not; None: it does."""
        info = fa.LaunchInfo()
        check(library.faPlanGetLaunchInfo(self._handle, arguments, len(arguments), byref(info)))
        return info.notRaised.decode() if info.notRaised else None

    def prepare(self, *arguments):
        """Compiles and loads what a call with such arguments runs, and runs
        nothing: the call compiles nothing then."""
        described = [a if isinstance(a, (int, float)) else tensor(a) for a in arguments]
        Launch(self, described).prepare()

    def __call__(self, *arguments, stream=None):
        """Arrays and numbers, outputs last. Returns when the outputs are
        written or, with a `stream` of a card, when it is enqueued there."""
        described = [a if isinstance(a, (int, float)) else tensor(a) for a in arguments]
        launch, owner = Launch(self, described), None
        if launch.target != "cpu":
            array = next(a for a, d in zip(arguments, described) if isinstance(d, Tensor))
            stream, owner = choose_stream(array, stream or 0)
        launch([a.data for a in described if isinstance(a, Tensor)], stream, owner)


def _values(arguments):
    """`Tensor`s and numbers as the library takes them."""
    values = [a.argument() if isinstance(a, Tensor) else scalar(a) for a in arguments]
    return (fa.Argument * len(values))(*values)


class Launch:
    """A plan's arguments but for the addresses of its tensors.

    arguments: as `Tensor` and numbers, in order. target: where it runs. shape:
    of the result, for who makes a new one, and type: the name of its elements',
    None for the first argument's.
    """

    def __init__(self, plan, arguments, shape=None, type=None):
        self._plan, self.shape, self.type = plan, shape, type
        self._arguments = _values(arguments)
        self._tensors = [n for n, a in enumerate(arguments) if isinstance(a, Tensor)]
        targets = {arguments[n].target for n in self._tensors}
        if len(targets) > 1:
            raise ValueError(f"expected all arrays in one place, found them in {', '.join(sorted(targets))}")
        self.target = targets.pop() if targets else "cpu"
        self._wanted = None, 0

    def _workspace_size(self, arguments, addresses):
        """How many bytes the launch wants, asked once for addresses as aligned
        as these, of which kernels count on 16 bytes at most."""
        alignment = tuple([data & 63 for data in addresses])
        known, size = self._wanted
        if known != alignment:
            info = fa.LaunchInfo()
            check(library.faPlanGetLaunchInfo(self._plan._handle, arguments, len(arguments), byref(info)))
            size = info.workspaceSize
            self._wanted = alignment, size
        return size

    def prepare(self):
        """`Plan.prepare`, of the addresses that it was made with."""
        check(library.faPlanPrepare(self._plan._handle, self._arguments, len(self._arguments)))

    def __call__(self, addresses, stream=None, owner=None):
        """`addresses` of the tensors, in order. Returns when the outputs are
        written or, with a `stream` of a card, when it is enqueued there. owner:
        as `choose_stream` gives it, an array whose package has workspace for
        this stream; without, the context has."""
        # A copy: other threads may launch the same. Sizes stay where they are.
        arguments = type(self._arguments).from_buffer_copy(self._arguments)
        for n, data in zip(self._tensors, addresses):
            arguments[n].data = data
        handle, count = self._plan._handle, len(arguments)
        if stream is None:
            check(library.faPlanLaunch(handle, arguments, count))
            return
        size = 0 if owner is None else self._workspace_size(arguments, addresses)
        if not size:
            check(library.faPlanEnqueue(handle, stream, arguments, count))
            return
        memory = empty_bytes(owner, size)
        options = fa.LaunchOptions(stream=stream, workspace=address(memory), workspaceSize=size)
        check(library.faPlanEnqueueWith(handle, byref(options), arguments, count))

    def run(self, addresses, array, stream=None):
        """The same on `stream` or, on a card without one, on the current one of
        the package of `array`."""
        owner = None
        if self.target != "cpu":
            stream, owner = choose_stream(array, stream)
        self(addresses, stream, owner)


class Launches:
    """Launches of calls that were seen, by what such a call is known by: nothing
    but the addresses of its arrays is looked at again. Emptied when it is full,
    which a length that grows with each call brings about."""

    _MOST = 1024

    def __init__(self):
        self._known = {}

    @staticmethod
    def _key(kind, arrays):
        known = tuple([facts(array) for array in arrays])
        return None if None in known else (kind, known)

    def get(self, kind, arrays):
        """The launch of arrays like these, and their addresses; None, None if
        there was none. kind: what else a call is known by."""
        launch = self._known.get(self._key(kind, arrays))
        return launch, [address(array) for array in arrays] if launch else None

    def add(self, kind, arrays, prepare):
        """The same of what is new: `prepare` makes it of the arrays as `Tensor`."""
        key, described = self._key(kind, arrays), [tensor(array) for array in arrays]
        launch = prepare(described)
        if key:
            if len(self._known) >= self._MOST:
                self.clear()
            self._known[key] = launch
        return launch, [array.data for array in described]

    def clear(self):
        self._known.clear()


def last_counters():
    """What this thread's last launch counted, in an emulator whose context has
    `counters`: a dictionary by the names of docs/emulator.md; None: nothing."""
    text = library.faGetLastCounters()
    return json.loads(text) if text else None


def describe_module(text):
    """What the attentions of a module are, without compiling it: a dictionary, as
    faModuleDescribe of fa.h has it."""
    found = c_char_p()
    check(library.faModuleDescribe(byref(_module_desc(text, None)), byref(found)))
    return json.loads(found.value)


def is_supported(program, arch="host"):
    """None if `program`, a module's text or an AttentionDesc, can be compiled
    for `arch` ("host", "sm_90a"); else the reasons, as text."""
    if isinstance(program, fa.AttentionDesc):
        status = library.faAttentionIsSupported(arch.encode(), byref(program))
    else:
        status = library.faModuleIsSupported(arch.encode(), byref(_module_desc(program, None)))
    return library.faGetLastErrorMessage().decode() if status else None
