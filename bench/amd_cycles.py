"""Cycles that a tile of keys takes on an AMD SIMD, counted from the assembly.

    fa-run --attention "d=128 type=f16" --arch=gfx942 --emit=asm -o - | python3 bench/amd_cycles.py gfx942 attention

For each innermost loop of the kernel with mfma, in order, prints how many matrix
instructions, other vector instructions, transcendentals and bytes of LDS a wave
has, their cycles, how many mfma run while the loop's loads from global memory are
under way, and the share of the mfma bound that the loop can reach: of one wave with
nothing overlapped, and at best, when other waves' work fills every gap. These are
counts: nothing is run, latencies and waits are not in them.

Sources of the cycles: "AMD Instinct MI200", "MI300" and "CDNA4" ISA references,
"Matrix Arithmetic Instructions" (passes of 4 cycles) and "Local Data Share"
(banks of 4 bytes a cycle); a wave of 64 lanes takes 4 cycles on 16 lanes, and
transcendentals and 32-bit products of integers four times that (LLVM,
SISchedule.td, quarter rate).
"""
import re
import sys
from collections import Counter

# Cycles of one instruction by shape and whether its operands are f32.
MFMA = {
    "gfx90a": {("32x32x8", False): 64, ("16x16x16", False): 32},
    "gfx942": {("32x32x8", False): 32, ("16x16x16", False): 16},
    "gfx950": {("32x32x16", False): 32, ("16x16x32", False): 16, ("32x32x8", False): 32, ("16x16x16", False): 16},
}
MFMA_F32 = {("32x32x2", True): 64, ("16x16x4", True): 32}
BANKS = {"gfx90a": 32, "gfx942": 32, "gfx950": 64}
LANES, SIMDS = 64, 4
VECTOR, QUARTER_RATE = 4, 16

LABEL = re.compile(r"^(\.LBB\w+):")
FUNCTION = re.compile(r"^(\w+):")
BRANCH = re.compile(r"^\ts_c?branch\w*\s+(\.LBB\w+)")
INSTRUCTION = re.compile(r"^\t([a-z]\w+)\s*([^;\n]*)")
PRODUCT = re.compile(r"v_s?mfma_f32_(\d+x\d+x\d+)_?(\w+?)(?:_e64)?$")
TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
INTEGER_PRODUCT = re.compile(r"v_(mul_lo|mul_hi|mad_u64|mad_i64)")
DIRECT = re.compile(r"buffer_load_dword(?:x(\d))?$")
LDS = re.compile(r"ds_(?:read|write|load|store)(2?)\w*?_[bu](\d+)")


def innermost_loops(lines, kernel):
    """Names and operands of each loop of `kernel` that has no loop in it."""
    current, labels, body, loops = None, {}, [], {}
    for line in lines:
        if match := FUNCTION.match(line):
            current, labels, body = match.group(1), {}, []
        if current != kernel:
            continue
        if match := LABEL.match(line):
            labels[match.group(1)] = len(body)
        if match := INSTRUCTION.match(line):
            body.append(match.groups())
        if (match := BRANCH.match(line)) and match.group(1) in labels:
            first = labels[match.group(1)]
            # Of several branches back to one label the last ends the loop.
            if not any(first < inner for inner in loops):
                loops[first] = body[first:]
    return list(loops.values())


def lds_bytes(name, operands):
    """Bytes of LDS that a lane reads or writes."""
    if match := DIRECT.match(name):
        return 4 * int(match.group(1) or 1) if operands.endswith(" lds") else 0
    if name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle")):
        return 4
    match = LDS.match(name)
    if not match:
        return 0
    return (2 if match.group(1) else 1) * max(int(match.group(2)) // 8, 4)


def count(loop, arch):
    """(number, cycles) of each kind; cycles of LDS are those of a wave on each SIMD."""
    kinds = {kind: [0, 0] for kind in ("mfma", "vector", "transcendental", "lds")}

    def add(kind, number, cycles):
        kinds[kind][0] += number
        kinds[kind][1] += cycles

    for (name, operands), number in Counter(loop).items():
        if match := PRODUCT.match(name):
            shape = (match.group(1), match.group(2) in ("f32", "2f32", "4f32"))
            cycles = {**MFMA[arch], **MFMA_F32}.get(shape)
            if cycles is None:
                sys.exit(f"amd_cycles.py: expected an mfma of attention's on {arch}, found {name}")
            add("mfma", number, number * cycles)
        elif TRANSCENDENTAL.match(name):
            add("transcendental", number, number * QUARTER_RATE)
        elif name.startswith("v_"):
            add("vector", number, number * (QUARTER_RATE if INTEGER_PRODUCT.match(name) else VECTOR))
        elif moved := lds_bytes(name, operands.strip()):
            add("lds", number * moved, number * moved * LANES * SIMDS // (4 * BANKS[arch]))
    return kinds


def count_ahead(loop):
    """The mfma between the first load from global memory and the first wait for one, round the loop."""
    loads = [n for n, (name, _) in enumerate(loop) if name.startswith(("global_load", "buffer_load"))]
    first, ahead = min(loads, default=len(loop)), 0
    for name, operands in loop[first:] + loop[:first]:
        if name == "s_waitcnt" and "vmcnt" in operands:
            break
        ahead += bool(PRODUCT.match(name))
    return ahead if loads else 0


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in BANKS:
        sys.exit(f"usage: amd_cycles.py ARCH KERNEL < ASSEMBLY, ARCH one of {' '.join(BANKS)}")
    arch, kernel = sys.argv[1:]
    found = False
    for loop in innermost_loops(sys.stdin, kernel):
        kinds = count(loop, arch)
        products = kinds["mfma"][1]
        if not products:
            continue
        found = True
        vector = kinds["vector"][1] + kinds["transcendental"][1]
        bound = max(products, vector, kinds["lds"][1])
        counts = " ".join(f"{kind} {number} cycles {cycles}" for kind, (number, cycles) in kinds.items())
        print(f"loop {counts} ahead {count_ahead(loop)} alone {100 * products // (products + vector)}% best {100 * products // bound}%")
    if not found:
        sys.exit(f"amd_cycles.py: expected a loop with mfma in {kernel}, found none")


main()
