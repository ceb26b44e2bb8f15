"""Times attention of random shapes on one NVIDIA card, in turns with what a user would pick instead, and prints the worst.

    sweep.py make FA_RUN BUNDLES [ARCH [OPTION...]]  compiles a bundle for each head dimension and mask; needs no card
    sweep.py assemble BUNDLES...                     PTX in them (--ptxas=none) by the ptxas on PATH, on all cores
    sweep.py run BUNDLES OUT.json SECONDS [SEED [CLASS,...]] [NAME=BUNDLES...]   on the card
    sweep.py table OUT.json [WORST]                  classes, and the WORST (20) rows, as Markdown

A seed gives the same shapes everywhere; shape N of a seed is of class N modulo the number of classes, so that a run that
ends early has seen all. Shapes are bf16 with random heads, groups, lengths (half of them no multiples of 64) and strides of
[b, h, s, d] or [b, s, h, d]. Peers: cuDNN and FlashAttention 2 through PyTorch's SDPA, and FlashAttention 3 in vLLM's build
where that is importable, with as many splits of the keys as it chooses. Ours has the workspace that it asks for. All run in
graphs of eight launches over up to eight inputs, so that neither the host nor the second cache is what is timed. Outputs of
ours are compared with float64 before they are timed (gpu.py); a peer whose output is another one is left out of its row.
BUNDLES of further names (another commit's, other options') take turns where they have a bundle of the shape. `run` needs libflashtile-rt (FLASHTILE_RT
names it) and no compiler.
"""

import functools
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass

import gpu

DIMS = (64, 72, 80, 96, 112, 128, 160, 192, 256)
MOST_OPERATIONS = 3e12  # of a launch: some five milliseconds
MOST_ELEMENTS = 1 << 28  # of a tensor
OURS = "flashtile"


# ===--- Shapes ----------------------------------------------------------------


@dataclass
class Shape:
    kind: str
    d: int
    b: int
    hq: int
    hkv: int
    sq: int
    sk: int
    causal: bool
    layout: str  # as its memory has it: bhsd or bshd

    @property
    def name(self):
        mask = "causal" if self.causal else "full"
        return f"D {self.d} B {self.b} {self.hq}/{self.hkv} {self.sq}x{self.sk} {mask} {self.layout}"

    @property
    def operations(self):
        return 4 * self.b * self.hq * self.sq * self.sk * self.d


