"""object_symbols.py PAGE OBJECT...: the symbols that the objects need are those of the
list in PAGE (docs/ahead-of-time.md), between its two marks, and of the list each is
needed by one of them."""
import re
import subprocess
import sys


def listed(page):
    text = open(page).read()
    return set(re.findall(r"`(\w+)`", text.split("<!-- symbols -->")[1]))


def needed(path):
    output = subprocess.run(["llvm-nm", "--undefined-only", "--format=just-symbols", path], check=True, capture_output=True, text=True)
    return set(output.stdout.split())


page, *objects = sys.argv[1:]
allowed, used = listed(page), set()
for path in objects:
    symbols = needed(path)
    used |= symbols
    for symbol in sorted(symbols - allowed):
        sys.exit(f"{path} needs {symbol}, expected one of {', '.join(sorted(allowed))}")
if allowed - used:
    sys.exit(f"no object needs {', '.join(sorted(allowed - used))}, which the page lists")
print(f"{len(objects)} objects need {', '.join(sorted(used))}")
