"""Times kernels of attention as people write them in Triton beside the attention that they are raised to, on one NVIDIA card.

    raised.py make FA_RUN BUNDLES [ARCH]       compiles the bundles; needs no card
    raised.py run BUNDLES OUT.json [SECONDS]   on the card; needs PyTorch with Triton
    raised.py table OUT.json                   the figures as Markdown

The kernels are those of test/Triton/raise, unchanged: with pointers of any strides and masks of rows and keys (`strided`), with
two loops over keys and one over all heads (`staged`), and the tutorial's form, whose tiles come by descriptors (`tutorial`).
Each is tuned by triton.autotune over tiles, warps and stages. Ours is a bundle of the same attention from a SPEC, whose plan
is that of the raised kernel (test/Triton/raise). Both run in CUDA graphs of eight launches, in turns; outputs are compared
with PyTorch's in f32 first. FLOPs are 4 b h s² d, half of that when causal.
"""

import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import gpu

FORMS = [("strided", False), ("staged", False), ("staged", True), ("tutorial", False), ("tutorial", True)]
# Queries and keys of a tile, warps, stages: those that the tutorial and its copies try and that were best on Hopper.
CONFIGS = [(128, 64, 4, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 8, 4), (128, 128, 8, 2), (128, 128, 8, 3), (128, 32, 4, 4), (64, 64, 4, 3)]
# d, s, batches, heads: 16k tokens of 2048 columns.
SHAPES = [(d, s, 16384 // s, 2048 // d) for d in (64, 128) for s in (1024, 4096, 16384)]


def bundle_name(d, causal, lse):
    return f"{d}-f16-{'causal' if causal else 'full'}{'-lse' if lse else ''}"


def make(fa_run, folder, arch="sm_90a"):
    for d, causal, lse in itertools.product((64, 128), (False, True), (False, True)):
        spec = f"d={d} type=f16" + (" causal" if causal else "") + (" lse" if lse else "")
        out = os.path.join(folder, bundle_name(d, causal, lse))
        subprocess.run(
            [fa_run, "--cache=off", "--attention", spec, f"--arch={arch}", "--emit=bundle", "-o", out], check=True
        )


# ===--- Triton's ---------------------------------------------------------------


def tuned(triton, body, *key):
    configs = [triton.Config({"BM": m, "BN": n}, num_warps=w, num_stages=t) for m, n, w, t in CONFIGS]
    return triton.autotune(configs, key=list(key))(body)


def launcher(torch, triton, kernels, form, causal, q, k, v, out, lse):
    """A function that launches the kernel of this form."""
    b, h, s, d = q.shape
    scale = 1 / math.sqrt(d)
    if form == "strided":
        strides = [x.stride(n) for x in (q, k, v, out) for n in range(4)]
        fn = tuned(triton, kernels["forward"].fn, "N", "D")
        grid = lambda meta: (triton.cdiv(s, meta["BM"]), b * h)
        return lambda: fn[grid](q, k, v, out, scale, *strides, h, s, D=d, G=1, FAULT=0)
    stage = 3 if causal else 1
    if form == "staged":
        fn = tuned(triton, kernels["staged_causal"].fn, "N", "D", "STAGE")
        grid = lambda meta: (triton.cdiv(s, meta["BM"]),)
        return lambda: fn[grid](q, k, v, lse, out, scale, Z=b, H=h, N=s, D=d, STAGE=stage)
    fn = tuned(triton, kernels["tutorial_causal"].fn, "N", "D", "STAGE")
    grid = lambda meta: (triton.cdiv(s, meta["BM"]), b * h)
    return lambda: fn[grid](scale, lse, b, h, q, k, v, out, s, D=d, STAGE=stage)


def compare(torch, what, found, q, k, v, causal):
    for head in (0, q.shape[1] - 1):
        x, y, z = (t[0, head].float() for t in (q, k, v))
        right = torch.nn.functional.scaled_dot_product_attention(x[None], y[None], z[None], is_causal=causal)[0]
        error = (found[0, head].float() - right).abs().max().item()
        if not error < 4e-3:
            sys.exit(f"{what}: an error of {error}")


# ===--- The race ----------------------------------------------------------------


def run(folder, out, seconds="500"):
    import torch
    import triton

    sys.path += [str(pathlib.Path(__file__).parents[1] / "test/Triton" / x) for x in ("raise/Inputs", "Inputs")]
    import forms
    from kernels import ALL

    del forms
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    start, rows = time.time(), []
    loader = gpu.Loader(torch)
    facts = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
    print(facts, flush=True)
    torch.manual_seed(0)
    for (d, s, b, h), (form, causal) in itertools.product(SHAPES, FORMS):
        if time.time() - start > float(seconds):
            break
        q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3))
        has_lse, ours, theirs = form != "strided", torch.empty_like(q), torch.empty_like(q)
        lse = q.new_empty(q.shape[:3], dtype=torch.float32)
        results = [ours, lse] if has_lse else [ours]
        runners = {
            "flashtile": loader.launcher(
                os.path.join(folder, bundle_name(d, causal, has_lse)), [q, k, v, 1 / math.sqrt(d), *results]
            ),
            "triton": launcher(torch, triton, ALL, form, causal, q, k, v, theirs, lse.clone()),
        }
        what = f"{form} D {d} S {s} {'causal' if causal else 'full'}"
        try:
            for name, launch in runners.items():
                launch()
                compare(torch, f"{what} {name}", ours if name == "flashtile" else theirs, q, k, v, causal)
        except Exception as e:
            print(what, "FAILED", repr(e)[:200], flush=True)
            continue
        graphs = {name: gpu.graph_of_eight(torch, launch) for name, launch in runners.items()}
        times = gpu.race(lambda f, n: gpu.event_times(torch, f, n), graphs, rounds=4)
        rates = {name: 8 * 4 * b * h * s * s * d / (2 if causal else 1) / ms * 1e-9 for name, ms in times.items()}
        rows.append({"form": form, "d": d, "s": s, "b": b, "h": h, "causal": causal, "tflops": rates})
        print(what, {name: round(x) for name, x in rates.items()}, flush=True)
        with open(out, "w") as file:
            json.dump({**facts, "rows": rows}, file)
        del graphs, runners, q, k, v
        torch.cuda.empty_cache()


def table(path):
    with open(path) as file:
        facts = json.load(file)
    print("| kernel | shape | Triton | raised | raised / Triton |\n| --- | --- | --- | --- | --- |")
    ratios = {}
    for row in facts["rows"]:
        ours, theirs = row["tflops"]["flashtile"], row["tflops"]["triton"]
        ratios.setdefault(row["form"], []).append(ours / theirs)
        what = f"D {row['d']} S {row['s']} B {row['b']} H {row['h']} {'causal' if row['causal'] else 'full'}"
        print(f"| {row['form']} | {what} | {theirs:.0f} | {ours:.0f} | {ours / theirs:.2f} |")
    mean = lambda x: math.exp(sum(map(math.log, x)) / len(x))
    print("\nGeometric means:", ", ".join(f"{form} {mean(x):.2f}" for form, x in ratios.items()))
    print(f"All: {mean(sum(ratios.values(), [])):.2f}, least {min(sum(ratios.values(), [])):.2f}")


if __name__ == "__main__":
    {"make": make, "run": run, "table": table}[sys.argv[1]](*sys.argv[2:])
