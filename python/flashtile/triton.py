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
from typing import NamedTuple

from ._library import Error
from ._plan import RAISE

__all__ = ["wrap", "activate", "deactivate", "last_launch", "Launched", "BankConflicts", "CheckError", "Error"]

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


class BankConflicts(NamedTuple):
    """Passes through the banks of shared memory beyond those that the bytes asked
    for need, in what FlashTile made of one line: file, line (None where it is not
    known), and how many."""

    file: str | None
    line: int | None
    count: int


class Launched(NamedTuple):
    """How a launch ran.

    kernel: its name. raised: whether as attention. explanation: what was proved
    of the kernel, in lines; of one that ran as it is written, why.
    bank_conflicts: in the emulator a `BankConflicts` for each line that has some,
    the most first; elsewhere None.
    """

    kernel: str
    raised: bool
    explanation: str
    bank_conflicts: list | None = None


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


def _driver_of(target, raise_attention):
    if raise_attention is None:
        # Who checks a kernel there wants that kernel.
        raise_attention = "off" if target.startswith("emulator:") else "auto"
    if raise_attention not in RAISE:
        raise ValueError(f"expected raise_attention 'auto', 'only', 'off' or None, found {raise_attention!r}")
    return _backend().driver_of(target, raise_attention)


class _Wrapped:
    def __init__(self, kernel, driver):
        self._kernel, self._driver = kernel, driver

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid)

    def run(self, *arguments, grid, **meta):
        backend = _backend()
        arguments = [backend.as_argument(a) for a in arguments]
        meta = {name: backend.as_argument(a) for name, a in meta.items()}
        with _lock, backend.active(self._driver):
            return self._kernel.run(*arguments, grid=grid, warmup=False, **meta)


def wrap(kernel, target="cpu", *, raise_attention=None):
    """`kernel`, launched as ever – `wrap(kernel)[grid](arguments, META=…)` – but by
    FlashTile on `target`: "cpu", "emulator:sm_80" or another architecture of
    docs/emulator.md, "cuda" or "cuda:N".

    Arrays are NumPy's, PyTorch's, or of another package that speaks DLPack; a
    kernel may touch what lies between an array's first and last element. A
    launch returns when it has run; on a card when it is enqueued on PyTorch's
    current stream. What cannot be compiled is an Error that names the operation
    and its line; what the emulator finds is a CheckError.

    raise_attention: whether a kernel that provably is attention runs as
    FlashTile's own. "auto": in launches that meet the conditions of the proof,
    others as it is written; "only": else it is an Error, which says where the
    proof ends or what the launch breaks; "off": never. None: "auto", and "off"
    in the emulator, which is to check the kernel as it is written. `last_launch`
    says what ran.
    """
    backend = _backend()
    if not hasattr(kernel, "run") or backend.is_interpreted(kernel):
        raise TypeError(
            f"expected a kernel of @triton.jit, found {type(kernel).__name__}"
            + (", as TRITON_INTERPRET is set" if hasattr(kernel, "run") else "")
        )
    return _Wrapped(kernel, _driver_of(target, raise_attention))


def activate(target="cpu", *, raise_attention=None):
    """Lets every plain `kernel[grid](…)` of this process run as `wrap(kernel,
    target, raise_attention=…)` would, on arrays that Triton takes: PyTorch's. Triton calls a driver
    for what depends on the machine; this one is FlashTile's."""
    with _lock:
        _backend().activate(_driver_of(target, raise_attention))


def deactivate():
    """Gives kernels back to Triton's own driver."""
    with _lock:
        _backend().activate(None)


def last_launch():
    """How the last launch of this thread ran, by `wrap` or `activate`: a
    `Launched`. None: there was none."""
    return _backend().last_launch()
