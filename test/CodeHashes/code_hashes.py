#!/usr/bin/env python3
"""Shows that a change left the code of kernels as it was, to the bit.

Who moves or rewrites a part of the compiler that must not change what comes out
records the hashes of all code before the change and after it, and compares:

    code_hashes.py record --bin BEFORE/bin -o before.txt
    code_hashes.py record --bin AFTER/bin -o after.txt
    code_hashes.py compare before.txt after.txt

BEFORE and AFTER are build folders of this project. What is hashed is, by
SHA-256, the PTX of each kernel as ptxas would be given it, an AMD kernel's code
object and a host kernel's object file (without the linker's version), each
kernel compiled alone. Which kernels: for every line of test/Matrix/*.txt those
that a launch of its sizes may run, on the largest card of the architecture and
on one of three multiprocessors, which the emulator has. Lines of kernels with
warp specialization and of clusters are compiled with the schedule that their tests run
them with. Nothing is run: no card, and none of the CPUs, is needed.

A record has the version of LLVM and one line for each SPEC and kernel, with
tabs between:

    TARGET  SPEC  SYMBOL  SHA-256

A kernel that many SPECs take is compiled once. The whole, 3743 lines of some 700
programs for twelve targets, takes more than an hour of one core; it is cut into
parts, each with a file of its own, and a folder of such files is compared as
one record:

    record --bin BIN -o before/1.txt --part=1/24    the first of 24 runs of programs
    record --bin BIN -o FILE --targets=sm_90a,x86-64-v3 --matrices=fast,splits
    record --bin BIN -o FILE --sample               the lines of sample.txt
    compare before/ after/

`compare` prints each kernel whose code differs and each that only one side has;
its exit code is 1 if there is any. Records of two versions of LLVM, and empty
ones, are not compared: exit code 2.

The sample is 259 SPECs, each for some of the targets, that take every kind of
kernel; its record, sample-hashes.txt, is compared by code-hashes.test. A change
that is meant to change code records it anew (CONTRIBUTING.md).
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MATRICES = HERE.parent / "Matrix"
TARGETS = [
    "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "gfx90a", "gfx942", "gfx950",
    "x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids",
]  # fmt: skip
# As the tests of these files run them, where there is warp specialization.
SCHEDULES = {"emulator-roles": "persistent", "emulator-clusters": "clusters"}
IS_SPECIALIZED = "sm_90a"


def fail(what):
    print(f"code_hashes.py: error: {what}", file=sys.stderr)
    sys.exit(2)


def read_lines(path):
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        fail(f"expected a file, '{path}': {error.strerror}")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def all_lines(names, targets):
    """(target, schedule) -> lines of the matrices."""
    files = sorted(file for file in MATRICES.glob("*.txt") if file.name != "CMakeLists.txt")
    unknown = set(names) - {file.stem for file in files}
    if unknown:
        fail(f"--matrices: expected some of {', '.join(f.stem for f in files)}, found '{min(unknown)}'")
    groups = collections.defaultdict(list)
    for file in files:
        if names and file.stem not in names:
            continue
        for target in targets:
            schedule = SCHEDULES.get(file.stem, "") if target == IS_SPECIALIZED else ""
            groups[target, schedule] += read_lines(file)
    return groups


def sample_lines(path, targets):
    """The same of a sample, whose lines are `TARGET[,TARGET]: [schedule=S] SPEC`."""
    groups = collections.defaultdict(list)
    for line in read_lines(path):
        names, colon, spec = line.partition(": ")
        unknown = set(names.split(",")) - set(TARGETS)
        if not colon or unknown:
            fail(f"{path.name}: expected targets of {', '.join(TARGETS)}, a colon and a SPEC, found '{line}'")
        schedule = re.match(r"schedule=(\S+) ", spec)
        for target in names.split(","):
            if target in targets:
                groups[target, schedule[1] if schedule else ""].append(spec[schedule.end() if schedule else 0 :])
    return groups


def hash_lines(tool, target, schedule, lines, part):
    """What fa-matrix says of them: LLVM's version and (SPEC, symbol, hash)."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        command = [tool, f"--hash={target}", f"--part={part}", file.name]
        if schedule:
            command.append(f"--schedule={schedule}")
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        fail(f"fa-matrix --hash={target} ended with {ran.returncode}")
    version, *rows = ran.stdout.splitlines()
    prefix = f"schedule={schedule} " if schedule else ""
    return version, [(target, prefix + spec, symbol, code) for spec, symbol, code in map(lambda r: r.split("\t"), rows)]


