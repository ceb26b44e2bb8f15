"""Makes the texts of all kernels with each installed version of Triton and reads them.

usage: versions.py INSTALLED FOLDER
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def main():
    installed, folder = map(pathlib.Path, sys.argv[1:])
    versions = sorted(installed.iterdir())
    failures = 0
    for version in versions:
        texts = folder / version.name
        make = [version / "bin" / "python", HERE / "make_ttir.py", texts, "--with-locations"]
        failures += subprocess.run(make).returncode
        read = [sys.executable, HERE / "round_trip.py", *sorted(texts.glob("*.ttir"))]
        failures += subprocess.run(read).returncode
    print(f"{len(versions)} versions, {failures} failures")
    sys.exit(bool(failures) or not versions)


main()
