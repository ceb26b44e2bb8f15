#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed sequences and paged keys on a card: right, and beside FlashAttention 3.

    bench/serving.py OUT.json [SECONDS [check|packed|paged|append|fp8|fp8-prompts ...]]

Needs PyTorch and the package flashtile; races need vLLM's build of FlashAttention 3
(vllm.vllm_flash_attn) as well, and without it ours stand alone. First each feature is
compared with PyTorch's float32 of each sequence by itself, then kernels are timed in CUDA
graphs, in turns. TFLOP/s count what the masks let pass, GB/s the keys and values once.
"""
import json
import math
import random
import statistics
import sys
import time

import torch

import flashtile

BF16 = torch.bfloat16
START, BUDGET = time.time(), float(sys.argv[2]) if len(sys.argv) > 2 else 300
results = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "checks": [], "races": []}
try:
    from vllm.vllm_flash_attn import flash_attn_interface as peer
except ImportError as error:
    peer = None
    print("without FlashAttention 3:", error)


def normal(*shape, dtype=BF16):
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def offsets_of(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)], device="cuda", dtype=torch.int32)


# ===--- Right ----------------------------------------------------------------------


def reference(q, k, v, causal):
    """Float32, of one sequence: q [sq, hq, d], k and v [sk, hkv, d]."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.float().transpose(0, 1) for x in (q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        i, j = (torch.arange(n, device="cuda") for n in scores.shape[1:])
        scores = scores.masked_fill(j[None] > i[:, None] + len(j) - len(i), -torch.inf)
    return (scores.softmax(-1).nan_to_num(0) @ v).transpose(0, 1)


def check(name, found, expected, dtype):
    error = (found.float() - expected).abs().max().item()
    bound = 0.03 if dtype == BF16 else 0.004 if dtype == torch.float16 else 1e-4
    results["checks"].append({"name": name, "error": error, "right": error < bound})
    print(f"{'right' if error < bound else 'WRONG':6s} {name}: largest error {error:.2e}", flush=True)


def check_packed(dtype, d, causal, hq=8, hkv=2):
    queries, keys = [5, 0, 130, 1, 700], [40, 9, 130, 333, 900]
    q, k, v = normal(sum(queries) + 3, hq, d, dtype=dtype), *(normal(sum(keys), hkv, d, dtype=dtype) for _ in range(2))
    out = flashtile.varlen_attention(q, k, v, offsets_of(queries), offsets_of(keys), causal=causal)
    want = [reference(a, b, c, causal) for a, b, c in zip(q.split([*queries, 3]), k.split(keys), v.split(keys))]
    check(f"packed {dtype} D {d} {'causal' if causal else 'full'}", out[: sum(queries)], torch.cat(want), dtype)


