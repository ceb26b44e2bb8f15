"""Runs a program by the Python of each installed version of Triton.

usage: each_version.py INSTALLED PROGRAM ARGUMENT ...
"""
import os
import pathlib
import subprocess
import sys


def main():
    installed, *program = sys.argv[1:]
    versions = sorted(pathlib.Path(installed).iterdir())
    # What 3.9 asks of everybody at its first use.
    environment = dict(os.environ, TRITON_DEFAULT_FP_FUSION="1")
    failures = sum(bool(subprocess.run([v / "bin" / "python", *program], env=environment).returncode) for v in versions)
    print(f"{len(versions)} versions, {failures} failures")
    sys.exit(bool(failures) or not versions)


main()
