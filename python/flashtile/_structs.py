# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structs of include/fa/fa.h for ctypes, member for member."""

import ctypes
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

F32, F16, BF16, I32, I64, F8E4M3, F8E5M2 = range(7)
CANCELLED = 4


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
        ("tuning", c_char_p),
        ("hostCpu", c_char_p),
        ("compile", c_int),
        ("workspacePoolBytes", c_uint64),
        ("counters", c_int32),
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
        ("hasOffsets", c_int32),
        ("hasKeyOffsets", c_int32),
        ("hasPages", c_int32),
        ("dropout", c_double),
        ("kvType", c_int),
        ("hasScales", c_int32),
        ("splitKeys", c_int64),
        ("valuesInKeys", c_int32),
        ("hasDraft", c_int32),
        ("qType", c_int),
        ("hasQueryScales", c_int32),
        ("scaleKeys", c_int64),
    ]


class BackwardDesc(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("wantQ", c_int32),
        ("wantK", c_int32),
        ("wantV", c_int32),
        ("hasDlse", c_int32),
        ("wantBias", c_int32),
        ("wantSlopes", c_int32),
        ("wantSink", c_int32),
        ("wantScale", c_int32),
    ]


class MergeDesc(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("headDim", c_int64),
        ("parts", c_int32),
        ("hasLse", c_int32),
        ("launch", POINTER(Argument)),
        ("launchCount", c_size_t),
    ]


class AppendDesc(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("headDim", c_int64),
        ("headDimV", c_int64),
        ("rope", c_int),
        ("rotaryDim", c_int64),
        ("tableType", c_int),
        ("hasWidePositions", c_int32),
        ("hasQueries", c_int32),
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
        ("raiseAttention", c_int),
    ]


class LaunchInfo(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("workspaceSize", c_size_t),
        ("splits", c_int64),
        ("numKernels", c_uint32),
        ("notRaised", c_char_p),
    ]


class LaunchOptions(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspaceSize", c_size_t),
    ]
