"""What lowering for any GPU takes names no vendor's operation.

lib/Conversion/TileGPUToSimt may name those operations of tgpu that every GPU has, and no dialect of one: everything else is
what a target registers (LoweringRegistry.h).

usage: generic_room.py FOLDER
"""
import pathlib
import re
import sys

# Of tgpu, what the room lowers itself, or finds where it is used.
OF_ANY_GPU = {"AllocOp", "ConvertOp", "ReadOp", "SimtAssertOp", "WriteOp"}
DEFINED = re.compile(r"^def TileGPU_(\w+Op)\b", re.MULTILINE)
OF_DIALECTS = re.compile(r"\b(?:NVVM|ROCDL|nvgpu|amdgpu)::\w+|\b(?:NVVM|ROCDL|NVGPU|AMDGPU)Dialect\.h")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def main():
    root = pathlib.Path(sys.argv[1])
    defined = {op for td in sorted((root / "dialects/TileGPU").glob("*.td")) for op in DEFINED.findall(td.read_text())}
    problems = [f"tgpu has no {op}" for op in sorted(OF_ANY_GPU - defined)]
    vendors = defined - OF_ANY_GPU
    named = re.compile(r"\b(?:" + "|".join(sorted(vendors)) + r")\b") if vendors else None
    files = [f for f in sorted((root / "lib/Conversion/TileGPUToSimt").glob("*")) if f.suffix in {".h", ".cpp"}]
    for file in files:
        code = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), file.read_text())
        for number, line in enumerate(code.split("\n"), 1):
            for found in (named.findall(line) if named else []) + OF_DIALECTS.findall(line):
                problems.append(f"{file.relative_to(root)}:{number}: names {found}, which not every GPU has")
    print("\n".join(problems + [f"{len(vendors)} operations of vendors, {len(files)} files"]))
    sys.exit(bool(problems) or not vendors or not files)


main()
