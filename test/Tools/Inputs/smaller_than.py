"""Fails unless the file has fewer bytes than the number says."""
import os
import sys

limit, path = int(sys.argv[1]), sys.argv[2]
size = os.stat(path).st_size
if size >= limit:
    print(f"expected fewer than {limit} bytes, found {size}")
    sys.exit(1)
