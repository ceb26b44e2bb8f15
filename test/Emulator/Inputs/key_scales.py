"""Writes scales of some keys, f32 [1, 2, n]: python3 key_scales.py FILE NUMBER.."""
import struct
import sys

numbers = [float(x) for x in sys.argv[2:]]
text = str({"descr": "<f4", "fortran_order": False, "shape": (1, 2, len(numbers) // 2)})
text += " " * (-(len(text) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    file.write(struct.pack(f"<{len(numbers)}f", *numbers))