def record(options):
    targets = options.targets.split(",") if options.targets else TARGETS
    for target in targets:
        if target not in TARGETS:
            fail(f"--targets: expected some of {', '.join(TARGETS)}, found '{target}'")
    names = options.matrices.split(",") if options.matrices else []
    groups = sample_lines(options.sample, targets) if options.sample else all_lines(names, targets)
    tool = options.bin.resolve() / "fa-matrix"
    if not tool.exists():
        fail(f"--bin: expected a folder with fa-matrix, found none in '{options.bin}'")
    version, rows = None, {}
    for (target, schedule), lines in groups.items():
        version, found = hash_lines(tool, target, schedule, lines, options.part)
        for *key, code in found:
            if rows.setdefault(tuple(key), code) != code:
                fail(f"{' '.join(key)}: compiled twice, with two results")
    if not rows:
        fail("expected kernels, found none")
    text = "".join("\t".join([*key, code]) + "\n" for key, code in sorted(rows.items()))
    options.output.write_text(f"{version}\n{text}")
    specs = {(target, spec) for target, spec, _ in rows}
    print(f"{len(rows)} kernels of {len(specs)} SPECs, {len(set(rows.values()))} distinct")


def read_record(path):
    """A file's or a folder's version of LLVM and (target, SPEC, symbol) -> hash."""
    versions, rows = set(), {}
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        try:
            version, *lines = file.read_text().splitlines()
        except (OSError, ValueError) as error:
            fail(f"expected a record, '{file}': {error}")
        versions.add(version.removeprefix("# "))
        for line in lines:
            target, spec, symbol, code = line.split("\t")
            if rows.setdefault((target, spec, symbol), code) != code:
                fail(f"{path}: {target} {spec} {symbol}: recorded twice, with two results")
    if len(versions) != 1 or not rows:
        fail(f"{path}: expected kernels of one version of LLVM, found {len(rows)} of {sorted(versions)}")
    return versions.pop(), rows


def compare(options):
    before_version, before = read_record(options.base)
    after_version, after = read_record(options.new)
    if before_version != after_version:
        fail(f"{options.base} was recorded with {before_version}, {options.new} with {after_version}: "
             "their code is not the same in any case; expected records of one version")  # fmt: skip
    wrong = 0
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) == after.get(key):
            continue
        wrong += 1
        target, spec, symbol = key
        what = "differs" if key in before and key in after else f"only in {options.base if key in before else options.new}"
        print(f"{what}: {target} '{spec}' @{symbol}")
    print(f"{len(before)} kernels compared with {len(after)} ({before_version}): {wrong} differ or are missing")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description="Hashes of the code of kernels, recorded and compared.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record")
    one.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the fa-matrix that compiles")
    one.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    one.add_argument("--part", default="1/1", help="K/N: of N runs of programs the K-th")
    one.add_argument("--targets", help="some of the targets, with commas between; all")
    one.add_argument("--matrices", help="some of the files of test/Matrix, without .txt; all")
    one.add_argument("--sample", type=pathlib.Path, nargs="?", const=HERE / "sample.txt", help="a sample, instead")
    two = commands.add_parser("compare")
    two.add_argument("base", type=pathlib.Path)
    two.add_argument("new", type=pathlib.Path)
    options = parser.parse_args()
    return record(options) if options.command == "record" else compare(options)


sys.exit(main())
