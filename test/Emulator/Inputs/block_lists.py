"""Writes kinds of blocks, 0 (not seen), 1 (in part) or 2 (whole), of two batches, four
heads over two, 384 queries and 640 keys, and lists of them: right ones, ones that lack a
block, and ones with numbers of no block; of the keys that queries see, and of the queries
that see keys, those of two heads in one list.

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
kinds[0, 2:, :, 4] = 0  # keys that nothing sees


def lists_of(kinds):
    blocks, counts = np.full(kinds.shape, 10**6, np.int32), np.zeros((*kinds.shape[:3], 2), np.int32)
    for place in np.ndindex(kinds.shape[:3]):
        whole = random.permutation(np.flatnonzero(kinds[place] == 2))
        listed = np.concatenate([whole, random.permutation(np.flatnonzero(kinds[place] == 1))])
        blocks[place][: len(listed)] = listed
        counts[place] = len(whole), len(listed)
    return blocks, counts


def save(name, blocks, counts):
    np.save(os.path.join(folder, name + "-blocks.npy"), blocks)
    np.save(os.path.join(folder, name + "-counts.npy"), counts)


np.save(os.path.join(folder, "kinds.npy"), kinds)
of_queries = kinds.reshape(2, 2, 2, 3, 5).transpose(0, 1, 4, 2, 3).reshape(2, 2, 5, 6)
for name, each, most, at in (("", kinds, 4, (1, 2, 0)), ("query-", of_queries, 5, (1, 1, 0))):
    blocks, counts = lists_of(each)
    save(name + "right", blocks, counts)
    save(name + "short", blocks, np.minimum(counts, most))
    wild = blocks.copy()
    wild[at][:5] = [-(2**31), -1, each.shape[-1], 2**31 - 1, 10**6]
    save(name + "wild", wild, counts)

# Of no queries: a list of queries that says more than there are.
np.save(os.path.join(folder, "none-kinds.npy"), kinds[:, :, :0])
save("none", kinds[:, :, :0], np.zeros((2, 4, 0, 2), np.int32))
save("query-none", np.zeros((2, 2, 5, 1), np.int32), np.ones((2, 2, 5, 2), np.int32))
