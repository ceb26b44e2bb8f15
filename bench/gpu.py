"""Times bundles of attention on one NVIDIA card in turns with what a user would pick instead.

    gpu.py make FA_RUN BUNDLES [ARCH [OPTION...]]  compiles the bundles of the shapes below; needs no card
    gpu.py run PEERS.py BUNDLES OUT.json [fwd|decode] [SECONDS] [NAME=BUNDLES...]
    gpu.py table OUT.json                          the figures as Markdown

PEERS.py times its peers in turns; it runs as it is, but each of its races gets one more runner, ours (the same inputs,
the same events, the same graphs), and every round has an order of its own: a card at its power limit runs what comes after
a matmul some per cent slower than what comes after a slow kernel. BUNDLES of further names (another commit's, say) join
in as well. Before an output of ours is timed, up to 2048 rows of three heads are compared with float64 by the rule of
docs/numerics.md. `run` needs libflashtile-rt (FLASHTILE_RT names it), the peers' packages and no compiler. FLOPs:
2*B*H*Sq*Sk*(Dqk+Dv), half of that when causal.
"""

import ast
import ctypes
import importlib.util
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The module alone: the package would load the compiler's library.
spec = importlib.util.spec_from_file_location("structs", os.path.join(HERE, "..", "python", "flashtile", "_structs.py"))
fa = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fa)

SHAPES = [(d, d, t, c) for d, t in ((128, "bf16"), (64, "bf16"), (256, "bf16"), (64, "f16")) for c in (False, True)]
SHAPES.append((192, 128, "bf16", True))


def bundle_name(d, dv, dtype, causal):
    return f"{d}x{dv}-{dtype}-{'causal' if causal else 'full'}"


def make(fa_run, folder, arch="sm_90a", *options):
    for d, dv, dtype, causal in SHAPES:
        problem = f"d={d} dv={dv} type={dtype}" + (" causal" if causal else "")
        out = os.path.join(folder, bundle_name(d, dv, dtype, causal))
        subprocess.run(
            [fa_run, "--cache=off", "--attention", problem, f"--arch={arch}", "--emit=bundle", "-o", out, *options], check=True
        )


def named(words):
    """Folders of bundles by name, of words [NAME=]FOLDER."""
    pairs = (word.rpartition("=") for word in words)
    return {name or "FlashTile": path for name, _, path in pairs}


# ===--- Ours ------------------------------------------------------------------


class Loader:
    """libflashtile-rt: bundles in, launches on PyTorch's current stream."""

    def __init__(self, torch):
        self.torch = torch
        self.library = ctypes.CDLL(os.environ.get("FLASHTILE_RT", "libflashtile-rt.so.0"))
        self.library.faBundleGetLastErrorMessage.restype = ctypes.c_char_p
        self.plans = {}

    def check(self, status):
        if status:
            sys.exit(self.library.faBundleGetLastErrorMessage().decode())

    def plan(self, path):
        if path not in self.plans:
            bundle, plan = ctypes.c_void_p(), ctypes.c_void_p()
            self.check(self.library.faBundleOpen(path.encode(), ctypes.byref(bundle)))
            self.check(self.library.faBundlePrepare(bundle, None, ctypes.byref(plan)))
            self.plans[path] = plan
        return self.plans[path]

    def argument(self, value):
        if isinstance(value, float):
            return fa.Argument(type=fa.F32, f32=value)
        torch, numbers = self.torch, ctypes.c_int64 * value.dim()
        kind = {torch.bfloat16: fa.BF16, torch.float16: fa.F16, torch.float32: fa.F32, torch.int32: fa.I32}[value.dtype]
        sizes, strides = numbers(*value.shape), numbers(*value.stride())
        return fa.Argument(isTensor=1, type=kind, data=value.data_ptr(), rank=value.dim(), sizes=sizes, strides=strides)

    def launcher(self, path, values):
        """A function that launches the bundle at `path` with these tensors and numbers."""
        plan, count = self.plan(path), ctypes.c_size_t(len(values))
        arguments = (fa.Argument * len(values))(*(self.argument(x) for x in values))
        info = fa.LaunchInfo()
        self.check(self.library.faBundlePlanGetLaunchInfo(plan, arguments, count, ctypes.byref(info)))
        workspace = self.torch.empty(info.workspaceSize, dtype=self.torch.uint8, device="cuda")
        options = fa.LaunchOptions(workspace=workspace.data_ptr() or None, workspaceSize=info.workspaceSize)
        enqueue, current = self.library.faBundlePlanLaunchWith, self.torch.cuda.current_stream
        keep = (values, workspace)  # what the addresses point to

        def launch(keep=keep):
            options.stream = current().cuda_stream
            self.check(enqueue(plan, ctypes.byref(options), arguments, count))

        return launch

    def attention(self, folder, q, k, v, causal):
        """A function that launches, and the tensor that it writes; or nothing where there is no bundle of this kind."""
        dtype = "bf16" if q.dtype == self.torch.bfloat16 else "f16"
        path = os.path.join(folder, bundle_name(q.shape[3], v.shape[3], dtype, causal))
        if not os.path.exists(path):
            return None
        out = q.new_empty(*q.shape[:3], v.shape[3])
        return self.launcher(path, [q, k, v, 1 / math.sqrt(q.shape[3]), out]), out


