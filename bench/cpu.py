"""Host kernels beside PyTorch's, in turns in one process on the same threads.

    ./dev bench cpu [--backward] [--threads N] [--rounds N] [--only TEXT] [--cpu-time] [--save FILE]

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
--backward times gradients of q, k and v instead, ours from the forward's output and
log-sum-exp, PyTorch's by autograd with its graph kept, which has the same; neither
has the forward in its time. FLOPs are 2.5 times the forward's, whatever is computed.
--only leaves out rows whose type and problem do not contain TEXT.
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


class Backward(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("wantQ", ctypes.c_int32), ("wantK", ctypes.c_int32),
                ("wantV", ctypes.c_int32), ("hasDlse", ctypes.c_int32)]


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
    lib.faPlanCreateFromAttentionBackward.argtypes = [ctypes.c_void_p, ctypes.POINTER(Attention),
                                                      ctypes.POINTER(Backward), ctypes.c_void_p]
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

    def plan(self, dtype, dim, causal, what="forward"):
        """That of what is "forward", "forward with lse" or "backward"."""
        key = (dtype, dim, causal, what)
        if key not in self.plans:
            desc = Attention(size=ctypes.sizeof(Attention), type=TYPES[dtype], headDim=dim, causal=int(causal),
                             hasLse=int(what == "forward with lse"))
            plan = ctypes.c_void_p()
            if what == "backward":
                wanted = Backward(ctypes.sizeof(Backward), 1, 1, 1, 0)
                self.expect(self.lib.faPlanCreateFromAttentionBackward(
                    self.context, ctypes.byref(desc), ctypes.byref(wanted), ctypes.byref(plan)))
            else:
                self.expect(self.lib.faPlanCreateFromAttention(self.context, ctypes.byref(desc), ctypes.byref(plan)))
            self.plans[key] = plan
        return self.plans[key]

    def launch(self, plan, *values):
        """A function that runs the plan with these tensors and numbers."""
        arguments = (Argument * len(values))()
        keep = []
        for slot, value in enumerate(values):
            if not isinstance(value, torch.Tensor):
                arguments[slot] = Argument(0, 0, None, 0, None, None, value, 0)
                continue
            sizes = (ctypes.c_int64 * value.dim())(*value.shape)
            strides = (ctypes.c_int64 * value.dim())(*value.stride())
            keep += [sizes, strides, value]
            arguments[slot] = Argument(1, TYPES[value.dtype], value.data_ptr(), value.dim(), sizes, strides, 0, 0)

        def run():
            self.expect(self.lib.faPlanLaunch(plan, arguments, len(arguments)))
            return keep

        return run

    def forward(self, q, k, v, causal):
        """A function that computes attention, and its output."""
        out = torch.full_like(q, math.nan)
        plan = self.plan(q.dtype, q.shape[-1], causal)
        return self.launch(plan, q, k, v, 1 / math.sqrt(q.shape[-1]), out), (out,)

    def backward(self, q, k, v, dout, causal):
        """A function that computes the gradients of q, k and v, and these."""
        scale = 1 / math.sqrt(q.shape[-1])
        out, lse = torch.empty_like(q), torch.empty(q.shape[:-1])
        self.launch(self.plan(q.dtype, q.shape[-1], causal, "forward with lse"), q, k, v, scale, out, lse)()
        gradients = tuple(torch.full_like(x, math.nan) for x in (q, k, v))
        plan = self.plan(q.dtype, q.shape[-1], causal, "backward")
        return self.launch(plan, q, k, v, scale, out, lse, dout, *gradients), gradients


def pytorch(q, k, v, dout, causal):
    """A function that computes what PyTorch does for a user: attention or, of the
    gradient of its output, those of q, k and v."""
    attention = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    if dout is None:
        return lambda: (attention(),)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = attention()
    return lambda: torch.autograd.grad(out, inputs, dout, retain_graph=True)


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


def rows(backward):
    """(type, (b, hq, hkv, sq, sk, d), causal): the standing rows, then decode unless it is of gradients, heads that share
    keys, and lengths and head dimensions that fill no tile."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for b, h, s, d in ((2, 8, 1024, 64), (1, 8, 4096, 64), (1, 8, 2048, 128), (1, 32, 512, 128), (4, 12, 512, 64)):
            for causal in (False, True):
                yield dtype, (b, h, h, s, s, d), causal
        if not backward:
            yield dtype, (8, 32, 8, 1, 4096, 128), False
            yield dtype, (8, 64, 8, 1, 4096, 128), False
        yield dtype, (1, 8, 2, 2048, 2048, 128), False
        yield dtype, (1, 8, 8, 2039, 2039, 128), False
        yield dtype, (1, 8, 8, 2048, 2048, 80), False


