"""Kernels whose texts the reader's tests are made of; see make_ttir.py. Together they use every operation of Triton's."""
import dataclasses

import triton
import triton.language as tl

ALL = {}


@dataclasses.dataclass
class Kernel:
    fn: object
    types: dict
    constants: dict
    divisible: tuple
    debug: bool


def kernel(types, divisible=(), debug=False, **constants):
    """Names an argument's type in `types`, the value of a constant behind it."""
    def add(fn):
        jitted = triton.jit(fn)
        ALL[fn.__name__] = Kernel(jitted, dict(x.split(":") for x in types.split()), constants, divisible, debug)
        return jitted
    return add


# What runs: these are lowered, too.
@kernel("x:*fp32 y:*fp32 out:*fp32 n:i32", B=1024)
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@kernel("x:*fp32 out:*fp32 n:i32", B=1024)
def add_no_mask(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) + 1.0, mask=at < n)


@kernel("x:*fp32 out:*fp32 stride_x:i32 stride_out:i32 columns:i32", B=128)
def softmax(x, out, stride_x, stride_out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < columns
    values = tl.load(x + row * stride_x + at, mask=mask, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride_out + at, values / tl.sum(values, axis=0), mask=mask)


@kernel("x:*fp32 out:*fp32 stride_x:i32 stride_out:i32 rows:i32 columns:i32", R=64, B=64)
def softmax_rows(x, out, stride_x, stride_out, rows, columns, R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    at = tl.arange(0, B)
    mask = (row[:, None] < rows) & (at[None, :] < columns)
    values = tl.load(x + row[:, None] * stride_x + at[None, :], mask=mask, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 1)[:, None])
    values = values / tl.sum(values, 1)[:, None]
    tl.store(out + row[:, None] * stride_out + at[None, :], values, mask=mask)


@kernel("a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32 K:i32 stride_am:i32 stride_bk:i32 stride_cm:i32", BM=64, BN=64, BK=32)
def matmul(a, b, c, M, N, K, stride_am, stride_bk, stride_cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a + rows[:, None] * stride_am + depth[None, :]
    b_at = b + depth[:, None] * stride_bk + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        x = tl.load(a_at, mask=(rows[:, None] < M) & (depth[None, :] < left), other=0.0)
        y = tl.load(b_at, mask=(depth[:, None] < left) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK
        b_at += BK * stride_bk
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * stride_cm + columns[None, :], acc.to(tl.float16), mask=mask)


@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 stride_z:i32 stride_h:i32 stride_m:i32 H:i32 N:i32",
        D=64, BM=64, BN=64)
def attention(q, k, v, out, scale, stride_z, stride_h, stride_m, H, N,
              D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pair = tl.program_id(1)
    base = (pair // H).to(tl.int64) * stride_z + (pair % H).to(tl.int64) * stride_h
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * stride_m + depth[None, :], mask=rows[:, None] < N, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, N, BN):
        keys_at = start + tl.arange(0, BN)
        at = base + keys_at[:, None] * stride_m + depth[None, :]
        keys = tl.load(k + at, mask=keys_at[:, None] < N, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(keys_at[None, :] < N, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        alpha = tl.exp(top - new_top)
        p = tl.exp(scores - new_top[:, None])
        total = total * alpha + tl.sum(p, 1)
        values = tl.load(v + at, mask=keys_at[:, None] < N, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
        top = new_top
    acc = acc / total[:, None]
    tl.store(out + base + rows[:, None] * stride_m + depth[None, :], acc.to(tl.float16), mask=rows[:, None] < N)


@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 lse:*fp32 scale:fp32 stride_h:i64 stride_m:i64 N:i32", D=64, BM=64, BN=32)
def attention_blocks(q, k, v, out, lse, scale, stride_h, stride_m, N,
                     D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1)
    row = tl.program_id(0) * BM
    base = head * stride_h
    q_block = tl.make_block_ptr(q + base, (N, D), (stride_m, 1), (row, 0), (BM, D), (1, 0))
    k_block = tl.make_block_ptr(k + base, (D, N), (1, stride_m), (0, 0), (D, BN), (0, 1))
    v_block = tl.make_block_ptr(v + base, (N, D), (stride_m, 1), (0, 0), (BN, D), (1, 0))
    out_block = tl.make_block_ptr(out + base, (N, D), (stride_m, 1), (row, 0), (BM, D), (1, 0))
    rows = row + tl.arange(0, BM)
    queries = tl.load(q_block, boundary_check=(0,), padding_option="zero")
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    factor = scale * 1.44269504
    for start in range(0, row + BM, BN):
        keys = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        scores = tl.dot(queries, keys) * factor
        scores = scores + tl.where(rows[:, None] >= start + tl.arange(0, BN)[None, :], 0, -1.0e6)
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        alpha = tl.math.exp2(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        values = tl.load(v_block, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(tl.float16), values, acc * alpha[:, None])
        top = new_top
        k_block = tl.advance(k_block, (0, BN))
        v_block = tl.advance(v_block, (BN, 0))
    tl.store(out_block, (acc / total[:, None]).to(tl.float16), boundary_check=(0,))
    tl.store(lse + head * N + rows, top + tl.math.log2(total), mask=rows < N)


@kernel("a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32 K:i32", divisible=("N", "K"), BM=64, BN=64, BK=64)
def matmul_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(a_desc.load([row, k]), b_desc.load([k, column]))
    c_desc.store([row, column], acc.to(tl.float16))


@kernel("x:*fp32 table:*i32 out:*fp32 n:i32", B=256)
def gather_rows(x, table, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    tl.store(out + at, tl.load(x + tl.load(table + at, mask=mask), mask=mask, other=1.0), mask=mask)


@kernel("x:*fp32 out:*fp32 rows:i32 stride:i32", R=64, B=32)
def column_sums(x, out, rows, stride, R: tl.constexpr, B: tl.constexpr):
    column = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for start in range(0, rows, R):
        row = start + tl.arange(0, R)
        values = tl.load(x + row[:, None] * stride + column[None, :], mask=row[:, None] < rows, other=0.0)
        acc += tl.sum(values, 0)
    tl.store(out + column, acc)


@kernel("x:*fp32 w:*fp32 b:*fp32 out:*fp32 stride:i32 n:i32 eps:fp32", B=128)
def layer_norm(x, w, b, out, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0) * stride
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        total += tl.load(x + row + at, mask=at < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        d = tl.where(at < n, tl.load(x + row + at, mask=at < n, other=0.0) - mean, 0.0)
        squares += d * d
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        mask = at < n
        y = (tl.load(x + row + at, mask=mask, other=0.0) - mean) * rstd
        tl.store(out + row + at, y * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask), mask=mask)


@kernel("x:*fp32 out:*fp32 n:i32 p:fp32 seed:i32", B=256)
def dropout(x, out, n, p, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=mask) / (1 - p), 0.0), mask=mask)


# A branch around tiles, in a loop around another one.
@kernel("x:*fp32 out:*fp32 heads:i32 rows:i32 columns:i32", R=64, B=64)
def masked_rows(x, out, heads, rows, columns, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    for head in range(0, heads):
        row = head * rows + tl.program_id(0) * R + tl.arange(0, R)
        acc = tl.zeros((R, B), tl.float32)
        for start in range(0, columns, B):
            where = row[:, None] * columns + start + at[None, :]
            values = tl.load(x + where, mask=start + at[None, :] < columns, other=0.0)
            if start > 0:
                acc += values
            else:
                acc += 2 * values
        if head != 1:
            tl.store(out + row[:, None] * B + at[None, :], acc)


# New keys and values into a cache of pages, each to the slot that a table says; -1 is none.
@kernel("key:*fp16 value:*fp16 key_cache:*fp16 value_cache:*fp16 slots:*i64 tokens:i32 stride:i32 page:i32 page_stride:i32",
        T=16, D=64)
def write_cache(key, value, key_cache, value_cache, slots, tokens, stride, page, page_stride,
                T: tl.constexpr, D: tl.constexpr):
    token = tl.program_id(0) * T + tl.arange(0, T)
    slot = tl.load(slots + token, mask=token < tokens, other=-1)
    depth = tl.program_id(1) * D + tl.arange(0, D)
    at = token[:, None] * stride + depth[None, :]
    to = (slot // page * page_stride + slot % page * stride)[:, None] + depth[None, :]
    mask = (slot >= 0)[:, None]
    tl.store(key_cache + to, tl.load(key + at, mask=mask), mask=mask)
    tl.store(value_cache + to, tl.load(value + at, mask=mask), mask=mask)


@kernel("x:*fp32 order:*i32 out:*fp32 rows:i32 columns:i32", R=32, B=32)
def permute_rows(x, order, out, rows, columns, R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * B + tl.arange(0, B)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    values = tl.load(x + row[:, None] * columns + column[None, :], mask=mask)
    to = tl.load(order + row, mask=row < rows)
    tl.store(out + to[:, None] * columns + column[None, :], values, mask=mask)


# A mask that bounds nothing, where addresses have steps.
@kernel("x:*fp32 out:*fp32 n:i32", B=256)
def store_positive(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    values = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, values, mask=values > 0)


# Each turn writes over what the one before has written.
@kernel("x:*fp32 order:*i32 out:*fp32 turns:i32", B=64)
def scatter_in_turn(x, order, out, turns, B: tl.constexpr):
    at = tl.arange(0, B)
    for turn in range(0, turns):
        to = tl.load(order + turn * B + at)
        tl.store(out + to, tl.load(x + turn * B + at))


# Where the largest is: the token of a row of scores, tile by tile.
@kernel("scores:*fp16 token:*i32 score:*fp32 stride:i32 n:i32", B=128)
def greedy_token(scores, token, score, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    best_at = 0
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        values = tl.load(scores + row * stride + at, mask=at < n, other=-float("inf")).to(tl.float32)
        most, here = tl.max(values, axis=0, return_indices=True)
        best_at = tl.where(most > best, start + here, best_at)
        best = tl.maximum(best, most)
    tl.store(token + row, best_at)
    tl.store(score + row, best)


# Each token's expert, and its weight.
@kernel("scores:*fp32 expert:*i32 weight:*fp32 tokens:i32 experts:i32", R=64, E=32)
def route(scores, expert, weight, tokens, experts, R: tl.constexpr, E: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    at = tl.arange(0, E)
    mask = (row[:, None] < tokens) & (at[None, :] < experts)
    values = tl.load(scores + row[:, None] * experts + at[None, :], mask=mask, other=-float("inf"))
    most, chosen = tl.max(values, 1, return_indices=True)
    tl.store(expert + row, chosen, mask=row < tokens)
    tl.store(weight + row, 1 / tl.sum(tl.exp(values - most[:, None]), 1), mask=row < tokens)


# In either dimension, of numbers of which many are equal: the first one; and of integers.
@kernel("x:*fp32 low_row:*i32 high_column:*i32 sums:*i32 columns:i32", R=64, B=64)
def extremes_at(x, low_row, high_column, sums, columns, R: tl.constexpr, B: tl.constexpr):
    row, at = tl.arange(0, R), tl.arange(0, B)
    values = tl.load(x + row[:, None] * columns + at[None, :])
    tl.store(low_row + at, tl.argmin(values, 0))
    whole = values.to(tl.int32)
    tl.store(high_column + row, tl.argmax(whole, 1))
    tl.store(sums + row, tl.sum(whole, 1) + 1000 * tl.max(whole, 1) + 100 * tl.min(whole, 1))


# Of numbers of 16 bits, which lanes do not exchange.
@kernel("x:*fp16 high:*fp16 high_at:*i32 low_row:*i32", R=16, B=128)
def halves_at(x, high, high_at, low_row, R: tl.constexpr, B: tl.constexpr):
    row, at = tl.arange(0, R), tl.arange(0, B)
    values = tl.load(x + row[:, None] * B + at[None, :])
    most, here = tl.max(values, 1, return_indices=True)
    tl.store(high + row, most)
    tl.store(high_at + row, here)
    tl.store(low_row + at, tl.argmin(values, 0))


# Any of the largest may be taken; here there is one.
@kernel("x:*fp32 high:*i32 low:*i32 n:i32", B=256)
def any_extreme_at(x, high, low, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.program_id(0)
    values = tl.load(x + row * n + at, mask=at < n, other=0.0)
    tl.store(high + row, tl.argmax(values, 0, tie_break_left=False))
    tl.store(low + row, tl.argmin(values, 0, tie_break_left=False))


# Loops of which nobody knows how often they run: over pages, each of which names the next one.
@kernel("x:*fp32 following:*i32 first:*i32 out:*fp32 lists:i32", B=64)
def linked_pages(x, following, first, out, lists, B: tl.constexpr):
    if tl.program_id(0) >= lists:
        return
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    page = tl.load(first + tl.program_id(0))
    while page >= 0:
        acc += tl.load(x + page * B + at)
        page = tl.load(following + page)
    tl.store(out + tl.program_id(0) * B + at, acc)


@kernel("a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32 K:i32 stride_am:i32 stride_bk:i32 stride_cm:i32", BM=64, BN=64, BK=32)
def matmul_while(a, b, c, M, N, K, stride_am, stride_bk, stride_cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a + rows[:, None] * stride_am + depth[None, :]
    b_at = b + depth[:, None] * stride_bk + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    left = K
    while left > 0:
        x = tl.load(a_at, mask=(rows[:, None] < M) & (depth[None, :] < left), other=0.0)
        y = tl.load(b_at, mask=(depth[:, None] < left) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK
        b_at += BK * stride_bk
        left -= BK
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * stride_cm + columns[None, :], acc.to(tl.float16), mask=mask)


# What a turn has stored the next one reads, of other threads, too; the condition reads memory.
@kernel("x:*fp32 last:*i32 out:*fp32 columns:i32", B=64)
def running_sum(x, last, out, columns, B: tl.constexpr):
    at = tl.arange(0, B)
    mask = at < columns
    tl.store(out + at, tl.load(x + at, mask=mask), mask=mask)
    row = 1
    while row <= tl.load(last):
        before = tl.load(out + (row - 1) * columns + columns - 1 - at, mask=mask)
        tl.store(out + row * columns + at, before + tl.load(x + row * columns + at, mask=mask), mask=mask)
        row += 1


# Tiles that loops hand to each other: each is another one's old state.
@kernel("x:*fp32 out:*fp32 turns:i32", B=64)
def rotated(x, out, turns, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    b = tl.load(x + B + at)
    c = tl.load(x + 2 * B + at)
    for turn in range(0, turns):
        a, b, c = b, c, a
    left = turns
    while left > 0:
        a, b, c = b, c, a
        left -= 2
    tl.store(out + at, a)
    tl.store(out + B + at, b)
    tl.store(out + 2 * B + at, c)


# Attention's loop, of which raising does not know how often it runs.
@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 N:i32", D=64, BM=64, BN=64)
def attention_while(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * N * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * D + depth[None, :], mask=rows[:, None] < N, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    start = 0
    while start < N:
        keys_at = start + tl.arange(0, BN)
        at = base + keys_at[:, None] * D + depth[None, :]
        scores = tl.dot(queries, tl.trans(tl.load(k + at, mask=keys_at[:, None] < N, other=0.0))) * scale
        scores = tl.where(keys_at[None, :] < N, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        alpha = tl.exp(top - new_top)
        p = tl.exp(scores - new_top[:, None])
        total = total * alpha + tl.sum(p, 1)
        values = tl.load(v + at, mask=keys_at[:, None] < N, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
        top = new_top
        start += BN
    acc = acc / total[:, None]
    tl.store(out + base + rows[:, None] * D + depth[None, :], acc.to(tl.float16), mask=rows[:, None] < N)


# A number that is reduced from tiles is carried, and where a branch is not taken nothing runs or is stored.
@kernel("x:*fp32 out:*fp32 sums:*fp32 rows:i32", B=64)
def guarded_while(x, out, sums, rows, B: tl.constexpr):
    at = tl.arange(0, B)
    if tl.program_id(0) % 2 == 0:
        row = tl.program_id(0)
        total = 0.0
        while row < rows:
            values = tl.load(x + row * B + at)
            total += tl.sum(values, 0)
            tl.store(out + row * B + at, 2 * values)
            row += tl.num_programs(0)
        tl.store(sums + tl.program_id(0), total)


# Other forms: read, and where a lowering has no words for them, refused.
@kernel("x:*fp32 out:*fp32 n:i32", B=64)
def early_return(x, out, n, B: tl.constexpr):
    if tl.program_id(0) >= n:
        return
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at))


@kernel("x:*fp32 out:*fp32 n:i32", B=64)
def while_loop(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    step = 0
    while step < n:
        acc += tl.load(x + at)
        step += B
        if step > 100:
            acc = acc * 2
        else:
            acc = acc + 1
    tl.store(out + at, acc)


@kernel("x:*fp32 y:*fp32 out:*fp32 n:i32", B=64)
def arithmetic(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B) + tl.num_programs(0) + tl.num_programs(1) + tl.num_programs(2)
    a = tl.load(x + at, cache_modifier=".cg", eviction_policy="evict_last")
    b = tl.load(y + at, volatile=True)
    c = tl.exp(a) + tl.exp2(b) + tl.log(a) + tl.log2(b) + tl.sin(a) + tl.cos(b) + tl.sqrt(a) + tl.rsqrt(b)
    c += tl.abs(a) + tl.floor(b) + tl.ceil(a) + tl.fma(a, b, c) + tl.erf(a) + tl.maximum(a, b) + tl.minimum(a, b)
    c += tl.sqrt_rn(a) + tl.div_rn(a, b) + tl.clamp(a, 0.0, 1.0) + tl.where(a > b, a, b) + tl.sigmoid(a)
    i = a.to(tl.int32) % 7
    j = (at << 2) | (i >> 1) ^ 5
    k = tl.umulhi(i, j) + tl.cdiv(i, 3) + (i // j) + tl.minimum(i, n) + (a.to(tl.uint32) // 3).to(tl.int32)
    c += (i + j + k).to(tl.float32) + (i < j).to(tl.float32) + (~i).to(tl.float32)
    c += a.to(tl.float16).to(tl.float32) + b.to(tl.bfloat16).to(tl.float32) + i.to(tl.float32, bitcast=True)
    c += a.to(tl.int8).to(tl.float32) + a.to(tl.int64).to(tl.float64).to(tl.float32)
    tl.store(out + at, c, cache_modifier=".cs", eviction_policy="evict_first")


@kernel("x:*fp32 out:*fp32", B=64)
def floats8(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at).to(tl.float8e5).to(tl.float32)
    tl.store(out + at, a)


@kernel("x:*fp32 out:*fp32", B=64)
def rounded(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at).to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.float32))


@kernel("x:*fp32 out:*i32", B=64)
def reductions(x, out, B: tl.constexpr):
    rows = tl.arange(0, B)
    a = tl.load(x + rows[:, None] * B + rows[None, :])
    tl.store(out + rows, tl.argmax(a, 1) + tl.argmin(a, 0))
    tl.store(out + rows, tl.xor_sum(a.to(tl.int32), 1))
    tl.store(out, tl.min(tl.max(a, 0), 0).to(tl.int32))


@kernel("x:*fp32 out:*fp32", B=64)
def scans(x, out, B: tl.constexpr):
    rows = tl.arange(0, B)
    a = tl.load(x + rows[:, None] * B + rows[None, :])
    a = tl.cumsum(a, 1) + tl.cumprod(a, 0, reverse=True)
    tl.store(out + rows[:, None] * B + rows[None, :], a)


@kernel("x:*i32 out:*i32", B=16)
def sorting(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    tl.store(out + at, tl.sort(a))
    tl.store(out + tl.arange(0, 16), tl.histogram(a, 16))


@kernel("x:*i32 out:*i32", B=64)
def masked_histogram(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    tl.store(out + tl.arange(0, 16), tl.histogram(a, 16, mask=a > 3))


@kernel("x:*fp32 out:*fp32", B=64)
def shapes(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    joined = tl.join(a, a + 1)
    left, right = tl.split(joined)
    both = tl.reshape(tl.permute(joined, (1, 0)), (2 * B,))
    tl.store(out + tl.arange(0, 2 * B), both + tl.cat(left, right, can_reorder=True) + tl.ravel(tl.interleave(a, a)))
    tl.store(out, tl.load(x))


@kernel("x:*fp32 i:*i32 out:*fp32", B=32)
def gather_local(x, i, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at[:, None] * B + at[None, :])
    b = tl.load(i + at[:, None] * B + at[None, :])
    tl.store(out + at[:, None] * B + at[None, :], tl.gather(a, b, 1))


@kernel("x:*fp32 i:*i32 out:*i32 n:i32", B=64)
def atomics(x, i, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    tl.atomic_add(x + at, a, mask=at < n)
    tl.atomic_add(x, 1.0, sem="relaxed", scope="cta")
    tl.atomic_max(i + at, at)
    tl.atomic_min(i + at, at)
    tl.atomic_and(i + at, at)
    tl.atomic_or(i + at, at)
    tl.atomic_xor(i + at, at)
    tl.atomic_xchg(i + at, at, sem="release")
    while tl.atomic_cas(i, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.atomic_xchg(i, 0)
    tl.store(out + at, tl.atomic_cas(i + at, at, at + 1))


@kernel("x:*i32 out:*i32 n:i32", B=64)
def atomics_of_3_9(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.atomic_load(x + at, mask=at < n, sem="acquire") + tl.atomic_load(x)
    ready = tl.atomic_poll(x, 1) & tl.atomic_poll(x + 1, 1, timeout_ns=100)
    tl.atomic_store(out + at, a, mask=at < n)
    tl.atomic_store(out, ready.to(tl.int32), sem="release")


@kernel("x:*fp32 out:*fp32", B=64)
def approximate(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    tl.store(out + at, tl.fdiv(1.0, a, approx=True))


@kernel("x:*fp32 out:*fp32 n:i32 m:i64")
def blocks_with_nan(x, out, n, m):
    a = tl.make_block_ptr(x, (n, 64), (m, 1), (16, 0), (16, 64), (1, 0))
    b = tl.make_block_ptr(out, (n, 64), (m, 1), (0, 0), (16, 64), (1, 0))
    tl.store(b, tl.load(a, boundary_check=(0, 1), padding_option="nan", cache_modifier=".ca"))


@kernel("x:*fp32 out:*fp32 n:i32 m:i64")
def descriptors_with_nan(x, out, n, m):
    a = tl.make_tensor_descriptor(x, [n, 64], [m, 1], [16, 64], padding_option="nan")
    tl.store(out, tl.sum(tl.sum(a.load([n, 0]), 1), 0))


@kernel("x:*i8 out:*fp16")
def descriptors_of_3_2(x, out):
    a = tl._experimental_descriptor_load(x, [16, 0], [16, 64], tl.float16)
    tl._experimental_descriptor_store(x, a, [0, 0])
    tl.extra.cuda.experimental_device_tensormap_create2d(x, out, [16, 64], [128, 64], tl.float16)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(x)


@kernel("x:*i8 out:*fp16", B=64)
def descriptors_of_3_3(x, out, B: tl.constexpr):
    a = tl._experimental_reinterpret_tensor_descriptor(x, [16, B], tl.float16)
    at = tl.arange(0, 16)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, a.load([16, 0]))


@kernel("x:*fp32 out:*i32", B=64)
def other_pointers(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    bits = x.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.store(out + at, tl.load(bits + at))


@kernel("x:*fp32 out:*fp32 n:i32", debug=True, B=64)
def debugging(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.assume(n > 0)
    a = tl.load(x + tl.multiple_of(tl.max_contiguous(at, B), B))
    tl.device_print("a and n", a, n)
    tl.device_print("nothing")
    tl.device_assert(a > 0, "a is above 0")
    tl.store(out + at, a)


@kernel("x:*fp32 out:*fp32", B=64)
def assembly(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    b = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=1)
    c, d = tl.inline_asm_elementwise("mov.b32 $0, $2; mov.b32 $1, $2;", "=f,=f,f", [b], dtype=(tl.float32, tl.float32),
                                     is_pure=False, pack=1)
    tl.store(out + at, b + c + d)


@kernel("x:*fp32 out:*fp32", B=64)
def library(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.extra.cuda.libdevice.tanh(tl.load(x + at)))


@kernel("table:*i64 out:*fp32", B=64)
def loaded_pointers(table, out, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.load(x + at))
    tl.store(table + 1, out.to(tl.int64))


@triton.jit(noinline=True)
def doubled(x):
    return x * 2, x + 1


@kernel("x:*fp32 out:*fp32", B=64)
def calls(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = doubled(tl.load(x))
    tl.store(out + at, tl.load(x + at) + a + b)


@triton.jit
def two_ways(a, b):
    if a < b:
        return a, b
    else:
        return b, a


@kernel("x:*fp32 out:*fp32", B=64)
def mapped(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.map_elementwise(two_ways, tl.load(x + at), tl.load(x + at + B))
    tl.store(out + at, a + b)


@kernel("x:*fp32 y:*fp32 out:*fp32", B=64)
def dots(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    c = tl.dot(a, b) + tl.dot(a, b, input_precision="tf32x3") + tl.dot(a, b, input_precision="ieee")
    c += tl.dot(a.to(tl.float16), b.to(tl.float16), out_dtype=tl.float16).to(tl.float32)
    c += tl.dot(a.to(tl.int8), b.to(tl.int8)).to(tl.float32)
    c = tl.dot(a.to(tl.float8e5), b.to(tl.float8e5), c, max_num_imprecise_acc=0)
    tl.store(out + at, c)


@kernel("x:*fp32 y:*fp32 out:*fp32", B=64)
def dots_bf16x3(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.dot(a, tl.load(y + at), input_precision="bf16x3"))


@kernel("x:*u8 y:*u8 s:*u8 out:*fp32", B=64)
def dots_scaled(x, y, s, out, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    scales = tl.load(s + tl.arange(0, B)[:, None] * 2 + tl.arange(0, 2)[None, :])
    c = tl.dot_scaled(tl.load(x + at), scales, "e5m2", tl.load(y + at), None, "e5m2")
    tl.store(out + at, c)


@kernel("x:*fp32 out:*fp32", B=64)
def batched_dots(x, out, B: tl.constexpr):
    at = tl.arange(0, 2)[:, None, None] * B * B + tl.arange(0, B)[None, :, None] * B + tl.arange(0, B)[None, None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.dot(a, tl.permute(a, (0, 2, 1))))


@kernel("x:*fp16 i:*i32 out:*fp16 n:i32")
def descriptors(x, i, out, n):
    a = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [1, 64])
    b = tl.make_tensor_descriptor(out, [n, 64], [64, 1], [16, 64])
    c = tl.make_tensor_descriptor(out, [n, 64], [64, 1], [1, 64])
    rows = tl.load(i + tl.arange(0, 16))
    tile = a.gather(rows, 0)
    c.scatter(tile, rows, 0)
    b.atomic_add([0, 0], tile)
    b.atomic_max([0, 0], tile)
    b.store([16, 0], b.load([0, 0]))


@kernel("x:*fp32 out:*fp32 n:i32", B=64)
def loops(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n, num_stages=3, loop_unroll_factor=2):
        acc += tl.load(x + at + k * B)
    for k in tl.static_range(0, 2):
        acc += k
    for k in tl.range(n, 0, -1):
        acc += k
    tl.store(out + at, acc)


@kernel("x:*fp32 out:*fp32 n:i32", B=64)
def specialized_loop(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n, warp_specialize=True, disallow_acc_multi_buffer=True, flatten=True):
        acc += tl.load(x + at + k * B)
    tl.store(out + at, acc)


@kernel("out:*fp32 seed:i32", B=256)
def random_numbers(out, seed, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.rand(seed, at) + tl.randint(seed, at).to(tl.float32))


@kernel("x:*fp32 out:*fp32", B=64)
def unsplat(x, out, B: tl.constexpr):
    at = tl.arange(0, 1)
    a = tl.load(x + at)
    tl.store(out, tl.reshape(a, [1, 1]).reshape([1]).item())


@kernel("x:*fp32 out:*fp32")
def grid_dependency(x, out):
    tl.extra.cuda.gdc_wait()
    tl.store(out, tl.load(x))
    tl.extra.cuda.gdc_launch_dependents()


# How often each number is there: several elements add to one place, of one program and of others.
@kernel("x:*i32 counts:*i32 n:i32", B=256)
def count_numbers(x, counts, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    number = tl.load(x + at, mask=at < n, other=-1)
    tl.atomic_add(counts + number, 1, mask=number >= 0, sem="relaxed")


# The gradient of rows that were taken from a table, where a row is taken more than once.
@kernel("gradient:*fp32 taken:*i32 table:*fp32 rows:i32 columns:i32", R=32, B=32)
def embedding_gradient(gradient, taken, table, rows, columns, R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * B + tl.arange(0, B)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    values = tl.load(gradient + row[:, None] * columns + column[None, :], mask=mask)
    to = tl.load(taken + row, mask=row < rows)
    tl.atomic_add(table + to[:, None] * columns + column[None, :], values, mask=mask)


# A mask that bounds nothing, where addresses have steps.
@kernel("x:*fp32 sums:*fp32 n:i32", B=128)
def sum_positive(x, sums, n, B: tl.constexpr):
    at = tl.arange(0, B)
    values = tl.load(x + tl.program_id(0) * B + at, mask=tl.program_id(0) * B + at < n, other=0.0)
    tl.atomic_add(sums + at, values, mask=values > 0)
