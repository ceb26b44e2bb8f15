# lit's configuration. Everything runs from one suite; the unit tests are a
# folder of it. A tool that is missing is an error, never a skip.
import ctypes
import glob
import os
import platform
import shutil
import subprocess
import sysconfig

import lit.formats

config.name = "FlashTile"
# What a test finds in its files it has written itself, not an earlier run.
config.test_format = lit.formats.ShTest(execute_external=False, preamble_commands=["rm -rf %t %t.*"])
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "unit", "Inputs", "corpus", "upstream"]
config.test_source_root = os.path.join(config.source_dir, "test")
config.test_exec_root = os.path.join(config.binary_dir, "test", "lit")

# A test that hangs ends as TIMEOUT, by its name; the slowest takes some minutes on
# two slow cores. `--timeout` says otherwise.
supported, why = lit_config.maxIndividualTestTimeIsSupported
if supported:
    lit_config.maxIndividualTestTime = 1500
else:
    lit_config.note("a test that hangs is not ended: " + why)

# Where libfake-cpu.so stands in front of LLVM's library, the tools that load it come
# first; programs on our own library are in one place alone.
tools = [os.path.join(config.binary_dir, "bin")]
if "host_cpu" in lit_config.params:
    tools.insert(0, os.path.join(config.binary_dir, "test", "shared"))
path = [*tools, config.llvm_tools_dir, *os.environ["PATH"].split(os.pathsep)]
# Python itself: what a version manager has in its place takes 80 ms for each start.
command = ["python3", "-c", "import os, sys; print(os.path.dirname(sys.executable))"]
interpreter = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
if interpreter not in path:
    path.insert(len(tools) + 1, interpreter)
config.environment["PATH"] = os.pathsep.join(path)
# PyTorch's threads sleep where they wait: the other tests want the cores.
config.environment["OMP_WAIT_POLICY"] = "passive"
for tool in ("fa-opt", "fa-run", "fa-reduce", "fa-lsp-server", "fa-matrix", "FileCheck", "ptxas", "not", "mlir-translate", "opt", "llc", "split-file", "python3"):
    if not shutil.which(tool, path=config.environment["PATH"]):
        lit_config.fatal("the tests need " + tool)

config.substitutions += [
    ("%examples", os.path.join(config.source_dir, "examples")),
    ("%build", config.binary_dir),
    ("%link-flags", "-DFA_SANITIZE=" + config.sanitize if config.sanitize else ""),
    ("%source", config.source_dir),
    ("%unit", os.path.join(config.binary_dir, "test", "unit")),
]
# What fa-run keeps, it keeps here.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

# The Python package on the library that was built here, run by the Python that
# `./dev test` sets up; what needs a package that this one lacks says so.
python = os.path.join(config.source_dir, ".cache", "python", "bin", "python")
config.environment["FLASHTILE_LIBRARY"] = os.path.join(config.binary_dir, "lib", "libflashtile.so")
config.environment["PYTHONPATH"] = os.path.join(config.source_dir, "python")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.substitutions.append(("%python", python))
if os.path.exists(python):
    config.available_features.add("python")
for package in ("numpy", "torch", "attn_gym", "transformers", "jax", "torch_mlir"):
    if glob.glob(os.path.join(config.source_dir, ".cache/python/lib/python3*/site-packages", package)):
        config.available_features.add(package)

# Versions of Triton, which ./dev test installs. They have an LLVM of their own, which
# libfake-cpu.so's (host_cpu, below) is not for.
versions = glob.glob(os.path.join(config.source_dir, ".cache/triton/*/lib/python3*/site-packages/triton"))
if versions and "host_cpu" not in lit_config.params:
    config.available_features.add("triton")

# PyTorch's operator in C++ and XLA's calls, which are built where PyTorch and
# jaxlib were when this was configured.
for framework in ("torch", "jax"):
    if os.path.exists(os.path.join(config.binary_dir, "lib", f"libflashtile-{framework}.so")):
        config.available_features.add(f"{framework}-extension")
for found in glob.glob(os.path.join(config.source_dir, ".cache/python/lib/python3*/site-packages/jaxlib")):
    config.substitutions.append(("%jaxlib", found))

# What PyTorch's code generator needs: g++ (clang has no omp.h) and Python.h.
if shutil.which("g++") and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    config.available_features.add("inductor")

if config.sanitize:
    # LLVM's allocators poison memory in our instrumented code and do not take
    # it back in the packaged libraries, which are not instrumented.
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_container_overflow=0"
if os.path.basename(config.binary_dir) == "build":
    config.available_features.add("release")
# What a test has recorded of generated code is that of one version.
config.available_features.add("llvm-" + config.llvm_version)
if lit_config.params.get("full"):
    config.available_features.add("full")
if platform.machine() in ("x86_64", "AMD64"):
    config.available_features.add("x86")

# What of x86-64's levels this machine has, by one flag of each. With
# `--param host_cpu=NAME` every program of the suite takes it for a lesser one
# (test/FakeCpu).
host_cpu = lit_config.params.get("host_cpu")
if os.path.exists("/proc/cpuinfo"):
    cpu = open("/proc/cpuinfo").read().split()
    levels = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    known = list(levels)[: list(levels).index(host_cpu) + 1] if host_cpu in levels else levels
    for level in known:
        if levels[level] in cpu:
            config.available_features.add(level)
    if "avx512_bf16" in cpu and not host_cpu:
        config.available_features.add("avx512bf16")
    # The registers of AMX are there for who asks: arch_prctl's request.
    if "amx_bf16" in cpu and ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0 and not host_cpu:
        config.available_features.add("amx")
    # What the code of a CPU with AMX runs on: one, or what stands for it.
    amx = "sapphirerapids" if "amx" in config.available_features else "cooperlake+emulated-amx"
    config.substitutions.append(("%amx-cpu", amx))
if host_cpu:
    fake = os.path.join(config.binary_dir, "test", "unit", "libfake-cpu.so")
    if not os.path.exists(fake):
        lit_config.fatal("host_cpu: this build has no " + fake)
    if host_cpu not in levels:
        lit_config.fatal("host_cpu: expected one of %s, found %s" % (", ".join(levels), host_cpu))
    config.environment["FAKE_CPU"] = host_cpu
    config.environment["LD_PRELOAD"] = fake
