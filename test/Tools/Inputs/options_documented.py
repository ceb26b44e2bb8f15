"""The options that a tool's --help prints are those that its page documents.

usage: options_documented.py TOOL NAMES PAGE
NAMES: a regular expression by which the tool's own options are told from LLVM's.
"""
import re
import subprocess
import sys

tool, names, page = sys.argv[1:]
help = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
# Options are indented by two, pipelines by six.
printed = set(re.findall(rf"^(?: {{2}}| {{6}})--?({names})(?=[ =\[])", help, re.MULTILINE))
assert len(printed) > 2, "expected options in the help of " + tool
text = open(page, encoding="utf-8").read()
documented = set(re.findall(rf"(?<![\w-])--?({names})(?![\w-])", text))
for option in sorted(printed - documented):
    print(f"{page}: expected --{option}, which {tool} --help prints")
for option in sorted(documented - printed):
    print(f"{page}: --{option} is not an option of {tool}")
sys.exit(printed != documented)
