"""inner_loops.py FUNCTION < ASSEMBLY

Prints, for each innermost loop of FUNCTION with at least 16 multiply-adds (of
x86-64 in AT&T syntax or of AArch64), how many of them it has, how many
instructions read memory, how many touch the stack (spills) and how many there
are in all.
"""
import re
import sys

LABEL = re.compile(r"^(\.L\w+):")
FUNCTION = re.compile(r"^(\w+):")
JUMP = re.compile(r"^\t(?:j\w+|b(?:\.\w+)?|cbn?z\s+\w+,|tbn?z\s+\w+, #\d+,)\s+(\.L\w+)")
PRODUCT = re.compile(r"^\t(?:vfn?m(?:add|sub)\w+|vdpbf16ps|fmla)\s")
STACK = re.compile(r"\(%rsp\b|\[sp\b")
FRAME = re.compile(r"^\tmovq\t%rsp, %rbp")
STACK_OR_FRAME = re.compile(r"\(%r[sb]p\b")
# A memory operand of x86-64 that is not written; loads of AArch64.
READ = re.compile(r"^\t(?!lea|prefetch|vmov\w+\t%|mov\w*\t%|cmp)\w+\t[^#]*\(%|^\t(?:ld\w+)\s")
INSTRUCTION = re.compile(r"^\t[a-z]")


def main():
    current, labels, body, stack = None, {}, [], STACK
    for line in sys.stdin:
        if match := FUNCTION.match(line):
            current, labels, body, stack = match.group(1), {}, [], STACK
        if current != sys.argv[1]:
            continue
        if FRAME.match(line):
            stack = STACK_OR_FRAME
        if match := LABEL.match(line):
            labels[match.group(1)] = len(body)
        body.append(line)
        jump = JUMP.match(line)
        if not jump or jump.group(1) not in labels:
            continue
        loop = body[labels[jump.group(1)]:]
        if any(LABEL.match(inner) for inner in loop[1:]):
            continue
        counts = [sum(bool(p.search(inner)) for inner in loop) for p in (PRODUCT, READ, stack, INSTRUCTION)]
        if counts[0] >= 16:
            print("loop products {} reads {} stack {} instructions {}".format(*counts))


main()