class Draw:
    """Random numbers of one shape, the same wherever they are drawn."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed} {number}")

    def size(self, least, most):
        """As many small ones as large ones; half of them multiples of 64, where there are any."""
        n = round(math.exp(self.random.uniform(math.log(least), math.log(most))))
        return max(least, n // 64 * 64) if least >= 64 and self.random.random() < 0.5 else n

    def heads(self, most_kv=16, groups=(1, 1, 1, 2, 3, 4, 8)):
        kv = self.size(1, most_kv)
        return kv * self.random.choice(groups), kv

    def batch(self, most):
        return self.size(1, most)

    def lengths(self, least, most):
        n = self.size(least, most)
        return n, n


def few_keys(draw):
    keys = draw.size(64, 256)
    return draw.batch(32), draw.heads(), (keys * draw.random.randint(2, 8), keys)


# What a class is drawn as: batch, heads of queries and of keys, queries and keys.
CLASSES = {
    "64 to 512": lambda draw: (draw.batch(32), draw.heads(), draw.lengths(64, 512)),
    "512 to 2k": lambda draw: (draw.batch(8), draw.heads(), draw.lengths(512, 2048)),
    "2k to 10k": lambda draw: (draw.batch(4), draw.heads(), draw.lengths(2048, 10240)),
    "few heads": lambda draw: (1, draw.random.choice(((1, 1), (2, 1), (2, 2))), draw.lengths(2048, 10240)),
    "few keys": few_keys,
    "chunks": lambda draw: (draw.batch(4), draw.heads(8), (draw.size(16, 1024), draw.size(2048, 20480))),
    "decode": lambda draw: (draw.batch(32), draw.heads(8), (1, draw.size(1024, 65536))),
}

# The same of groups of up to 16 heads, for races of packed rows: `run` draws from these where they are all that it is given.
GROUPS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
GROUP_CLASSES = {
    "drafts": lambda draw: (draw.batch(16), draw.heads(8, GROUPS), (draw.size(2, 32), draw.size(1024, 32768))),
    "mid": lambda draw: (draw.batch(8), draw.heads(8, GROUPS), (draw.size(8, 40), draw.size(1024, 20480))),
    "long": lambda draw: (draw.batch(4), draw.heads(8, GROUPS), (draw.size(128, 1024), draw.size(2048, 20480))),
}


def shape_of(seed, number, classes=CLASSES):
    kind = list(classes)[number % len(classes)]
    draw = Draw(seed, number)
    d = draw.random.choice(DIMS)
    b, (hq, hkv), (sq, sk) = classes[kind](draw)
    # Rows without a key are not what peers agree on.
    causal = draw.random.random() < 0.5 and sq <= sk
    shape = Shape(kind, d, b, hq, hkv, sq, sk, causal, draw.random.choice(("bhsd", "bshd")))
    while b > 1 and (shape.operations > MOST_OPERATIONS or b * hq * max(sq, sk) * d > MOST_ELEMENTS):
        b = shape.b = b // 2
    return shape


# ===--- Bundles ---------------------------------------------------------------


def make(fa_run, folder, arch="sm_90a", *options):
    def compile_one(d, causal):
        problem = f"d={d} type=bf16" + (" causal" if causal else "")
        out = os.path.join(folder, gpu.bundle_name(d, d, "bf16", causal))
        command = [fa_run, "--cache=off", "--attention", problem, f"--arch={arch}", "--emit=bundle", "-o", out, *options]
        subprocess.run(command, check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda x: compile_one(*x), itertools.product(DIMS, (False, True))))


def checksum(data):
    """As include/fa/Launch/Checksum.h."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def assemble_one(folder):
    """PTX is a tenth of the cubins to carry, and the driver's assembler takes one core."""
    path = os.path.join(folder, "bundle.json")
    metadata = json.load(open(path))
    for target in metadata["targets"]:
        if target["form"] != "ptx":
            continue
        name = target["file"].removesuffix("ptx") + "cubin"
        out = os.path.join(folder, name)
        source = os.path.join(folder, target["file"])
        subprocess.run(["ptxas", f"-arch={target['arch']}", "-o", out, source], check=True)
        code = open(out, "rb").read()
        target |= {"form": "cubin", "file": name, "bytes": len(code), "checksum": checksum(code)}
    json.dump(metadata, open(path, "w"))


def assemble(*folders):
    bundles = [os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder))]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(assemble_one, bundles))


# ===--- Runners ---------------------------------------------------------------


def tensors(torch, shape):
    """As many inputs as are more than the second cache holds, eight at most: [b, h, s, d] views of memory in the shape's
    layout."""

    def one(h, s):
        if shape.layout == "bhsd":
            return torch.randn(shape.b, h, s, shape.d, device="cuda", dtype=torch.bfloat16)
        return torch.randn(shape.b, s, h, shape.d, device="cuda", dtype=torch.bfloat16).transpose(1, 2)

    elements = shape.b * shape.d * (2 * shape.hq * shape.sq + 2 * shape.hkv * shape.sk)
    sets = max(1, min(8, int(1.5e8 / (2 * elements)) + 1))
    return [(one(shape.hq, shape.sq), one(shape.hkv, shape.sk), one(shape.hkv, shape.sk)) for _ in range(sets)]


def sdpa(torch, backend, shape):
    from torch.nn.attention import sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right

    how = {"enable_gqa": shape.hq != shape.hkv}
    if shape.causal and shape.sq == shape.sk:
        how["is_causal"] = True
    elif shape.causal:  # is_causal would count from the first query
        how["attn_mask"] = causal_lower_right(shape.sq, shape.sk)

    def launch(q, k, v):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **how)

    return launch


