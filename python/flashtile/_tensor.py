# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other packages as arguments of a launch, in their own memory."""

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object

from . import _structs as fa

# Of faType, by its numbers, as the packages call them.
NAMES = ("float32", "float16", "bfloat16", "int32", "int64", "float8_e4m3fn", "float8_e5m2")

# The device types of DLPack (dlpack.h, DLDeviceType).
_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13

_TYPESTR = {"<f4": fa.F32, "<f2": fa.F16, "<i4": fa.I32, "<i8": fa.I64}
# What NumPy itself has no types for, by the names that ml_dtypes gives them.
_ML_DTYPES = {NAMES[type]: type for type in (fa.BF16, fa.F8E4M3, fa.F8E5M2)}
_FORMATS = {"f": fa.F32, "e": fa.F16, "i": fa.I32, "l": fa.I64, "q": fa.I64}
# DLPack's type codes (DLDataTypeCode) and bits: int 0, float 2, bfloat 4 and, of
# DLPack 1.1 on, float8_e4m3fn 10 and float8_e5m2 12.
_DLTYPES = {
    (2, 32): fa.F32,
    (2, 16): fa.F16,
    (4, 16): fa.BF16,
    (0, 32): fa.I32,
    (0, 64): fa.I64,
    (10, 8): fa.F8E4M3,
    (12, 8): fa.F8E5M2,
}


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h; a managed tensor begins with one."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [py_object, c_char_p], c_void_p


class Tensor:
    """Where an array is: type, shape, strides in elements, address, target.

    `owner` keeps what the address points to.
    """

    def __init__(self, owner, type, shape, strides, data, target="cpu", writable=True):
        self.owner, self.type, self.data, self.target = owner, type, data, target
        self.shape, self.strides, self.writable = tuple(shape), tuple(strides), writable

    def permuted(self, *order):
        """The same elements with other dimensions first."""
        return Tensor(
            self.owner,
            self.type,
            [self.shape[d] for d in order],
            [self.strides[d] for d in order],
            self.data,
            self.target,
            self.writable,
        )

    def argument(self):
        numbers = c_int64 * len(self.shape)
        return fa.Argument(
            isTensor=1,
            type=self.type,
            data=self.data,
            rank=len(self.shape),
            sizes=numbers(*self.shape),
            strides=numbers(*self.strides),
        )


def scalar(value):
    """A float as f32, an int as i64."""
    if isinstance(value, int):
        return fa.Argument(type=fa.I64, i64=value)
    return fa.Argument(type=fa.F32, f32=value)


def row_major(shape):
    """The strides of a new array of this shape, in elements."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return strides


def _from_array_interface(array):
    description = array.__array_interface__
    type = _TYPESTR.get(description["typestr"])
    if type is None:
        type = _ML_DTYPES.get(getattr(array.dtype, "name", ""))
    if type is None:
        raise TypeError(f"expected elements of {', '.join(NAMES)}, found {array.dtype}")
    shape, size = description["shape"], array.itemsize
    strides = description.get("strides")
    if strides is None:
        strides = row_major(shape)
    elif any(s % size for s in strides):
        raise TypeError(f"expected strides that are multiples of {size} bytes, found {strides}")
    else:
        strides = [s // size for s in strides]
    data, read_only = description["data"]
    return Tensor(array, type, shape, strides, data, writable=not read_only)


def _from_dlpack(array):
    device, number = array.__dlpack_device__()
    if device not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise TypeError(f"expected a tensor of the CPU or a CUDA card, found DLPack device {device}")
    on_card = device in (_CUDA, _CUDA_MANAGED)
    # -1: no synchronisation, for the launch goes to the framework's own stream.
    capsule = array.__dlpack__(stream=-1) if on_card else array.__dlpack__()
    tensor = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), POINTER(_DLTensor)).contents
    type = _DLTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if type is None:
        raise TypeError(
            f"expected elements of {', '.join(NAMES)}, found DLPack type code {tensor.code} of {tensor.bits} bits"
        )
    shape = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else row_major(shape)
    data = (tensor.data or 0) + tensor.byte_offset
    # A capsule that nobody has taken frees its tensor with itself.
    return Tensor(capsule, type, shape, strides, data, f"cuda:{number}" if on_card else "cpu")


def _from_buffer(view):
    type = _FORMATS.get(view.format)
    if type is None:
        raise TypeError(f"expected elements of {', '.join(NAMES)}, found format {view.format!r}")
    first = ctypes.c_char.from_buffer(view) if not view.readonly and view.nbytes else None
    if first is None and view.nbytes:
        raise TypeError("expected a buffer that can be written, found a read-only one")
    strides = [s // view.itemsize for s in view.strides]
    return Tensor((view, first), type, view.shape, strides, 0 if first is None else ctypes.addressof(first))


def tensor(array):
    """`array`, in place: NumPy's, one that speaks DLPack, or a memoryview."""
    if isinstance(array, Tensor):
        return array
    if hasattr(array, "__array_interface__"):  # before DLPack, which knows no read-only arrays
        return _from_array_interface(array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    if isinstance(array, memoryview):
        return _from_buffer(array)
    raise TypeError(f"expected an array, a tensor with DLPack or a memoryview, found {type(array).__name__}")


# Of the two packages that are met most, what decides a launch is known without
# describing an array: classes by name, for neither package is imported here.


def _numpy_address(array):
    try:  # a third of the time, for what is contiguous and can be written
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):
        return array.__array_interface__["data"][0]


