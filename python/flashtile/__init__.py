# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashTile for Python: attention, compiled when it is first called.

    import flashtile
    out = flashtile.attention(q, k, v, causal=True)

on NumPy arrays, and on tensors of any framework that speaks DLPack (PyTorch,
JAX, CuPy), in their own memory. It calls libflashtile's C interface
(include/fa/fa.h) by ctypes; PyTorch calls its operator in C++ where
libflashtile-torch.so is (flashtile.torch). flashtile.flex_attention is PyTorch's
function of that name; flashtile.jax has JAX's, and flashtile.transformers gives
Hugging Face's models their attention. docs/python.md is the manual.
"""

from ._attention import attention, prepare
from ._backward import attention_backward
from ._plan import Context, Plan, describe_module, is_supported, last_counters
from ._library import Error, version
from ._append import append
from ._merge import merge
from ._serving import paged_attention, varlen_attention
from ._varlen_backward import varlen_attention_backward

__all__ = [
    "attention",
    "attention_backward",
    "append",
    "merge",
    "paged_attention",
    "varlen_attention",
    "varlen_attention_backward",
    "prepare",
    "Context",
    "Plan",
    "describe_module",
    "is_supported",
    "last_counters",
    "Error",
    "version",
]
__version__ = version()


def __getattr__(name):
    if name == "flex_attention":  # the one name that needs PyTorch, and is imported with it
        from .flex import flex_attention

        globals()[name] = flex_attention
        return flex_attention
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
