"""A kernel that reads K and V and does nothing else: the bound of a decode."""

import itertools

import triton
import triton.language as tl


@triton.jit
def read(k, v, sums, n, BLOCK: tl.constexpr, TILES: tl.constexpr):
    """Adds up n 4-byte words of k and of v, with TILES blocks of either under way in each program; a sum for each
    program, so that no load is left out."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for first in range(tl.program_id(0) * BLOCK * TILES, n, tl.num_programs(0) * BLOCK * TILES):
        for tile in tl.static_range(TILES):
            at = first + tile * BLOCK + lanes
            total += tl.load(k + at, mask=at < n, other=0)
            total += tl.load(v + at, mask=at < n, other=0)
    tl.store(sums + tl.program_id(0), tl.sum(total))


def readers(torch, inputs):
    """Functions that read one (k, v) of `inputs` after the other, by several numbers of programs, warps and bytes under
    way: which is the fastest depends on the size."""
    words = [tuple(x.view(torch.int32).flatten() for x in pair) for pair in inputs]
    n = words[0][0].numel()
    multiprocessors = torch.cuda.get_device_properties().multi_processor_count
    sums = torch.empty(multiprocessors * 16, device=words[0][0].device, dtype=torch.int32)

    def reader(programs, block, tiles, warps):
        turns = itertools.cycle(words)
        return lambda: read[(programs,)](*next(turns), sums, n, BLOCK=block, TILES=tiles, num_warps=warps)

    choices = itertools.product((2, 4, 8, 16), (1024, 2048), (1, 2, 4), (4, 8))
    return [reader(multiprocessors * each, *rest) for each, *rest in choices]
