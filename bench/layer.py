#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer with attention in it on a card: right, and beside PyTorch.

    bench/layer.py make FA_RUN BUNDLES [OPTION...]  compiles; needs no card
    bench/layer.py run OUT.json [NAME=]BUNDLES...   checks and times, of several the same layers in turns

x [B S, W] times a weight [W, 3 W], attention of H heads of D = W / H over the three parts, and
times a weight [W, W], in bf16: one program, whose products are kernels of tiles around the
attention. PyTorch's is cuBLAS and the fastest of its SDPA's kernels. Both are compared with the same in
float32. Times are those of CUDA graphs of eight launches, in turns; what each kernel of a launch
takes is told by PyTorch's profiler, one after the other. `run` needs PyTorch and libflashtile-rt (FLASHTILE_RT, else on the
loader's path). TFLOP/s are 2 B S W (4 W) + 4 B S S W.
"""
import functools
import json
import os
import subprocess
import sys

import gpu

# Batches, rows, width, heads.
SHAPES = [(8, 1024, 1024, 16), (4, 2048, 2048, 16), (2, 4096, 4096, 32), (1, 512, 1024, 16), (16, 197, 768, 12)]

PROGRAM = """
!x = tensor<{n}x{w}xbf16>
!w3 = tensor<{w}x{w3}xbf16>
!w1 = tensor<{w}x{w}xbf16>
!split = tensor<{b}x{s}x3x{h}x{d}xbf16>
!rows = tensor<{b}x{s}x{h}x{d}xbf16>
!heads = tensor<{b}x{h}x{s}x{d}xbf16>
func.func @layer(%x: !x, %w: !w3, %o: !w1) -> !x {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{n}x{w3}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{n}x{w3}xf32>) -> tensor<{n}x{w3}xf32>
  %p = linalg.matmul ins(%x, %w : !x, !w3) outs(%f : tensor<{n}x{w3}xf32>) -> tensor<{n}x{w3}xf32>
  %pt = arith.truncf %p : tensor<{n}x{w3}xf32> to tensor<{n}x{w3}xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [{b}, {s}, 3, {h}, {d}] : tensor<{n}x{w3}xbf16> into !split
  {slices}
  %scale = arith.constant {scale} : f32
  %a = tile.attention %q, %k, %v scale %scale : !heads, !heads, !heads -> !heads score {{}} mask {{}}
  %re = tensor.empty() : !rows
  %r = linalg.transpose ins(%a : !heads) outs(%re : !rows) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : !rows into !x
  %e2 = tensor.empty() : tensor<{n}x{w}xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<{n}x{w}xf32>) -> tensor<{n}x{w}xf32>
  %p2 = linalg.matmul ins(%c, %o : !x, !w1) outs(%f2 : tensor<{n}x{w}xf32>) -> tensor<{n}x{w}xf32>
  %y = arith.truncf %p2 : tensor<{n}x{w}xf32> to !x
  return %y : !x
}}
"""
SLICE = """
  %{name}s = tensor.extract_slice %t[0, 0, {n}, 0, 0] [{b}, {s}, 1, {h}, {d}] [1, 1, 1, 1, 1] : !split to !rows
  %{name}e = tensor.empty() : !heads
  %{name} = linalg.transpose ins(%{name}s : !rows) outs(%{name}e : !heads) permutation = [0, 2, 1, 3]"""


def program(b, s, w, h):
    sizes = {"b": b, "s": s, "h": h, "d": w // h}
    slices = "".join(SLICE.format(name=name, n=n, **sizes) for n, name in enumerate("qkv"))
    return PROGRAM.format(n=b * s, w=w, w3=3 * w, scale=(w // h) ** -0.5, slices=slices.strip(), **sizes)


def folder_of(bundles, shape):
    return os.path.join(bundles, "x".join(map(str, shape)))


def make(fa_run, bundles, *options):
    os.makedirs(bundles, exist_ok=True)
    for shape in SHAPES:
        source = folder_of(bundles, shape) + ".mlir"
        with open(source, "w") as file:
            file.write(program(*shape))
        subprocess.run([fa_run, "--cache=off", source, "--arch=sm_90a", "--emit=bundle", "-o", folder_of(bundles, shape), *options], check=True)


def layer(torch, shape, x, w, o):
    b, s, width, h = shape
    q, k, v = (x @ w).view(b, s, 3, h, width // h).permute(2, 0, 3, 1, 4)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(b * s, width) @ o


def kernel_times(torch, launch):
    """Microseconds of each kernel of a launch."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(20):
            launch()
        torch.cuda.synchronize()
    return {e.key: round(e.device_time_total / 20, 1) for e in profile.key_averages() if e.device_time_total}


def race(torch, loader, shape, folders):
    b, s, width, h = shape
    normal = lambda rows, columns, scale: (torch.randn(rows, columns, device="cuda") * scale).bfloat16()
    x, w, o = normal(b * s, width, 1), normal(width, 3 * width, width**-0.5), normal(width, width, width**-0.5)
    want = layer(torch, shape, x.float(), w.float(), o.float())
    theirs = functools.partial(layer, torch, shape, x, w, o)
    launches, errors = {"PyTorch": theirs}, {"PyTorch": (theirs().float() - want).abs().max().item()}
    for name, folder in folders.items():
        out = torch.full_like(x, float("nan"))
        launches[name] = loader.launcher(folder_of(folder, shape), [x, w, o, out])
        launches[name]()
        errors[name] = (out.float() - want).abs().max().item()
        if not errors[name] < 2 * errors["PyTorch"]:
            sys.exit(f"{shape} {name}: differs by {errors[name]} from float32, PyTorch by {errors['PyTorch']}")
    runners = {name: gpu.graph_of_eight(torch, launch) for name, launch in launches.items()}
    ms = gpu.race(functools.partial(gpu.event_times, torch), runners, rounds=5, burst_ms=10)
    kernels = {name: kernel_times(torch, launch) for name, launch in launches.items()}
    return {"shape": shape, "us": {name: t / 8 * 1e3 for name, t in ms.items()}, "errors": errors, "kernels": kernels}


def run(out, *words):
    import torch

    torch.manual_seed(1)
    folders, loader, rows = gpu.named(words), gpu.Loader(torch), []
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, flush=True)
    for shape in SHAPES:
        row = race(torch, loader, shape, folders)
        rows.append(row)
        b, s, width, _ = shape
        flops = 2 * b * s * width * 4 * width + 4 * b * s * s * width
        print(shape, {name: f"{t:.1f} us {flops / t / 1e6:.0f} TFLOP/s" for name, t in row["us"].items()}, row["errors"], row["kernels"], flush=True)
    json.dump({"card": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, open(out, "w"))


if __name__ == "__main__":
    action, *arguments = sys.argv[1:] or [""]
    if action not in ("make", "run") or len(arguments) < 2:
        sys.exit(__doc__)
    globals()[action](*arguments)
