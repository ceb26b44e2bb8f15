# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of PyTorch's operator in C++: libflashtile-torch.so beside the
library, if there is one and it is for this PyTorch.

It launches; plans are made here, by what makes them for flashtile.attention,
and held as long as it has them. The structs are those of
python/torch_extension/Host.h.
"""

import ctypes
import itertools
import logging
import threading
from ctypes import CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from . import _structs as fa
from ._attention import Options, _prepare
from ._library import Error, beside, library
from ._tensor import NAMES, Tensor

_logger = logging.getLogger("flashtile")


class _Request(ctypes.Structure):
    _fields_ = [
        ("tensors", POINTER(fa.Argument)),
        ("types", POINTER(c_char_p)),
        ("places", POINTER(c_char_p)),
        ("numTensors", c_uint64),
        ("causal", c_char_p),
        ("windowLeft", c_int64),
        ("windowRight", c_int64),
        ("softcap", c_double),
        ("scoreMod", c_char_p),
        ("maskMod", c_char_p),
        ("hasLse", c_int32),
    ]


class _HeldPlan(ctypes.Structure):
    _fields_ = [("plan", c_void_p), ("token", c_uint64)]


_Prepare = CFUNCTYPE(c_int32, POINTER(_Request), POINTER(_HeldPlan), POINTER(c_char), c_size_t)
_Release = CFUNCTYPE(None, c_uint64)
_Failed = CFUNCTYPE(None, c_int32)


class _Host(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("requestSize", c_size_t),
        ("mostPlans", c_uint64),
        ("launch", c_void_p),
        ("enqueueWith", c_void_p),
        ("getLaunchInfo", c_void_p),
        ("lastError", c_void_p),
        ("prepare", _Prepare),
        ("release", _Release),
        ("failed", _Failed),
    ]


# The plans that the kernels have, by their tokens.
_held = {}
_tokens = itertools.count(1)
# The exception of this thread's last call that failed.
_last = threading.local()


def _tensor(request, n):
    argument = request.tensors[n]
    if argument.type < 0:
        raise TypeError(f"expected elements of {', '.join(NAMES)}, found {request.types[n].decode()}")
    sizes, strides = argument.sizes[: argument.rank], argument.strides[: argument.rank]
    return Tensor(None, argument.type, sizes, strides, argument.data, request.places[n].decode())


def describe_options(scale, causal, window_left, window_right, softcap, score_mod, mask_mod, return_lse):
    """The operator's arguments as flashtile.attention's options."""
    return dict(
        scale=scale,
        causal=causal or False,
        window=None if window_left < 0 and window_right < 0 else (window_left, window_right),
        softcap=softcap,
        score_mod=score_mod,
        mask_mod=mask_mod,
        return_lse=return_lse,
    )


def _plan_of(request):
    decode = lambda text: None if text is None else text.decode()
    how = describe_options(
        None,  # given at each launch
        decode(request.causal),
        request.windowLeft,
        request.windowRight,
        request.softcap,
        decode(request.scoreMod),
        decode(request.maskMod),
        bool(request.hasLse),
    )
    tensors = [_tensor(request, n) for n in range(request.numTensors)]
    return _prepare(Options(**how), tensors, ("bias",) if len(tensors) > 3 else ())._plan


@_Prepare
def _prepare_plan(request, held, message, capacity):
    try:
        plan = _plan_of(request.contents)
        token = next(_tokens)
        _held[token] = plan
        held.contents.plan, held.contents.token = plan._handle, token
        return 0
    except BaseException as error:  # nothing goes through C++
        _last.error = error.with_traceback(None)  # whose frames have the call's tensors
        text = str(error).encode()[: capacity - 1].decode(errors="ignore").encode() + b"\0"
        ctypes.memmove(message, text, len(text))
        return 1


@_Release
def _release_plan(token):
    _held.pop(token)


@_Failed
def _launch_failed(status):
    _last.error = Error(status, library.faGetLastErrorMessage().decode())


def original(error):
    """The exception of this package that a call's RuntimeError stands for, or
    that itself."""
    last, _last.error = getattr(_last, "error", None), None
    return last if last is not None and str(last) in str(error) else error


def _function(name):
    return ctypes.cast(getattr(library, name), c_void_p)


_host = _Host(
    size=ctypes.sizeof(_Host),
    requestSize=ctypes.sizeof(_Request),
    mostPlans=1024,
    launch=_function("faPlanLaunch"),
    enqueueWith=_function("faPlanEnqueueWith"),
    getLaunchInfo=_function("faPlanGetLaunchInfo"),
    lastError=_function("faGetLastErrorMessage"),
    prepare=_prepare_plan,
    release=_release_plan,
    failed=_launch_failed,
)


def load():
    """The library with its kernels registered, or None where there is none."""
    try:
        extension = ctypes.CDLL(beside("libflashtile-torch.so"))
    except OSError as error:
        _logger.info("PyTorch's operator is called through Python: %s", error)
        return None
    extension.flashtileTorchCountCalls.restype = c_uint64
    if extension.flashtileTorchRegister(ctypes.byref(_host)):
        _logger.warning("PyTorch's operator is called through Python: libflashtile-torch.so is of another version")
        return None
    return extension
