# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's kernels as they are, without Triton's compiler for cards: on the CPU,
in the emulator, which checks them, or on a card.

    import flashtile.triton
    flashtile.triton.wrap(kernel, "emulator:sm_80")[grid](x, y, out, n, BLOCK=1024)

`kernel` is what @triton.jit, @triton.autotune or @triton.heuristics gives. Triton
itself (3.2 to 3.9; no card) binds and specialises the arguments and translates
the Python function; FlashTile compiles what that prints and launches it in the
arrays' own memory. docs/triton.md is the manual.
"""

import functools
import threading

from ._library import Error

__all__ = ["wrap", "activate", "deactivate", "CheckError", "Error"]

_lock = threading.RLock()  # of Triton's driver, of which a process has one


class CheckError(Error):
    """What the emulator found in a launch. The text names the fault and the line
    of the Python source.

    kind: "race", "out of bounds" or another fault of docs/emulator.md. file,
    line: where in the Python source; None where it is not known.
    """

    def __init__(self, status, message, kind=None, file=None, line=None):
        super().__init__(status, message)
        self.kind, self.file, self.line = kind, file, line


@functools.cache
def _backend():
    """What needs Triton: imported when it is first used."""
    try:
        from . import _triton_backend
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "triton":
            raise ImportError(f"flashtile.triton needs Triton, 3.2 to 3.9 (pip install triton): {error}") from error
        raise
    return _triton_backend


class _Wrapped:
    def __init__(self, kernel, target):
        self._kernel, self._driver = kernel, _backend().driver_of(target)

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid)

    def run(self, *arguments, grid, **meta):
        backend = _backend()
        arguments = [backend.as_argument(a) for a in arguments]
        meta = {name: backend.as_argument(a) for name, a in meta.items()}
        with _lock, backend.active(self._driver):
            return self._kernel.run(*arguments, grid=grid, warmup=False, **meta)


def wrap(kernel, target="cpu"):
    """`kernel`, launched as ever – `wrap(kernel)[grid](arguments, META=…)` – but by
    FlashTile on `target`: "cpu", "emulator:sm_80" or another architecture of
    docs/emulator.md, "cuda" or "cuda:N".

    Arrays are NumPy's, PyTorch's, or of another package that speaks DLPack; a
    kernel may touch what lies between an array's first and last element. A
    launch returns when it has run; on a card when it is enqueued on PyTorch's
    current stream. What cannot be compiled is an Error that names the operation
    and its line; what the emulator finds is a CheckError.
    """
    backend = _backend()
    if not hasattr(kernel, "run") or backend.is_interpreted(kernel):
        raise TypeError(
            f"expected a kernel of @triton.jit, found {type(kernel).__name__}"
            + (", as TRITON_INTERPRET is set" if hasattr(kernel, "run") else "")
        )
    return _Wrapped(kernel, target)


def activate(target="cpu"):
    """Lets every plain `kernel[grid](…)` of this process run as `wrap(kernel,
    target)` would, on arrays that Triton takes: PyTorch's. Triton calls a driver
    for what depends on the machine; this one is FlashTile's."""
    with _lock:
        _backend().activate(_backend().driver_of(target))


def deactivate():
    """Gives kernels back to Triton's own driver."""
    with _lock:
        _backend().activate(None)
