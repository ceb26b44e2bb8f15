"""What fa-opt --explain says of each kernel of a folder, one after the other.

usage: explain_forms.py FOLDER [NAME ...]
"""
import pathlib
import subprocess
import sys

folder, *names = sys.argv[1:]
for text in sorted(pathlib.Path(folder).glob("*.ttir")):
    if names and text.stem not in names:
        continue
    found = subprocess.run(["fa-opt", text, "--explain"], capture_output=True, text=True)
    print(found.stdout + found.stderr, end="")
    if found.returncode:
        sys.exit(f"fa-opt {text}: exit code {found.returncode}")
