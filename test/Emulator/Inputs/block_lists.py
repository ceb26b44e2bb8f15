"""Writes kinds of blocks, 0 (not seen), 1 (in part) or 2 (whole), of two batches, four
heads, 384 queries and 640 keys, and lists of them: right ones, ones that lack a block,
and ones with numbers of no block.

    block_lists.py FOLDER
"""

import os
import sys

import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(0)
kinds = random.integers(0, 3, (2, 4, 3, 5), dtype=np.int32)
kinds[0, 1, 2] = 0  # queries that see nothing
kinds[1, 2] = 2
blocks, counts = np.full(kinds.shape, 10**6, np.int32), np.zeros((2, 4, 3, 2), np.int32)
for place in np.ndindex(kinds.shape[:3]):
    whole = random.permutation(np.flatnonzero(kinds[place] == 2))
    listed = np.concatenate([whole, random.permutation(np.flatnonzero(kinds[place] == 1))])
    blocks[place][: len(listed)] = listed
    counts[place] = len(whole), len(listed)


def save(name, blocks, counts):
    np.save(os.path.join(folder, name + "-blocks.npy"), blocks)
    np.save(os.path.join(folder, name + "-counts.npy"), counts)


np.save(os.path.join(folder, "kinds.npy"), kinds)
save("right", blocks, counts)
save("short", blocks, np.minimum(counts, 4))
wild = blocks.copy()
wild[1, 2, 0] = [-(2**31), -1, 5, 2**31 - 1, 10**6]
save("wild", wild, counts)
