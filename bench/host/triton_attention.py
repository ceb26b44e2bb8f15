"""Attention in Triton, as a peer: one program for a tile of queries of a head,
a loop over tiles of keys, online softmax. No masks but the end of the keys."""
import torch
import triton
import triton.language as tl

M, N = 64, 64


@triton.jit
def attention_kernel(
    q, k, v, out, scale, sq, sk,
    head_q, row_q, head_k, row_k, head_v, row_v, head_o, row_o,
    D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):
    head, columns = tl.program_id(1), tl.arange(0, D)
    rows, keys = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    inside = rows[:, None] < sq
    queries = tl.load(q + head * head_q + rows[:, None] * row_q + columns[None, :], mask=inside, other=0.0)
    largest = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    result = tl.zeros([M, D], tl.float32)
    for first in range(0, sk, N):
        valid = first + keys < sk
        at = (first + keys)[:, None]
        tile_k = tl.load(k + head * head_k + at * row_k + columns[None, :], mask=valid[:, None], other=0.0)
        tile_v = tl.load(v + head * head_v + at * row_v + columns[None, :], mask=valid[:, None], other=0.0)
        # exp2 of scores in base 2: `scale` has the factor.
        scores = tl.where(valid[None, :], tl.dot(queries, tl.trans(tile_k)) * scale, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new_largest[:, None])
        shrink = tl.math.exp2(largest - new_largest)
        total = total * shrink + tl.sum(weights, 1)
        result = result * shrink[:, None] + tl.dot(weights.to(tile_v.dtype), tile_v)
        largest = new_largest
    result = result / total[:, None]
    tl.store(out + head * head_o + rows[:, None] * row_o + columns[None, :], result.to(out.dtype.element_ty), mask=inside)


def attention(q, k, v):
    """q, k, v: [b, h, s, d], row-major, as many heads in all."""
    out = torch.empty_like(q)
    b, h, sq, d = q.shape
    scale = d**-0.5 * 1.4426950408889634
    strides = [n for t in (q, k, v, out) for n in t.stride()[1:3]]
    attention_kernel[(triton.cdiv(sq, M), b * h)](q, k, v, out, scale, sq, k.shape[2], *strides, D=d, M=M, N=N)
    return out
