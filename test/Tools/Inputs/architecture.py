"""Whether each line of a page's mlir blocks begins a line that the compiler prints at some stage.

usage: architecture.py PAGE STAGES
"""
import re
import sys


def main(page, stages):
    with open(page) as file:
        blocks = re.findall(r"```mlir\n(.*?)```", file.read(), re.DOTALL)
    with open(stages) as file:
        printed = [line.strip() for line in file]
    lines = [line for block in blocks for line in block.splitlines()]
    if len(lines) < 20:
        sys.exit(f"{page}: expected 20 lines of programs at least, found {len(lines)}")
    for line in lines:
        if not any(text.startswith(line) for text in printed):
            sys.exit(f"{page}: no stage prints '{line}'")
    print(f"{len(lines)} lines")


main(*sys.argv[1:])
