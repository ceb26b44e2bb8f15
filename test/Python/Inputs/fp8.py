"""Eight-bit floats arrive by DLPack with their type and are widened; results of
them and what else computes with them is refused by name."""
import math
import sys

import flashtile
from f8 import Bytes, e4m3, e5m2
from flashtile import _structs as fa, _tensor

WIDEN = """
func.func @widen(%x: tensor<?xf8E4M3FN>) -> tensor<?xf32> {
  %y = arith.extf %x : tensor<?xf8E4M3FN> to tensor<?xf32>
  return %y : tensor<?xf32>
}"""
SUM = """
func.func @sum(%x: tensor<?xf8E4M3FN>) -> tensor<?xf8E4M3FN> {
  %y = arith.addf %x, %x : tensor<?xf8E4M3FN>
  return %y : tensor<?xf8E4M3FN>
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


context = flashtile.Context(cache=None)
double = context.module(DOUBLE)
place = memoryview(bytearray(4 * 8)).cast("f")
for code, type, name in ((10, fa.F8E4M3, "f8e4m3"), (12, fa.F8E5M2, "f8e5m2")):
    q = Bytes(code, bytearray(256), (1, 1, 8, 32))
    assert _tensor.tensor(q).type == type
    refused(flashtile.Error, f"attention with an output of {name} is not supported yet", lambda: flashtile.attention(q, q, q, out=q))
    refused(flashtile.Error, f"argument 0: expected elements of type f32, found {name}", lambda: double(Bytes(code, bytearray(8), (8,)), place))
# The twins: a code that is no type of ours, and a type that is computed with.
refused(TypeError, "found DLPack type code 11 of 8 bits", lambda: _tensor.tensor(Bytes(11, bytearray(256), (8, 32))))
double(memoryview(bytearray(4 * 8)).cast("f"), place)

# Every code, on the host.
numbers = memoryview(bytearray(4 * 256)).cast("f")
for type, text, number in ((10, WIDEN, e4m3), (12, WIDEN.replace("f8E4M3FN", "f8E5M2"), e5m2)):
    context.module(text)(Bytes(type, bytearray(range(256)), (256,)), numbers)
    for code, found in enumerate(numbers):
        expected = number(code)
        assert math.isnan(found) if math.isnan(expected) else found == expected, (type, code, found)
        assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, expected), (type, code)
    assert flashtile.is_supported(text, "host") is None
for text, reason in (
    (SUM, "expected elements of 'f8E4M3FN' to be widened by arith.extf and no others, found 'arith.addf'"),
    (SUM.replace("f8E4M3FN", "f8E5M2"), "expected elements of 'f8E5M2' to be widened by arith.extf and no others"),
    (WIDEN.replace("f8E4M3FN", "f8E5M2FNUZ"), "found 'f8E5M2FNUZ', which none does yet"),
):
    refused(flashtile.Error, reason, lambda: context.module(text))
    for arch in ("host", "sm_90a"):
        assert reason in flashtile.is_supported(text, arch)

if "torch" in sys.argv[1:]:
    import torch

    for type, name in ((torch.float8_e4m3fn, "f8e4m3"), (torch.float8_e5m2, "f8e5m2")):
        q = torch.randn(1, 1, 8, 32).to(type)
        assert flashtile.attention(q, q, q).dtype == torch.bfloat16
        refused(flashtile.Error, f"an output of {name} is", lambda: flashtile.attention(q, q, q, out=torch.empty_like(q)))
print("right")
