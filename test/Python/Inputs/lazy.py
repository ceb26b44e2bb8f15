"""What calls on a card compile, by the files that the cache has of it."""
import os
import sys

import numpy as np

import flashtile

folder = sys.argv[1]


class OnCard:
    """Memory of the host that says, by DLPack, that it is a card's."""

    def __init__(self, *shape):
        self.array = np.zeros(shape, np.float16)

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


def kept():
    """Files of the cache: one of each list of kernels, and one of each kernel."""
    return len([name for name in os.listdir(folder) if len(name) == 10 + 64])


def arrays(queries):
    return [OnCard(1, 8, count, 64) for count in (queries, 100, 100, queries)]


q, k, v, out = arrays(100)
one, _, _, its_out = arrays(1)
flashtile.attention(q, k, v, out=out)
assert kept() == 2, kept()
flashtile.attention(q, k, v, out=out)
assert kept() == 2, kept()
# Another kernel of the same plan, before it is called; what is new need not be there.
flashtile.prepare(one, k, v)
assert kept() == 3, kept()
flashtile.attention(one, k, v, out=its_out)
assert kept() == 3, kept()
try:
    flashtile.prepare(q, k, v, causal="left")
except ValueError as found:
    assert "expected causal" in str(found), found
else:
    raise AssertionError("expected that it is refused")

# Plans of one's own, and the other modes; eager is one file.
desc = flashtile._library.AttentionDesc(type=1, headDim=64, hasLse=0, softcap=30)
plan = flashtile.Context("cuda", compile="lazy").attention(desc)
assert kept() == 4, kept()
plan.prepare(q, k, v, 0.125, out)
assert kept() == 5, kept()
plan(q, k, v, 0.125, out)
assert kept() == 5, kept()
flashtile.Context("cuda").attention(desc)
assert kept() == 6, kept()
try:
    flashtile.Context("cuda", compile="never")
except ValueError as found:
    assert "expected compile 'eager', 'lazy' or 'background', found 'never'" in str(found), found
else:
    raise AssertionError("expected that it is refused")
print("right")
