"""The structs of _structs.py are those of fa.h: a C program, compiled here, says
where its members are.

usage: structs.py CLANG INCLUDE FOLDER
"""
import ctypes
import os
import subprocess
import sys

from flashtile import _structs as fa

clang, include, folder = sys.argv[1:]
STRUCTS = {
    "faContextOptions": fa.ContextOptions,
    "faAttentionDesc": fa.AttentionDesc,
    "faBackwardDesc": fa.BackwardDesc,
    "faMergeDesc": fa.MergeDesc,
    "faAppendDesc": fa.AppendDesc,
    "faModuleDesc": fa.ModuleDesc,
    "faArgument": fa.Argument,
    "faLaunchInfo": fa.LaunchInfo,
    "faLaunchOptions": fa.LaunchOptions,
}
lines = []
for name, struct in STRUCTS.items():
    lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
    lines += [f'printf("{name}.{member} %zu\\n", offsetof({name}, {member}));' for member, _ in struct._fields_]
os.makedirs(folder, exist_ok=True)
source, program = os.path.join(folder, "structs.c"), os.path.join(folder, "structs")
with open(source, "w") as out:
    out.write("#include <fa/fa.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
subprocess.run([clang, "-std=c99", "-I", include, source, "-o", program], check=True)
printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
found = dict(line.split() for line in printed.splitlines())
expected = {}
for name, struct in STRUCTS.items():
    expected[name] = str(ctypes.sizeof(struct))
    expected.update((f"{name}.{member}", str(getattr(struct, member).offset)) for member, _ in struct._fields_)
for name in expected:
    if found[name] != expected[name]:
        print(f"{name}: expected {found[name]} as in fa.h, found {expected[name]}")
sys.exit(found != expected)