def why_no_flash_attention_3():
    try:
        import vllm.vllm_flash_attn.flash_attn_interface  # noqa: F401
    except ImportError as e:
        return str(e)
    return ""


def flash_attention_3(torch, shape):
    """vLLM's build; nothing where it is not there."""
    if why_no_flash_attention_3():
        return None
    forward = torch.ops._vllm_fa3_C.fwd
    # What has no default, where it is not left out; 0 splits are as many as it chooses.
    how = {"softmax_scale": 1 / math.sqrt(shape.d), "is_causal": shape.causal, "window_size_left": -1, "num_splits": 0}
    how |= {"window_size_right": -1, "softcap": 0.0, "is_rotary_interleaved": False, "sm_margin": 0}
    # The build has no kernels but those that read lengths.
    lengths = torch.full((shape.b,), shape.sk, dtype=torch.int32, device="cuda")
    how |= {"cp_world_size": 1, "cp_rank": 0, "seqused_k": lengths}
    how = {a.name: how.get(a.name) for a in forward.default._schema.arguments[3:]}

    def launch(q, k, v):
        return forward(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), **how)[0].transpose(1, 2)

    return launch


def peers(torch, shape):
    from torch.nn.attention import SDPBackend

    found = {"fa2": sdpa(torch, SDPBackend.FLASH_ATTENTION, shape), "fa3": flash_attention_3(torch, shape)}
    if not shape.causal or shape.sq == shape.sk:  # cuDNN's through SDPA takes no other mask
        found["cudnn"] = sdpa(torch, SDPBackend.CUDNN_ATTENTION, shape)
    return {name: launch for name, launch in found.items() if launch}


# ===--- A race ----------------------------------------------------------------


def graph_of(torch, launches):
    """Eight launches, each on the next one of the inputs."""
    turns = itertools.cycle(launches)
    return gpu.graph_of_eight(torch, lambda: next(turns)())


def bundle_of(folder, shape):
    return os.path.join(folder, gpu.bundle_name(shape.d, shape.d, "bf16", shape.causal))


def enter_ours(torch, loader, shape, name, path, inputs):
    """The runner, and the output of the first of the inputs; a wrong one ends the race."""
    outputs = [torch.empty_like(q) for q, _, _ in inputs]
    values = [[*x, 1 / math.sqrt(shape.d), out] for x, out in zip(inputs, outputs)]
    launches = [loader.launcher(path, x) for x in values]
    launches[0]()
    change = gpu.causal_scores if shape.causal else lambda scores, *_: scores
    gpu.check(torch, f"{name}, {shape.name}", outputs[0], *inputs[0], change)
    return graph_of(torch, launches), outputs[0]


def enter_peer(torch, launch, inputs, ours):
    runner = graph_of(torch, [lambda x=x: launch(*x) for x in inputs])
    distance = (launch(*inputs[0]).float() - ours.float()).abs().max().item()
    # Two results of bf16 that are right differ by less than a hundredth of the values.
    if not distance < 0.05:
        raise ValueError(f"its output differs by {distance}")
    return runner


def race(torch, loader, shape, folders):
    inputs = tensors(torch, shape)
    runners, ours = {}, None
    for name, folder in folders.items():
        path = bundle_of(folder, shape)
        if name != OURS and not os.path.exists(path):
            continue
        runners[name], out = enter_ours(torch, loader, shape, name, path, inputs)
        ours = out if ours is None else ours
    for name, launch in peers(torch, shape).items():
        try:
            runners[name] = enter_peer(torch, launch, inputs, ours)
        except Exception as e:
            torch.cuda.synchronize()
            print("  ", shape.name, name, "left out:", repr(e)[:160].replace("\n", " "), flush=True)
    ms = gpu.race(functools.partial(gpu.event_times, torch), runners, rounds=5, burst_ms=6, seed=shape.name)
    return {name: t / 8 * 1e3 for name, t in ms.items()}


