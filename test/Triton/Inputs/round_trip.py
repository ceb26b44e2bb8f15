"""Reads texts of Triton's with fa-opt, prints them, and reads and prints what was printed.

usage: round_trip.py FILE.ttir ...

The two that were printed are the same, and have as many operations of each name as the text. A file may hold several
texts with `// -----` between. The twin of each text, in which one operation has another name, is refused by that name.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# The name of an operation: first in a line, behind "=", or in quotes; a terminator that MLIR adds is not printed.
NAME = re.compile(r'^\s*(?:[-%\w#:., ]+ = )?"?((?:tt|ttg|arith|math|scf|cf|gpu|ub|llvm\.intr)\.[\w.]+)', re.MULTILINE)


def fa_opt(text, *options):
    return subprocess.run(["fa-opt", "--split-input-file", "-", *options], input=text, capture_output=True, text=True)


def names_of(text):
    return collections.Counter(NAME.findall(text))


def check(text):
    """What is wrong with how `text` is read; None: nothing."""
    first = fa_opt(text, "--mlir-print-debuginfo")
    if first.returncode:
        return first.stderr
    second = fa_opt(first.stdout, "--mlir-print-debuginfo")
    if second.returncode or second.stdout != first.stdout:
        return second.stderr or "what is printed is read as something else"
    if names_of(text) != names_of(first.stdout):
        return f"other operations are printed: {names_of(text) - names_of(first.stdout)}"
    if not names_of(text):
        return "no operation was found"
    return None


def check_twin(text):
    """Whether the operation that reads or makes the first value is missed when it has a name that nobody knows."""
    twin = re.sub(r"\btt\.(load|make_range|get_program_id)\b", r"tt.\1_of_tomorrow", text, count=1)
    found = fa_opt(twin)
    if twin == text:
        return None
    if found.returncode == 2 and "_of_tomorrow" in found.stderr:
        return None
    return f"an unknown operation is taken: {found.stderr}"


def main():
    texts = failures = 0
    for name in sys.argv[1:]:
        text = pathlib.Path(name).read_text()
        texts += text.count("// -----\n") + 1
        for problem in (check(text), check_twin(text)):
            if problem:
                failures += 1
                print(f"{name}: {problem}")
    print(f"{texts} texts in {len(sys.argv) - 1} files, {failures} failures")
    sys.exit(bool(failures) or not texts)


main()
