"""Writes words of 32 bits, each `word`: words.py FILE DESCR WORD SIZE ..."""
import struct
import sys

path, descr, word, *sizes = sys.argv[1:]
shape = tuple(int(size) for size in sizes)
count = 1
for size in shape:
    count *= size
text = str({"descr": descr, "fortran_order": False, "shape": shape})
text += " " * (-(len(text) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    file.write(struct.pack("<I", int(word, 0)) * count)
