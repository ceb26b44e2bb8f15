"""Kernels as people write them: the five programs of examples/seeds, those that Triton's tutorials teach, and what models
are made of. programs_data.py has what they are run on; run_programs.py launches them."""
import math

import triton
import triton.language as tl


# ===--- The five programs ---=== #


@triton.jit
def seed_000(q, k, v, scale, out, qz, qh, qm, qk, kz, kh, kn, kk, vz, vh, vn, vk, oz, oh, om, ok, H, N,
             D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pair = tl.program_id(1)
    z = (pair // H).to(tl.int64)
    h = (pair % H).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + z * qz + h * qh + (rows[:, None] * qm + depth[None, :] * qk), mask=rows[:, None] < N, other=0.0)
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + z * kz + h * kh + (at[:, None] * kn + depth[None, :] * kk), mask=at[:, None] < N, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(at[None, :] < N, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        alpha = tl.exp(top - new_top)
        p = tl.exp(scores - new_top[:, None])
        total = total * alpha + tl.sum(p, axis=1)
        values = tl.load(v + z * vz + h * vh + (at[:, None] * vn + depth[None, :] * vk), mask=at[:, None] < N, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(values.dtype), values)
        top = new_top
    acc = acc / total[:, None]
    tl.store(out + z * oz + h * oh + (rows[:, None] * om + depth[None, :] * ok), acc.to(out.dtype.element_ty),
             mask=rows[:, None] < N)


@triton.jit
def seed_001(q, k, v, scale, lse, out, sz, sh, sn, sd, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    # Completed: K is read as [d, s], and the log-sum-exp is written.
    pair = tl.program_id(1)
    base = (pair // H).to(tl.int64) * sz + (pair % H).to(tl.int64) * sh
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * sn + depth[None, :] * sd, mask=rows[:, None] < N, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + base + depth[:, None] * sd + at[None, :] * sn, mask=at[None, :] < N, other=0.0)
        scores = tl.where(at[None, :] < N, tl.dot(queries, keys) * scale, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        alpha = tl.exp(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        values = tl.load(v + base + at[:, None] * sn + depth[None, :] * sd, mask=at[:, None] < N, other=0.0)
        acc = tl.dot(p.to(tl.float16), values, acc * alpha[:, None])
        top = new_top
    inside = rows < N
    tl.store(lse + pair * N + rows, top + tl.log(total), mask=inside)
    tl.store(out + base + rows[:, None] * sn + depth[None, :] * sd, (acc / total[:, None]).to(tl.float16),
             mask=inside[:, None])


@triton.jit
def seed_002(q, k, v, out, sz, sh, sn, sd, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    # As written: K is read as [d, s] and transposed again, and keys beyond the end are zeros that take part.
    base = tl.program_id(0) * sz + tl.program_id(1) * sh
    first = tl.program_id(2) * BM
    mine = (first + tl.arange(0, BM))[:, None] * sn + tl.arange(0, D)[None, :] * sd
    top = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    queries = tl.load(q + base + mine, mask=(first + tl.arange(0, BM))[:, None] < N, other=0.0)
    scale = 1.0 / math.sqrt(D)
    for start in range(0, N, BN):
        k_at = k + base + (start + tl.arange(0, BN))[None, :] * sn + tl.arange(0, D)[:, None] * sd
        v_at = v + base + (start + tl.arange(0, BN))[:, None] * sn + tl.arange(0, D)[None, :] * sd
        keys = tl.load(k_at, mask=(start + tl.arange(0, BN))[None, :] < N, other=0.0)
        values = tl.load(v_at, mask=(start + tl.arange(0, BN))[:, None] < N, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        if CAUSAL:
            later = (first + tl.arange(0, BM))[:, None] < (start + tl.arange(0, BN))[None, :]
            scores = tl.where(later, -float("inf"), scores)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp(scores - new_top[:, None])
        alpha = tl.exp(top - new_top)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype.element_ty), values)
        total = total * alpha + tl.sum(p, axis=1)
        top = new_top
    total = tl.where(total == 0, 1.0, total)
    tl.store(out + base + mine, (acc / total[:, None]).to(out.dtype.element_ty),
             mask=(first + tl.arange(0, BM))[:, None] < N)


@triton.jit
def seed_003(q, k, v, out, sb, sh, sm, sd, H, S, D, scale, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # Everything between loads and stores is f32.
    pair = tl.program_id(1)
    b = pair // H
    h = pair - b * H
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, BD)
    in_rows = rows < S
    in_depth = depth < D
    mask = in_rows[:, None] & in_depth[None, :]
    queries = tl.load(q + b * sb + h * sh + rows[:, None] * sm + depth[None, :] * sd, mask=mask, other=0.0).to(tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, BD], tl.float32)
    for start in range(0, S, BN):
        at = start + tl.arange(0, BN)
        there = b * sb + h * sh + at[:, None] * sm + depth[None, :] * sd
        keys = tl.load(k + there, mask=(at < S)[:, None] & in_depth[None, :], other=0.0).to(tl.float32)
        values = tl.load(v + there, mask=(at < S)[:, None] & in_depth[None, :], other=0.0).to(tl.float32)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where((at < S)[None, :], scores, -float("inf"))
        scores = tl.where(in_rows[:, None], scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp(scores - new_top[:, None])
        alpha = tl.exp(top - new_top)
        total = total * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float32), values, input_precision="ieee")
        top = new_top
    total = tl.where(in_rows, total, 1.0)
    result = tl.where(mask, acc / total[:, None], 0.0)
    tl.store(out + b * sb + h * sh + rows[:, None] * sm + depth[None, :] * sd, result.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _stage(acc, total, top, queries, k_block, v_block, block, scale, BM: tl.constexpr, BN: tl.constexpr,
           STAGE: tl.constexpr, rows, keys_at, N: tl.constexpr):
    if STAGE == 1:
        lo, hi = 0, block * BM
    elif STAGE == 2:
        lo, hi = block * BM, (block + 1) * BM
        lo = tl.multiple_of(lo, BM)
    else:
        lo, hi = 0, N
    k_block = tl.advance(k_block, (lo, 0))
    v_block = tl.advance(v_block, (lo, 0))
    for start in range(lo, hi, BN):
        start = tl.multiple_of(start, BN)
        scores = tl.dot(queries, tl.trans(tl.load(k_block)))
        if STAGE == 2:
            scores = scores * scale + tl.where(rows[:, None] >= (start + keys_at[None, :]), 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(scores, 1))
            scores -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(scores, 1) * scale)
            scores = scores * scale - new_top[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v_block), acc * alpha[:, None])
        top = new_top
        v_block = tl.advance(v_block, (BN, 0))
        k_block = tl.advance(k_block, (BN, 0))
    return acc, total, top


@triton.jit
def seed_004(q, k, v, lse, out, sm_scale, sz: tl.constexpr, sh: tl.constexpr, sn: tl.constexpr, sd: tl.constexpr,
             Z: tl.constexpr, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
             STAGE: tl.constexpr):
    tl.static_assert(BN <= D)
    block = tl.program_id(0)
    for pair in range(0, Z * H):
        base = (pair // H).to(tl.int64) * sz + (pair % H).to(tl.int64) * sh
        q_block = tl.make_block_ptr(q + base, (N, D), (sn, sd), (block * BM, 0), (BM, D), (1, 0))
        v_block = tl.make_block_ptr(v + base, (N, D), (sn, sd), (0, 0), (BN, D), (1, 0))
        k_block = tl.make_block_ptr(k + base, (N, D), (sn, sd), (0, 0), (BN, D), (1, 0))
        o_block = tl.make_block_ptr(out + base, (N, D), (sn, sd), (block * BM, 0), (BM, D), (1, 0))
        rows = block * BM + tl.arange(0, BM)
        keys_at = tl.arange(0, BN)
        top = tl.zeros([BM], dtype=tl.float32) - float("inf")
        total = tl.zeros([BM], dtype=tl.float32) + 1.0
        acc = tl.zeros([BM, D], dtype=tl.float32)
        scale = sm_scale * 1.44269504
        queries = tl.load(q_block)
        if STAGE & 1:
            acc, total, top = _stage(acc, total, top, queries, k_block, v_block, block, scale, BM, BN, 4 - STAGE, rows,
                                     keys_at, N)
        if STAGE & 2:
            acc, total, top = _stage(acc, total, top, queries, k_block, v_block, block, scale, BM, BN, 2, rows, keys_at, N)
        top += tl.math.log2(total)
        acc = acc / total[:, None]
        tl.store(lse + pair * N + rows, top)
        tl.store(o_block, acc.to(out.type.element_ty))


# ===--- What the tutorials teach ---=== #


@triton.jit
def softmax_persistent(out, x, stride_x, stride_out, rows, columns, B: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, B)
        values = tl.load(x + row * stride_x + at, mask=at < columns, other=-float("inf"))
        p = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride_out + at, p / tl.sum(p, axis=0), mask=at < columns)


@triton.jit
def _leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_grouped(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   GROUP: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    blocks_m = tl.cdiv(M, BM)
    blocks_n = tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    group = pid // in_group
    first_m = group * GROUP
    size_m = min(blocks_m - first_m, GROUP)
    pid_m = first_m + ((pid % in_group) % size_m)
    pid_n = (pid % in_group) // size_m
    tl.assume(pid_m >= 0)
    tl.assume(am > 0)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    columns = (pid_n * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a_at = a + (rows[:, None] * am + depth[None, :] * ak)
    b_at = b + (depth[:, None] * bk + columns[None, :] * bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=depth[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_at, mask=depth[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK * ak
        b_at += BK * bk
    if ACTIVATION == "leaky":
        acc = _leaky(acc)
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    tl.store(c + cm * rows[:, None] + cn * columns[None, :], acc.to(tl.float16),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def dropout_kept(x, kept, out, n, p, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    keep = tl.load(kept + at, mask=mask) > 0
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=mask) / (1 - p), 0.0), mask=mask)


@triton.jit
def layer_norm_kept(x, y, w, b, mean, rstd, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    y += row * stride
    x += row * stride
    total = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.).to(tl.float32)
    middle = tl.sum(total, axis=0) / n
    squares = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        d = tl.where(at < n, tl.load(x + at, mask=at < n, other=0.).to(tl.float32) - middle, 0.)
        squares += d * d
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean + row, middle)
    tl.store(rstd + row, scale)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        mask = at < n
        value = (tl.load(x + at, mask=mask, other=0.).to(tl.float32) - middle) * scale
        tl.store(y + at, value * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask), mask=mask)


@triton.jit
def layer_norm_weights(x, dy, mean, rstd, dw, db, rows, n, stride, R: tl.constexpr, B: tl.constexpr):
    columns = tl.program_id(0) * B + tl.arange(0, B)
    sum_w = tl.zeros((R, B), dtype=tl.float32)
    sum_b = tl.zeros((R, B), dtype=tl.float32)
    for start in range(0, rows, R):
        at = start + tl.arange(0, R)
        mask = (at[:, None] < rows) & (columns[None, :] < n)
        d = tl.load(dy + at[:, None] * stride + columns[None, :], mask=mask, other=0.)
        value = tl.load(x + at[:, None] * stride + columns[None, :], mask=mask, other=0.)
        m = tl.load(mean + at, mask=at < rows, other=0.)
        r = tl.load(rstd + at, mask=at < rows, other=0.)
        sum_w += d * (value - m[:, None]) * r[:, None]
        sum_b += d
    tl.store(dw + columns, tl.sum(sum_w, axis=0), mask=columns < n)
    tl.store(db + columns, tl.sum(sum_b, axis=0), mask=columns < n)


@triton.jit
def _forward_part(acc, total, top, queries, k, v, lo, hi, scale, N, D: tl.constexpr, BN: tl.constexpr, rows,
                  DIAGONAL: tl.constexpr):
    depth = tl.arange(0, D)
    for start in range(lo, hi, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + at[None, :] * D + depth[:, None])
        scores = tl.dot(queries, keys)
        if DIAGONAL:
            scores = scores * scale + tl.where(rows[:, None] >= at[None, :], 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(scores, 1))
            scores -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(scores, 1) * scale)
            scores = scores * scale - new_top[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(top - new_top)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + at[:, None] * D + depth[None, :]), acc)
        total = total * alpha + tl.sum(p, 1)
        top = new_top
    return acc, total, top


@triton.jit
def attention_forward(q, k, v, scale, lse, out, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                      CAUSAL: tl.constexpr):
    block = tl.program_id(0)
    pair = tl.program_id(1)
    base = pair.to(tl.int64) * N * D
    rows = block * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * D + depth[None, :])
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    factor = scale * 1.44269504
    if CAUSAL:
        acc, total, top = _forward_part(acc, total, top, queries, k + base, v + base, 0, block * BM, factor, N, D, BN, rows,
                                        False)
        acc, total, top = _forward_part(acc, total, top, queries, k + base, v + base, block * BM, (block + 1) * BM, factor,
                                        N, D, BN, rows, True)
    else:
        acc, total, top = _forward_part(acc, total, top, queries, k + base, v + base, 0, N, factor, N, D, BN, rows, False)
    tl.store(lse + pair * N + rows, top + tl.math.log2(total))
    tl.store(out + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_delta(out, dout, delta, N, D: tl.constexpr, BM: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.program_id(1) * N * D + rows[:, None] * D + tl.arange(0, D)[None, :]
    products = tl.load(out + at).to(tl.float32) * tl.load(dout + at).to(tl.float32)
    tl.store(delta + tl.program_id(1) * N + rows, tl.sum(products, axis=1))


@triton.jit
def _keys_part(dk, dv, q, keys, values, dout, lse, delta, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, first,
               start, steps, MASK: tl.constexpr):
    rows = start + tl.arange(0, BM)
    at = first + tl.arange(0, BN)
    depth = tl.arange(0, D)
    qt_at = q + rows[None, :] * D + depth[:, None]
    do_at = dout + rows[:, None] * D + depth[None, :]
    now = start
    for _ in range(steps):
        qt = tl.load(qt_at)
        here = now + tl.arange(0, BM)
        pt = tl.math.exp2(tl.dot(keys, qt) - tl.load(lse + here)[None, :])
        if MASK:
            pt = tl.where(here[None, :] >= at[:, None], pt, 0.0)
        do = tl.load(do_at)
        dv += tl.dot(pt.to(tl.float16), do)
        dpt = tl.dot(values, tl.trans(do)).to(tl.float32)
        dst = (pt * (dpt - tl.load(delta + here)[None, :])).to(tl.float16)
        dk += tl.dot(dst, tl.trans(qt))
        now += BM
        qt_at += BM * D
        do_at += BM * D
    return dk, dv


@triton.jit
def _queries_part(dq, queries, k, v, dout, lse, delta, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, first, start,
                  steps, MASK: tl.constexpr):
    rows = first + tl.arange(0, BM)
    at = start + tl.arange(0, BN)
    depth = tl.arange(0, D)
    kt_at = k + at[None, :] * D + depth[:, None]
    vt_at = v + at[None, :] * D + depth[:, None]
    now = start
    for _ in range(steps):
        kt = tl.load(kt_at)
        vt = tl.load(vt_at)
        p = tl.math.exp2(tl.dot(queries, kt) - lse)
        if MASK:
            p = tl.where(rows[:, None] >= (now + tl.arange(0, BN))[None, :], p, 0.0)
        ds = (p * (tl.dot(dout, vt).to(tl.float32) - delta[:, None])).to(tl.float16)
        dq += tl.dot(ds, tl.trans(kt))
        now += BN
        kt_at += BN * D
        vt_at += BN * D
    return dq


@triton.jit
def attention_backward(q, k, v, scale, dout, dq, dk, dv, lse, delta, H, N, D: tl.constexpr, BM1: tl.constexpr,
                       BN1: tl.constexpr, BM2: tl.constexpr, BN2: tl.constexpr, PARTS: tl.constexpr):
    # K comes multiplied by scale / ln 2.
    pair = tl.program_id(2)
    base = (pair * N * D).to(tl.int64)
    q += base
    k += base
    v += base
    dout += base
    lse += pair * N
    delta += pair * N
    depth = tl.arange(0, D)
    first = tl.program_id(0) * BN1
    MASKED1: tl.constexpr = BM1 // PARTS
    at = first + tl.arange(0, BN1)
    keys = tl.load(k + at[:, None] * D + depth[None, :])
    values = tl.load(v + at[:, None] * D + depth[None, :])
    sum_v = tl.zeros([BN1, D], dtype=tl.float32)
    sum_k = tl.zeros([BN1, D], dtype=tl.float32)
    start = first
    steps = BN1 // MASKED1
    sum_k, sum_v = _keys_part(sum_k, sum_v, q, keys, values, dout, lse, delta, D, MASKED1, BN1, first, start, steps, True)
    start += steps * MASKED1
    steps = (N - start) // BM1
    sum_k, sum_v = _keys_part(sum_k, sum_v, q, keys, values, dout, lse, delta, D, BM1, BN1, first, start, steps, False)
    tl.store(dv + base + at[:, None] * D + depth[None, :], sum_v.to(tl.float16))
    tl.store(dk + base + at[:, None] * D + depth[None, :], (sum_k * scale).to(tl.float16))
    # The same program's queries.
    first = tl.program_id(0) * BM2
    end = first + BM2
    MASKED2: tl.constexpr = BN2 // PARTS
    rows = first + tl.arange(0, BM2)
    queries = tl.load(q + rows[:, None] * D + depth[None, :])
    do = tl.load(dout + rows[:, None] * D + depth[None, :])
    own_lse = tl.load(lse + rows)[:, None]
    own_delta = tl.load(delta + rows)
    sum_q = tl.zeros([BM2, D], dtype=tl.float32)
    steps = BM2 // MASKED2
    sum_q = _queries_part(sum_q, queries, k, v, do, own_lse, own_delta, D, BM2, MASKED2, first, end - steps * MASKED2, steps,
                          True)
    end -= steps * MASKED2
    steps = end // BN2
    sum_q = _queries_part(sum_q, queries, k, v, do, own_lse, own_delta, D, BM2, BN2, first, end - steps * BN2, steps, False)
    sum_q *= 0.6931471824645996
    tl.store(dq + base + rows[:, None] * D + depth[None, :], sum_q.to(tl.float16))


# ===--- What models are made of ---=== #


@triton.jit
def rms_norm(x, w, out, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < n
    values = tl.load(x + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / n + eps)
    tl.store(out + row * stride + at, (values * scale * tl.load(w + at, mask=mask)).to(out.dtype.element_ty), mask=mask)


@triton.jit
def rope(x, cosines, sines, out, length, heads, half, B: tl.constexpr):
    # A program a token: every head's first half with its second.
    token = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < half
    c = tl.load(cosines + (token % length) * half + at, mask=mask)
    s = tl.load(sines + (token % length) * half + at, mask=mask)
    for head in range(heads):
        base = (token * heads + head) * 2 * half
        left = tl.load(x + base + at, mask=mask).to(tl.float32)
        right = tl.load(x + base + half + at, mask=mask).to(tl.float32)
        tl.store(out + base + at, (left * c - right * s).to(tl.float16), mask=mask)
        tl.store(out + base + half + at, (right * c + left * s).to(tl.float16), mask=mask)


@triton.jit
def paged_decode(q, k, v, pages, lengths, out, scale, table_stride, kv_heads, group, PAGE: tl.constexpr, D: tl.constexpr,
                 G: tl.constexpr):
    # A program a sequence and a key's head; a page of keys a step.
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths + sequence)
    depth = tl.arange(0, D)
    member = tl.arange(0, G)
    rows = (sequence * kv_heads + head) * group + member
    queries = tl.load(q + rows[:, None] * D + depth[None, :], mask=member[:, None] < group, other=0.0)
    top = tl.full([G], -float("inf"), tl.float32)
    total = tl.zeros([G], tl.float32)
    acc = tl.zeros([G, D], tl.float32)
    slot = tl.arange(0, PAGE)
    for number in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(pages + sequence * table_stride + number).to(tl.int64)
        inside = number * PAGE + slot < length
        at = ((page * PAGE + slot[:, None]) * kv_heads + head) * D + depth[None, :]
        keys = tl.load(k + at, mask=inside[:, None], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        alpha = tl.exp(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        values = tl.load(v + at, mask=inside[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
        top = new_top
    tl.store(out + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16), mask=member[:, None] < group)
