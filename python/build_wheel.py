#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the package and its library into a wheel (PyPA's binary distribution
format), with nothing but Python itself.

    build_wheel.py LIBRARY VERSION FOLDER [BESIDE ...]

BESIDE are the libraries with PyTorch's operator and with JAX's calls, as far as
there are such. The tag is what the libraries need: manylinux_2_X for the newest
version of a symbol of glibc's in them (PEP 600).
"""

import base64
import glob
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def platform_tag(library, *beside):
    """manylinux_2_X_MACHINE, from the names of the symbols' versions and the
    machine of the ELF header (gABI, e_machine)."""
    versions = [int(minor) for each in (library, *beside) for minor in re.findall(rb"GLIBC_2\.(\d+)", each)]
    if not versions:
        sys.exit("build_wheel.py: error: expected a library that needs glibc, found none of its versions")
    machines = {62: "x86_64", 183: "aarch64"}
    machine = int.from_bytes(library[18:20], "little")
    if machine not in machines:
        sys.exit(f"build_wheel.py: error: expected an ELF machine of {machines}, found {machine}")
    return f"manylinux_2_{max(versions)}_{machines[machine]}"


def members(library, beside, version, tag):
    """Name and bytes of each file but the list of them."""
    for ending in ("py", "mlir"):
        for path in sorted(glob.glob(os.path.join(HERE, "flashtile", "**", f"*.{ending}"), recursive=True)):
            yield os.path.relpath(path, HERE), open(path, "rb").read()
    yield "flashtile/libflashtile.so.0", library
    for name, data in beside.items():
        yield f"flashtile/{name}", data
    info = f"flashtile-{version}.dist-info"
    yield f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: flashtile\nVersion: {version}\n"
        "Summary: A compiler for attention kernels\n"
        "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.9\n"
    ).encode()
    yield f"{info}/LICENSE", open(os.path.join(HERE, "..", "LICENSE"), "rb").read()
    yield f"{info}/WHEEL", (
        f"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    path, version, folder = sys.argv[1:4]
    library = open(path, "rb").read()
    beside = {os.path.basename(file): open(file, "rb").read() for file in sys.argv[4:]}
    tag = "py3-none-" + platform_tag(library, *beside.values())
    for old in glob.glob(os.path.join(folder, "flashtile-*.whl")):
        os.remove(old)
    wheel = os.path.join(folder, f"flashtile-{version}-{tag}.whl")
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members(library, beside, version, tag):
            out.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        name = f"flashtile-{version}.dist-info/RECORD"
        out.writestr(zipfile.ZipInfo(name), record + name + ",,\n")
    print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel)} bytes, its library {len(library)}")


main()