def make_pages(lengths, page, hkv, d, dtype):
    """A pool of pages in random order, NaN where no key is, and its table."""
    counts = [-(-n // page) for n in lengths]
    order = iter(torch.randperm(sum(counts) + 2).tolist())
    k, v = (torch.full((sum(counts) + 2, page, hkv, d), torch.nan, device="cuda", dtype=dtype) for _ in range(2))
    table = torch.full((len(lengths), max(counts) + 1), 2**30, dtype=torch.int32)
    rows = []
    for b, (length, count) in enumerate(zip(lengths, counts)):
        table[b, :count] = torch.tensor([next(order) for _ in range(count)])
        own = [normal(length, hkv, d, dtype=dtype) for _ in range(2)]
        for n in range(count):
            for pool, x in zip((k, v), own):
                piece = x[n * page : (n + 1) * page]
                pool[table[b, n], : len(piece)] = piece
        rows.append(own)
    return k, v, table.cuda(), rows


def check_paged(dtype, d, page, queries, name, hq=8, hkv=2):
    lengths = [300, 0, page, 1, 1000]
    k, v, table, rows = make_pages(lengths, page, hkv, d, dtype)
    q = normal(sum(queries), hq, d, dtype=dtype)
    used, how = torch.tensor(lengths, device="cuda", dtype=torch.int32), dict(causal=True, pages="nhd")
    if len(set(queries)) == 1:
        packed = q.view(len(queries), queries[0], hq, d)
        out = flashtile.paged_attention(packed, k, v, table, used, layout="bshd", **how).flatten(0, 1)
    else:
        out = flashtile.paged_attention(q, k, v, table, used, cu_seqlens_q=offsets_of(queries), **how)
    want = torch.cat([reference(a, *own, True) for a, own in zip(q.split(queries), rows)])
    check(f"paged {name} {dtype} D {d} page {page}", out, want, dtype)


# ===--- Races -----------------------------------------------------------------------


def times(run, count):
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for begin, end in events:
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def captured(run, launches):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            run()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def race(name, runs, work, unit, launches=4):
    if time.time() - START > BUDGET:
        return
    graphs = {who: captured(run, launches) for who, run in runs.items()}
    found = {who: [] for who in runs}
    for _ in range(7):
        for who in random.sample(list(graphs), len(graphs)):
            found[who] += times(graphs[who].replay, 8)
    rates = {who: work / (statistics.median(ms) / launches) / (1e9 if unit == "TFLOP/s" else 1e6) for who, ms in found.items()}
    results["races"].append({"name": name, "unit": unit, "rates": rates})
    print(f"{name:50s} " + "  ".join(f"{who} {rate:.0f}" for who, rate in rates.items()) + f" {unit}", flush=True)


def race_packed(name, lengths, hq=32, hkv=8, d=128):
    offsets, rows, longest = offsets_of(lengths), sum(lengths), max(lengths)
    q, k, v = normal(rows, hq, d), normal(rows, hkv, d), normal(rows, hkv, d)
    runs = {"ours": lambda: flashtile.varlen_attention(q, k, v, offsets, causal=True)}
    if peer:
        runs["fa3"] = lambda: peer.flash_attn_varlen_func(
            q, k, v, longest, offsets, longest, cu_seqlens_k=offsets, causal=True, fa_version=3
        )
    padded = [torch.zeros(len(lengths), longest, h, d, device="cuda", dtype=BF16) for h in (hq, hkv, hkv)]
    used = torch.tensor(lengths, device="cuda", dtype=torch.int32)
    runs["ours padded"] = lambda: flashtile.attention(*padded, causal="top-left", lengths=used, layout="bshd")
    race(f"packed causal {name} {hq}/{hkv} D {d}", runs, sum(2 * hq * n * n * d for n in lengths), "TFLOP/s")


def race_paged(b, s, hq, hkv, page, d=128, sq=1):
    count = -(-s // page)
    sets = []
    for _ in range(max(1, min(4, int(2e8 / (4 * b * hkv * s * d)) + 1))):  # more than the caches hold
        k, v = normal(b * count, page, hkv, d), normal(b * count, page, hkv, d)
        table = torch.randperm(b * count, device="cuda").to(torch.int32).view(b, count)
        sets.append((normal(b, sq, hq, d), k, v, table))
    plain = [[x.view(b, count * page, hkv, d) for x in (k, v)] for _, k, v, _ in sets]
    used, turn = torch.full((b,), s, device="cuda", dtype=torch.int32), {}
    offsets = torch.arange(0, (b + 1) * sq, sq, device="cuda", dtype=torch.int32)

    def choose(who):
        turn[who] = (turn.get(who, 0) + 1) % len(sets)
        return turn[who]

    def ours():
        q, k, v, table = sets[choose("ours")]
        return flashtile.paged_attention(q, k, v, table, used, causal=True, layout="bshd", pages="nhd")

    def contiguous():
        n = choose("contiguous")
        return flashtile.attention(sets[n][0], *plain[n], causal=True, layout="bshd", lengths=used)

    runs = {"ours": ours, "ours contiguous": contiguous}
    if peer:
        # As vLLM does, once for all layers of a step: not part of what is timed.
        known = peer.get_scheduler_metadata(
            b, sq, s, hq, hkv, d, used, qkv_dtype=BF16, cu_seqlens_q=offsets, page_size=page, causal=True
        )

        def fa3():
            q, k, v, table = sets[choose("fa3")]
            return peer.flash_attn_varlen_func(
                q.flatten(0, 1), k, v, sq, offsets, s, seqused_k=used, block_table=table, causal=True, fa_version=3,
                scheduler_metadata=known,
            )

        runs["fa3"] = fa3
    race(f"paged {b} x {s} q {sq} {hq}/{hkv} D {d} page {page}", runs, 4 * b * hkv * s * d, "GB/s", launches=8)


def peers_append():
    """(RoPE of q and k in place, the write to the pages), a kernel each, as an engine without fusion has them; none without vLLM's."""
    try:
        import triton
        import triton.language as tl
        from vllm.v1.attention.ops.triton_reshape_and_cache_flash import triton_reshape_and_cache_flash as write
    except ImportError as error:
        print("without vLLM's write to a cache:", error)
        return None

    @triton.jit
    def kernel(q, k, positions, cos, sin, hq: tl.constexpr, hkv: tl.constexpr, half: tl.constexpr, heads: tl.constexpr):
        token, column, head = tl.program_id(0), tl.arange(0, half)[None, :], tl.arange(0, heads)[:, None]
        at = tl.load(positions + token) * half + column
        c, s = tl.load(cos + at), tl.load(sin + at)
        for n in tl.static_range(2):
            x, count = (q, hq) if n == 0 else (k, hkv)
            left = x + (token * count + head) * 2 * half + column
            a, b = tl.load(left, mask=head < count).to(tl.float32), tl.load(left + half, mask=head < count).to(tl.float32)
            tl.store(left, a * c - b * s, mask=head < count)
            tl.store(left + half, b * c + a * s, mask=head < count)

    def rotate(q, k, positions, cos, sin):
        heads = triton.next_power_of_2(q.shape[1])
        kernel[(q.shape[0],)](q, k, positions, cos, sin, q.shape[1], k.shape[1], cos.shape[1], heads)

    return rotate, write


def race_append(b, s, hq, hkv, page=16, d=128):
    """A step of one token for each sequence: RoPE of its q and k, the write of k and v, and attention over all keys."""
    count = -(-s // page)
    sets = []
    for _ in range(max(2, min(4, int(2e8 / (4 * b * hkv * s * d)) + 1))):  # more than the caches hold
        caches = [normal(b * count, page, hkv, d) for _ in range(2)]
        table = torch.randperm(b * count, device="cuda").to(torch.int32).view(b, count)
        slots = table[:, (s - 1) // page].long() * page + (s - 1) % page
        sets.append((normal(b, hq, d), normal(b, hkv, d), normal(b, hkv, d), *caches, table, slots))
    used = torch.full((b,), s, device="cuda", dtype=torch.int32)
    positions = torch.full((b,), s - 1, device="cuda", dtype=torch.int64)
    angles = torch.arange(s, device="cuda")[:, None] * 10000 ** (-torch.arange(d // 2, device="cuda") * 2 / d)
    cos, sin, turn = angles.cos(), angles.sin(), {}
    offsets = torch.arange(b + 1, device="cuda", dtype=torch.int32)

    def choose(who):
        turn[who] = (turn.get(who, 0) + 1) % len(sets)
        return sets[turn[who]]

    def decode(q, kc, vc, table):
        return flashtile.paged_attention(q[:, None], kc, vc, table, used, causal=True, layout="bshd", pages="nhd")[:, 0]

    def ours():
        q, k, v, kc, vc, table, slots = choose("ours")
        flashtile.append(k, v, kc, vc, slots, rope="halves", positions=positions, cos=cos, sin=sin, q=q, pages="nhd")
        return decode(q, kc, vc, table)

    def alone():
        q, _, _, kc, vc, table, _ = choose("alone")
        return decode(q, kc, vc, table)

    runs, others = {"ours": ours, "ours, attention alone": alone}, peers_append()
    if peer and others:
        rotate, write = others
        one = torch.ones(1, device="cuda")
        known = peer.get_scheduler_metadata(
            b, 1, s, hq, hkv, d, used, qkv_dtype=BF16, cu_seqlens_q=offsets, page_size=page, causal=True
        )

        def three():
            q, k, v, kc, vc, table, slots = choose("three")
            rotate(q, k, positions, cos, sin)
            write(k, v, kc, vc, slots, "auto", one, one)
            return peer.flash_attn_varlen_func(
                q, kc, vc, 1, offsets, s, seqused_k=used, block_table=table, causal=True, fa_version=3, scheduler_metadata=known
            )

        before_it = used - 1
        narrow = [x.to(BF16) for x in (cos, sin)]

        def fused():
            q, k, v, kc, vc, table, _ = choose("fused")
            return torch.ops._vllm_fa3_C.fwd(
                q[:, None], kc, vc, k[:, None], v[:, None], None, None, None, None, None, None, before_it, None, None, table,
                None, None, *narrow, None, None, None, None, d**-0.5, True, -1, -1, 0.0, False, None, 0, None, 0, None, 1, 0, None,
            )[0]

        runs["three kernels"] = three
        try:
            fused()
            torch.cuda.synchronize()
            runs["fa3, one kernel"] = fused
        except (RuntimeError, TypeError) as error:
            print("without FlashAttention 3's own append:", str(error).splitlines()[0])
        # Both do the same to the same numbers.
        before = [x.clone() for x in sets[0]]
        turn["ours"] = turn["three"] = len(sets) - 1
        one_way = ours().clone()
        for x, y in zip(sets[0], before):
            x.copy_(y)
        other = three().clone()
        check(f"append {b} x {s} {hq}/{hkv}", one_way, other.float(), BF16)
    race(f"append {b} x {s} {hq}/{hkv} D {d} page {page}", runs, 4 * b * hkv * s * d, "GB/s", launches=8)


FP8 = torch.float8_e4m3fn


def race_fp8_decode(b, s, hq, hkv, page=16, d=128):
    """Keys and values in fp8, of which bf16 would read twice as much; FlashAttention 3 takes Q in fp8, too."""
    count, sets, turn = -(-s // page), [], {}
    for _ in range(max(1, min(4, int(2e8 / (2 * b * hkv * s * d)) + 1))):
        pages = [normal(b * count, page, hkv, d).to(FP8) for _ in range(2)]
        sets.append((normal(b, hq, d), *pages, torch.randperm(b * count, device="cuda").to(torch.int32).view(b, count)))
    used, one = torch.full((b,), s, device="cuda", dtype=torch.int32), torch.ones(b, hkv, device="cuda")
    offsets = torch.arange(b + 1, device="cuda", dtype=torch.int32)

    def choose(who):
        turn[who] = (turn.get(who, 0) + 1) % len(sets)
        return sets[turn[who]]

    def ours():
        q, k, v, table = choose("ours")
        return flashtile.paged_attention(
            q[:, None], k, v, table, used, causal=True, layout="bshd", pages="nhd", k_scale=one, v_scale=one
        )

    runs = {"ours": ours}
    if peer:
        queries = [x[0].to(FP8) for x in sets]
        known = peer.get_scheduler_metadata(
            b, 1, s, hq, hkv, d, used, qkv_dtype=FP8, cu_seqlens_q=offsets, page_size=page, causal=True
        )

        def fa3():
            _, k, v, table = choose("fa3")
            return peer.flash_attn_varlen_func(
                queries[turn["fa3"]], k, v, 1, offsets, s, seqused_k=used, block_table=table, causal=True, fa_version=3,
                scheduler_metadata=known, q_descale=one, k_descale=one, v_descale=one,
            )

        runs["fa3, all in fp8"] = fa3
    race(f"fp8 paged {b} x {s} {hq}/{hkv} D {d} page {page}", runs, 2 * b * hkv * s * d, "GB/s", launches=8)


def race_fp8_prompts(b, s, h, d, causal):
    """Q, K and V in fp8, and keys and values alone; beside bf16."""
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    narrow, one = [x.to(FP8) for x in (q, k, v)], torch.ones(b, h, device="cuda")
    scales = {"k_scale": one, "v_scale": one}
    want = reference(*(x[0, :, :1] for x in narrow), causal)
    found = flashtile.attention(*narrow, causal=causal, layout="bshd", q_scale=one, out_dtype="float16", **scales)
    check(f"fp8 prompts {b} x {s} D {d} causal {causal}", found[0, :, :1], want, torch.float16)
    out, wide = torch.empty_like(q), torch.empty_like(q)  # of bf16, for which scores are products of 8 bits
    runs = {
        "ours": lambda: flashtile.attention(*narrow, causal=causal, layout="bshd", q_scale=one, out=out, **scales),
        "ours, q in bf16": lambda: flashtile.attention(q, *narrow[1:], causal=causal, layout="bshd", out=wide, **scales),
        "ours, bf16": lambda: flashtile.attention(q, k, v, causal=causal, layout="bshd", out=wide),
    }
    if peer:
        offsets = torch.arange(0, (b + 1) * s, s, device="cuda", dtype=torch.int32)
        flat = [x.flatten(0, 1) for x in narrow]
        runs["fa3"] = lambda: peer.flash_attn_varlen_func(
            *flat, s, offsets, s, cu_seqlens_k=offsets, causal=causal, fa_version=3, q_descale=one, k_descale=one, v_descale=one
        )
    race(f"fp8 {b} x {s} h {h} D {d} {'causal' if causal else 'full'}", runs, 4 * b * h * s * s * d * (0.5 if causal else 1), "TFLOP/s")


def race_all_fp8():
    for b, s, hq in ((64, 4096, 32), (16, 16384, 32), (1, 8192, 64), (4, 4096, 32)):
        race_fp8_decode(b, s, hq, 8)


def race_all_fp8_prompts():
    for d, h in ((128, 16), (64, 32), (256, 8)):
        for s in (4096, 16384):
            for causal in (False, True):
                race_fp8_prompts(16384 // s, s, h, d, causal)


def check_all():
    for dtype in (BF16, torch.float16, torch.float32):
        for d in (64, 128) if dtype != torch.float32 else (64,):
            for causal in (False, True):
                check_packed(dtype, d, causal)
            for page in (1, 16, 64):
                check_paged(dtype, d, page, [1] * 5, "decode")
                check_paged(dtype, d, page, [70, 0, 5, 1, 200], "packed queries")


def race_all_packed():
    draw = random.Random(7)
    race_packed("32 x 16..2048", [draw.randint(16, 2048) for _ in range(32)])
    race_packed("48 lognormal", [int(min(8192, max(8, math.exp(draw.gauss(6, 1.2))))) for _ in range(48)])


def race_all_paged():
    for page in (16, 64, 256):
        race_paged(64, 4096, 32, 8, page)
    for b, s in ((1, 8192), (4, 32768), (16, 2048)):
        race_paged(b, s, 64, 8, 16)
    race_paged(4, 4096, 32, 8, 16)
    race_paged(4, 4096, 32, 8, 16, sq=512)


def race_all_append():
    for b, s in ((1, 1024), (1, 8192), (4, 4096), (16, 1024), (16, 4096)):
        for hq in (32, 64):
            race_append(b, s, hq, 8)


def main():
    parts = {
        "check": check_all, "packed": race_all_packed, "paged": race_all_paged, "append": race_all_append,
        "fp8": race_all_fp8, "fp8-prompts": race_all_fp8_prompts,
    }
    for name in sys.argv[3:] or parts:
        parts[name]()
    with open(sys.argv[1], "w") as file:
        json.dump(results, file, indent=1)


main()
