"""Writes FILE, f32 [1, n]: scales.py FILE NUMBER..."""
import struct
import sys

file, numbers = sys.argv[1], [float(x) for x in sys.argv[2:]]
text = str({"descr": "<f4", "fortran_order": False, "shape": (1, len(numbers))})
text += " " * (-(len(text) + 11) % 64) + "\n"
with open(file, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    out.write(struct.pack(f"<{len(numbers)}f", *numbers))
