"""Kernels of attention as engines have them: lengths that are read from memory, keys that lie in pages, and kernels that
only look so.

FAULT is what a kernel has that no attention of FlashTile's has; ../../Inputs/make_ttir.py prints their texts (--module).
"""
import pathlib
import sys

import triton
import triton.language as tl

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
from kernels import kernel


@triton.jit
def online_step(top, total, acc, scores, values):
    new_top = tl.maximum(top, tl.max(scores, 1))
    alpha = tl.exp(top - new_top)
    p = tl.exp(scores - new_top[:, None])
    total = total * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(values.dtype), values)
    return new_top, total, acc


# One token: G query heads that share a head of keys are the rows of a tile. n of the keys are read.
def lengths(name, fault="", of="i32", **constants):
    def body(q, k, v, out, lens, scale, qz, qh, kz, kn, kh, W, S,
             D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WINDOW: tl.constexpr,
             COUNTED: tl.constexpr, MORE: tl.constexpr, FAULT: tl.constexpr):
        b = tl.program_id(0)
        head = tl.program_id(1)
        n = tl.load(lens + (b * W + head if FAULT == "other_length" else b)) + MORE
        rows = tl.arange(0, BM)
        depth = tl.arange(0, D)
        where = b * qz + (head * G + rows[:, None]) * qh + depth[None, :]
        queries = tl.load(q + where, mask=rows[:, None] < G, other=0.0)
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        first = 0
        if WINDOW:
            first = tl.maximum(n - W, 0) // BN * BN
        end = S if FAULT == "long" else n
        for start in range(first, tl.cdiv(end, BN) if COUNTED else end, 1 if COUNTED else BN):
            at = start * (BN if COUNTED else 1) + tl.arange(0, BN)
            keys_at = b * kz + at[:, None] * kn + head * kh + depth[None, :]
            keys = tl.load(k + keys_at, mask=at[:, None] < n, other=0.0)
            values = tl.load(v + keys_at, mask=at[:, None] < n, other=0.0)
            scores = tl.dot(queries, tl.trans(keys)) * scale
            if FAULT != "unmasked":
                keep = at < n
                if WINDOW:
                    keep = keep & (at >= n - W)
                scores = tl.where(keep[None, :], scores, -float("inf"))
            top, total, acc = online_step(top, total, acc, scores, values)
        tl.store(out + where, (acc / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < G)
    body.__name__ = body.__qualname__ = name
    kernel(f"q:*fp16 k:*fp16 v:*fp16 out:*fp16 lens:*{of} scale:fp32 qz:i32 qh:i32 kz:i32 kn:i32 kh:i32 W:i32 S:i32",
           **{"D": 64, "G": 4, "BM": 16, "BN": 32, "WINDOW": False, "COUNTED": False, "MORE": 0, "FAULT": fault, **constants})(body)


lengths("lengths")
lengths("lengths_window", WINDOW=True)
lengths("lengths_counted", COUNTED=True)
lengths("lengths_limited", "long")
lengths("lengths_unmasked", "unmasked")
lengths("lengths_of_heads", "other_length")
lengths("lengths_long", of="i64", MORE=1)


# Tokens of prompts, causal: query i of a sequence with S queries and n keys is at key i + n - S.
@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 lse:*fp32 lens:*i32 scale:fp32 qz:i32 qh:i32 qn:i32 kz:i32 kh:i32 kn:i32 "
        "lz:i32 lh:i32 S:i32", D=64, G=2, BM=64, BN=32)
