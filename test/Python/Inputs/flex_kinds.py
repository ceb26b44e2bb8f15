"""Which blocks of masks are seen, looked at by kernels on the CPU and in the emulators,
beside PyTorch's own evaluation of each element, and their lists.

    flex_kinds.py TARGET ...
"""

import sys

import torch
from flex_check import everywhere
from flex_masks import H, S, masks

import flashtile
from flashtile import flex

torch.manual_seed(0)


def expected(mask, batches, size):
    """0, 1 or 2 of each block of `size` queries and keys."""
    whole = batches, H, S, S
    blocks = everywhere(mask, whole).expand(whole).unflatten(3, (-1, size)).unflatten(2, (-1, size))
    return blocks.any(5).any(3).int() + blocks.all(5).all(3).int()


def found(context, mask, batches, size):
    q = torch.empty(batches, H, S, 64)
    mods = flex._calls.Mods(None, mask, flex.key_of(None), flex.key_of(mask))
    call, _, tensors = flex._calls.find(mods, flex._LISTED, (size, size), q, q, False, bounds=False)
    values = call.values_of_mask(tensors, {"b": batches, "h": H, "i": S, "j": S}, q.device)
    kernel = call.kinds(size)
    lead = [count if letter in call.mask_letters else 1 for letter, count in (("b", batches), ("h", H))]
    kinds = torch.full((*lead, S // size, S // size), -1, dtype=torch.int32)
    plan = context.module(kernel.kernel.text)
    plan(kinds, *(values[table].reshape(values[table].shape or (1,)) for table in kernel.tables))
    return kinds.expand(batches, H, -1, -1)


def check_lists(context):
    """Of random kinds, of more and fewer columns than a program looks at at a time."""
    plan = context.module(flex._kinds._lists.text)
    for columns in (1, 5, 128, 129, 300):
        kinds = torch.randint(0, 3, (2, 3, 4, columns), dtype=torch.int32)
        kinds[0, 0, 0], kinds[1, 2, 3] = 0, 2
        blocks, counts = torch.full_like(kinds, -1), torch.full((2, 3, 4, 2), -1, dtype=torch.int32)
        plan(kinds, blocks, counts)
        assert torch.equal(blocks, torch.argsort(kinds, dim=-1, descending=True, stable=True).int()), columns
        assert torch.equal(counts, torch.stack([(kinds == 2).sum(-1), (kinds > 0).sum(-1)], -1).int()), columns


gates = torch.rand(2, H, S)
some = torch.rand(S // 64) > 0.3
number, half = torch.tensor(70), torch.tensor(0.5, dtype=torch.float16)
FUNCTIONS = "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt tanh sin cos tan atan asin acos sinh cosh erf".split()


def functions(b, h, q, k):
    """A function for each of so many keys."""
    x, found = (k % 97) / 100 + 0.01 * (q % 3), False
    for n, name in enumerate(FUNCTIONS):
        found = found | (k // 128 * 5 + k % 5 == n) & (getattr(torch, name)(x) > 0.3)
    return found


more = {
    "functions": functions,
    "floats": lambda b, h, q, k: torch.sigmoid(gates[b, h, q]) > 0.5 + (k // 64) / 32,
    "bool, from the end": lambda b, h, q, k: some[-1 - k // 64] & (k < number + q),
    "numbers": lambda b, h, q, k: (k * half).to(torch.int32) % 7 <= q.clamp(max=5),
    # Numbers that the kernel's text has, too.
    "own numbers": lambda b, h, q, k: ((q // 64) * 128 + (k // 64) * 2048) % 24576 < 16384,
    "bits": lambda b, h, q, k: ((q ^ k) >> 6) & 1 == 0,
}
for target in sys.argv[1:]:
    context = flashtile.Context(target, cache=None, counters=True)
    check_lists(context)
    counted = flashtile.last_counters()
    assert counted is None if target == "cpu" else counted["global_requests"] > 0, counted
    seen = [set(), set()]
    for name, mask in (masks() | more).items():
        for size in (128, 64) if target == "cpu" else (128,):
            given = (2 if name in more else 1), size
            kinds = expected(mask, *given)
            assert torch.equal(found(context, mask, *given), kinds), (target, name, size)
            # The twin: of another mask.
            other = lambda b, h, q, k, mask=mask: mask(b, h, q, k) & ((q != 300) | (k != 20))
            seen[torch.equal(found(context, other, *given), kinds)].add(name)
    assert seen[0], "no element is looked at"
    print(f"{target}: right, {len(seen[0])} of {len(masks() | more)} differ without one element")
