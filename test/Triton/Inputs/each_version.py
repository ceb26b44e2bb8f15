"""Runs a program by the Python of each installed version of Triton.

usage: each_version.py INSTALLED PROGRAM ARGUMENT ...

INSTALLED is the folder of all versions, or of one.
"""
import os
import pathlib
import subprocess
import sys


def main():
    installed, *program = sys.argv[1:]
    installed = pathlib.Path(installed)
    versions = [installed] if (installed / "bin").exists() else sorted(installed.iterdir())
    # What 3.9 asks of everybody at its first use.
    environment = dict(os.environ, TRITON_DEFAULT_FP_FUSION="1")
    failures = sum(bool(subprocess.run([v / "bin" / "python", *program], env=environment).returncode) for v in versions)
    print(f"{len(versions)} versions, {failures} failures")
    sys.exit(bool(failures) or not versions)


main()
