# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA's calls of plans: libflashtile-jax.so beside the library, and the text by
which a call knows its plan.

The library launches; plans are made here, by what makes them for
flashtile.attention, and kept as long as the process. The struct is that of
python/jax_extension/Plans.h.
"""

import ctypes
import json
from ctypes import CFUNCTYPE, POINTER, c_char, c_char_p, c_int32, c_size_t, c_uint64, c_void_p

import jax

from ._attention import plan_of
from ._backward import plan_of as _backward_plan
from ._library import beside, library

TARGET = "flashtile_launch"

_Prepare = CFUNCTYPE(c_void_p, c_char_p, c_int32, POINTER(c_char), c_size_t)


class _Host(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("launch", c_void_p),
        ("enqueueWith", c_void_p),
        ("getLaunchInfo", c_void_p),
        ("lastError", c_void_p),
        ("prepare", _Prepare),
    ]


# The plans that calls have, by their text and where they run.
_plans = {}


def key_of(members, wants=(), has_dlse=0):
    """A plan as text: the members of its AttentionDesc and, of gradients, those
    that are wanted. It says the same in every process."""
    text = {name: value.decode() if isinstance(value, bytes) else value for name, value in members.items()}
    return json.dumps({"members": text, "wants": wants, "dlse": has_dlse})


def plan(key, target):
    """The plan of a text."""
    known = _plans.get((key, target))
    if known is None:
        said = json.loads(key)
        values = said["members"].items()
        members = tuple((name, value.encode() if isinstance(value, str) else value) for name, value in values)
        wants = tuple(said["wants"])
        known = _backward_plan(target, members, wants, said["dlse"]) if wants else plan_of(target, members)
        _plans[key, target] = known
    return known


@_Prepare
def _prepare(key, card, message, capacity):
    try:
        return plan(key.decode(), "cpu" if card < 0 else f"cuda:{card}")._handle.value
    except BaseException as error:  # nothing goes through C++
        text = str(error).encode()[: capacity - 1].decode(errors="ignore").encode() + b"\0"
        ctypes.memmove(message, text, len(text))
        return None


def _function(name):
    return ctypes.cast(getattr(library, name), c_void_p)


_host = _Host(
    size=ctypes.sizeof(_Host),
    launch=_function("faPlanLaunch"),
    enqueueWith=_function("faPlanEnqueueWith"),
    getLaunchInfo=_function("faPlanGetLaunchInfo"),
    lastError=_function("faGetLastErrorMessage"),
    prepare=_prepare,
)


def _load():
    path = beside("libflashtile-jax.so")
    try:
        extension = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"cannot load FlashTile's calls for JAX ({error}): they are built where CMake finds jaxlib's headers"
        ) from error
    extension.flashtileJaxCountCalls.restype = c_uint64
    if extension.flashtileJaxRegister(ctypes.byref(_host)):
        raise ImportError(f"expected the libflashtile-jax.so of this package's version, found another in {path}")
    for platform, symbol in (("cpu", "flashtileJaxLaunchCpu"), ("CUDA", "flashtileJaxLaunchCuda")):
        handler = jax.ffi.pycapsule(ctypes.cast(getattr(extension, symbol), c_void_p).value)
        jax.ffi.register_ffi_target(TARGET, handler, platform=platform)
    return extension


_extension = _load()


def count_calls():
    """How many calls of XLA's this process has launched."""
    return _extension.flashtileJaxCountCalls()
