"""A program that a page shows is a file, from behind the comment that the file begins with to its end.

usage: shown_verbatim.py PAGE LANGUAGE FILE
"""
import pathlib
import re
import sys

page, language, file = sys.argv[1:]
blocks = re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
program = pathlib.Path(file).read_text(encoding="utf-8")
comment = re.match(r'(?:(?:#|//).*\n|"""(?:.|\n)*?"""\n)*\n', program)
shown = program[comment.end() :] if comment else program
if shown not in blocks:
    sys.exit(f"{page}: expected a block '{language}' with the program of {file}, found {len(blocks)} others")
