# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A score_mod or mask_mod as PyTorch's operations on numbers."""

import os
import sys
import sysconfig
import threading
import traceback

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OURS = os.path.dirname(__file__) + os.sep
_LIBRARY, _SITE = (sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib"))
_READS = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default}
# PyTorch traces one function at a time.
_tracing = threading.Lock()


class Unsupported(NotImplementedError):
    """What FlashTile cannot say of a mod; the text says what and where."""


def _is_users(filename):
    if filename.startswith(_LIBRARY):
        return filename.startswith(_SITE) and not filename.startswith(_TORCH)
    return not filename.startswith((_TORCH, _OURS, "<"))


class _Watch(TorchDispatchMode):
    """Notes at which line each operation is called, and whether the value of a
    tensor becomes a number of Python's."""

    def __init__(self):
        super().__init__()
        self.calls, self.reads = [], False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.reads |= func in _READS
        frame = sys._getframe(1)
        while frame and not _is_users(frame.f_code.co_filename):
            frame = frame.f_back
        line = frame and f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if func._schema.is_mutable:  # before it changes what was captured
            raise Unsupported(f"flex_attention: expected a mod that changes nothing, found {func} ({line})")
        self.calls.append((func, line))
        return func(*args, **(kwargs or {}))


class Trace:
    """The nodes of a mod's graph; `lines` has those of the user's code, `module`
    the tensors that get_attr names. reads_values: whether a number in it was read
    from a tensor, so that it is right for this call alone."""

    def __init__(self, mod, takes_score, device):
        # Fake numbers: nothing runs, and what asks for their values is refused.
        numbers = [torch.zeros((), dtype=torch.int32, device=device) for _ in range(4)]
        if takes_score:
            numbers.insert(0, torch.zeros((), dtype=torch.float32, device=device))
        watch = _Watch()

        def watched(*numbers):
            with watch:
                return mod(*numbers)

        try:
            with _tracing, torch.no_grad(), TransformGetItemToIndex():
                self.module = make_fx(watched, tracing_mode="fake", _allow_non_fake_inputs=True)(*numbers)
        except Unsupported:
            raise
        except Exception as error:
            raise _described(error) from error
        self.nodes = list(self.module.graph.nodes)
        self.reads_values = watch.reads
        self.lines = {}
        calls = iter(watch.calls)
        for node in self.nodes:
            if node.op == "call_function":
                self.lines[node] = next((line for func, line in calls if func is node.target), None)

    def place(self, node):
        """Where `node` is in the user's code, for a message."""
        line = self.lines.get(node)
        return f" ({line})" if line else ""


def _described(error):
    """An error in the user's code, with the line."""
    found = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename)]
    where = f" ({found[-1].filename}:{found[-1].lineno}: {found[-1].line})" if found else ""
    text = str(error).strip().split("\n")[0]
    if "data-dependent" in text or "data dependent" in text:
        text = "its branches depend on the value of a tensor; torch.where is for what differs from element to element"
    return Unsupported(f"flex_attention: the mod could not be traced{where}: {text}")
