"""Times masks and changes of scores on one NVIDIA card, in turns with what a user would write them in instead.

    features.py make FA_RUN BUNDLES [WORD...]         compiles the bundles of the rows below; needs no card
    features.py run BUNDLES OUT.json SECONDS [WORD...] on the card; of rows with one of the words in their names
    features.py table OUT.json                        the figures as Markdown

Peers: FlexAttention (compiled, with the block mask that its documentation shows), FlashAttention's CuTe kernels where they
have an argument for it or a score_mod can say it, and SDPA with a bias as its mask. Beside them is our plain kernel of the
same shape, causal where the row is. Outputs of ours are compared with float64 before they are timed, as in gpu.py; the
distance of each peer's output from ours is kept beside its time. `run` needs libflashtile-rt (FLASHTILE_RT names it).
"""

import functools
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

import gpu

S, TOKENS, WIDTH = 4096, 16384, 2048  # queries and keys, those of all batches, heads times D
DOCUMENTS = (0, 700, 1500, 1800, 3100, S)  # where documents of a batch begin, and the end


@dataclass
class Row:
    """What `--attention` calls `option`; `score` and `mask` say the same in FlexAttention's words, of the extra inputs `x`."""

    option: str
    d: int
    score: object = None  # (x) -> score_mod
    mask: object = None  # (x) -> mask_mod
    inputs: tuple = ()  # names of the extra arguments, in order
    cute: dict = field(default_factory=dict)  # what FlashAttention's CuTe kernels call it
    causal: bool = False

    def __post_init__(self):
        self.causal = self.causal or "causal" in self.option.split()

    @property
    def name(self):
        return f"D{self.d} {self.option or 'full'}"

    def folder(self, bundles):
        return os.path.join(bundles, self.name.replace(" ", "-").replace("=", "-").replace(",", "-"))


def causal_mask(x):
    return lambda b, h, i, j: i >= j


def window(left):
    return lambda x: lambda b, h, i, j: (i >= j) & (i - j <= left)


def prefix(n):
    return lambda x: lambda b, h, i, j: (i >= j) | (j < n)


def sinks(n, left):
    return lambda x: lambda b, h, i, j: (j < n) | ((i >= j) & (i - j <= left))


def documents(x):
    starts = x["starts"]
    return lambda b, h, i, j: (i >= j) & (starts[b, i] == starts[b, j])


def softcap(x):
    import torch

    return lambda s, b, h, i, j: 50.0 * torch.tanh(s / 50.0)


def alibi(x):
    slopes = x["slopes"]
    return lambda s, b, h, i, j: s - slopes[h].to(s.dtype) * abs(i - j)


def added(x):
    bias = x["bias"]
    return lambda s, b, h, i, j: s + bias[b, h, i, j]


ROWS = [
    row
    for d in (128, 64)
    for row in (
        Row("", d),
        Row("causal", d, mask=causal_mask, cute=dict(causal=True)),
        Row("softcap=50", d, softcap, cute=dict(softcap=50.0)),
        Row("softcap=50 causal", d, softcap, causal_mask, cute=dict(softcap=50.0, causal=True)),
        Row("alibi", d, alibi, inputs=("slopes",), cute=dict(alibi=True)),
        Row("alibi causal", d, alibi, causal_mask, ("slopes",), dict(alibi=True, causal=True)),
        Row("window=1023,0", d, mask=window(1023), cute=dict(window_size=(1023, 0)), causal=True),
        Row("window=255,0", d, mask=window(255), cute=dict(window_size=(255, 0)), causal=True),
        Row("prefix=1024 causal", d, mask=prefix(1024)),
        Row("prefix=4 window=1023,0", d, mask=sinks(4, 1023), causal=True),
        Row("documents causal", d, mask=documents, inputs=("starts", "ends")),
        Row("bias=bhqk", d, added, inputs=("bias",)),
    )
]


def chosen(words):
    return [row for row in ROWS if not words or any(word in row.name for word in words)]


def make(fa_run, bundles, *words):
    for row in ROWS:
        if row not in chosen(words) and row.option not in ("", "causal"):  # those are the plain ones
            continue
        problem = f"d={row.d} type=bf16 {row.option}"
        out = row.folder(bundles)
        subprocess.run(
            [fa_run, "--cache=off", "--attention", problem, "--arch=sm_90a", "--emit=bundle", "-o", out], check=True
        )
        os.remove(os.path.join(out, "attention.h"))  # code once more, for C


def extra_inputs(torch, b, h):
    """What rows take beside Q, K, V: slopes, documents as where each query's begins and ends, a bias."""
    bounds = torch.tensor(DOCUMENTS, device="cuda", dtype=torch.int32)
    of = torch.bucketize(torch.arange(S, device="cuda", dtype=torch.int32), bounds, right=True)
    return {
        "slopes": torch.tensor([2 ** (-8 * (n + 1) / h) for n in range(h)], device="cuda"),
        "starts": bounds[of - 1].expand(b, S).contiguous(),
        "ends": bounds[of].expand(b, S).contiguous(),
        "bias": torch.randn(b, h, S, S, device="cuda", dtype=torch.bfloat16),
    }


