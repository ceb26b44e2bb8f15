# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which keys are equal to a number, where keys grow: one launch of bounds.mlir."""

import functools
import os

import torch

from .._attention import context_of
from .._plan import Launch, Launches

_launches = Launches()


# Programs of a few rows are the fastest (on an H100 9 us for 4096 keys, 17 with 128
# rows); each looks at all keys, which with many keys is more than is gained.
_FEW_KEYS, _MANY_ROWS = 16384, 512


def text(dtype, is_long=False):
    """The kernel for keys of torch.int32 or torch.int64, which are many or not."""
    with open(os.path.join(os.path.dirname(__file__), "bounds.mlir"), encoding="utf-8") as file:
        found = file.read()
    if is_long:
        for rows in ("<{}x", "constant {} :", "ceildiv {}"):
            found = found.replace(rows.format(32), rows.format(_MANY_ROWS))
    return found if dtype == torch.int64 else found.replace("xi64", "xi32")


@functools.lru_cache(maxsize=1024)
def _plan(target, dtype, is_long):
    return context_of(target).module(text(dtype, is_long))


def bounds(keys, x):
    """(first, last, grows), int32: first and last of x's shape, such that keys [n]
    with first <= place < last are those equal to x, int32 or int64, where keys grow,
    and else all keys; grows [1] says which. Nothing waits for a card."""
    dtype, n = torch.promote_types(keys.dtype, x.dtype), x.numel()
    found = torch.empty(2 * n + 1, dtype=torch.int32, device=x.device).split((n, n, 1))
    if n:
        arrays = [keys.to(dtype), x.to(dtype).reshape(-1), *found]
        launch, addresses = _launches.get("bounds", arrays)
        if launch is None:
            prepare = lambda described: Launch(_plan(described[0].target, dtype, len(keys) > _FEW_KEYS), described)
            launch, addresses = _launches.add("bounds", arrays, prepare)
        launch.run(addresses, arrays[1])
    first, last, grows = found
    return first.view(x.shape), last.view(x.shape), grows
