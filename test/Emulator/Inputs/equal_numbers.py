"""Numbers of 320 keys that grow and that do not, whether they do, and the bounds
of those that are equal: NAME-{ids,grows,first,last}.npy in the folder that is given."""

import os
import sys

import numpy as np

documents = np.repeat(np.arange(9), [30, 50, 1, 40, 20, 70, 60, 39, 10])
for name, ids in (("sorted", documents), ("mixed", np.random.default_rng(0).integers(0, 5, 320))):
    grows = (np.diff(ids) >= 0).all()
    first = np.searchsorted(ids, ids) if grows else np.zeros(len(ids))
    last = np.searchsorted(ids, ids, "right") if grows else np.full(len(ids), len(ids))
    of = {"grows": np.array([grows]), "first": first, "last": last}
    np.save(os.path.join(sys.argv[1], f"{name}-ids.npy"), ids)
    for what, array in of.items():
        np.save(os.path.join(sys.argv[1], f"{name}-{what}.npy"), array.astype(np.int32))