def name_of(b, hq, hkv, sq, sk, d, causal):
    heads = f"H{hq}" + (f"/{hkv}" if hq != hkv else "")
    return f"B{b} {heads} S{sk} D{d} " + ("decode" if sq == 1 else "causal" if causal else "full")


def expect_alike(ours, theirs):
    """Raises unless these are the same but for roundings."""
    for x, y in zip(ours, theirs, strict=True):
        largest = float(y.abs().max())
        difference = float((x.float() - y.float()).abs().max())
        if not difference < 0.05 * max(1, largest):  # also where it is NaN
            raise RuntimeError(f"expected PyTorch's results, of {largest} at most, found a difference of {difference}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
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
    for dtype, (b, hq, hkv, sq, sk, d), causal in rows(options.backward):
        name = name_of(b, hq, hkv, sq, sk, d, causal)
        if options.only not in f"{str(dtype)[6:]} {name}":
            continue
        q = torch.randn(b, hq, sq, d, dtype=dtype)
        k, v = (torch.randn(b, hkv, sk, d, dtype=dtype) for _ in range(2))
        dout = torch.randn_like(q) if options.backward else None
        ours, results = runner.backward(q, k, v, dout, causal) if options.backward else runner.forward(q, k, v, causal)
        theirs = pytorch(q, k, v, dout, causal)
        with torch.no_grad():
            if not measured:
                measure((ours, theirs), 10, time.perf_counter)
            measured.append(peaks(options.threads, options.cpu_time))
            times = measure((ours, theirs), options.rounds, time.process_time if options.cpu_time else time.perf_counter)
            expect_alike(results, theirs())
        if sq == 1:
            work, unit = (k.nbytes + v.nbytes) / 1e9, "GB/s"
        else:
            flops = (10 if options.backward else 4) * b * hq * sq * sk * d
            work, unit = flops * (0.5 if causal else 1) / 1e9, "GFLOP/s"
        ratio = times[1] / times[0]
        ratios.append(ratio)
        table.append((f"| {str(dtype)[6:]} | {name} | {work / times[0]:.1f} | {work / times[1]:.1f} | {unit} | {ratio:.2f} |", work / times[0], dtype, sq == 1))
        print(table[-1][0], flush=True)
        info = info or json.loads(runner.lib.faPlanDescribe(next(iter(runner.plans.values()))))
    if not table:
        parser.error(f"--only: expected a part of a row's type and problem, found {options.only!r}")
    lines = ["| type | problem | ours | PyTorch | unit | ratio | of peak |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for n, (line, rate, dtype, decode) in enumerate(table):
        peak = statistics.median(peak_of(dtype, decode, m) for m in measured[max(0, n - 2):n + 3])
        lines.append(f"{line} {rate / peak:.2f} |")
    geomean = statistics.geometric_mean(ratios)
    of_types = {dtype: statistics.geometric_mean(r for r, t in zip(ratios, table) if t[2] == dtype) for _, _, dtype, _ in table}
    machine = ", ".join(f"{name} {statistics.median(m[name] for m in measured):.0f} {'GB/s' if name == 'read' else 'GFLOP/s'}"
                        for name in ("fma_f32", "dot_bf16", "tile_bf16", "read") if name in measured[0])
    lines += ["", f"Geomean {geomean:.2f} ({', '.join(f'{str(t)[6:]} {r:.2f}' for t, r in of_types.items())}), lowest {min(ratios):.2f}; medians of {options.rounds}, in turns, {options.threads} threads"
              f"{', seconds of the process' if options.cpu_time else ''}.",
              f"Peaks, medians of those before each row: {machine}. Load average at the end {os.getloadavg()[0]:.1f}.",
              f"{datetime.date.today()}, {cpu} ({info['arch']}; {' '.join(has)}), LLVM {info['llvm']}, PyTorch {torch.__version__} "
              f"({torch.backends.cpu.get_cpu_capability()}), Linux {platform.machine()}."]
    print("\n".join(lines))
    if options.save:
        with open(options.save, "w") as f:
            what = "Gradients on a CPU beside PyTorch's" if options.backward else "Host kernels beside PyTorch's"
            f.write(f"# {what}\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
