"""barrier_waits.py FUNCTION < ASSEMBLY

Checks that of an AMD kernel each s_barrier stands behind waits for what the wave
has asked before, in the order of the text: lgkmcnt(0) behind reads and writes of
LDS, vmcnt(0) behind loads direct to LDS. Prints how many of each it found. s_barrier
itself waits for no memory (CDNA3 ISA, 4.4).
"""
import re
import sys

FUNCTION = re.compile(r"^(\w+):")
INSTRUCTION = re.compile(r"^\t([a-z]\w+)\s*([^;\n]*)")


def main():
    current, line_number = None, 0
    asked = {"lgkmcnt": None, "vmcnt": None}  # the line of what is not waited for
    counts = {"barriers": 0, "LDS": 0, "direct": 0}
    for line_number, line in enumerate(sys.stdin, 1):
        if match := FUNCTION.match(line):
            current = match.group(1)
        match = INSTRUCTION.match(line)
        if current != sys.argv[1] or not match:
            continue
        name, operands = match.group(1), match.group(2).strip()
        if re.match(r"ds_(read|write)", name):
            asked["lgkmcnt"] = line_number
            counts["LDS"] += 1
        elif name.startswith("buffer_load") and operands.endswith(" lds"):
            asked["vmcnt"] = line_number
            counts["direct"] += 1
        elif name == "s_waitcnt":
            for counter in asked:
                if f"{counter}(0)" in operands:
                    asked[counter] = None
        elif name == "s_barrier":
            counts["barriers"] += 1
            for counter, asker in asked.items():
                if asker:
                    sys.exit(f"line {line_number}: expected {counter}(0) before s_barrier, for line {asker}")
    if not counts["barriers"]:
        sys.exit(f"expected an s_barrier in {sys.argv[1]}, found none")
    print(" ".join(f"{what} {number}" for what, number in counts.items()))


main()
