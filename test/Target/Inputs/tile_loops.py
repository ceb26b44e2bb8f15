"""tile_loops.py FUNCTION < ASSEMBLY

Prints, for each innermost loop of FUNCTION with products of tiles (AMX), how
many of them it has, how many tiles it loads and stores, how many instructions
touch the stack and how many there are in all; then how many tiles FUNCTION
keeps on the stack.
"""
import re
import sys

LABEL = re.compile(r"^(\.L\w+):")
FUNCTION = re.compile(r"^(\w+):")
JUMP = re.compile(r"^\tj\w+\s+(\.L\w+)")
COUNTED = [re.compile(pattern) for pattern in (r"^\ttdpbf16ps\s", r"^\ttileloadd\s", r"^\ttilestored\s", r"\(%r[sb]p\b", r"^\t[a-z]")]
# Tiles on the stack: rbp holds other addresses in functions without a frame.
SPILL = re.compile(r"^\ttile(loadd|stored)\s.*\(%rsp,")


def main():
    current, labels, body, spills = None, {}, [], 0
    for line in sys.stdin:
        if match := FUNCTION.match(line):
            current, labels, body = match.group(1), {}, []
        if current != sys.argv[1]:
            continue
        if match := LABEL.match(line):
            labels[match.group(1)] = len(body)
        body.append(line)
        spills += bool(SPILL.match(line))
        jump = JUMP.match(line)
        if not jump or jump.group(1) not in labels:
            continue
        loop = body[labels[jump.group(1)]:]
        counts = [sum(bool(p.search(inner)) for inner in loop) for p in COUNTED]
        if counts[0] and not any(LABEL.match(inner) for inner in loop[1:]):
            print("loop tile products {} loads {} stores {} stack {} instructions {}".format(*counts))
    print(f"spilled tiles {spills}")


main()