def causal_scores(scores, batch, head, rows, columns):
    """Keys behind a row's own, counted from the last of both."""
    return scores.masked_fill(rows < columns, -math.inf)


def check(torch, name, found, q, k, v, change, heads=3, most=2048, least=32):
    """Up to 2048 rows of three heads together against float64, by the rule of docs/numerics.md; where rows are few, of as many
    heads as have 32 rows: the error of a single one is up to 1.6 times that of the unfused formula's by chance
    (bench/results/2026-11-30-h200-parts.md). `change(scores, batch, head, rows, columns)` says what becomes of scores, numbers
    of rows [n, 1] and columns [m] as those of keys."""
    b, hq, sq, d = q.shape
    heads = max(heads, -(-least // sq))
    errors, e0s = [], []
    for n in torch.randperm(b * hq)[:heads].tolist():
        i, h = divmod(n, hq)
        kv = h // (hq // k.shape[1])
        rows = torch.randperm(sq, device=q.device)[:most]
        columns = torch.arange(k.shape[2], device=q.device)

        def unfused(x, y, z, kept):
            s = change(x @ y.T / math.sqrt(d), i, h, rows[:, None] + (k.shape[2] - sq), columns)
            return torch.softmax(s, -1).to(kept).to(x.dtype) @ z

        x, y, z = q[i, h, rows], k[i, kv], v[i, kv]
        exact = unfused(x.double(), y.double(), z.double(), torch.float64)
        e0s.append((unfused(x.float(), y.float(), z.float(), q.dtype).to(q.dtype) - exact).abs().flatten())
        errors.append((found[i, h, rows] - exact).abs().flatten())
    e0, error, floor = torch.cat(e0s), torch.cat(errors), 1e-5 * max(1, v.abs().max().item())
    for what, ours, bound in (
        ("max", error.max().item(), 2 * e0.max().item() + floor),
        ("mean", error.mean().item(), 1.1 * e0.mean().item() + floor / 4),
    ):
        if not ours <= bound:
            sys.exit(f"{name}: {what} error {ours}, expected at most {bound}")


# ===--- Races -----------------------------------------------------------------


def event_times(torch, launch, n):
    """Milliseconds of n launches, each between two events."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(n)]
    for first, last in events:
        first.record()
        launch()
        last.record()
    torch.cuda.synchronize()
    return [first.elapsed_time(last) for first, last in events]


def race(event_times, runners, rounds=6, burst_ms=25, seed=0):
    """name -> median ms of the runners that work, in an order by `seed`: who runs behind whom matters where a card is at the
    limit of its power."""
    working, estimates = {}, {}
    for name, f in runners.items():
        try:
            estimates[name] = statistics.median(event_times(f, 8)[3:])
            working[name] = f
        except Exception as e:
            print("  ", name, "FAILED", repr(e)[:160].replace("\n", " "))
    times = {name: [] for name in working}
    order = random.Random(seed)
    for _ in range(rounds):
        for name in order.sample(list(working), len(working)):
            times[name] += event_times(working[name], max(4, min(60, int(burst_ms / max(estimates[name], 0.005)))))
    return {name: statistics.median(x) for name, x in times.items()}


def graph_of_eight(torch, launch):
    """As the peers' decodes: eight launches without gaps, each on the next one of the inputs."""
    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(8):
            launch()
    return lambda graph=graph, keep=launch: graph.replay()  # what the graph's addresses point to stays with it


def join(peers, folders):
    """Puts ours into the races of the peers' program, whose names `peers` has, and into those of decodes a kernel that
    only reads K and V."""
    import torch
    from read_kv import readers

    loader, inputs = Loader(torch), []
    sdpa = peers["sdpa"]

    def seeing_inputs(backend, q, k, v, causal):
        if not any(x[0] is q for x in inputs):
            inputs.append((q, k, v, causal))
        return sdpa(backend, q, k, v, causal)

    def with_ours(fns):
        decode, runners = "copy" in fns, {}
        for name, folder in folders.items():
            ours = [loader.attention(folder, *x) for x in inputs]
            if not all(ours):
                continue
            for (launch, out), x in zip(ours, inputs):
                launch()
                q, k, v, causal = x
                what = f"{name} {bundle_name(q.shape[3], v.shape[3], str(q.dtype), causal)}"
                check(torch, what, out, q, k, v, causal_scores if causal else lambda scores, *_: scores)
            runners[name] = ours[0][0]
            if decode:
                turns = itertools.cycle([launch for launch, _ in ours])
                runners[name] = graph_of_eight(torch, lambda turns=turns: next(turns)())
        event_times = peers["event_times"]
        if decode:
            graphs = [graph_of_eight(torch, f) for f in readers(torch, [(k, v) for _, k, v, _ in inputs])]
            runners["read"] = min(graphs, key=lambda graph: statistics.median(event_times(graph, 12)))
        inputs.clear()
        return race(event_times, {**runners, **fns})

    peers["sdpa"], peers["race"] = seeing_inputs, with_ours


def run(program, folder, out, what="fwd", seconds="540", *others):
    # So named, `table` takes none of ours for a peer.
    folders = {"flashtile": folder, **{f"flashtile {n}": f for n, f in (x.split("=", 1) for x in others)}}
    tree = ast.parse(open(program).read(), program)
    last = max(n for n, x in enumerate(tree.body) if isinstance(x, ast.FunctionDef))
    call = ast.parse("_join(globals())").body[0]
    tree.body.insert(last + 1, ast.copy_location(call, tree.body[last]))
    sys.argv = [program, out, what, seconds]
    exec(
        compile(ast.fix_missing_locations(tree), program, "exec"),
        {"__name__": "__main__", "__file__": program, "_join": lambda peers: join(peers, folders)},
    )


# ===--- Tables ----------------------------------------------------------------


def table(path):
    rows = json.load(open(path))
    figures = [r.get("tflops") or r["gbs"] for r in rows]
    beside = ("matmul", "copy", "read")
    names = sorted({n for f in figures for n in f}, key=lambda n: (n != "flashtile", n in beside, n))
    print("| shape | " + " | ".join(names) + " | of best |\n" + "| --- " * (len(names) + 2) + "|")
    shares = []
    for r, f in zip(rows, figures):
        best = max(x for n, x in f.items() if n not in beside and not n.startswith("flashtile"))
        shape = r["tag"] if "tflops" in r else f"{r['B']} x {r['S']}"
        shares.append(f["flashtile"] / best)
        print(f"| {shape} | " + " | ".join(f"{f[n]:.0f}" if n in f else "–" for n in names) + f" | {shares[-1]:.2f} |")
    print(f"\nGeomean of the last column: {math.exp(sum(map(math.log, shares)) / len(shares)):.3f}; lowest {min(shares):.2f}.")


def main():
    actions = {"make": make, "run": run, "table": table}
    if len(sys.argv) < 3 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
