"""Kernels of attention in the forms in which people write them, and kernels that only look like one.

`raised` and `refused` say what becomes of each; ../../Inputs/make_ttir.py prints their texts (--module).
"""
import pathlib
import sys

import triton
import triton.language as tl

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
from kernels import kernel

FAULTS = {"none": 0, "not_rescaled": 1, "two_scores": 2, "mixed_bases": 3, "stale_maximum": 4, "decay": 5}


@triton.jit
def where_of(H):
    """Batch and head of the program."""
    pair = tl.program_id(1)
    return (pair // H).to(tl.int64), (pair % H).to(tl.int64)


# A maximum, a sum and an accumulator; a step by FAULT is not one of online softmax.
@triton.jit
def online_step(top, total, acc, scores, p_scores, values, FAULT: tl.constexpr):
    new_top = tl.maximum(top, tl.max(scores, 1))
    alpha = tl.exp(top - new_top)
    if FAULT == 3:
        alpha = tl.math.exp2(top - new_top)
    if FAULT == 4:
        p = tl.exp(scores - top[:, None])
    else:
        p = tl.exp(scores - new_top[:, None])
    if FAULT == 1:
        total = total + tl.sum(p, 1)
    else:
        total = total * alpha + tl.sum(p, 1)
    weights = p
    if FAULT == 2:
        weights = tl.exp(p_scores - new_top[:, None])
    if FAULT == 5:
        alpha = alpha * 0.5
    acc = acc * alpha[:, None] + tl.dot(weights.to(values.dtype), values)
    return new_top, total, acc


def strided(name, fault="none", **constants):
    """Sixteen steps, masks of rows and keys, exp; grouped heads where G > 1."""
    def body(q, k, v, out, scale, qz, qh, qm, qk, kz, kh, kn, kk, vz, vh, vn, vk, oz, oh, om, on, H, N,
             D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, G: tl.constexpr, FAULT: tl.constexpr):
        z, h = where_of(H)
        rows = tl.program_id(0) * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        q_at = q + z * qz + h * qh + (rows[:, None] * qm + depth[None, :] * qk)
        queries = tl.load(q_at, mask=rows[:, None] < N, other=0.0)
        top = tl.zeros([BM], tl.float32) - float("inf")
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        for start in range(0, N, BN):
            at = start + tl.arange(0, BN)
            keys = tl.load(k + z * kz + h // G * kh + (at[:, None] * kn + depth[None, :] * kk),
                           mask=at[:, None] < N, other=0.0)
            products = tl.dot(queries, tl.trans(keys))
            scores = tl.where(at[None, :] < N, products * scale, -float("inf"))
            others = tl.where(at[None, :] < N, products * (scale * 2), -float("inf"))
            values = tl.load(v + z * vz + h // G * vh + (at[:, None] * vn + depth[None, :] * vk),
                             mask=at[:, None] < N, other=0.0)
            top, total, acc = online_step(top, total, acc, scores, others, values, FAULT)
        o_at = out + z * oz + h * oh + (rows[:, None] * om + depth[None, :] * on)
        tl.store(o_at, (acc / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < N)
    steps = "qz qh qm qk kz kh kn kk vz vh vn vk oz oh om on H N".split()
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 " + " ".join(f"{x}:i32" for x in steps),
           **{"D": 64, "BM": 64, "BN": 32, "G": 1, "FAULT": FAULTS[fault], **constants})(body)


strided("forward")
strided("grouped", G=2)
strided("wide", D=128)
for fault in FAULTS:
    if fault != "none":
        strided(fault, fault)


# A grid of three dimensions, a guard of the sum, causal by -inf; keys and values without a mask of their tail.
# SWAPPED: K is loaded with its axes the other way round, which is not seen where both have 64 elements.
def three_dimensions(name, **constants):
    def body(q, k, v, out, qz, qh, qm, N,
             D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, SWAPPED: tl.constexpr):
        base = tl.program_id(0) * qz + tl.program_id(1) * qh
        rows = tl.program_id(2) * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        queries = tl.load(q + base + rows[:, None] * qm + depth[None, :], mask=rows[:, None] < N, other=0.0)
        top = tl.full([BM], -float("inf"), dtype=tl.float32)
        total = tl.zeros([BM], dtype=tl.float32)
        acc = tl.zeros([BM, D], dtype=tl.float32)
        for start in range(0, N, BN):
            at = start + tl.arange(0, BN)
            if SWAPPED:
                keys = tl.trans(tl.load(k + base + at[None, :] * qm + depth[:, None], mask=at[None, :] < N, other=0.0))
            else:
                keys = tl.load(k + base + at[None, :] * qm + depth[:, None], mask=at[None, :] < N, other=0.0)
            values = tl.load(v + base + at[:, None] * qm + depth[None, :], mask=at[:, None] < N, other=0.0)
            scores = tl.dot(queries, keys) * 0.125
            if CAUSAL:
                scores = tl.where(rows[:, None] < at[None, :], -float("inf"), scores)
            here = tl.max(scores, axis=1)
            new_top = tl.maximum(top, here)
            p = tl.exp(scores - new_top[:, None])
            alpha = tl.exp(top - new_top)
            total = total * alpha + tl.sum(p, axis=1)
            acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
            top = new_top
        safe = tl.where(total == 0, 1.0, total)
        tl.store(out + base + rows[:, None] * qm + depth[None, :], (acc / safe[:, None]).to(tl.float16),
                 mask=rows[:, None] < N)
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 qz:i32 qh:i32 qm:i32 N:i32",
           **{"D": 64, "BM": 64, "BN": 64, "CAUSAL": False, "SWAPPED": False, **constants})(body)