_ACCESS = {
    "numpy.ndarray": (lambda a: (a.shape, a.strides, a.dtype, a.flags.writeable), _numpy_address),
    "torch.Tensor": (
        lambda t: (t.shape, t.stride(), t.dtype, t.device, t.requires_grad),
        lambda t: t.data_ptr(),
    ),
}


def _access(array):
    kind = type(array)
    return _ACCESS.get(kind) or _ACCESS.setdefault(
        kind, _ACCESS.get(f"{kind.__module__}.{kind.__qualname__}", (lambda a: None, lambda a: tensor(a).data))
    )


def facts(array):
    """All of `array` but its address that a launch depends on, to look it up;
    None where `tensor` alone can tell."""
    return _access(array)[0](array)


def address(array):
    """Where element 0 of `array` is."""
    return _access(array)[1](array)


def empty_like(array, shape, type):
    """A new array of `array`'s package, on its device; `type` as in NAMES, or
    None for that of `array`."""
    return new_like(array, shape, type, "empty")


def new_like(array, shape, type, make):
    """The same by the package's function `make`."""
    package = array.__class__.__module__.split(".")[0]
    if package in ("numpy", "torch"):
        module = __import__(package)
        dtype = array.dtype
        if type:  # bfloat16 is no type of NumPy's own
            dtype = getattr(module, type, None) or getattr(__import__("ml_dtypes"), type)
        where = {} if package == "numpy" else {"device": array.device}
        return getattr(module, make)(shape, dtype=dtype, **where)
    if hasattr(array, "__array_namespace__"):
        module = array.__array_namespace__()
        dtype = getattr(module, type) if type else array.dtype
        return getattr(module, make)(shape, dtype=dtype, device=array.device)
    raise TypeError(f"expected out=, for there is no new {array.__class__.__name__} to be had here")


def choose_stream(array, stream):
    """Where a launch goes: `stream` or, without, the current one of `array`'s
    package. Beside it `array`, if `empty_bytes` gives memory for that stream."""
    current = current_stream(array)
    stream = current if stream is None else stream
    is_torch = array.__class__.__module__.split(".")[0] == "torch"
    return stream, array if is_torch and stream == current else None


def empty_bytes(array, count):
    """`count` new bytes on the device of PyTorch's `array`, for its current
    stream: what comes later there may have them as soon as they are dropped.
    Legal while a graph is captured."""
    import torch

    return torch.empty(count, dtype=torch.uint8, device=array.device)


def current_stream(array):
    """The stream that `array`'s package works on, as an address; 0: default."""
    package = array.__class__.__module__.split(".")[0]
    if package == "torch":
        import torch

        # What PyTorch's own compiled code asks, without an object for each stream.
        raw, index = getattr(torch._C, "_cuda_getCurrentRawStream", None), array.device.index
        if raw and index is not None:
            return raw(index)
        return torch.cuda.current_stream(array.device).cuda_stream
    if package == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return 0
