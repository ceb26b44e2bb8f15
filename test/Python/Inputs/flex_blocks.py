"""BlockMasks whose blocks are walked as they are listed: values and gradients beside
float64, tables that change, and lists that leave out a block, which is to be seen."""

import weakref

import torch
from flex_check import check, everywhere, inputs, unfused, wrong
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

import flashtile.flex as flex
from flashtile import flex_attention

torch.manual_seed(0)
B, H, S, T, SIZE = 2, 4, 512, 640, 128
sizes = dict(b=B, hq=H, sq=S, sk=T)

# ===--- Masks whose tables say no more than they ---===

seen = torch.rand(B, H, S // SIZE, T // SIZE) > 0.5
seen[0, 0, 0] = False  # queries that see nothing


def scattered(b, h, q, k):
    """Blocks that are seen whole, and a strip of others."""
    return seen[b, h, q // SIZE, k // SIZE] | ((q + 3 * k) % 1024 < 9)


def strips(b, h, q, k):
    return (q // 64 + k // 64 + h) % 3 == 0


def learned(s, b, h, q, k):
    return s * torch.sigmoid(s) - (q - k).abs() / (8 + h)


for name, mask in (("scattered", scattered), ("strips", strips)):
    blocks = create_block_mask(mask, B, H, S, T, device="cpu")
    assert flex.tables_of(blocks).kinds is None
    for type in (torch.float32, torch.float16):
        check(name, None, mask, blocks, twin=(None, None), type=type, **sizes)
        check(name, learned, mask, blocks, twin=(None, mask), type=type, **sizes)
# Blocks of 256 x 128, of all batches and heads.
wide = lambda b, h, q, k: (q // 64 + k // 64) % 3 == 0
check(
    "wide",
    None,
    wide,
    create_block_mask(wide, None, None, 512, T, device="cpu", BLOCK_SIZE=(256, 128)),
    b=B,
    hq=H,
    sq=512,
    sk=T,
)
# Sizes that kernels do not walk: the mask alone.
check("small", None, wide, create_block_mask(wide, None, None, S, T, device="cpu", BLOCK_SIZE=64), **sizes)
small = create_block_mask(wide, None, None, S, T, device="cpu", BLOCK_SIZE=32)
odd = create_block_mask(wide, None, None, S - 1, T, device="cpu")
assert flex.tables_of(small).lists is None and flex.tables_of(odd).lists is None
check("too small", None, wide, small, **sizes)
check("odd", None, wide, odd, b=B, hq=H, sq=S - 1, sk=T)

# A mask that a score_mod has holds in blocks that are seen whole, too.
odd = lambda s, b, h, q, k: torch.where((q + k) % 2 == 0, s, -torch.inf)
q, k, v = inputs(**sizes)
for mask in (scattered, strips):
    blocks = create_block_mask(mask, B, H, S, T, device="cpu")
    found = flex_attention(q, k, v, odd, blocks, enable_gqa=True, return_lse=True)
    seen_alone = lambda b, h, q, k, mask=mask: mask(b, h, q, k) & ((q + k) % 2 == 0)
    assert wrong(found, q, k, v, None, seen_alone) is None
    assert wrong(found, q, k, v, None, mask) is not None

# Large masks are looked at in parts: of blocks that tables say are full, in the last
# part, an element is seen, or is not.
most, flex._blocks._CHUNK = flex._blocks._CHUNK, 256 * T
blocks = create_block_mask(scattered, B, H, S, T, device="cpu")
assert flex.tables_of(blocks).kinds is None
full = seen[B - 1, H - 1, -1].nonzero()[0].item() * SIZE
blocks.mask_mod = lambda b, h, q, k: scattered(b, h, q, k) & ((b < B - 1) | (h < H - 1) | (q < S - 1) | (k != full))
assert flex.tables_of(blocks).kinds is not None
flex._blocks._CHUNK = most

# What is listed is what is walked: without the first block of each list outputs differ.
blocks = create_block_mask(scattered, B, H, S, T, device="cpu")
listed = flex.tables_of(blocks).lists.keys()
q, k, v = inputs(**sizes)
found = flex_attention(q, k, v, None, blocks, enable_gqa=True, return_lse=True)
assert wrong(found, q, k, v, None, scattered) is None
listed[0].copy_(listed[0].roll(-1, -1))
found = flex_attention(q, k, v, None, blocks, enable_gqa=True, return_lse=True)
assert wrong(found, q, k, v, None, scattered) is not None

# ===--- Masks without a BlockMask ---===

made, pays = flex._listed._made, flex._listed._pays


def keys_made():
    (walked,) = (each for each in made.values() if "keys" in each._made)
    return walked.keys()


def strips_of(size):
    return lambda b, h, q, k: (q // size + k // size + h) % 3 == 0


for name, size, keys in (("own", 128, T), ("wider strips", 256, T), ("other keys", 128, 512), ("of 64", 64, 576)):
    made.clear()
    given = dict(sizes, sk=keys)
    block = 128 if keys % 128 == 0 else 64
    for type in (torch.float32, torch.float16):
        check(name, learned, strips_of(size), twin=(learned, None), type=type, **given)
    lists, counts = keys_made()
    # Of all batches, and of each head.
    assert lists.shape == (1, H, S // block, keys // block), lists.shape
    assert counts[..., 1].sum() < lists.numel()
# Of intervals, of few keys and of other sizes none is made, nor looked at.
made.clear(), pays.clear()
check("intervals", None, lambda b, h, q, k: k <= q, **sizes)
check("few", None, strips_of(64), b=B, hq=H, sq=S, sk=256)
check("odd sizes", None, strips_of(64), b=B, hq=H, sq=S, sk=T - 1)
assert not made and not pays, (made, pays)
# Where all blocks are seen, or all between bounds, none is shorter.
check("everywhere", None, strips_of(64), **sizes)
check("bounded", None, lambda b, h, q, k: (k <= q) & ((q - k) % 4 == 0), **sizes)
assert not made and [*pays.values()] == [False, False], (made, pays)
# What is listed is what is walked: without the first block of each list outputs differ.
made.clear()
q, k, v = inputs(**sizes)
attend = lambda: flex_attention(q, k, v, None, strips_of(128), enable_gqa=True, return_lse=True)
for again in range(3):
    assert wrong(attend(), q, k, v, None, strips_of(128)) is None
lists, _ = keys_made()
lists.copy_(lists.roll(-1, -1))
flex._calls._numbers_alone.clear()
assert wrong(attend(), q, k, v, None, strips_of(128)) is not None
made.clear(), pays.clear()

# ===--- The same of masks that capture tensors: made at each call ---===

shift, looked_at, kinds_of = torch.tensor(1), [], flex._kinds.Kinds.__call__
flex._kinds.Kinds.__call__ = lambda *given: looked_at.append(kinds_of(*given)) or looked_at[-1]
document, wanted = (torch.randperm(T // SIZE).repeat_interleave(SIZE) for _ in range(2))
shifted = lambda b, h, q, k: (q // SIZE + k // SIZE) % 3 == shift % 3
out_of_order = lambda b, h, q, k: wanted[q] == document[k]
for name, mask, change in (
    ("shift", shifted, lambda: shift.numpy().fill(2)),
    ("documents", out_of_order, lambda: document.numpy().sort()),
):
    for score in (None, learned):
        check(name, score, mask, twin=(score, None), **sizes)
    assert not made and looked_at[-1].shape == (1, 1, S // SIZE, T // SIZE) and (looked_at[-1] == 0).any()
    # Changed by NumPy, of which PyTorch knows nothing.
    before = looked_at[-1].clone()
    change()
    check(name + ", changed", None, mask, twin=(None, None), **sizes)
    assert not torch.equal(looked_at[-1], before)
# Where they do not pay, blocks are looked at once.
looked_at.clear()
for again in range(3):
    check("everywhere", None, lambda b, h, q, k: (q * k) % 7 != shift, **sizes)
assert len(looked_at) == 1, looked_at
# The twin: blocks as they were.
check("shift", None, shifted, **sizes)
stale = looked_at[-1].clone()
flex._kinds.Kinds.__call__ = lambda *given: stale
shift.fill_(0)
attend = lambda: flex_attention(q, k, v, None, shifted, enable_gqa=True, return_lse=True)
assert wrong(attend(), q, k, v, None, shifted) is not None
flex._kinds.Kinds.__call__ = kinds_of
assert wrong(attend(), q, k, v, None, shifted) is None

# ===--- Tables that say less than mask_mod ---===

# The blocks that are best for each block of queries, as sparse attention chooses them.
most = 2
chosen = torch.rand(B, H, S // SIZE, T // SIZE).topk(most).indices.int()
counts = torch.full((B, H, S // SIZE), most, dtype=torch.int32)
room = torch.zeros(B, H, S // SIZE, T // SIZE, dtype=torch.int32)
room[..., :most] = chosen
parity = lambda b, h, q, k: (q + k) % 2 == 0


def is_chosen(indices):
    return lambda b, h, q, k: (indices[b, h, q // SIZE] == (k // SIZE).unsqueeze(-1)).any(-1)


def both(x, y):
    return lambda *place: x(*place) & y(*place)


lengths = dict(seq_lengths=(S, T))
best = BlockMask.from_kv_blocks(counts, room, mask_mod=parity, **lengths)
check("chosen", None, both(is_chosen(chosen), parity), best, twin=(None, parity), **sizes)
# Full ones alone, which another table may replace.
none = torch.zeros_like(counts)
full = BlockMask.from_kv_blocks(none, room.clone(), counts, room, mask_mod=parity, **lengths)
check("chosen whole", None, is_chosen(chosen), full, twin=(None, None), **sizes)
other = (chosen + 1) % (T // SIZE)
room[..., :most] = other
check("chosen anew", None, is_chosen(other), full, twin=(None, is_chosen(chosen)), **sizes)

# ===--- What calls with one BlockMask keep ---===

# Blocks that may all be seen, so that mask_mod says what is, and its bounds are vectors.
document = torch.arange(T) // 100
inside = lambda b, h, q, k: document[q] == document[k]
rows, columns = S // SIZE, T // SIZE
every = torch.arange(columns, dtype=torch.int32).expand(1, 1, rows, columns).contiguous()
some = BlockMask.from_kv_blocks(torch.full((1, 1, rows), columns, dtype=torch.int32), every, mask_mod=inside, **lengths)
evaluate, evaluated = flex._translate.Mod.evaluate, []
flex._translate.Mod.evaluate = lambda *given: evaluated.append(given) or evaluate(*given)
q, k, v = inputs(**sizes)
attend = lambda: flex_attention(q, k, v, None, some, enable_gqa=True, return_lse=True)


def evaluations():
    """How many a right call makes."""
    evaluated.clear()
    assert wrong(attend(), q, k, v, None, inside) is None
    return len(evaluated)


assert evaluations() == 2  # whether keys grow, and bounds
assert evaluations() == 0
document.copy_(torch.arange(T) // 150)
assert evaluations() == 2
# Calls that are kept beyond that are wrong, which is to be seen.
is_same, flex._blocks._is_same = flex._blocks._is_same, lambda *states: True
document.copy_(torch.arange(T) // 70)
assert wrong(attend(), q, k, v, None, inside) is not None
flex._blocks._is_same = is_same
assert evaluations() == 2
# A batch more has its own; what a score_mod captures is read at each call.
q, k, v = inputs(b=B + 1, hq=H, sq=S, sk=T)
assert evaluations() == 1
learned_bias = torch.randn(H, requires_grad=True)
biased = lambda s, b, h, q, k: s + learned_bias[h]
evaluated.clear()
for count in (3, 4):  # of the score, and at first of the mask
    flex_attention(q, k, v, biased, some, enable_gqa=True).sum().backward()
    assert len(evaluated) == count and learned_bias.grad is not None
# Where keys don't grow, blocks are walked that are listed, of which none is left out.
document.copy_(torch.arange(T) // 150 % 3)
assert evaluations() == 2 and evaluations() == 0
flex.tables_of(some).lists.keys()[1].sub_(1)
assert wrong(attend(), q, k, v, None, inside) is not None
# What is kept by a call without gradients serves one with them.
document.copy_(torch.arange(T) // 150)
with torch.inference_mode():
    assert evaluations() == 2
for x in (q, k, v):
    x.requires_grad_()
flex_attention(q, k, v, None, some, enable_gqa=True).sum().backward()
# A captured graph keeps nothing of its own and takes nothing that is kept; tables that it
# reads stay when they are no longer those of the mask.
with torch.no_grad():
    attend()
    assert evaluations() == 0
    is_capturing = flex._blocks.is_capturing
    flex._blocks.is_capturing = flex._calls.is_capturing = lambda device: True
    assert evaluations() == 1 and evaluations() == 1
    flex._blocks.is_capturing = flex._calls.is_capturing = is_capturing
    read = weakref.ref(flex.tables_of(some).lists.keys()[0])
    document.copy_(torch.arange(T) // 130)
    assert evaluations() == 2 and flex.tables_of(some).lists.keys()[0] is not read()
    assert read() is not None
# A call like the one before looks for nothing but its launch; another scale is another.
with torch.no_grad():
    found, find = [], flex.find
    flex.find = lambda *given, **how: found.append(given) or find(*given, **how)
    attend()
    assert not found
    other = flex_attention(q, k, v, None, some, scale=2.0, enable_gqa=True, return_lse=True)
    assert found and (other[1] - attend()[1]).abs().max() > 0.1
    flex.find = find
flex._translate.Mod.evaluate = evaluate

# ===--- Gradients ---===

q, k, v = (x.requires_grad_() for x in inputs(**sizes))
dout = torch.randn(B, H, S, 16)


def gradients(function, arrays):
    out = function(*arrays)
    return torch.autograd.grad(out, arrays, dout.to(out.dtype))


def reference(score, mask):
    keep = everywhere(mask, (B, H, S, T))
    return lambda q, k, v: unfused(q, k, v, score, keep, q.shape[3] ** -0.5, q.dtype)[0]


def largest(found, expected):
    return [(abs(x - y).max() / abs(y).max()).item() for x, y in zip(found, expected)]


plan_of = flex.plan_of
walked_queries, flex._blocks.Walked.queries = flex._blocks.Walked.queries, None
document = torch.arange(T) // 100
of_key = torch.rand(T) > 0.5
room[..., :most] = chosen
blocks_of = lambda mask: create_block_mask(mask, B, H, S, T, device="cpu")
seen_odd = both(scattered, lambda b, h, q, k: (q + k) % 2 == 0)
# name, score_mod, mask_mod, BlockMask, all that is seen, and whether queries are listed.
for name, score, mask, blocks, sees, is_listed in (
    ("strips", learned, strips, blocks_of(strips), strips, True),
    ("scattered", None, scattered, blocks_of(scattered), scattered, True),
    ("a mask in scores, too", odd, scattered, blocks_of(scattered), seen_odd, True),
    ("chosen", None, None, best, both(is_chosen(chosen), parity), True),
    ("of each head", learned, strips_of(128), None, strips_of(128), True),
    ("of all heads", None, wide, None, wide, False),  # of which all blocks are seen
    ("documents", None, inside, None, inside, True),
    ("documents with blocks", None, inside, blocks_of(inside), inside, True),
    ("shifted", None, shifted, None, shifted, True),
    ("of keys", None, lambda b, h, q, k: of_key[k], None, lambda b, h, q, k: of_key[k], False),
    ("causal", learned, lambda b, h, q, k: k <= q, None, lambda b, h, q, k: k <= q, False),
    (
        "causal with blocks",
        None,
        lambda b, h, q, k: k <= q,
        blocks_of(lambda b, h, q, k: k <= q),
        lambda b, h, q, k: k <= q,
        False,
    ),
):
    ours = lambda q, k, v: flex_attention(q, k, v, score, blocks or mask, enable_gqa=True)
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v)]
    expected = gradients(reference(score, sees), doubles)
    single = max(largest(gradients(reference(score, sees), (q, k, v)), expected))
    asked, looked_up = [], []
    flex.plan_of = lambda *given: looked_up.append(given) or plan_of(*given)
    flex._blocks.Walked.queries = lambda *given: asked.append(1) or walked_queries(*given)
    found = gradients(ours, (q, k, v))
    assert max(largest(found, expected)) <= 2 * single + 1e-6, (name, largest(found, expected), single)
    assert bool(asked) == is_listed, (name, asked)
    if mask is inside and not blocks:  # of listed blocks no bounds of keys are looked at
        texts = [known[1] for known in looked_up]
        assert [text.count("arith.cmpi") for text in texts if "tile.query_lists" in text] == [1], texts
    assert all(torch.equal(x, y) for x, y in zip(found, gradients(ours, (q, k, v))))
    # The twins: without a mask, and without the last block of each list of queries.
    assert min(largest(gradients(lambda *x: flex_attention(*x, enable_gqa=True), (q, k, v)), expected)) > 1e-2
    flex._blocks.Walked.queries = lambda *given: [x - n for n, x in enumerate(walked_queries(*given))]
    of_queries, *of_keys = largest(gradients(ours, (q, k, v)), expected)
    assert of_queries <= 2 * single + 1e-6 and (min(of_keys) > 1e-3) == is_listed, (name, of_queries, of_keys)
flex._blocks.Walked.queries = walked_queries
print("right")
