"""Writes a .npy file whose header claims a petabyte of float32."""
import sys

header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 4000000000000, 64), }\n"
with open(sys.argv[1], "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
