"""Host kernels beside PyTorch's, in turns in one process on the same threads.

    ./dev bench cpu [--threads N] [--rounds N] [--cpu-time] [--save FILE]

Prints GFLOP/s (GB/s of K and V for decode) of both as medians, their ratio, and
ours as a part of what the machine does, by build/bin/fa-peak, the median of five
samples before this row and its neighbours: multiply-adds in registers, also for f32
where AMX multiplies it (for bf16, where there are any, AMX's products of tiles or
AVX512_BF16's of pairs; for f16 a quarter of AMX's, four products for one), or bytes
read in order for decode.
Both have the same: each call is timed behind one of its own, before which no thread
of the process computes (OpenMP's spin for milliseconds behind theirs). The threads of
either are placed by Linux or themselves, and nothing here binds them; new threads may
share a core for some calls, so the first row has some that do not count.
--cpu-time counts the seconds that the process computed instead of those that
passed: for one thread on a machine that others use.
"""
import argparse
import ctypes
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "sve")
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}


class Context(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint32),
                ("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p)]


class Attention(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_int), ("headDim", ctypes.c_int64),
                ("headDimV", ctypes.c_int64), ("causal", ctypes.c_int), ("hasWindow", ctypes.c_int32),
                ("windowLeft", ctypes.c_int64), ("windowRight", ctypes.c_int64), ("softcap", ctypes.c_double),
                ("hasAlibi", ctypes.c_int32), ("hasLengths", ctypes.c_int32), ("hasLse", ctypes.c_int32),
                ("bias", ctypes.c_char_p)]