def run(folder, out, seconds, *rest):
    import torch

    folders, words = {OURS: folder}, []
    for word in rest:
        name, _, path = word.partition("=")
        if path:
            folders[f"{OURS} {name}"] = path
        else:
            words.append(word)
    seed = words[0] if words else "1"
    kinds = words[1].split(",") if len(words) > 1 else list(CLASSES)
    classes = GROUP_CLASSES if set(kinds) <= set(GROUP_CLASSES) else CLASSES
    for kind in set(kinds) - set(classes):
        sys.exit(f"expected classes of {', '.join(CLASSES)}, or of {', '.join(GROUP_CLASSES)}, found {kind}")
    loader, rows, wrong = gpu.Loader(torch), [], []
    end = time.time() + float(seconds)
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version(), flush=True)
    print("FlashAttention 3:", why_no_flash_attention_3() or "there", flush=True)
    try:
        for number in itertools.count():
            shape = shape_of(seed, number, classes)
            if shape.kind not in kinds:
                continue
            if time.time() > end:
                break
            try:
                us = race(torch, loader, shape, folders)
            except SystemExit as e:  # a result that is not right
                wrong.append(str(e))
                print("WRONG:", e, flush=True)
                continue
            rows.append({**asdict(shape), "number": number, "us": us})
            torch.cuda.empty_cache()
    finally:
        json.dump({"seed": seed, "card": torch.cuda.get_device_name(), "rows": rows, "wrong": wrong}, open(out, "w"))
    print(len(rows), "shapes,", len(wrong), "wrong")
    sys.exit(bool(wrong))


# ===--- Tables ----------------------------------------------------------------


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def is_ours(name):
    return name.startswith(OURS)


def share(row):
    """What the best peer takes by what we take; above 1 we are faster."""
    others = [t for name, t in row["us"].items() if not is_ours(name)]
    return min(others) / row["us"][OURS] if others else None


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_classes(rows, variants):
    heads = ["class", "shapes", "geomean of best peer / ours", "lowest", "below 0.97", "below 0.9"]
    print_row(heads + [f"ours / {name}: geomean, lowest, highest" for name in variants])
    print_row(["---"] * (len(heads) + len(variants)))
    for kind in [*CLASSES, *GROUP_CLASSES, None]:
        those = [row for row in rows if kind in (None, row["kind"])]
        shares = [x for x in map(share, those) if x is not None]
        if not those:
            continue
        cells = [kind or "all", str(len(those))]
        if shares:
            cells += [f"{geomean(shares):.2f}", f"{min(shares):.2f}"]
            cells += [str(sum(x < limit for x in shares)) for limit in (0.97, 0.9)]
        else:
            cells += ["–"] * 4
        for name in variants:
            ratios = [row["us"][OURS] / row["us"][name] for row in those if name in row["us"]]
            cells.append(f"{geomean(ratios):.3f}, {min(ratios):.2f}, {max(ratios):.2f}" if ratios else "–")
        print_row(cells)


def table(path, worst="20"):
    found = json.load(open(path))
    rows = found["rows"]
    names = sorted({n for row in rows for n in row["us"]}, key=lambda n: (not is_ours(n), n))
    print(f"{found['card']}, seed {found['seed']}, {len(rows)} shapes, {len(found['wrong'])} wrong results.\n")
    print_classes(rows, [n for n in names if is_ours(n) and n != OURS])
    print()
    print_row(["microseconds", *names, "best peer / ours"])
    print_row(["---"] * (len(names) + 2))
    for row in sorted((r for r in rows if share(r) is not None), key=share)[: int(worst)]:
        shape = Shape(**{key: row[key] for key in Shape.__dataclass_fields__})
        times = [f"{row['us'][n]:.1f}" if n in row["us"] else "–" for n in names]
        print_row([shape.name, *times, f"{share(row):.2f}"])


def main():
    actions = {"make": make, "assemble": assemble, "run": run, "table": table}
    if len(sys.argv) < 3 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