def lengths_causal(q, k, v, out, lse, lens, scale, qz, qh, qn, kz, kh, kn, lz, lh, S,
                   D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(2)
    head = tl.program_id(1)
    block = tl.program_id(0)
    n = tl.load(lens + b)
    rows = block * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    where = b * qz + head * qh + rows[:, None] * qn + depth[None, :]
    queries = tl.load(q + where, mask=rows[:, None] < S, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, tl.minimum(n, n - S + (block + 1) * BM), BN):
        at = start + tl.arange(0, BN)
        keys_at = b * kz + head // G * kh + at[:, None] * kn + depth[None, :]
        keys = tl.load(k + keys_at, mask=at[:, None] < n, other=0.0)
        values = tl.load(v + keys_at, mask=at[:, None] < n, other=0.0)
        keep = (at[None, :] < n) & (at[None, :] <= rows[:, None] + n - S)
        scores = tl.where(keep, tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
        top, total, acc = online_step(top, total, acc, scores, values)
    tl.store(out + where, (acc / total[:, None]).to(tl.float16), mask=rows[:, None] < S)
    tl.store(lse + b * lz + head * lh + rows, top + tl.log(total), mask=rows < S)


# One token of each sequence, keys in pages: one page a step, or BN keys of several, or part of one.
def pages(name, fault="", types="i32", extra="i32", of="i32", **constants):
    def body(q, k, v, out, table, lens, extra, scale, qz, qh, kp, kn, kh, tz, P,
             D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PAGE: tl.constexpr,
             FORM: tl.constexpr, FAULT: tl.constexpr):
        b = tl.program_id(0)
        head = tl.program_id(1)
        n = tl.load(lens + b) + (1 if FAULT == "one_more" else 0)
        rows = tl.arange(0, BM)
        depth = tl.arange(0, D)
        where = b * qz + (head * G + rows[:, None]) * qh + depth[None, :]
        queries = tl.load(q + where, mask=rows[:, None] < G, other=0.0)
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        row = table + b * tz
        if FAULT == "other_row":
            row = table + head * tz
        if FAULT == "row_of_request":
            row = table + tl.load(extra + b) * tz
        if FORM == "step":
            for p in range(0, tl.cdiv(n, PAGE)):
                page = tl.load(row + p)
                slots = tl.arange(0, PAGE)
                at = p * PAGE + slots
                if FAULT == "half_pages":
                    slots = slots // 2
                keys_at = page * kp + slots[:, None] * kn + head * kh + depth[None, :]
                values_at = keys_at
                if FAULT == "contiguous_values":
                    values_at = b * kp + at[:, None] * kn + head * kh + depth[None, :]
                if FAULT == "other_page":
                    values_at = tl.load(row + p + 1) * kp + slots[:, None] * kn + head * kh + depth[None, :]
                if FAULT == "other_table":
                    values_at = tl.load(extra + b * tz + p) * kp + slots[:, None] * kn + head * kh + depth[None, :]
                keys = tl.load(k + keys_at, mask=at[:, None] < n, other=0.0)
                values = tl.load(v + values_at, mask=at[:, None] < n, other=0.0)
                scores = tl.dot(queries, tl.trans(keys)) * scale
                if FAULT == "biased":
                    scores += tl.load(extra + b * tz + at, mask=at < n, other=0.0)[None, :]
                scores = tl.where(at[None, :] < n, scores, -float("inf"))
                top, total, acc = online_step(top, total, acc, scores, values)
        else:
            for start in range(0, P * 16 if FAULT == "no_lengths" else n, BN):
                at = start + tl.arange(0, BN)
                end = P * 16 if FAULT == "no_lengths" else n
                if FORM == "vector":
                    read = n - 1 if FAULT == "unread" else end
                    page = tl.load(row + at // PAGE, mask=at < read, other=0).to(tl.int64)[:, None]
                    slot = (at % (8 if FAULT == "other_remainder" else PAGE))[:, None]
                if FORM == "part": # a page has P keys, a multiple of BN
                    page = tl.load(row + start // P).to(tl.int64)
                    slot = (start % P + tl.arange(0, BN))[:, None]
                if FORM == "token": # a page for each key
                    page = tl.load(row + at, mask=at < n, other=0).to(tl.int64)[:, None]
                    slot = 0
                keys_at = page * kp + slot * kn + head * kh + depth[None, :]
                keys = tl.load(k + keys_at, mask=at[:, None] < end, other=0.0)
                values = tl.load(v + keys_at, mask=at[:, None] < end, other=0.0)
                scores = tl.dot(queries, tl.trans(keys)) * scale
                scores = tl.where(at[None, :] < end, scores, -float("inf"))
                top, total, acc = online_step(top, total, acc, scores, values)
        tl.store(out + where, (acc / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < G)
    body.__name__ = body.__qualname__ = name
    kernel(f"q:*fp16 k:*fp16 v:*fp16 out:*fp16 table:*{types} lens:*{of} extra:*{extra} scale:fp32 "
           "qz:i32 qh:i32 kp:i32 kn:i32 kh:i32 tz:i32 P:i32",
           **{"D": 64, "G": 4, "BM": 16, "BN": 32, "PAGE": 16, "FORM": "step", "FAULT": fault, **constants})(body)


pages("pages_step")
pages("pages_vector", FORM="vector")
pages("pages_part", FORM="part")
pages("pages_token", FORM="token")
pages("pages_other_row", "other_row")
pages("pages_row_of_request", "row_of_request")
pages("pages_half", "half_pages")
pages("pages_of_keys_alone", "contiguous_values")
pages("pages_other_page", "other_page")
pages("pages_other_table", "other_table")
pages("pages_biased", "biased", extra="fp32")
pages("pages_no_lengths", "no_lengths", FORM="vector")
pages("pages_unread", "unread", FORM="vector")
pages("pages_other_remainder", "other_remainder", FORM="vector")
pages("pages_wide", types="i64")
pages("pages_long", of="i64")
pages("pages_one_more", "one_more")


# Prompts over pages, causal.
@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 table:*i32 lens:*i32 scale:fp32 qz:i32 qh:i32 qn:i32 kp:i32 kn:i32 kh:i32 "
        "tz:i32 tn:i32 H:i32 S:i32", D=64, G=2, BM=16, BN=32, PAGE=8)
def pages_causal(q, k, v, out, table, lens, scale, qz, qh, qn, kp, kn, kh, tz, tn, H, S,
                 D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PAGE: tl.constexpr):
    pair = tl.program_id(1)
    b = pair // H
    head = pair % H
    block = tl.program_id(0)
    n = tl.load(lens + b)
    rows = block * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    where = b * qz + head * qh + rows[:, None] * qn + depth[None, :]
    queries = tl.load(q + where, mask=rows[:, None] < S, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for tile in range(0, tl.cdiv(tl.minimum(n, n - S + (block + 1) * BM), BN)):
        at = tile * BN + tl.arange(0, BN)
        page = tl.load(table + b * tz + at[:, None] // PAGE * tn, mask=at[:, None] < n, other=0).to(tl.int64)
        keys_at = page * kp + (at % PAGE)[:, None] * kn + head // G * kh + depth[None, :]
        keys = tl.load(k + keys_at, mask=at[:, None] < n, other=0.0)
        values = tl.load(v + keys_at, mask=at[:, None] < n, other=0.0)
        keep = (at[None, :] < n) & (at[None, :] <= rows[:, None] + n - S)
        scores = tl.where(keep, tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
        top, total, acc = online_step(top, total, acc, scores, values)
    tl.store(out + where, (acc / total[:, None]).to(tl.float16), mask=rows[:, None] < S)


# A key sees those of its own segment: which these are lies in memory, where rows and keys are one tile.
def segments(name, of):
    def body(q, k, v, out, segments, scale, D: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, N)
        where = tl.program_id(0) * N * D + at[:, None] * D + tl.arange(0, D)[None, :]
        own = tl.load(segments + tl.program_id(0) * N + at).to(tl.int32)
        scores = tl.dot(tl.load(q + where), tl.trans(tl.load(k + where))) * scale
        scores = tl.where(own[:, None] == own[None, :], scores, -float("inf"))
        p = tl.exp(scores - tl.max(scores, 1)[:, None])
        acc = tl.dot(p.to(tl.float16), tl.load(v + where))
        tl.store(out + where, (acc / tl.sum(p, 1)[:, None]).to(tl.float16))
    body.__name__ = body.__qualname__ = name
    kernel(f"q:*fp16 k:*fp16 v:*fp16 out:*fp16 segments:*{of} scale:fp32", D=64, N=64)(body)


segments("segments", "i32")
segments("segments_rounded", "fp32")


# A program for each query head: products are sums, and the state is a vector and two numbers.
def token(name, fault="", **constants):
    def body(q, k, v, out, lse, table, lens, scale, qz, qh, kp, kn, kh, tz, lz,
             D: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, PAGE: tl.constexpr, FAULT: tl.constexpr):
        b = tl.program_id(1)
        head = tl.program_id(0)
        n = tl.load(lens + b)
        depth = tl.arange(0, D)
        query = tl.load(q + b * qz + head * qh + depth).to(tl.float32) * scale
        top = -float("inf")
        total = 0.0
        acc = tl.zeros([D], tl.float32)
        for start in range(0, n, BN):
            at = start + tl.arange(0, BN)
            inside = at < n
            keys_at = b * kp + at[:, None] * kn + head // G * kh + depth[None, :]
            if PAGE:
                page = tl.load(table + b * tz + at // PAGE, mask=inside, other=0)
                keys_at = page[:, None] * kp + (at % PAGE)[:, None] * kn + head // G * kh + depth[None, :]
            keys = tl.load(k + keys_at, mask=inside[:, None], other=0.0).to(tl.float32)
            values = tl.load(v + keys_at, mask=inside[:, None], other=0.0).to(tl.float32)
            scores = tl.where(inside, tl.sum(query[None, :] * keys, 1), -float("inf"))
            new_top = tl.maximum(top, tl.max(scores, 0))
            alpha = tl.exp(top - new_top)
            p = tl.exp(scores - new_top)
            total = total * alpha + tl.sum(p, 0)
            if FAULT != "not_rescaled":
                acc = acc * alpha
            acc += tl.sum(p[:, None] * values, 0)
            top = new_top
        tl.store(out + b * qz + head * qh + depth, (acc / total).to(out.dtype.element_ty))
        tl.store(lse + b * lz + head, top + tl.log(total))
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 lse:*fp32 table:*i32 lens:*i32 scale:fp32 qz:i32 qh:i32 kp:i32 kn:i32 "
           "kh:i32 tz:i32 lz:i32", **{"D": 64, "G": 4, "BN": 32, "PAGE": 0, "FAULT": fault, **constants})(body)


token("token_lengths")
token("token_pages", PAGE=16)
token("token_not_rescaled", "not_rescaled")


# Decode as vLLM's kernels say it: two masks of heads, K turned, finite masks, sums that begin with 1.
@kernel("out:*fp16 q:*fp16 k:*fp16 v:*fp16 tables:*i32 lens:*i32 scale:fp32 cap:fp32 H:i32 tz:i64 qz:i64 qh:i64 oz:i64 "
        "oh:i64 kp:i64 kn:i64 kh:i64 vp:i64 vn:i64 vh:i64", D=64, G=4, BM=16, PAGE=16, WINDOW=40)
def pages_decode(out, q, k, v, tables, lens, scale, cap, H, tz, qz, qh, oz, oh, kp, kn, kh, vp, vn, vh,
                 D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, PAGE: tl.constexpr, WINDOW: tl.constexpr):
    b = tl.program_id(0)
    kv_head = tl.program_id(1)
    head = kv_head * G + tl.arange(0, BM)
    inside = (head < (kv_head + 1) * G) & (head < H)
    depth = tl.arange(0, D)
    queries = tl.load(q + b * qz + head[:, None] * qh + depth[None, :], mask=inside[:, None], other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    n = tl.load(lens + b)
    context = n - 1
    for step in range(0, tl.cdiv(n, PAGE)):
        page = tl.load(tables + b * tz + step)
        slots = tl.arange(0, PAGE)
        at = step * PAGE + slots
        keys = tl.load(k + page * kp + kv_head * kh + slots[None, :] * kn + depth[:, None])
        values = tl.load(v + page * vp + kv_head * vh + slots[:, None] * vn + depth[None, :])
        scores = scale * tl.dot(queries, keys)
        up, down = tl.exp(scores / cap), tl.exp(-(scores / cap))
        scores = cap * (up - down) / (up + down)
        scores = tl.where(inside[:, None] & (at < n)[None, :], scores, -float("inf"))
        scores = tl.where((context - at < WINDOW)[None, :], scores, -10000)
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        alpha = tl.exp(top - new_top)
        acc = acc * alpha[:, None]
        total = total * alpha + tl.sum(p, 1)
        top = new_top
        acc += tl.dot(p.to(values.dtype), values)
    acc = acc / total[:, None]
    tl.store(out + b * oz + head[:, None] * oh + depth[None, :], acc.to(tl.float16), mask=inside[:, None])


# Whole tiles without a mask and then the rest, of as many keys as there are of at most S.
def staged(name, fault=""):
    def body(q, k, v, out, lens, scale, qz, qh, kz, kn, kh, W, S,
             D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FAULT: tl.constexpr):
        b = tl.program_id(0)
        head = tl.program_id(1)
        n = tl.minimum(tl.load(lens + b), S)
        rows = tl.arange(0, BM)
        depth = tl.arange(0, D)
        where = b * qz + (head * G + rows[:, None]) * qh + depth[None, :]
        queries = tl.load(q + where, mask=rows[:, None] < G, other=0.0)
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        whole = (n + BN - 1 if FAULT == "rounded_up" else n) // BN * BN
        for part in tl.static_range(2):
            for start in range(0 if part == 0 else whole, whole if part == 0 else n, BN):
                at = start + tl.arange(0, BN)
                keys_at = b * kz + at[:, None] * kn + head * kh + depth[None, :]
                if part == 0:
                    keys = tl.load(k + keys_at)
                    values = tl.load(v + keys_at)
                    scores = tl.dot(queries, tl.trans(keys)) * scale
                else:
                    keys = tl.load(k + keys_at, mask=at[:, None] < n, other=0.0)
                    values = tl.load(v + keys_at, mask=at[:, None] < n, other=0.0)
                    scores = tl.where(at[None, :] < n, tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
                top, total, acc = online_step(top, total, acc, scores, values)
        tl.store(out + where, (acc / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < G)
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 lens:*i32 scale:fp32 qz:i32 qh:i32 kz:i32 kn:i32 kh:i32 W:i32 S:i32",
           D=64, G=4, BM=16, BN=32, FAULT=fault)(body)


staged("lengths_staged")
staged("lengths_rounded_up", "rounded_up")