three_dimensions("tail_of_zeros")
three_dimensions("causal_select", CAUSAL=True)
three_dimensions("swapped_keys", SWAPPED=True)


# All in f32, with dots of f32; rows behind the last are masked, too.
@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp32 scale:fp32 qh:i32 qm:i32 S:i32 D:i32", BM=32, BN=32, BD=64)
def wide_probabilities(q, k, v, out, scale, qh, qm, S, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    base = tl.program_id(1) * qh
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, BD)
    queries = tl.load(q + base + rows[:, None] * qm + depth[None, :],
                      mask=(rows[:, None] < S) & (depth[None, :] < D), other=0.0).to(tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, BD], tl.float32)
    for start in range(0, S, BN):
        at = start + tl.arange(0, BN)
        inside = (at[:, None] < S) & (depth[None, :] < D)
        keys = tl.load(k + base + at[:, None] * qm + depth[None, :], mask=inside, other=0.0).to(tl.float32)
        values = tl.load(v + base + at[:, None] * qm + depth[None, :], mask=inside, other=0.0).to(tl.float32)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(at[None, :] < S, scores, -float("inf"))
        scores = tl.where(rows[:, None] < S, scores, -float("inf"))
        here = tl.max(scores, axis=1)
        new_top = tl.maximum(top, here)
        alpha = tl.exp(top - new_top)
        p = tl.exp(scores - new_top[:, None])
        total = total * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, values, input_precision="ieee")
        top = new_top
    tl.store(out + base + rows[:, None] * qm + depth[None, :], acc / total[:, None],
             mask=(rows[:, None] < S) & (depth[None, :] < D))


