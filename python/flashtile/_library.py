# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface of include/fa/fa.h, by ctypes: structs member for member."""

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

F32, F16, BF16, I32, I64 = range(5)
CANCELLED = 4


class Error(RuntimeError):
    """A call that failed; `status` is its faStatus, the text the library's."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class _Sized(ctypes.Structure):
    """A struct that begins with its size, everything else 0."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(type(self)), **members)


LogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ProgressFunction = CFUNCTYPE(c_int32, c_void_p, c_char_p)


class ContextOptions(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_uint32),
        ("parallel", c_void_p),
        ("pool", c_void_p),
        ("target", c_char_p),
        ("driver", c_char_p),
        ("ptxas", c_char_p),
        ("cacheDirectory", c_char_p),
        ("cacheMode", c_int),
        ("cacheMaxBytes", c_uint64),
        ("log", LogFunction),
        ("progress", ProgressFunction),
        ("allocate", c_void_p),
        ("deallocate", c_void_p),
        ("user", c_void_p),
        ("ranges", c_char_p),
    ]


class Argument(ctypes.Structure):
    _fields_ = [
        ("isTensor", c_int32),
        ("type", c_int),
        ("data", c_void_p),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("f32", c_float),
        ("i64", c_int64),
    ]


class AttentionDesc(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("headDim", c_int64),
        ("headDimV", c_int64),
        ("causal", c_int),
        ("hasWindow", c_int32),
        ("windowLeft", c_int64),
        ("windowRight", c_int64),
        ("softcap", c_double),
        ("hasAlibi", c_int32),
        ("hasLengths", c_int32),
        ("hasLse", c_int32),
        ("bias", c_char_p),
        ("hasPrefix", c_int32),
        ("prefix", c_int64),
        ("hasDocuments", c_int32),
        ("hasSink", c_int32),
        ("scoreMod", c_char_p),
        ("maskMod", c_char_p),
        ("precision", c_int),
        ("launch", POINTER(Argument)),
        ("launchCount", c_size_t),
    ]


class ModuleDesc(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("text", c_char_p),
        ("length", c_size_t),
        ("entry", c_char_p),
        ("allowBytecode", c_int32),
        ("launch", POINTER(Argument)),
        ("launchCount", c_size_t),
    ]


_FUNCTIONS = {
    "faContextCreate": [POINTER(ContextOptions), POINTER(c_void_p)],
    "faPlanCreateFromAttention": [c_void_p, POINTER(AttentionDesc), POINTER(c_void_p)],
    "faPlanCreateFromModule": [c_void_p, POINTER(ModuleDesc), POINTER(c_void_p)],
    "faAttentionIsSupported": [c_char_p, POINTER(AttentionDesc)],
    "faModuleIsSupported": [c_char_p, POINTER(ModuleDesc)],
    "faPlanLaunch": [c_void_p, POINTER(Argument), c_size_t],
    "faPlanEnqueue": [c_void_p, c_void_p, POINTER(Argument), c_size_t],
}


def _find():
    """The library: where FLASHTILE_LIBRARY says, in the package, or where the
    dynamic linker finds it."""
    given = os.environ.get("FLASHTILE_LIBRARY")
    inside = os.path.join(os.path.dirname(__file__), "libflashtile.so.0")
    return given or (inside if os.path.exists(inside) else "libflashtile.so.0")


def _load():
    path = _find()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"cannot load FlashTile's library ({error}); FLASHTILE_LIBRARY may name it"
        ) from error
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, c_int
    for name in ("faContextDestroy", "faPlanDestroy"):
        function = getattr(loaded, name)
        function.argtypes, function.restype = [c_void_p], None
    for name in ("faGetLastErrorMessage", "faGetVersion"):
        function = getattr(loaded, name)
        function.argtypes, function.restype = [], c_char_p
    loaded.faPlanDescribe.argtypes = [c_void_p]
    loaded.faPlanDescribe.restype = c_char_p
    return loaded


library = _load()


def version():
    """The version of the library, "0.1.0"."""
    return library.faGetVersion().decode()


def check(status):
    """Raises what the library says, unless the call succeeded."""
    if status:
        raise Error(status, library.faGetLastErrorMessage().decode())
