#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python program that README.md shows.

    PYTHONPATH=python FLASHTILE_LIBRARY=build/lib/libflashtile.so python examples/python/first.py
"""

import flashtile
import numpy

q = k = numpy.zeros((1, 8, 512, 64), "float32")
v = numpy.indices(q.shape, "float32")[2]  # a key's value is its number
out = flashtile.attention(q, k, v, mask_mod="%keep = arith.cmpi sle, %j, %i : index")
print(out[0, -1, -1, -1])  # the mean of 0 to 511: 255.5