# Two stages, exp2, a finite mask that is added; K and V by descriptors (as of 3.9) or steps.
@triton.jit
def stage(top, total, acc, queries, k, v, base, first, end, rows, factor, N,
          D: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr):
    depth = tl.arange(0, D)
    for start in range(first, end, BN):
        start = tl.multiple_of(start, BN)
        at = start + tl.arange(0, BN)
        keys = tl.load(k + base + at[:, None] * D + depth[None, :])
        scores = tl.dot(queries, tl.trans(keys))
        if MASKED:
            scores = scores * factor + tl.where(rows[:, None] >= at[None, :], 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(scores, 1))
            scores -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(scores, 1) * factor)
            scores = scores * factor - new_top[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        values = tl.load(v + base + at[:, None] * D + depth[None, :])
        acc = tl.dot(p.to(tl.float16), values, acc)
        top = new_top
    return top, total, acc


def staged(name, **constants):
    """A loop over all batches and heads around the two stages; steps and lengths are constants."""
    def body(q, k, v, lse, out, scale, Z: tl.constexpr, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
             BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr):
        block = tl.program_id(0)
        for pair in range(0, Z * H):
            base = (pair // H).to(tl.int64) * (H * N * D) + (pair % H).to(tl.int64) * (N * D)
            rows = block * BM + tl.arange(0, BM)
            depth = tl.arange(0, D)
            top = tl.zeros([BM], dtype=tl.float32) - float("inf")
            total = tl.zeros([BM], dtype=tl.float32) + 1.0
            acc = tl.zeros([BM, D], dtype=tl.float32)
            factor = scale
            factor *= 1.44269504
            queries = tl.load(q + base + rows[:, None] * D + depth[None, :])
            if STAGE == 1:
                top, total, acc = stage(top, total, acc, queries, k, v, base, 0, N, rows, factor, N, D, BN, False)
            else:
                top, total, acc = stage(top, total, acc, queries, k, v, base, 0, block * BM, rows, factor, N, D, BN,
                                        False)
                top, total, acc = stage(top, total, acc, queries, k, v, base, block * BM, (block + 1) * BM, rows,
                                        factor, N, D, BN, True)
            top += tl.math.log2(total)
            tl.store(lse + pair * N + rows, top)
            tl.store(out + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 lse:*fp32 out:*fp16 scale:fp32",
           **{"Z": 2, "H": 3, "N": 256, "D": 64, "BM": 64, "BN": 32, "STAGE": 3, **constants})(body)


staged("staged_causal")
staged("staged_full", STAGE=1)
staged("staged_straight", STAGE=1, N=64, BM=64, BN=64)
staged("counted_twice", BM=32, BN=64)
staged("one_head", Z=1, H=1)


# The tutorial's form: descriptors made in the kernel, a grid of blocks and pairs.
@triton.jit
def descriptor_stage(top, total, acc, queries, k_desc, v_desc, offset, first, end, rows, factor,
                     BN: tl.constexpr, MASKED: tl.constexpr):
    for start in tl.range(first, end, BN):
        start = tl.multiple_of(start, BN)
        keys = k_desc.load([offset + start, 0]).T
        scores = tl.dot(queries, keys)
        if MASKED:
            at = start + tl.arange(0, BN)
            scores = scores * factor + tl.where(rows[:, None] >= at[None, :], 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(scores, 1))
            scores -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(scores, 1) * factor)
            scores = scores * factor - new_top[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(top - new_top)
        here = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        values = v_desc.load([offset + start, 0])
        acc = tl.dot(p.to(tl.float16), values, acc)
        total = total * alpha + here
        top = new_top
    return top, total, acc


def tutorial(name, **constants):
    def body(scale, lse, Z, H, q, k, v, out, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
             STAGE: tl.constexpr):
        block = tl.program_id(0)
        pair = tl.program_id(1)
        z = pair // H
        h = pair % H
        y = Z * H * N
        q_desc = tl.make_tensor_descriptor(q, shape=[y, D], strides=[D, 1], block_shape=[BM, D])
        k_desc = tl.make_tensor_descriptor(k, shape=[y, D], strides=[D, 1], block_shape=[BN, D])
        v_desc = tl.make_tensor_descriptor(v, shape=[y, D], strides=[D, 1], block_shape=[BN, D])
        o_desc = tl.make_tensor_descriptor(out, shape=[y, D], strides=[D, 1], block_shape=[BM, D])
        offset = z * (N * H) + h * N
        row = offset + block * BM
        rows = block * BM + tl.arange(0, BM)
        top = tl.zeros([BM], dtype=tl.float32) - float("inf")
        total = tl.zeros([BM], dtype=tl.float32) + 1.0
        acc = tl.zeros([BM, D], dtype=tl.float32)
        factor = scale
        factor *= 1.44269504
        queries = q_desc.load([row, 0])
        if STAGE == 1:
            top, total, acc = descriptor_stage(top, total, acc, queries, k_desc, v_desc, offset, 0, N, rows, factor,
                                               BN, False)
        else:
            top, total, acc = descriptor_stage(top, total, acc, queries, k_desc, v_desc, offset, 0, block * BM, rows,
                                               factor, BN, False)
            top, total, acc = descriptor_stage(top, total, acc, queries, k_desc, v_desc, offset, block * BM,
                                               (block + 1) * BM, rows, factor, BN, True)
        top += tl.math.log2(total)
        acc = acc / total[:, None]
        tl.store(lse + pair * N + rows, top)
        o_desc.store([row, 0], acc.to(tl.float16))
    body.__name__ = body.__qualname__ = name
    kernel("scale:fp32 lse:*fp32 Z:i32 H:i32 q:*fp16 k:*fp16 v:*fp16 out:*fp16 N:i32",
           **{"D": 64, "BM": 64, "BN": 32, "STAGE": 3, **constants})(body)


tutorial("tutorial_causal")
tutorial("tutorial_full", STAGE=1)
tutorial("tutorial_causal_128", D=128)
tutorial("tutorial_full_128", D=128, STAGE=1)


# Other ways to carry the state, and other masks: CARRIED is what.
def carried(name, **constants):
    def body(q, k, v, out, lse, scale, N, W, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FORM: tl.constexpr):
        base = tl.program_id(1) * N * D
        block = tl.program_id(0)
        rows = block * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        queries = tl.load(q + base + rows[:, None] * D + depth[None, :], mask=rows[:, None] < N, other=0.0)
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        if FORM == 1:
            total = tl.full([BM], -float("inf"), tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        first = 0
        end = N
        if FORM == 3:
            end = tl.minimum(block * BM + BM, N)
            first = tl.maximum(block * BM - W, 0) // BN * BN
        if FORM == 6:
            end = block * BM
        for start in range(first, end, BN):
            at = start + tl.arange(0, BN)
            keys = tl.load(k + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
            values = tl.load(v + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
            scores = tl.dot(queries, tl.trans(keys)) * scale
            keep = at[None, :] < N
            if FORM == 3:
                keep = keep & (at[None, :] <= rows[:, None]) & (at[None, :] >= rows[:, None] - W)
            if FORM == 6:
                keep = keep & (at[None, :] <= rows[:, None])
            scores = tl.where(keep, scores, -float("inf"))
            if FORM == 0: # the accumulator is divided in each step
                here = tl.max(scores, 1)
                p = tl.exp(scores - here[:, None])
                here_total = tl.sum(p, 1)
                new_top = tl.maximum(top, here)
                alpha = tl.exp(top - new_top)
                beta = tl.exp(here - new_top)
                new_total = alpha * total + beta * here_total
                p = p * (beta / new_total)[:, None]
                acc = acc * (total / new_total * alpha)[:, None] + tl.dot(p.to(tl.float16), values)
                total = new_total
            elif FORM == 1: # a log-sum-exp is carried
                new_top = tl.maximum(tl.max(scores, 1), total)
                p = tl.exp(scores - new_top[:, None])
                acc = acc * tl.exp(top - new_top)[:, None] + tl.dot(p.to(tl.float16), values)
                total = new_top + tl.log(tl.exp(total - new_top) + tl.sum(p, 1))
            elif FORM == 2: # no maximum
                new_top = top
                p = tl.exp(scores)
                total += tl.sum(p, 1)
                acc += tl.dot(p.to(tl.float16), values)
            elif FORM == 5 or FORM == 3: # a guard of the maximum
                new_top = tl.maximum(top, tl.max(scores, 1))
                new_top = tl.where(new_top > -float("inf"), new_top, 0.0)
                p = tl.exp(scores - new_top[:, None])
                alpha = tl.exp(top - new_top)
                total = total * alpha + tl.sum(p, 1)
                acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
            else:
                new_top = tl.maximum(top, tl.max(scores, 1))
                alpha = tl.exp(top - new_top)
                p = tl.exp(scores - new_top[:, None])
                total = total * alpha + tl.sum(p, 1)
                acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
            top = new_top
        if FORM == 0:
            o = acc
            log_sum = top + tl.log(total)
        elif FORM == 1:
            o = acc * tl.exp(top - total)[:, None]
            log_sum = total
        elif FORM == 2:
            o = acc * (1.0 / total)[:, None]
            log_sum = tl.log(total)
        else:
            o = acc / total[:, None]
            log_sum = top + tl.log(total)
        tl.store(out + base + rows[:, None] * D + depth[None, :], o.to(tl.float16), mask=rows[:, None] < N)
        tl.store(lse + tl.program_id(1) * N + rows, log_sum, mask=rows < N)
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 lse:*fp32 scale:fp32 N:i32 W:i32",
           **{"D": 64, "BM": 64, "BN": 32, **constants})(body)


carried("divided_each_step", FORM=0)
carried("log_sum_exp", FORM=1)
carried("no_maximum", FORM=2)
carried("window", FORM=3)
carried("guarded_maximum", FORM=5)
carried("uncovered_tail", FORM=6)


# Scores that are changed: CHANGE is how. Sums begin with a sink where SINK.
def changed(name, **constants):
    def body(q, k, v, out, extra, scale, H, N,
             D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CHANGE: tl.constexpr):
        pair = tl.program_id(1)
        base = pair * N * D
        rows = tl.program_id(0) * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        queries = tl.load(q + base + rows[:, None] * D + depth[None, :], mask=rows[:, None] < N, other=0.0)
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        if CHANGE == 3:
            top = tl.zeros([BM], tl.float32) + tl.load(extra + pair % H) * 1.44269504
            total = total + 1.0
        acc = tl.zeros([BM, D], tl.float32)
        for start in range(0, N, BN):
            at = start + tl.arange(0, BN)
            keys = tl.load(k + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
            values = tl.load(v + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
            scores = tl.dot(queries, tl.trans(keys)) * scale
            if CHANGE == 0: # tanh, as there is none
                x = scores / 4.0
                scores = 4.0 * (tl.exp(x) - tl.exp(-x)) / (tl.exp(x) + tl.exp(-x))
            if CHANGE == 4: # the number that masks may become none
                scores = (scores + tl.where(at[None, :] <= rows[:, None], 0, -1.0e6)) * scale
            if CHANGE == 1:
                scores += tl.load(extra + pair % H) * (at[None, :] - rows[:, None]).to(tl.float32)
            if CHANGE == 2:
                scores += tl.load(extra + pair * N * N + rows[:, None] * N + at[None, :],
                                  mask=(rows[:, None] < N) & (at[None, :] < N), other=0.0)
            scores = tl.where(at[None, :] < N, scores * 1.44269504, -float("inf"))
            new_top = tl.maximum(top, tl.max(scores, 1))
            alpha = tl.math.exp2(top - new_top)
            p = tl.math.exp2(scores - new_top[:, None])
            total = total * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
            top = new_top
        tl.store(out + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16),
                 mask=rows[:, None] < N)
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 extra:*fp32 scale:fp32 H:i32 N:i32",
           **{"D": 64, "BM": 64, "BN": 32, **constants})(body)


changed("softcap", CHANGE=0)
changed("scaled_mask", CHANGE=4)
changed("alibi", CHANGE=1)
changed("bias", CHANGE=2)
changed("sink", CHANGE=3)


# The gradient of the queries: exponentials, a loop over keys, and no softmax in it.
@kernel("q:*fp16 k:*fp16 v:*fp16 dout:*fp16 lse:*fp32 delta:*fp32 dq:*fp16 scale:fp32 N:i32", D=64, BM=64, BN=32)
def backward_queries(q, k, v, dout, lse, delta, dq, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * N * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * D + depth[None, :])
    gradients = tl.load(dout + base + rows[:, None] * D + depth[None, :])
    m = tl.load(lse + tl.program_id(1) * N + rows)
    d = tl.load(delta + tl.program_id(1) * N + rows)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + base + at[:, None] * D + depth[None, :])
        values = tl.load(v + base + at[:, None] * D + depth[None, :])
        p = tl.math.exp2(tl.dot(queries, tl.trans(keys)) * scale - m[:, None])
        ds = p * (tl.dot(gradients, tl.trans(values)) - d[:, None])
        acc += tl.dot(ds.to(tl.float16), keys)
    tl.store(dq + base + rows[:, None] * D + depth[None, :], acc.to(tl.float16))


# What only one part of the proof tells from attention: FAULT is what.
def spoilt(name, fault):
    def body(q, k, v, out, scale, N, W, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FAULT: tl.constexpr):
        base = tl.program_id(1) * N * D
        block = tl.program_id(0)
        rows = block * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        queries = tl.load(q + base + rows[:, None] * D + depth[None, :])
        top = tl.full([BM], -float("inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        for part in tl.static_range(2):
            first = 0 if part == 0 else block * BM
            end = block * BM if part == 0 else block * BM + BM
            for start in range(first, end, BN * 2 if FAULT == 0 else BN):
                at = start + tl.arange(0, BN)
                keys = tl.load(k + base + at[:, None] * D + depth[None, :])
                values = tl.load(v + base + at[:, None] * D + depth[None, :])
                scores = tl.dot(queries, tl.trans(keys)) * scale
                if part == 1:
                    scores = tl.where(at[None, :] <= rows[:, None], scores, -float("inf"))
                if part == 1 and FAULT == 4: # keys before the window are those of the first loop
                    scores = tl.where(at[None, :] >= rows[:, None] - W, scores, -float("inf"))
                if FAULT == 1:
                    scores = scores + tl.dot(acc.to(tl.float16), tl.trans(keys))
                new_top = tl.maximum(top, tl.max(scores, 1))
                alpha = tl.exp(top - new_top)
                if FAULT == 2: # 0 also where a maximum has risen far
                    alpha = tl.where(alpha == 0.0, 1.0, alpha)
                p = tl.exp(scores - new_top[:, None])
                total = total * alpha + tl.sum(p, 1)
                acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), values)
                top = new_top
        if FAULT == 3:
            total = total + 1.0
        tl.store(out + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 N:i32 W:i32", D=64, BM=64, BN=32, FAULT=fault)(body)


spoilt("skipped_keys", 0)
spoilt("carried_scores", 1)
spoilt("replaced_factor", 2)
spoilt("not_divided", 3)
spoilt("masked_late", 4)
spoilt("unspoilt", 5)


# What it asserts and promises: of a launch's numbers, which are conditions, and of elements and places, which are not.
@kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 N:i32 step:i32", divisible=("step",), debug=True,
        D=64, BM=64, BN=32)
def asserting(q, k, v, out, scale, N, step, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tl.assume(N > 31)
    tl.device_assert(step >= N * D, "a head ends before the next one")
    base = tl.program_id(1) * step
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * D + depth[None, :], mask=rows[:, None] < N, other=0.0)
    tl.device_assert(queries < 100, "a query is below 100")
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
        scores = tl.where(at[None, :] < N, tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
        values = tl.load(v + base + at[:, None] * D + depth[None, :], mask=at[:, None] < N, other=0.0)
        top, total, acc = online_step(top, total, acc, scores, scores, values, 0)
    tl.store(out + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16),
             mask=rows[:, None] < N)


# The head is what a quotient leaves. Of rows that are not stored the sum is another one, and the output 0; CUT: of one
# that is stored, too.
def left_out(name, cut):
    def body(q, k, v, out, scale, sz, sh, sn, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CUT: tl.constexpr):
        pair = tl.program_id(1)
        z = pair // H
        h = pair - z * H
        base = z * sz + h * sh
        rows = tl.program_id(0) * BM + tl.arange(0, BM)
        depth = tl.arange(0, D)
        there = rows[:, None] < N
        queries = tl.load(q + base + rows[:, None] * sn + depth[None, :], mask=there, other=0.0)
        top = tl.zeros([BM], tl.float32) - float("inf")
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        for start in range(0, N, BN):
            at = start + tl.arange(0, BN)
            place = base + at[:, None] * sn + depth[None, :]
            keys = tl.load(k + place, mask=at[:, None] < N, other=0.0)
            values = tl.load(v + place, mask=at[:, None] < N, other=0.0)
            scores = tl.dot(queries, tl.trans(keys)) * scale
            scores = tl.where(at[None, :] < N, scores, -float("inf"))
            scores = tl.where(there, scores, -float("inf"))
            top, total, acc = online_step(top, total, acc, scores, scores, values, 0)
        total = tl.where(rows < N - CUT, total, 1.0)
        result = tl.where(there, acc / total[:, None], 0.0)
        tl.store(out + base + rows[:, None] * sn + depth[None, :], result.to(out.dtype.element_ty), mask=there)
    body.__name__ = body.__qualname__ = name
    kernel("q:*fp16 k:*fp16 v:*fp16 out:*fp16 scale:fp32 sz:i32 sh:i32 sn:i32 H:i32 N:i32", D=64, BM=64, BN=32, CUT=cut)(body)


left_out("left_out", 0)
left_out("left_out_early", 1)