def reference(row, x):
    """FlexAttention's words for gpu.check: one description for both."""

    def change(scores, batch, head, rows, columns):
        if row.score:
            scores = row.score(x)(scores, batch, head, rows, columns)
        return scores.masked_fill(~row.mask(x)(batch, head, rows, columns), -math.inf) if row.mask else scores

    return change


# ===--- Peers -----------------------------------------------------------------


def flex(torch, row, q, k, v, x):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)
    # The mask is of no batch and head but where documents are.
    batches = q.shape[0] if "starts" in row.inputs else None
    mask = create_block_mask(row.mask(x), batches, None, S, S, device="cuda") if row.mask else None
    score = row.score(x) if row.score else None
    return lambda: compiled(q, k, v, score_mod=score, block_mask=mask)


def cute_alibi(heads):
    """ALiBi as a score_mod of FlashAttention's CuTe kernels; slopes of a power of two of heads."""
    import cutlass
    import cutlass.cute as cute

    @cute.jit
    def change(scores, batch_idx, head_idx, q_idx, kv_idx, seqlen_info, aux_tensors):
        slope = cute.math.exp2((head_idx + cute.full_like(head_idx, 1)).to(cutlass.Float32) * cute.full_like(scores, -8.0 / heads))
        distance = (q_idx - kv_idx).to(cutlass.Float32)
        return scores - slope * cute.where(distance < cute.full_like(distance, 0.0), -distance, distance)

    return change


def cute(row, q, k, v):
    from flash_attn.cute.interface import flash_attn_func

    options = dict(row.cute)
    if options.pop("alibi", False):
        options["score_mod"] = cute_alibi(q.shape[1])
    rows = [t.transpose(1, 2).contiguous() for t in (q, k, v)]

    def launch():
        out = flash_attn_func(*rows, **options)
        return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)

    return launch


def peers(torch, row, q, k, v, x):
    """name -> a function that launches and returns the output; those that fail are named and left out."""
    found = {}
    makers = {"FlexAttention": lambda: flex(torch, row, q, k, v, x)}
    if row.cute or not (row.score or row.mask):
        makers["FA CuTe"] = lambda: cute(row, q, k, v)
    if "bias" in row.inputs:
        sdpa = torch.nn.functional.scaled_dot_product_attention
        makers["SDPA"] = lambda: lambda: sdpa(q, k, v, attn_mask=x["bias"])
    for name, make_one in makers.items():
        try:
            launch = make_one()
            launch()
            torch.cuda.synchronize()
            found[name] = launch
        except Exception as e:
            print("  ", name, "FAILED", repr(e)[:300].replace("\n", " "))
    return found


# ===--- Races -----------------------------------------------------------------


def run(bundles, out, seconds, *words):
    import torch

    begin, results, loader = time.time(), [], gpu.Loader(torch)
    torch._dynamo.config.cache_size_limit = 4 * len(ROWS)

    for row in chosen(words):
        if time.time() - begin > float(seconds):
            print("skipped:", row.name)
            continue
        b, h = TOKENS // S, WIDTH // row.d
        torch.manual_seed(1)
        q, k, v = (torch.randn(b, h, S, row.d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        x, runners = extra_inputs(torch, b, h), {}
        plain = Row("causal" if row.causal else "", row.d, mask=causal_mask if row.causal else None)
        for name, what in {"FlashTile": row, "plain": plain}.items():
            result = torch.empty_like(q)
            arguments = [q, k, v, *(x[n] for n in what.inputs), 1 / math.sqrt(row.d), result]
            runners[name] = loader.launcher(what.folder(bundles), arguments)
            runners[name]()
            gpu.check(torch, f"{name} {what.name}", result, q, k, v, reference(what, x))
            if what is row:
                ours = result
        others, distances = peers(torch, row, q, k, v, x), {}
        for name, launch in others.items():
            distances[name] = (launch().float() - ours.float()).abs().max().item()
        times = gpu.race(functools.partial(gpu.event_times, torch), {**runners, **others})
        results.append({"tag": row.name, "us": {n: ms * 1000 for n, ms in times.items()}, "distance": distances})
        print(results[-1], flush=True)
        with open(out, "w") as f:
            json.dump(results, f)
        torch.compiler.reset()


def table(path):
    names = ["FlashTile", "FlexAttention", "FA CuTe", "SDPA"]
    print("| B 4, 4096 queries and keys, microseconds | " + " | ".join(names) + " | by the best peer | plain's time |")
    print("| --- " * (len(names) + 3) + "|")
    for r in json.load(open(path)):
        us = r["us"]
        best = min((us[n] for n in names[1:] if n in us), default=math.nan)
        cells = [f"{us[n]:.0f}" if n in us else "–" for n in names]
        print(f"| {r['tag']} | " + " | ".join(cells) + f" | {best / us['FlashTile']:.2f} | {us['plain'] / us['FlashTile']:.2f} |")


def main():
    actions = {"make": make, "run": run, "table": table}
    if len(sys.argv) < 3 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
