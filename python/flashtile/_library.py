# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of include/fa/fa.h, by ctypes."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p

from ._structs import (
    AppendDesc,
    Argument,
    AttentionDesc,
    BackwardDesc,
    ContextOptions,
    LaunchInfo,
    LaunchOptions,
    MergeDesc,
    ModuleDesc,
)


class Error(RuntimeError):
    """A call that failed; `status` is its faStatus, the text the library's."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


_FUNCTIONS = {
    "faContextCreate": [POINTER(ContextOptions), POINTER(c_void_p)],
    "faPlanCreateFromAttention": [c_void_p, POINTER(AttentionDesc), POINTER(c_void_p)],
    "faPlanCreateFromAttentionBackward": [c_void_p, POINTER(AttentionDesc), POINTER(BackwardDesc), POINTER(c_void_p)],
    "faPlanCreateFromMerge": [c_void_p, POINTER(MergeDesc), POINTER(c_void_p)],
    "faPlanCreateFromAppend": [c_void_p, POINTER(AppendDesc), POINTER(c_void_p)],
    "faPlanCreateFromModule": [c_void_p, POINTER(ModuleDesc), POINTER(c_void_p)],
    "faAttentionIsSupported": [c_char_p, POINTER(AttentionDesc)],
    "faModuleIsSupported": [c_char_p, POINTER(ModuleDesc)],
    "faModuleDescribe": [POINTER(ModuleDesc), POINTER(c_char_p)],
    "faPlanLaunch": [c_void_p, POINTER(Argument), c_size_t],
    "faPlanPrepare": [c_void_p, POINTER(Argument), c_size_t],
    "faPlanEnqueue": [c_void_p, c_void_p, POINTER(Argument), c_size_t],
    "faPlanEnqueueWith": [c_void_p, POINTER(LaunchOptions), POINTER(Argument), c_size_t],
    "faPlanGetLaunchInfo": [c_void_p, POINTER(Argument), c_size_t, POINTER(LaunchInfo)],
}


def _find():
    """The library: where FLASHTILE_LIBRARY says, in the package, or where the
    dynamic linker finds it."""
    given = os.environ.get("FLASHTILE_LIBRARY")
    inside = os.path.join(os.path.dirname(__file__), "libflashtile.so.0")
    return given or (inside if os.path.exists(inside) else "libflashtile.so.0")


def beside(name):
    """Where a library called `name` is that belongs to this one."""
    return os.path.join(os.path.dirname(_find()), name)


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
    for name in ("faGetLastErrorMessage", "faGetLastCounters", "faGetVersion"):
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
