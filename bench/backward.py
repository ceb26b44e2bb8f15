"""Times the gradients of attention on one NVIDIA card, in turns with what a user would pick instead.

    backward.py make FA_RUN BUNDLES [ARCH [OPTION...]]  compiles the bundles of the shapes below; needs no card
    backward.py run BUNDLES OUT.json [SECONDS]          on the card
    backward.py table OUT.json                          the figures as Markdown

Peers: cuDNN and FlashAttention 2 through PyTorch's SDPA and, where it can be imported, FlashAttention's CuTe kernels, each
by autograd with its graph kept, on the same q, k, v and gradient of the output (normal numbers). Ours are given the output
and the log-sum-exp of the forward's bundle. Before ours are timed, dq, dk and dv of two heads are compared with float64 by
the rule of docs/numerics.md, and the bits of all heads with those of a second launch. FLOPs: 2.5 times the forward's,
10 b h s² d, half of that when causal, whatever a kernel computes. `run` needs libflashtile-rt (FLASHTILE_RT names it) and no
compiler.
"""

import json
import math
import os
import subprocess
import sys
import time

import gpu

# d, s, batches, query heads, KV heads: 16k tokens of 2048 columns, as in FlashAttention's own benchmarks; then GQA.
SHAPES = [(d, s, 16384 // s, 2048 // d, 2048 // d) for d in (64, 128) for s in (1024, 4096, 16384)]
SHAPES += [(128, 4096, 2, 64, 8)]
OURS = "flashtile"


def bundle_name(d, causal, backward):
    return f"{d}-bf16-{'causal' if causal else 'full'}-{'backward' if backward else 'forward'}"


def make(fa_run, folder, arch="sm_90a", *options):
    for d in sorted({shape[0] for shape in SHAPES}):
        for causal in (False, True):
            for backward in (False, True):
                spec = f"d={d} type=bf16 lse" + (" causal" if causal else "") + (" backward" if backward else "")
                out = os.path.join(folder, bundle_name(d, causal, backward))
                command = [fa_run, "--cache=off", "--attention", spec, f"--arch={arch}", "--emit=bundle", "-o", out, *options]
                subprocess.run(command, check=True)


# ===--- Ours ------------------------------------------------------------------


def reference(torch, q, k, v, dout, causal, dtype, out=None, lse=None):
    """dq, dk and dv of one head, [s, d] each, computed in `dtype`; with `out` and `lse` from these, and P and dS rounded to
    the inputs' type before their dots: e0 of the rule for an error."""
    kept = q.dtype if out is not None else dtype
    q, k, v, dout = (x.to(dtype) for x in (q, k, v, dout))
    scale = 1 / math.sqrt(q.shape[1])
    s = q @ k.T * scale
    if causal:
        s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu_(1), -math.inf)
    p = (s - (torch.logsumexp(s, 1) if lse is None else lse.to(dtype))[:, None]).exp_()
    delta = (dout * (p @ v if out is None else out.to(dtype))).sum(1)
    ds = p * (dout @ v.T - delta[:, None])
    dv = p.to(kept).to(dtype).T @ dout
    ds = ds.to(kept).to(dtype)
    return ds @ k * scale, ds.T @ q * scale, dv


def check(torch, what, inputs, results, gradients, causal):
    q, k, v, dout = inputs
    group = q.shape[1] // k.shape[1]
    for kv in torch.randperm(k.shape[1])[:2].tolist():
        exact, e0 = None, None
        for h in range(kv * group, (kv + 1) * group):
            head = (q[0, h], k[0, kv], v[0, kv], dout[0, h])
            one = reference(torch, *head, causal, torch.float64)
            other = reference(torch, *head, causal, torch.float32, results[0][0, h], results[1][0, h])
            compare(torch, f"{what}: dq", gradients[0][0, h], one[0], other[0].to(q.dtype), head)
            add = lambda sums, more: more[1:] if sums is None else [x + y for x, y in zip(sums, more[1:])]
            exact, e0 = add(exact, one), add(e0, other)
        for name, found, x, y in zip(("dk", "dv"), gradients[1:], exact, e0):
            compare(torch, f"{what}: {name}", found[0, kv], x, y.to(q.dtype), head)


def compare(torch, what, found, exact, e0, head):
    q, k, v, dout = head
    error, allowed = (found.double() - exact).abs(), (e0.double() - exact).abs()
    # No larger than the bound of docs/numerics.md, which takes the largest products.
    floor = 1e-5 * max(1e-30, exact.abs().max().item())
    for kind, ours, bound in (
        ("max", error.max().item(), 2 * allowed.max().item() + floor),
        ("mean", error.mean().item(), 1.1 * allowed.mean().item() + floor / 4),
    ):
        if not ours <= bound:
            sys.exit(f"{what}: {kind} error {ours}, expected at most {bound}")


def launcher(torch, loader, folder, inputs, causal):
    """A function that launches our gradients, checked."""
    q, k, v, dout = inputs
    path = lambda backward: os.path.join(folder, bundle_name(q.shape[3], causal, backward))
    scale = 1 / math.sqrt(q.shape[3])
    out, lse = torch.empty_like(q), q.new_empty(q.shape[:3], dtype=torch.float32)
    loader.launcher(path(False), [q, k, v, scale, out, lse])()
    gradients = [torch.full_like(x, math.nan) for x in (q, k, v)]
    launch = loader.launcher(path(True), [q, k, v, scale, out, lse, dout, *gradients])
    launch()
    first = [x.clone() for x in gradients]
    what = f"D {q.shape[3]} S {q.shape[2]} {'causal' if causal else 'full'}"
    check(torch, what, inputs, (out, lse), gradients, causal)
    for _ in range(20):
        launch()
        if not all(torch.equal(x, y) for x, y in zip(first, gradients)):
            sys.exit(f"{what}: other bits in another launch")
    return launch


# ===--- Peers -----------------------------------------------------------------


def peers(torch, inputs, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v, dout = inputs
    grouped = q.shape[1] != k.shape[1]

    def by_autograd(forward, cotangent, leaves):
        output = forward(*leaves)
        return lambda: torch.autograd.grad(output, leaves, cotangent, retain_graph=True)

    def sdpa(backend):
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        with sdpa_kernel(backend):
            attention = torch.nn.functional.scaled_dot_product_attention
            return by_autograd(lambda *x: attention(*x, is_causal=causal, enable_gqa=grouped), dout, leaves)

    def cute():
        from flash_attn.cute.interface import flash_attn_func

        leaves = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in (q, k, v)]
        first = lambda x: x[0] if isinstance(x, tuple) else x
        return by_autograd(
            lambda *x: first(flash_attn_func(*x, causal=causal)), dout.transpose(1, 2).contiguous(), leaves
        )

    makers = {
        "cuDNN": lambda: sdpa(SDPBackend.CUDNN_ATTENTION),
        "FA 2": lambda: sdpa(SDPBackend.FLASH_ATTENTION),
        "FA CuTe": cute,
    }
    found = {}
    for name, maker in makers.items():
        try:
            found[name] = maker()
        except Exception as e:
            print("  ", name, "FAILED", repr(e)[:200].replace("\n", " "), flush=True)
    return found


# ===--- The race --------------------------------------------------------------


def run(folder, out, seconds="500"):
    import torch

    start, rows = time.time(), []
    loader = gpu.Loader(torch)
    facts = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
    print(facts, flush=True)
    torch.manual_seed(0)
    for d, s, b, hq, hkv in SHAPES:
        for causal in (False, True):
            if time.time() - start > float(seconds):
                break
            make_rows = lambda h: torch.randn(b, h, s, d, device="cuda", dtype=torch.bfloat16)
            inputs = [make_rows(hq), make_rows(hkv), make_rows(hkv), make_rows(hq)]
            runners = {OURS: launcher(torch, loader, folder, inputs, causal), **peers(torch, inputs, causal)}
            times = gpu.race(lambda f, n: gpu.event_times(torch, f, n), runners, rounds=4)
            operations = 10 * b * hq * s * s * d / (2 if causal else 1)
            rates = {name: operations / ms * 1e-9 for name, ms in times.items()}
            rows.append({"d": d, "s": s, "b": b, "hq": hq, "hkv": hkv, "causal": causal, "ms": times, "tflops": rates})
            print(d, s, b, f"{hq}/{hkv}", causal, {name: round(x) for name, x in rates.items()}, flush=True)
            with open(out, "w") as file:
                json.dump({**facts, "rows": rows}, file)
            del runners, inputs
            torch.cuda.empty_cache()


def table(path):
    with open(path) as file:
        facts = json.load(file)
    names = sorted({name for row in facts["rows"] for name in row["tflops"]} - {OURS})
    print("| shape | " + " | ".join([OURS, *names, "of the fastest"]) + " |\n|" + " --- |" * (len(names) + 3))
    ratios = []
    for row in facts["rows"]:
        rates = row["tflops"]
        ratios.append(rates[OURS] / max(rates[name] for name in names if name in rates))
        what = f"D {row['d']} S {row['s']} B {row['b']} {row['hq']}/{row['hkv']} {'causal' if row['causal'] else 'full'}"
        cells = [f"{rates[name]:.0f}" if name in rates else "–" for name in (OURS, *names)]
        print(f"| {what} | " + " | ".join([*cells, f"{ratios[-1]:.2f}"]) + " |")
    print(f"\nGeometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    {"make": make, "run": run, "table": table}[sys.argv[1]](*sys.argv[2:])
