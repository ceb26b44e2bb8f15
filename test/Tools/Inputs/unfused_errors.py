"""Compares e0 of two reports of gradients: unfused_errors.py FIRST SECOND

Errors of what was given, "forward-…", are left out. One line of each gradient's two e0; exit code 1 where they are not
within a tenth of each other, or there are not as many.
"""
import re
import sys


def read(path):
    lines = re.findall(r"^check +(?!forward)\S+: max error \S+ \(unfused (\S+), .*mean \S+ \(unfused (\S+)\)", open(path).read(), re.M)
    return [tuple(map(float, line)) for line in lines]


first, second = map(read, sys.argv[1:])
for pair in zip(first, second):
    print(*pair)
alike = all(0.9 * x <= y <= 1.1 * x for one, other in zip(first, second) for x, y in zip(one, other))
sys.exit(not (alike and first and len(first) == len(second)))
