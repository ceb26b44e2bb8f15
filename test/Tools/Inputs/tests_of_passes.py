"""Every pass of a source tree stands in a RUN line of a test on IR, and of these tests a quarter ask for errors.

usage: tests_of_passes.py FOLDER
"""
import pathlib
import re
import sys

PASS = re.compile(r'^def\s+\w+\s*:\s*Pass<\s*"([\w-]+)"|^\s*:\s*Pass<"([\w-]+)"', re.MULTILINE)
RUN = re.compile(r"RUN:(.*)")
# With --verify-diagnostics, or as the output of a run that fails.
ERROR = re.compile(r"expected-error|RUN:.*\bnot fa-(?:opt|run)\b")
SHARE = 0.25


def main():
    root = pathlib.Path(sys.argv[1])
    tests = {f: f.read_text() for f in sorted((root / "test").rglob("*.mlir")) if "Inputs" not in f.parts}
    runs = "\n".join(line for text in tests.values() for line in RUN.findall(text) if "fa-opt" in line)
    passes = [a or b for f in sorted((root / "include").rglob("*Passes.td")) for a, b in PASS.findall(f.read_text())]
    problems = [f"{x}: no test runs it alone with fa-opt" for x in passes if not re.search(rf"(?<!\w){x}(?![\w-])", runs)]
    errors = sum(bool(ERROR.search(text)) for text in tests.values())
    if errors < SHARE * len(tests):
        problems.append(f"expected {SHARE:.0%} of {len(tests)} tests to ask for errors, found {errors}")
    print("\n".join(problems + [f"{len(passes)} passes, {len(tests)} tests, {errors} of errors"]))
    sys.exit(bool(problems) or not passes)


main()
