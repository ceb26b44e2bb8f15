"""The first call's code: CPU time of a compilation beside Triton's, in turns.

    python3 -m venv build/peers && build/peers/bin/pip install triton
    build/peers/bin/python bench/compile.py [--rounds N] [--ptxas PATH] [--only WORDS]

Of bf16 attention at D 64 and 128, full and causal, for sm_80 and sm_90a: the CPU
seconds (of user and system, of the process and its children) from a cold start of
fa-run to the machine code of the kernels that one launch takes, and those of Triton's
compilation of a kernel for the same problem (bench/host/triton_attention.py). Medians,
with least and most of the rounds. Neither needs a card.

- Ours is a whole process of `fa-run --launch --emit=cubin --cache=off`; "passes and
  LLVM" is one with --emit=ptx, which lacks the assembler alone. "Of it the start" is a
  process that only prints its help: the dynamic linker on LLVM and MLIR, most of all,
  which is what Triton's import has to do, too.
- Triton's is the call of triton.compile in a new process with an empty cache, all that
  it imports left out. "Of it the key" is the hash of Triton's own files for the key of
  its cache, which a first call pays, too, even if it finds its kernel there.
- Both call the same ptxas.

Ratios are of medians, ours over Triton's: below 1 ours is sooner.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPE = "b=4 hq=16 sq=4096 type=bf16"


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def run_alone(command, environment=None):
    """Runs a process to its end: CPU seconds of it and its children, and what it printed."""
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr}")
    return cpu_seconds(resource.RUSAGE_CHILDREN) - before, done.stdout


# ===--- The two compilers -----------------------------------------------------


def compile_ours(options, arch, dim, causal, form):
    with tempfile.TemporaryDirectory() as folder:
        spec = f"{SHAPE} d={dim}" + (" causal" if causal else "")
        out = os.path.join(folder, "code")
        flags = ["--launch", "--arch=" + arch, "--emit=" + form, "--cache=off", "--ptxas=" + options.ptxas, "-o", out]
        seconds, _ = run_alone([options.fa_run, "--attention", spec, *flags])
        if not os.path.getsize(out):
            sys.exit(f"{spec} for {arch}: expected code, found an empty file")
    return seconds


def compile_triton_here(arch, dim, causal):
    """In this process, which must be new: seconds of the key and of all."""
    sys.path.insert(0, os.path.join(ROOT, "bench", "host"))
    import triton.compiler.code_generator  # which triton.compile would import
    import triton_attention
    from triton.runtime.cache import triton_key

    both = lambda: cpu_seconds(resource.RUSAGE_SELF) + cpu_seconds(resource.RUSAGE_CHILDREN)
    begin = both()
    triton_key()
    key = both() - begin
    kernel = triton_attention.compile_attention({"sm_80": 80, "sm_90a": 90}[arch], dim, causal)
    seconds = both() - begin
    if f".target {arch}" not in kernel.asm["ptx"] or not kernel.asm["cubin"]:
        sys.exit(f"Triton: expected a cubin for {arch}, found another target")
    return key, seconds


def compile_triton(options, arch, dim, causal):
    with tempfile.TemporaryDirectory() as cache:
        # The switch of multiply-adds is what it is by default, without a warning.
        environment = dict(os.environ, TRITON_CACHE_DIR=cache, TRITON_PTXAS_PATH=options.ptxas)
        environment.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
        command = [sys.executable, os.path.abspath(__file__), "--triton", json.dumps([arch, dim, causal])]
        return json.loads(run_alone(command, environment)[1])


# ===--- The table -------------------------------------------------------------


def measure(options, arch, dim, causal):
    """Lists of seconds by name, one of each a round."""
    times = {"ours": [], "ptx": [], "start": [], "triton": [], "key": []}
    for _ in range(options.rounds):
        times["ours"].append(compile_ours(options, arch, dim, causal, "cubin"))
        key, all_of_it = compile_triton(options, arch, dim, causal)
        times["triton"].append(all_of_it)
        times["key"].append(key)
        times["ptx"].append(compile_ours(options, arch, dim, causal, "ptx"))
        times["start"].append(run_alone([options.fa_run, "--help"])[0])
    return times


def spread(times):
    return f"{statistics.median(times):.2f} ({min(times):.2f}–{max(times):.2f})"


def describe(options):
    import triton

    _, text = run_alone([options.ptxas, "--version"])
    cpu = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            cpu = next((line.split(": ")[1].strip() for line in lines if line.startswith("model name")), cpu)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always"], capture_output=True, text=True).stdout.strip()
    print(f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; FlashTile {commit}, Triton {triton.__version__}, "
          f"Python {platform.python_version()}, ptxas {text.split('V')[-1].split()[0]}; {SHAPE}; "
          f"{options.rounds} rounds; CPU seconds\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fa-run", default=os.path.join(ROOT, "build", "bin", "fa-run"))
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="for both; the default is the one on PATH")
    parser.add_argument("--only", default="", help="problems with these words in their names, such as 'sm_90a D 64'")
    parser.add_argument("--triton", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.triton:
        print(json.dumps(compile_triton_here(*json.loads(options.triton))))
        return
    for path, what in ((options.ptxas, "--ptxas"), (options.fa_run, "--fa-run")):
        if not path or not os.access(path, os.X_OK):
            sys.exit(f"{what}: expected a program, found {path or 'none on PATH'}")
    describe(options)
    print("| problem | ours | of it passes and LLVM | of it the start | Triton | of it the key | ours / Triton "
          "| the same without the key | passes and LLVM / Triton | the same without the key | the same without the start, "
          "with the key |\n|" + " --- |" * 11)
    for arch in ("sm_80", "sm_90a"):
        for dim in (64, 128):
            for causal in (False, True):
                name = f"{arch} D {dim} {'causal' if causal else 'full'}"
                if options.only not in name:
                    continue
                times = measure(options, arch, dim, causal)
                median = {kind: statistics.median(values) for kind, values in times.items()}
                whole, compiled = median["triton"], median["triton"] - median["key"]
                ratios = [median["ours"] / whole, median["ours"] / compiled, median["ptx"] / whole, median["ptx"] / compiled,
                          (median["ptx"] - median["start"]) / whole]
                print(f"| {name} | {spread(times['ours'])} | {spread(times['ptx'])} | {median['start']:.3f} "
                      f"| {spread(times['triton'])} | {median['key']:.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios)
                      + " |", flush=True)


main()