class Argument(ctypes.Structure):
    _fields_ = [("isTensor", ctypes.c_int32), ("type", ctypes.c_int), ("data", ctypes.c_void_p),
                ("rank", ctypes.c_int32), ("sizes", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("f32", ctypes.c_float), ("i64", ctypes.c_int64)]


def load():
    lib = ctypes.CDLL(os.path.join(ROOT, "build", "lib", "libflashtile.so"))
    lib.faGetLastErrorMessage.restype = ctypes.c_char_p
    lib.faPlanDescribe.restype = ctypes.c_char_p
    lib.faPlanDescribe.argtypes = [ctypes.c_void_p]
    lib.faPlanLaunch.argtypes = [ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_size_t]
    lib.faPlanCreateFromAttention.argtypes = [ctypes.c_void_p, ctypes.POINTER(Attention), ctypes.c_void_p]
    lib.faContextCreate.argtypes = [ctypes.POINTER(Context), ctypes.c_void_p]
    return lib


class Runner:
    def __init__(self, threads):
        self.lib = load()
        self.context = ctypes.c_void_p()
        options = Context(ctypes.sizeof(Context), threads, None, None)
        self.expect(self.lib.faContextCreate(ctypes.byref(options), ctypes.byref(self.context)))
        self.plans = {}

    def expect(self, status):
        if status:
            raise RuntimeError(self.lib.faGetLastErrorMessage().decode())

    def plan(self, dtype, dim, causal):
        key = (dtype, dim, causal)
        if key not in self.plans:
            desc = Attention(size=ctypes.sizeof(Attention), type=TYPES[dtype], headDim=dim, causal=int(causal))
            plan = ctypes.c_void_p()
            self.expect(self.lib.faPlanCreateFromAttention(self.context, ctypes.byref(desc), ctypes.byref(plan)))
            self.plans[key] = plan
        return self.plans[key]

    def prepare(self, q, k, v, causal):
        """A function that computes attention, and its output."""
        out = torch.full_like(q, math.nan)
        plan = self.plan(q.dtype, q.shape[-1], causal)
        arguments = (Argument * 5)()
        keep = []
        for slot, tensor in ((0, q), (1, k), (2, v), (4, out)):
            sizes = (ctypes.c_int64 * 4)(*tensor.shape)
            strides = (ctypes.c_int64 * 4)(*tensor.stride())
            keep += [sizes, strides, tensor]
            arguments[slot] = Argument(1, TYPES[tensor.dtype], tensor.data_ptr(), 4, sizes, strides, 0, 0)
        arguments[3] = Argument(0, 0, None, 0, None, None, 1 / math.sqrt(q.shape[-1]), 0)

        def run():
            self.expect(self.lib.faPlanLaunch(plan, arguments, 5))
            return keep

        return run, out


def settle():
    """Waits until no thread of this process computes. OpenMP's threads wait for the next
    parallel region by spinning, some ten milliseconds long, on the cores that others need."""
    while True:
        computed = time.process_time()
        time.sleep(0.01)
        if time.process_time() - computed < 0.001:
            return


def measure(functions, rounds, clock):
    """Medians of seconds, the functions in turns, each behind a call of its own."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for f, t in zip(functions, times):
            settle()
            f()
            start = clock()
            f()
            t.append(clock() - start)
    return [statistics.median(t) for t in times]


def peaks(threads, cpu_time):
    """What the machine can do now, by name."""
    program = os.path.join(ROOT, "build", "bin", "fa-peak")
    return json.loads(subprocess.run([program, str(threads), "3"] + ["cpu-time"] * cpu_time, check=True, capture_output=True).stdout)


def peak_of(dtype, decode, machine):
    if decode:
        return machine["read"]
    if dtype == torch.float16 and "tile_bf16" in machine:
        return machine["tile_bf16"] / 4
    names = ("tile_bf16", "dot_bf16", "fma_f32") if dtype == torch.bfloat16 else ("fma_f32",)
    return next(machine[name] for name in names if name in machine)


def cpu_info(key):
    return next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith(key)), "")


def rows():
    """(type, (b, hq, hkv, sq, sk, d), causal): the standing rows, then heads that share keys and lengths and head
    dimensions that fill no tile."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for b, h, s, d in ((2, 8, 1024, 64), (1, 8, 4096, 64), (1, 8, 2048, 128), (1, 32, 512, 128), (4, 12, 512, 64)):
            for causal in (False, True):
                yield dtype, (b, h, h, s, s, d), causal
        yield dtype, (8, 32, 8, 1, 4096, 128), False
        yield dtype, (8, 64, 8, 1, 4096, 128), False
        yield dtype, (1, 8, 2, 2048, 2048, 128), False
        yield dtype, (1, 8, 8, 2039, 2039, 128), False
        yield dtype, (1, 8, 8, 2048, 2048, 80), False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--save")
    options = parser.parse_args()
    if options.cpu_time and options.threads != 1:
        parser.error("--cpu-time: expected --threads 1")
    torch.set_num_threads(options.threads)
    runner = Runner(options.threads)
    cpu = cpu_info("model name")
    has = [name for name in FEATURES if name in (cpu_info("flags") or cpu_info("Features")).split()]
    info = None
    ratios, measured, table = [], [], []
    for dtype, (b, hq, hkv, sq, sk, d), causal in rows():
        q = torch.randn(b, hq, sq, d, dtype=dtype)
        k, v = (torch.randn(b, hkv, sk, d, dtype=dtype) for _ in range(2))
        ours, out = runner.prepare(q, k, v, causal)
        theirs = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=hq != hkv)
        with torch.no_grad():
            if not measured:
                measure((ours, theirs), 10, time.perf_counter)
            measured.append(peaks(options.threads, options.cpu_time))
            times = measure((ours, theirs), options.rounds, time.process_time if options.cpu_time else time.perf_counter)
            difference = float((out.float() - theirs().float()).abs().max())
        assert difference < 0.05, f"results differ by {difference}"
        if sq == 1:
            work, unit = (k.nbytes + v.nbytes) / 1e9, "GB/s"
        else:
            work, unit = 4 * b * hq * sq * sk * d * (0.5 if causal else 1) / 1e9, "GFLOP/s"
        ratio = times[1] / times[0]
        ratios.append(ratio)
        name = f"B{b} H{hq}" + (f"/{hkv}" if hq != hkv else "") + f" S{sk} D{d} " + ("decode" if sq == 1 else "causal" if causal else "full")
        table.append((f"| {str(dtype)[6:]} | {name} | {work / times[0]:.1f} | {work / times[1]:.1f} | {unit} | {ratio:.2f} |", work / times[0], dtype, sq == 1))
        print(table[-1][0], flush=True)
        info = info or json.loads(runner.lib.faPlanDescribe(runner.plan(dtype, d, causal)))
    lines = ["| type | problem | ours | PyTorch | unit | ratio | of peak |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for n, (line, rate, dtype, decode) in enumerate(table):
        peak = statistics.median(peak_of(dtype, decode, m) for m in measured[max(0, n - 2):n + 3])
        lines.append(f"{line} {rate / peak:.2f} |")
    geomean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    machine = ", ".join(f"{name} {statistics.median(m[name] for m in measured):.0f} {'GB/s' if name == 'read' else 'GFLOP/s'}"
                        for name in ("fma_f32", "dot_bf16", "tile_bf16", "read") if name in measured[0])
    lines += ["", f"Geomean {geomean:.2f}, lowest {min(ratios):.2f}; medians of {options.rounds}, in turns, {options.threads} threads"
              f"{', seconds of the process' if options.cpu_time else ''}.",
              f"Peaks, medians of those before each row: {machine}. Load average at the end {os.getloadavg()[0]:.1f}.",
              f"{datetime.date.today()}, {cpu} ({info['arch']}; {' '.join(has)}), LLVM {info['llvm']}, PyTorch {torch.__version__} "
              f"({torch.backends.cpu.get_cpu_capability()}), Linux {platform.machine()}."]
    print("\n".join(lines))
    if options.save:
        with open(options.save, "w") as f:
            f.write("# Host kernels beside PyTorch's\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
