"""Attention in Triton, as a peer, in the shape of Triton's tutorial 06: one program
for a tile of queries of a head, a loop over tiles of keys, online softmax; causal, a
second loop for the tiles that the diagonal crosses. No masks but that and the end of
the keys."""
import triton
import triton.language as tl

M, N = 64, 64


@triton.jit
def visit_tiles(
    state, queries, k, v, scale, sk, row_k, row_v, rows, begin, end,
    D: tl.constexpr, N: tl.constexpr, DIAGONAL: tl.constexpr,
):
    """The keys in [begin, end), added to the result, the maxima and the sums of rows."""
    result, largest, total = state
    columns, keys = tl.arange(0, D), tl.arange(0, N)
    for first in range(begin, end, N):
        valid = first + keys < sk
        at = (first + keys)[:, None]
        tile_k = tl.load(k + at * row_k + columns[None, :], mask=valid[:, None], other=0.0)
        tile_v = tl.load(v + at * row_v + columns[None, :], mask=valid[:, None], other=0.0)
        seen = valid[None, :]
        if DIAGONAL:
            seen = seen & (first + keys[None, :] <= rows[:, None])
        # exp2 of scores in base 2: `scale` has the factor.
        scores = tl.where(seen, tl.dot(queries, tl.trans(tile_k)) * scale, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new_largest[:, None])
        shrink = tl.math.exp2(largest - new_largest)
        total = total * shrink + tl.sum(weights, 1)
        result = result * shrink[:, None] + tl.dot(weights.to(tile_v.dtype), tile_v)
        largest = new_largest
    return result, largest, total


@triton.jit
def attention_kernel(
    q, k, v, out, scale, sq, sk,
    head_q, row_q, head_k, row_k, head_v, row_v, head_o, row_o,
    D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr,
):
    head, columns = tl.program_id(1), tl.arange(0, D)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    inside = rows[:, None] < sq
    queries = tl.load(q + head * head_q + rows[:, None] * row_q + columns[None, :], mask=inside, other=0.0)
    k += head * head_k
    v += head * head_v
    state = (tl.zeros([M, D], tl.float32), tl.full([M], float("-inf"), tl.float32), tl.zeros([M], tl.float32))
    if CAUSAL:
        # Square: row i sees the keys up to i. Tiles of M rows begin at tiles of N keys.
        diagonal = tl.minimum(tl.program_id(0) * M, sk)
        end = tl.minimum(diagonal + M, sk)
        state = visit_tiles(state, queries, k, v, scale, sk, row_k, row_v, rows, 0, diagonal, D, N, False)
        state = visit_tiles(state, queries, k, v, scale, sk, row_k, row_v, rows, diagonal, end, D, N, True)
    else:
        state = visit_tiles(state, queries, k, v, scale, sk, row_k, row_v, rows, 0, sk, D, N, False)
    result, largest, total = state
    result = result / total[:, None]
    tl.store(out + head * head_o + rows[:, None] * row_o + columns[None, :], result.to(out.dtype.element_ty), mask=inside)


def attention(q, k, v):
    """q, k, v: [b, h, s, d], row-major, as many heads in all."""
    import torch

    out = torch.empty_like(q)
    b, h, sq, d = q.shape
    scale = d**-0.5 * 1.4426950408889634
    strides = [n for t in (q, k, v, out) for n in t.stride()[1:3]]
    attention_kernel[(triton.cdiv(sq, M), b * h)](
        q, k, v, out, scale, sq, k.shape[2], *strides, D=d, M=M, N=N, CAUSAL=False
    )
    return out


def compile_attention(architecture, dim, causal):
    """The kernel of bf16 for `architecture` (80 or 90) as a launch of contiguous
    tensors compiles it, without a card: all addresses and strides are multiples of
    16. Tiles, warps and stages are among those that the tutorial tries."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    tensors = {name: "*bf16" for name in ("q", "k", "v", "out")}
    numbers = {name: "i32" for name in attention_kernel.arg_names[5:-4]}
    constants = {"D": dim, "M": 128, "N": 64, "CAUSAL": causal}
    signature = {**tensors, "scale": "fp32", **numbers, **{name: "constexpr" for name in constants}}
    aligned = {(attention_kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in (*tensors, *numbers)}
    source = ASTSource(attention_kernel, signature, constants, aligned)
    options = {"num_warps": 4 if dim <= 64 else 8, "num_stages": 3}
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
