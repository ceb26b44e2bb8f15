# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which keys are equal to a number, where keys grow: one launch of bounds.mlir."""

import functools
import os

import torch

from .._attention import context_of
from .._plan import Launch
from .._tensor import facts, tensor

_launches = {}
_MOST = 1024

# Programs of a few rows are the fastest (on an H100 9 us for 4096 keys, 17 with 128
# rows); each looks at all keys, which with many keys is more than is gained.
_FEW_KEYS, _MANY_ROWS = 16384, 512


def text(dtype, is_long=False, is_strict=False):
    """The kernel for keys of torch.int32 or torch.int64, which are many or not.
    is_strict: see `bounds`."""
    with open(os.path.join(os.path.dirname(__file__), "bounds.mlir"), encoding="utf-8") as file:
        found = file.read()
    if is_long:
        for rows in ("<{}x", "constant {} :", "ceildiv {}"):
            found = found.replace(rows.format(32), rows.format(_MANY_ROWS))
    if is_strict:
        for bound, equal, strict in (("lower", "less", "most"), ("upper", "most", "less")):
            line = f"%{bound} = arith.select %grows, "
            found = found.replace(line + f"%{equal}", line + f"%{strict}")
    return found if dtype == torch.int64 else found.replace("xi64", "xi32")


@functools.lru_cache(maxsize=1024)
def _plan(target, *kind):
    return context_of(target).module(text(*kind))


def bounds(keys, x, is_strict=False):
    """(first, last, grows), int32: first and last of x's shape, such that keys [n]
    with first <= place < last are those equal to x, int32 or int64, where keys grow,
    and else all keys; grows [1] says which. is_strict: keys from `first` are greater,
    and those before `last` are less. Nothing waits for a card."""
    n = x.numel()
    found = torch.empty(2 * n + 1, dtype=torch.int32, device=x.device)
    first, last, grows = found.narrow(0, 0, n), found.narrow(0, n, n), found.narrow(0, 2 * n, 1)
    if n:
        if keys.dtype != x.dtype:
            keys, x = keys.long(), x.long()
        rows = x if x.dim() == 1 else x.reshape(-1)
        known = is_strict, facts(keys), facts(rows)  # what is found lies as they say
        launch = _launches.get(known)
        if launch is None:
            described = [tensor(array) for array in (keys, rows, first, last, grows)]
            plan = _plan(described[0].target, keys.dtype, len(keys) > _FEW_KEYS, is_strict)
            launch = Launch(plan, described)
            if len(_launches) >= _MOST:
                _launches.clear()
            _launches[known] = launch
        base = found.data_ptr()
        launch.run([keys.data_ptr(), rows.data_ptr(), base, base + 4 * n, base + 8 * n], rows)
    if x.dim() != 1:
        first, last = first.view(x.shape), last.view(x.shape)
    return first, last, grows
