"""Every launch from Python on a card has workspace: on a driver that records its
calls and runs no kernel, one query on many keys is two kernels, one on splits of
the keys and one that merges them.

usage: workspace.py DRIVER [torch], with DRIVER found as libcuda.so.1
"""
import ctypes
import logging
import sys
import types

import numpy as np

import flashtile
from flashtile import _tensor, _torch_extension

driver = ctypes.CDLL(sys.argv[1])
driver.fakeLaunched.restype = ctypes.c_char_p
driver.fakeLaunched.argtypes = [ctypes.c_size_t]
driver.fakeCountCalls.argtypes, driver.fakeCountCalls.restype = [ctypes.c_char_p], ctypes.c_size_t
driver.fakeCapture.argtypes = [ctypes.c_void_p]
SPLIT = ["attention_decode_split", "attention_decode_merge"]
STREAM, OTHER = 0x1000, 0x2000
notes = []
handler = logging.Handler()
handler.emit = lambda record: notes.append(record.getMessage())
logging.getLogger("flashtile").addHandler(handler)
logging.getLogger("flashtile").setLevel(logging.INFO)
seen = 0


def kernels():
    """Those that were launched since the last call."""
    global seen
    found = []
    while name := driver.fakeLaunched(seen).decode():
        found.append(name)
        seen += 1
    return found


def taken():
    """How often the context asked the driver for memory."""
    return driver.fakeCountCalls(b"cuMemAlloc_v2")


def expect(call, count, kernels_expected=SPLIT):
    """`call` launches these kernels, and the context takes memory `count` times
    for it."""
    before = taken()
    call()
    assert (found := kernels()) == kernels_expected, found
    assert taken() - before == count, (taken() - before, count)


class OnCard:
    """Memory of the host that says, by DLPack, that it is a card's."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


def arrays(make):
    """q, k, v of one query on 2048 keys, and a place for the output."""
    return [make((1, heads, count, 64)) for heads, count in ((8, 1), (1, 2048), (1, 2048), (8, 1))]


def test_dlpack():
    """JAX's arrays and others are known by DLPack alone."""
    q, k, v, out = arrays(lambda shape: OnCard(np.zeros(shape, np.float16)))
    call = lambda **how: flashtile.attention(q, k, v, out=out, **how)
    expect(call, 1)
    expect(call, 0)
    expect(lambda: call(stream=STREAM), 1)
    # In a capture, of which the memory is not that of the stream before.
    driver.fakeCapture(STREAM)
    expect(lambda: call(stream=STREAM), 1)
    expect(lambda: call(stream=STREAM), 0)
    driver.fakeCapture(None)
    expect(lambda: call(stream=STREAM), 0)
    # A plan of one's own.
    desc = flashtile._library.AttentionDesc(type=1, headDim=64)
    launch = q, k, v, 0.125, out
    plan = flashtile.Context("cuda").attention(desc, launch=launch)
    expect(lambda: plan(*launch), 1)
    expect(lambda: plan(*launch, stream=STREAM), 1)
    assert not notes, notes
    # The twin: a context that may take none, which says so.
    plan = flashtile.Context("cuda", workspace=0).attention(desc, launch=launch)
    for _ in range(2):
        expect(lambda: plan(*launch), 0, ["attention_decode"])
    assert len(notes) == 1 and "has no workspace of 33792 bytes" in notes[0], notes


def test_torch():
    """PyTorch's own memory, on its current stream. Its tensors here are the
    CPU's, which are taken for the card's."""
    import torch

    # The road through Python, which tensors of the CPU that stand for a card's take.
    _torch_extension.load = lambda: None
    import flashtile.torch

    _tensor._CPU, _tensor._CUDA = 2, 1
    torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=STREAM)
    made, empty = [], torch.empty

    def counted(*shape, **how):
        memory = empty(*shape, **how)
        if memory.dtype == torch.uint8:
            made.append(memory.numel())
        return memory

    torch.empty = counted
    q, k, v, out = arrays(lambda shape: torch.zeros(shape, dtype=torch.float16))
    aside = torch.zeros(8 * 64 + 1, dtype=torch.float16)[1:].view(1, 8, 1, 64)
    desc = flashtile._library.AttentionDesc(type=1, headDim=64)
    plan = flashtile.Context("cuda").attention(desc)

    def expect_torch(call, **how):
        made.clear()
        expect(call, 0, **how)
        assert made == [33792], made

    # A call that is like an earlier one asks for no size again.
    library, asked = flashtile._library.library, []
    ask = library.faPlanGetLaunchInfo
    library.faPlanGetLaunchInfo = lambda *how: asked.append(how) or ask(*how)
    for _ in range(3):
        expect_torch(lambda: flashtile.attention(q, k, v))
    assert len(asked) == 1, asked
    for _ in range(2):
        expect_torch(lambda: flashtile.attention(q, k, v))
        expect_torch(lambda: flashtile.attention(q, k, v, return_lse=True))
        expect_torch(lambda: flashtile.attention(q, k, v, out=out, stream=STREAM))
        expect_torch(lambda: flashtile.torch.attention(q, k, v))
        expect_torch(lambda: torch.ops.flashtile.attention(q, k, v))
        expect_torch(lambda: torch.compile(flashtile.torch.attention, backend="eager")(q, k, v))
        expect_torch(lambda: plan(q, k, v, 0.125, out, stream=STREAM))
    driver.fakeCapture(STREAM)
    expect_torch(lambda: flashtile.torch.attention(q, k, v))
    driver.fakeCapture(None)
    # At another address it is another kernel, which wants none.
    made.clear()
    expect(lambda: flashtile.attention(aside, k, v), 0, ["attention_strided"])
    assert not made, made
    expect_torch(lambda: flashtile.attention(q, k, v))
    # On another stream than PyTorch's the memory is the context's: PyTorch could
    # give its own away before the launch is done.
    made.clear()
    expect(lambda: flashtile.attention(q, k, v, stream=OTHER), 1)
    assert not made, made
    # Many queries want none.
    many = torch.zeros((1, 8, 512, 64), dtype=torch.float16)
    expect(lambda: flashtile.attention(many, k, v), 0, ["attention"])
    assert not made, made
    assert not [note for note in notes if "workspace" in note], notes


if sys.argv[2:] == ["torch"]:
    test_torch()
else:
    test_dlpack()
print("right")
