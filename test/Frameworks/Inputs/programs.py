"""What programs of a framework are, how their texts are kept, and how what the compiler makes of them is compared."""

import dataclasses
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

KERNEL, KERNELS, PART, APART = "kernel", "kernels", "part", "apart"
FUSED = "fused: softmax(Q Kᵀ) V is one attention"
SEVERAL = "becomes several kernels, one for each attention"
EXPLAINED = {
    KERNEL: (FUSED, "1 fused, 0 not"),
    KERNELS: (FUSED, ", 0 not", SEVERAL + ": "),
    PART: (FUSED, ", 0 not", SEVERAL + ": "),
    APART: ("not fused: ",),
}


@dataclasses.dataclass
class Program:
    """A function of the framework's arrays, as a user writes it.

    `inputs` are arrays of NumPy's, `type` is what the floats among them become; `outcome` says whether the whole
    function is one kernel, several of attentions alone, kernels of attentions and of what is around them, or
    no attention is fused; `reason` is a part of what is said of it.
    """

    name: str
    what: str
    function: object
    inputs: list
    type: str = "float32"
    outcome: str = KERNEL
    reason: str = ""
    saved: list = None  # `inputs` as fa-run reads them, of `type`


def numbers(*sizes, seed):
    return np.random.default_rng(seed).standard_normal(sizes)


def check(program, text, own, reference, work):
    """Compiles `text`, runs it, and compares it with the framework's float64, by its own numbers: the rule of
    docs/numerics.md with these as what is unfused. What is wrong, as a line each."""
    file = work / "program.mlir"
    file.write_text(text)
    problems = []
    report = subprocess.run(["fa-opt", "--explain", file], capture_output=True, text=True, check=True).stdout
    for line in (*EXPLAINED[program.outcome], program.reason):
        if line not in report:
            problems.append(f"expected '{line}' in what fa-opt --explain says, found:\n{report}")
    command = ["fa-run", file, "--entry=main", "--check", "--target=cpu"]
    for n, array in enumerate(program.saved):
        np.save(work / f"in{n}.npy", array)
        command += ["--in", work / f"in{n}.npy"]
    for n in range(len(own)):
        command += ["--out", work / f"out{n}.npy"]
    run = subprocess.run(command, capture_output=True, text=True)
    said = run.stdout + run.stderr
    if run.returncode or "PASS" not in said or wrong_kernels(program, said):
        return [*problems, f"fa-run ended with {run.returncode}:\n{said}"]
    least = 1e-6 if program.type == "float32" else 1e-5
    for n, (mine, exact) in enumerate(zip(own, reference)):
        found = widened(np.load(work / f"out{n}.npy"))
        if found.shape != exact.shape:
            problems.append(f"output {n}: expected {exact.shape}, found {found.shape}")
            continue
        errors, own_errors = abs(found - exact), abs(widened(mine) - exact)
        bounds = 2 * own_errors.max() + least, 1.1 * own_errors.mean() + least / 4
        if not (errors.max() <= bounds[0] and errors.mean() <= bounds[1]):
            problems.append(f"output {n}: errors {errors.max():.3g} and {errors.mean():.3g}, bounds {bounds}")
    return problems


def wrong_kernels(program, said):
    """Whether the kernels that fa-run names are not those of the program's outcome."""
    is_slow, is_split = program.outcome == APART, program.outcome in (KERNELS, PART)
    has_rest = program.outcome == PART
    return (
        ("not fused" in said) != is_slow
        or ("kernel   @main_attention" in said) != is_split
        or ("kernel   @main_rest" in said) != has_rest
    )


def widened(array):
    """`array` in float64; two bytes without a type are bfloat16."""
    array = np.asarray(array)
    if array.dtype.kind == "V":
        bits = np.ascontiguousarray(array).view("uint16").astype("uint32") << 16
        array = bits.view("float32")
    return array.astype("float64")


def keep(program, text, version, by, folder):
    """Writes `text` as a test for machines without the framework."""
    sizes = ["x".join(map(str, x.shape)) for x in program.inputs]
    run = "fa-run %s --entry=main " + " ".join(f"--in {s}" for s in sizes)
    wrong = "fa-run %s --entry=main " + " ".join(f"--in {s}" for s in [sizes[0] + "x1", *sizes[1:]])
    lines = [f"{program.what}: as {version} gives it. Written by {by}; the versions are in packages.txt."]
    lines += [
        "RUN: fa-opt --explain %s | FileCheck %s",
        f"RUN: {run} --check --target=cpu | FileCheck %s --check-prefix=RAN",
        f"RUN: not {wrong} 2>&1 | FileCheck %s --check-prefix=WRONG",
    ]
    lines += [f"CHECK: {line}" for line in EXPLAINED[program.outcome]]
    lines[-1] += program.reason
    ran = {KERNEL: ["RAN-NOT: not fused"], APART: ["RAN: not fused"]}
    split = ["RAN-DAG: kernel   @main_attention"]
    rest = ["RAN-DAG: kernel   @main_rest", "RAN-NOT: not fused"]
    ran |= {KERNELS: ["RAN-NOT: not fused", *split], PART: ["RAN-NOT: not fused", *split, *rest]}
    lines += [*ran[program.outcome], "RAN: PASS", "RAN-NOT: FAIL"]
    lines += [f"WRONG: {{{{expected.*, found}}}}"]
    (folder / f"{program.name}.mlir").write_text("".join(f"// {line}\n" for line in lines) + "\n" + text)


def main(programs, text_of, own_of, reference_of, version, by):
    """`keep FOLDER` writes the texts, `check` compares each program, and finds a planted fault."""
    if sys.argv[1] == "keep":
        for program in programs:
            keep(program, text_of(program), version, by, pathlib.Path(sys.argv[2]))
        return
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for program in programs:
            for problem in check(program, text_of(program), own_of(program), reference_of(program), work):
                failed += 1
                print(f"{program.name}: {problem}")
        # The twin: what is compared with the numbers of another program is wrong.
        full, causal = (next(p for p in programs if p.name == name) for name in ("full", "causal"))
        full = dataclasses.replace(full, inputs=causal.inputs, saved=causal.saved)
        if not any("errors" in p for p in check(full, text_of(full), own_of(causal), reference_of(causal), work)):
            failed += 1
            print("expected that an attention without a mask is no causal one")
    counts = [sum(program.outcome == outcome for program in programs) for outcome in (KERNEL, KERNELS, PART)]
    print(f"{len(programs)} programs of {version}, {counts[0]} of them one kernel, {counts[1]} several of attentions, "
          f"{counts[2]} with what is around them, {failed} wrong")
    sys.exit(bool(failed))
