"""Kernels that add up along rows, count, and decide by what they have added up: sampling, offsets of experts, packed positions, loops that end when an
error is small. By make_ttir.py --module=scans.py.
"""
import triton
import triton.language as tl
from kernels import kernel


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


# Of probabilities that fall, those are kept before which there is less than `most`.
@kernel("p:*fp32 sums:*fp32 kept:*i32 columns:i32 most:fp32", B=512)
def nucleus(p, sums, kept, columns, most, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    x = tl.load(p + row * columns + at, mask=at < columns, other=0.0)
    total = tl.cumsum(x, 0)
    tl.store(sums + row * columns + at, total, mask=at < columns)
    tl.store(kept + row, tl.sum(((total - x < most) & (at < columns)).to(tl.int32), 0))


# How many tokens each expert has, where they begin, and where they end.
@kernel("experts:*i32 counts:*i32 starts:*i32 ends:*i32 n:i32", E=32, B=256)
def expert_offsets(experts, counts, starts, ends, n, E: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    expert = tl.load(experts + at, mask=at < n, other=-1)
    count = tl.histogram(expert, E)
    end = tl.cumsum(count, 0)
    to = tl.arange(0, E)
    tl.store(counts + to, count)
    tl.store(starts + to, end - count)
    tl.store(ends + to, end)


# Where sequences begin in a packed tensor, of 64 bits, and how much lies behind each beginning.
@kernel("lengths:*i64 starts:*i64 behind:*i64 n:i32", B=128)
def packed_positions(lengths, starts, behind, n, B: tl.constexpr):
    at = tl.arange(0, B)
    length = tl.load(lengths + at, mask=at < n, other=0)
    tl.store(starts + at, tl.cumsum(length, 0) - length, mask=at < n)
    tl.store(behind + at, tl.cumsum(length, 0, reverse=True), mask=at < n)


# Along rows and along columns, in both directions.
@kernel("x:*fp32 along:*fp32 down:*fp32 back:*fp32 up:*fp32", R=16, B=64)
def tile_scans(x, along, down, back, up, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)
    tl.store(along + at, tl.cumsum(a, 1))
    tl.store(down + at, tl.cumsum(a, 0))
    tl.store(back + at, tl.cumsum(a, 1, reverse=True))
    tl.store(up + at, tl.cumsum(a, 0, reverse=True))


# What was the largest so far: of halves in a tile, and of numbers in each step of a loop.
@kernel("x:*fp16 most:*fp16 y:*i32 last:*i32 steps:i32", R=64, B=32)
def running_most(x, most, y, last, steps, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(most + at, tl.associative_scan(tl.load(x + at), 1, larger))
    to = tl.arange(0, R)
    best = tl.full((R,), -1000, tl.int32)
    for k in range(steps):
        best = tl.associative_scan(tl.maximum(best, tl.load(y + k * R + to)), 0, larger)
    tl.store(last + to, best)


# Sums of columns are added up again, and each row gets them: vectors move between warps.
@kernel("x:*fp32 out:*fp32 rows:*fp32", R=64, B=32)
def sums_of_sums(x, out, rows, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)
    ends = tl.cumsum(tl.sum(a, 1), 0)
    tl.store(rows + tl.arange(0, R), ends)
    tl.store(out + at, a + ends[:, None] + tl.cumsum(tl.sum(a, 0), 0)[None, :])


# Reductions of 64 bits: of rows, of columns and of one row.
@kernel("x:*i64 sums:*i64 most:*i64 first:*i64 at_least:*i32 all:*i64", R=32, B=64)
def wide_sums(x, sums, most, first, at_least, all, R: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + at)
    tl.store(sums + tl.arange(0, R), tl.sum(a, 1))
    tl.store(most + tl.arange(0, B), tl.max(a, 0))
    row = tl.load(x + tl.arange(0, B))
    tl.store(first + tl.arange(0, B), row - tl.min(row, 0))
    tl.store(at_least + tl.arange(0, R), tl.argmin(a, 1))
    tl.store(all + tl.arange(0, R), tl.sum(tl.sum(a, 1), 0) + tl.arange(0, R))


# Square roots by Newton's steps, until all of a program's are good; how many steps it took.
@kernel("x:*fp32 out:*fp32 steps:*i32 n:i32", B=256)
def until_small(x, out, steps, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < n, other=1.0)
    y = a
    count = 0
    error = tl.max(tl.abs(y * y - a), 0)
    while error > 0.01:
        y = 0.5 * (y + a / y)
        error = tl.max(tl.abs(y * y - a), 0)
        count += 1
    tl.store(out + at, y, mask=at < n)
    tl.store(steps + tl.program_id(0), count)


# A block without anything is skipped; one with little takes one side, another the other.
@kernel("x:*fp32 wanted:*i32 out:*fp32 n:i32", B=128)
def skip_empty(x, wanted, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    count = tl.sum(tl.load(wanted + at, mask=at < n, other=0), 0)
    if count == 0:
        return
    a = tl.load(x + at, mask=at < n, other=0.0)
    if count > 64:
        tl.store(out + at, a * 2, mask=at < n)
    else:
        tl.store(out + at, a + count, mask=at < n)


# As many rows are added as all sequences have, from the row on that is the longest sequence's number of.
@kernel("lengths:*i32 x:*fp32 out:*fp32 n:i32", S=16, B=64)
def counted_rows(lengths, x, out, n, S: tl.constexpr, B: tl.constexpr):
    to = tl.arange(0, S)
    length = tl.load(lengths + to, mask=to < n, other=0)
    total = tl.sum(length, 0)
    first = tl.max(length, 0)
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(first, total):
        acc += tl.load(x + k * B + at)
    tl.store(out + at, acc)


# Numbers of a mask's elements.
@kernel("x:*i32 counts:*i64 n:i32", E=16, B=128)
def masked_counts(x, counts, n, E: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    number = tl.load(x + at)
    tl.store(counts + tl.arange(0, E), tl.histogram(number, E, mask=at < n).to(tl.int64))


# Whether a whole tile is worth it, and how often it is halved: numbers of all its elements.
@kernel("x:*fp32 out:*fp32 far:*fp32", R=64, B=32)
def whole_tiles(x, out, far, R: tl.constexpr, B: tl.constexpr):
    to = tl.arange(0, R)[:, None] * B + tl.arange(0, B)[None, :]
    at = tl.program_id(0) * R * B + to
    a = tl.load(x + at)
    if tl.sum(a) > 0:
        tl.store(far + at, a - tl.min(a))
    while tl.max(tl.abs(a)) > 0.5:
        a = a * 0.5
    tl.store(out + at, a)


# A number of a tile as an address, as what a branch gives, within bounds, as a mask, and beside one that was counted in a loop.
@kernel("x:*fp32 out:*fp32 counts:*fp32 n:i32", B=64)
def picked(x, out, counts, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.program_id(0) * n * B
    above = tl.zeros((B,), tl.int32)
    for k in range(n):
        above += (tl.load(x + row + k * B + at) > 0).to(tl.int32)
    a = tl.load(x + row + at)
    best = tl.argmax(a, 0)
    scale = 1.0
    if tl.max(a, 0) > 2:
        scale = tl.sum(a, 0)
        tl.store(counts + tl.program_id(0) * B + at, above.to(tl.float32))
    value = tl.load(x + row + best, mask=best > 3, other=tl.min(a, 0))
    tl.store(out + tl.program_id(0) * B + at, a * tl.clamp(scale, -2.0, 2.0) + value)


# Numbers of halves decide, choose and are where a mask leaves out; those of 64 bits are addresses.
@kernel("x:*fp16 at:*i64 out:*fp16 n:i32", B=128)
def narrow_numbers(x, at, out, n, B: tl.constexpr):
    to = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + to)
    most = tl.max(a, 0)
    last = tl.max(tl.load(at + to), 0)
    if tl.program_id(0) < n:
        shift = most
    else:
        shift = tl.min(a, 0)
    if most > 1.5:
        a = a - tl.load(x + last)
    first = tl.load(x + tl.program_id(0) * B, mask=tl.program_id(0) != 1, other=most)
    tl.store(out + to, a + shift + first)
