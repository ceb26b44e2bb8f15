"""Bytes that DLPack describes with a type code of 8 bits, and what they are."""
import ctypes
import math
import struct

from flashtile import _tensor


class Bytes:
    """A tensor of the bytes in `data`, row by row."""

    def __init__(self, code, data, shape):
        self.data = (ctypes.c_char * len(data)).from_buffer(data)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        # DLManagedTensor: a DLTensor, a context and what frees it.
        self.managed = (ctypes.c_char * 64)()
        tensor = _tensor._DLTensor.from_buffer(self.managed)
        tensor.data, tensor.device_type, tensor.ndim = ctypes.addressof(self.data), 1, len(shape)
        tensor.code, tensor.bits, tensor.lanes = code, 8, 1
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **how):
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def e4m3(code):
    """The number that a code of e4m3 (OCP) stands for."""
    exponent, mantissa = code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return math.nan
    size = (mantissa / 8 if exponent == 0 else 1 + mantissa / 8) * 2.0 ** (max(exponent, 1) - 7)
    return -size if code & 0x80 else size


def e5m2(code):
    """The same of e5m2: the upper byte of a half."""
    return struct.unpack("<e", bytes([0, code]))[0]
