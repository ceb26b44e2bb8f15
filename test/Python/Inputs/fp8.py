"""Eight-bit floats arrive by DLPack with their type and are refused by name:
no target computes with them yet."""
import ctypes
import sys

import flashtile
from flashtile import _structs as fa, _tensor

WIDEN = """
func.func @widen(%x: tensor<?xf8E4M3FN>) -> tensor<?xf32> {
  %y = arith.extf %x : tensor<?xf8E4M3FN> to tensor<?xf32>
  return %y : tensor<?xf32>
}"""
DOUBLE = """
func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}"""


def refused(kind, text, call):
    try:
        call()
    except kind as found:
        assert text in str(found), found
    else:
        raise AssertionError(f"expected '{text}'")


class Bytes:
    """A tensor of bytes that DLPack describes with a type code of 8 bits."""

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


context = flashtile.Context(cache=None)
double = context.module(DOUBLE)
place = memoryview(bytearray(4 * 8)).cast("f")
for code, type, name in ((10, fa.F8E4M3, "f8e4m3"), (12, fa.F8E5M2, "f8e5m2")):
    q = Bytes(code, bytearray(256), (1, 1, 8, 32))
    assert _tensor.tensor(q).type == type
    refused(flashtile.Error, f"attention with type={name} is not supported yet", lambda: flashtile.attention(q, q, q, out=q))
    refused(flashtile.Error, f"argument 0: expected elements of type f32, found {name}", lambda: double(Bytes(code, bytearray(8), (8,)), place))
# The twins: a code that is no type of ours, and a type that is computed with.
refused(TypeError, "found DLPack type code 11 of 8 bits", lambda: _tensor.tensor(Bytes(11, bytearray(256), (8, 32))))
double(memoryview(bytearray(4 * 8)).cast("f"), place)

reason = "found 'f8E4M3FN', which none does yet"
refused(flashtile.Error, reason, lambda: context.module(WIDEN))
for arch in ("host", "sm_90a"):
    assert reason in flashtile.is_supported(WIDEN, arch)
    assert flashtile.is_supported(WIDEN.replace("f8E4M3FN", "f16"), "host") is None

if "torch" in sys.argv[1:]:
    import torch

    for type, name in ((torch.float8_e4m3fn, "f8e4m3"), (torch.float8_e5m2, "f8e5m2")):
        q = torch.randn(1, 1, 8, 32).to(type)
        refused(flashtile.Error, f"type={name} is not", lambda: flashtile.attention(q, q, q))
print("right")
