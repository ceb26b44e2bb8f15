"""Calls of flex_attention: what changes between calls is seen, what cannot be
said is an error with its line, BlockMasks, gradients, PyTorch's own by request."""

import functools
import gc
import logging
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import torch
from flex_check import check, everywhere, inputs, unfused, wrong
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask

import flashtile.flex as flex
from flashtile import flex_attention

torch.manual_seed(0)
B, H, S = 2, 4, 64


def causal(b, h, q, k):
    return q >= k


traced, Mod = [], flex._calls.Mod
flex._calls.Mod = lambda *how: traced.append(how) or Mod(*how)


def traces(function):
    """How many mods `function` traces."""
    traced.clear()
    function()
    return len(traced)


# ===--- What changes between calls is seen ---===
#
# `check` evaluates the mod anew. A mod that is equal is not traced again.

factor = 1.0
settings = {"factor": 1.0, "list": [1.0]}
module = SimpleNamespace(factor=1.0)


def scaled(factor):
    return lambda s, b, h, q, k: s * factor


def by_global(s, b, h, q, k):
    return s * factor


def by_dictionary(s, b, h, q, k):
    return s * settings["factor"] + settings["list"][0]


def by_inner(s, b, h, q, k):
    return (lambda x: x * factor)(s)


def by_other(s, b, h, q, k):
    return by_global(s, b, h, q, k) * 2


def by_attribute(s, b, h, q, k):
    return s * module.factor


def by_default(s, b, h, q, k, factor=1.0):
    return s * factor


def by_partial(s, b, h, q, k, *, factor):
    return s * factor


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor, self.weight = 1.0, torch.nn.Parameter(torch.ones(H))

    def score(self, s, b, h, q, k):
        return s * self.factor * self.weight[h]

    def forward(self, s, b, h, q, k):
        return self.score(s, b, h, q, k)


layer = Layer().requires_grad_(False)
calls = 0


def counting():
    calls = 0

    def mod(s, b, h, q, k):
        nonlocal calls
        calls += 1
        return s * (1 + (calls - 1) // 3)  # `check` calls it three times

    return mod


by_count = counting()
for factor in (1.0, 3.0, 1, True):
    settings["factor"] = settings["list"][0] = module.factor = layer.factor = factor
    by_default.__defaults__ = (factor,)
    check("closure", scaled(factor))
    check("global", by_global)
    check("dictionary", by_dictionary)
    check("inner function", by_inner)
    check("function of a function", by_other)
    check("attribute", by_attribute)
    check("default", by_default)
    check("partial", functools.partial(by_partial, factor=factor))
    check("method", layer.score)
    check("module", layer)
for _ in range(3):
    check("state", by_count)
assert traces(lambda: check("again", scaled(3.0), causal)) == 2
assert traces(lambda: check("again", scaled(3.0), causal)) == 0, "equal functions are one"
assert traces(lambda: check("again", scaled(2.0), causal)) == 2
assert traces(lambda: [check("again", layer.score) for _ in range(2)]) == 2, "an object has no key"

# Tensors: others in their place, other elements, other types, the same one twice.
table, other = torch.randn(S), torch.randn(S)


def of(one, two):
    return lambda s, b, h, q, k: s + one[q] * two[k]


first = traces(lambda: check("tensors", of(table, other)))
assert first == 1 and traces(lambda: check("swapped", of(other, table))) == 0
table.mul_(-3)
other.data = torch.randn(S)
assert traces(lambda: check("changed", of(table, other))) == 0
check("twice", of(table, table))
check("another type", of(table.half(), other.double()))
check("longer", of(torch.randn(2 * S), other))
layer.weight.data = torch.randn(H)
check("parameter", layer.score)
number = torch.tensor(2.0)
for value in (2.0, 5.0):
    number.fill_(value)
    check("a number in a tensor", lambda s, b, h, q, k: s * number)


# A number that is read from a tensor when it is traced is of this call alone.
def by_item(s, b, h, q, k):
    return s * number.item()


def by_test(s, b, h, q, k):
    return s if number > 3 else s * 2


def by_list(s, b, h, q, k):
    return s * number.reshape(1).tolist()[0]


def by_float(s, b, h, q, k):
    return s * float(number)


def by_copy(s, b, h, q, k):
    return s * torch.tensor(number) + torch.full((), number) + s.new_tensor(number)


def by_state(s, b, h, q, k):
    return s * torch.initial_seed()


for value in (2.0, 5.0):
    torch.manual_seed(int(value))
    check("state of torch", by_state)
    number.fill_(value)
    for mod in (by_item, by_list, by_float, by_copy):
        check(mod.__name__, mod)
    by_global.max = value  # an attribute with the name of a function
    check("attribute of a function", lambda s, b, h, q, k: s * by_global.max)
    check("method of a tensor", functools.partial(lambda mul, s, b, h, q, k: s + mul(2), number.mul))
torch.set_default_dtype(torch.float64)
check("another default type", scaled(3.0))
torch.set_default_dtype(torch.float32)

# The first lengths have a plan of their own, all others one.
plans, plan = [], flex._calls.plan_of
flex._calls.plan_of = lambda *how: plans.append(how) or plan(*how)
skewed = lambda b, h, q, k: q + 7 >= k
for sq, sk in ((64, 64), (64, 64), (1, 200), (70, 30), (64, 64)):
    check("lengths", None, skewed, sq=sq, sk=sk)
flex._calls.plan_of = plan
assert len(plans) == 2, plans

# What is read where other tensors say, for each query or for each key, is a vector
# that is computed at each call: the bound of a mask.
starts, document, kinds = torch.tensor([0, 13, 40, 50]), torch.arange(256) // 25 % 4, torch.randint(0, 3, (B, H, 256))


def reads_of(function):
    known = len(flex._calls.known_calls)
    function()
    texts = [call.program.text for call in list(flex._calls.known_calls.values())[known:]]
    return [line.split(" = ")[1].split(" :")[0] for text in texts for line in text.split("\n") if "extract" in line]


def packed(b, h, q, k):
    return (k >= starts[document[q]]) & (q >= k)


def by_head(b, h, q, k):
    return k < starts[kinds[b, h, q] - 3] + 20 * b + 1


def by_key(b, h, q, k):
    return q % 4 >= starts[document[k]] // 20


assert reads_of(lambda: check("rows", None, packed, twin=(None, causal))) == ["tensor.extract %t0[%i]"]
assert reads_of(lambda: check("rows", None, by_head)) == ["tensor.extract %t0[%b, %h, %i]"]
assert reads_of(lambda: check("keys", None, by_key)) == ["tensor.extract %t0[%j]"]
starts += 3
for mod in (packed, by_head, by_key):
    check("elements that changed", None, mod)
    check("one batch", None, mod, b=1, sq=9, sk=150)
    check("a score", lambda s, b, h, q, k, mod=mod: torch.where(mod(b, h, q, k), s + starts[document[q]], -torch.inf))

# An equality has bounds where what is read for keys grows with them; where it does
# not, or does no more, it has none that exclude a key.
ids, narrow = torch.arange(150) // 13, torch.arange(150, dtype=torch.int32) // 13


def same(b, h, q, k):
    return narrow[q] == ids[k]


def differs(b, h, q, k):
    return ~(ids[k] == narrow[q] + b) & (q >= k)


def after(b, h, q, k):
    return (q >= starts[document[k]]) & (starts[document[k]] - narrow[q] > b - 2) & (narrow[q] < ids[k])


reads = [f"tensor.extract %t{n}[%{at}]" for n, at in enumerate("ijiib")]  # two values, two bounds, whether they grow
assert sorted(reads_of(lambda: check("equal", None, same, twin=(None, causal)))) == reads
check("different", None, differs)
check("after", None, after)
for change in (lambda: ids.copy_(ids.flip(0)), lambda: ids.copy_(torch.randint(0, 5, (150,))), lambda: ids.fill_(1)):
    change()
    for mod in (same, differs, after):
        assert traces(lambda: check("equal", None, mod)) == 0
        check("equal", None, mod, b=1, sq=20, sk=150)

# Nothing that is captured is kept alive.
gone = weakref.ref(kept := torch.randn(S))
check("kept", of(kept, kept))
del kept
gc.collect()
assert gone() is None
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda n: check("threads", scaled(float(n % 3)), causal), range(12)))

# ===--- Errors ---===


def refused(message, function, error=flex.Unsupported):
    try:
        function()
    except error as found:
        assert message in str(found), found
    else:
        raise AssertionError("expected an error: " + message)


def lgamma(s, b, h, q, k):
    t = s.abs() + 1
    return torch.lgamma(t)  # here


def branch(s, b, h, q, k):
    return s if q > k else s * 2  # here


def mutates(s, b, h, q, k):
    table.add_(1)
    return s + table[q]


def line(function):
    lines = open(__file__).read().split("\n")
    start = function.__code__.co_firstlineno
    return f"{__file__}:{next(n for n in range(start, start + 9) if 'here' in lines[n - 1])}"


q, k, v = inputs()
call = functools.partial(flex_attention, q, k, v, enable_gqa=True)
refused("aten.lgamma.default", lambda: call(lgamma))
refused(line(lgamma), lambda: call(lgamma))
refused("branches depend on the value", lambda: call(branch))
refused("branches depend on the value", lambda: call(by_test))
refused(line(branch), lambda: call(branch))
before = table.clone()
refused("aten.add_.Tensor", lambda: call(mutates))
assert torch.equal(before, table)
refused("a result of shape (1,)", lambda: call(lambda s, b, h, q, k: s[None]))
refused("a reduction of more than", lambda: call(lambda s, b, h, q, k: s + (torch.ones(2000) * s).sum()))
refused("at least 64 queries", lambda: call(lambda s, b, h, q, k: s + table[:9][q]), ValueError)
refused("or enable_gqa=True", lambda: flex_attention(q, k, v), ValueError)
refused("expected one type", lambda: flex_attention(q, k.half(), v), ValueError)
refused("found torch.float64", lambda: flex_attention(q.double(), k.double(), v.double()))
refused("max_scores", lambda: call(return_aux=AuxRequest(max_scores=True)))
refused("found both", lambda: call(return_lse=True, return_aux=AuxRequest(lse=True)), ValueError)
refused("the fallback None or 'torch'", lambda: call(fallback="numpy"), ValueError)

# ===--- Results, and PyTorch's own ---===

plain = call(None, causal)
assert torch.equal(plain, call(None, causal, kernel_options={"BLOCK_M": 64, "PRESCALE_QK": True}))
out, aux = call(None, causal, return_aux=AuxRequest(lse=True))
assert torch.equal(out, plain) and aux.max_scores is None and wrong((out, aux.lse), q, k, v, None, causal) is None
assert call(None, causal, return_aux=AuxRequest())[1].lse is None
one = [x[:1] for x in (k, v)]
both = flex_attention(q, *one, None, causal, enable_gqa=True, return_lse=True)
assert wrong(both, q, *[x.expand(B, -1, -1, -1) for x in one], None, causal) is None

noted = []
logging.getLogger("flashtile").addHandler(handler := logging.Handler())
handler.emit = lambda record: noted.append(record.getMessage())
with torch.no_grad():
    torchs = flex.flex_attention(q, k, v, lgamma, causal, enable_gqa=True, fallback="torch")
assert any("aten.lgamma" in note for note in noted), noted
keep = everywhere(causal, (B, H, S, S))
assert (torchs - unfused(q, k, v, lgamma, keep, 0.25, torch.float64)[0]).abs().max() < 1e-4
assert torch.equal(call(None, causal, fallback="torch"), plain) and len(noted) == 1

# Gradients of captured tensors that are read at two computed places: an error,
# whoever needs one. (Others, and those of inputs: flex_gradients.py.)
wanted = q.clone().requires_grad_()
weight = torch.randn(H, requires_grad=True)
assert flex_attention(wanted, k, v, enable_gqa=True).requires_grad
far = torch.randn(2 * S, 2 * S, requires_grad=True)
refused("read at [?, ?]", lambda: call(lambda s, b, h, q, k: s + far[q - k + S, k - q + S]))
with torch.no_grad():
    flex_attention(wanted, k, v, enable_gqa=True)
    check("a parameter", lambda s, b, h, q, k: s * weight[h])

# torch.compile leaves the call as it is.
compiled = torch.compile(flex_attention, backend="eager")
assert torch.equal(compiled(q, k, v, None, causal, enable_gqa=True), plain)
whole = torch.compile(lambda q: flex_attention(q * 1, k, v, None, causal, enable_gqa=True) + 0, backend="eager")
assert torch.equal(whole(q), plain)

# ===--- BlockMasks ---===

for heads in (1, H):
    mask = create_block_mask(causal, None, heads, S, S, device="cpu", BLOCK_SIZE=16)
    assert torch.equal(call(None, mask), plain)
assert flex.tables_of(mask).kinds is None  # mask_mod says it all
with torch.inference_mode():  # whose tensors have no versions: its tables are always read
    unknown = create_block_mask(causal, None, None, S, S, device="cpu", BLOCK_SIZE=16)
    assert flex.tables_of(unknown).kinds is not None
    check("inference", None, causal, unknown, twin=(None, None))
for sq, sk in ((0, S), (S, 0)):
    assert flex_attention(*inputs(sq=sq, sk=sk), None, same, enable_gqa=True).eq(0).all()
by_batch = lambda b, h, q, k: (q >= k) & (k >= 8 * b + h)
check("by batch and head", None, by_batch, create_block_mask(by_batch, B, H, S, S, device="cpu", BLOCK_SIZE=(16, 32)))

# Tables that say less than mask_mod, or all there is: blocks 0 and the query's own.
rows = S // 16
counts = torch.full((1, 1, rows), 2, dtype=torch.int32)
counts[..., 0] = 1
columns = torch.zeros(1, 1, rows, rows, dtype=torch.int32)
columns[..., 1] = torch.arange(rows)
listed = lambda b, h, q, k: (k // 16 == 0) | (k // 16 == q // 16)
tables = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=16)
check("tables alone", None, listed, tables, twin=(None, None))
tables = BlockMask.from_kv_blocks(counts, columns.clone(), BLOCK_SIZE=16, mask_mod=causal)
both = lambda b, h, q, k: listed(b, h, q, k) & causal(b, h, q, k)
check("tables and mask_mod", None, both, tables, twin=(None, causal))
tables.kv_indices[..., 1] = rows - 1 - tables.kv_indices[..., 1]
mirrored = lambda b, h, q, k: (k // 16 == 0) | (q // 16 > 0) & (k // 16 == rows - 1 - q // 16)
check("tables that changed", None, lambda b, h, q, k: mirrored(b, h, q, k) & causal(b, h, q, k), tables)
full = BlockMask.from_kv_blocks(counts, columns, counts, columns.flip(2), BLOCK_SIZE=16, mask_mod=causal)
opposite = lambda b, h, q, k: (
    (k // 16 == columns.flip(2)[0, 0, q // 16, 0]) | ((q // 16 > 0) & (k // 16 == columns.flip(2)[0, 0, q // 16, 1]))
)
check("full blocks", None, lambda b, h, q, k: both(b, h, q, k) | opposite(b, h, q, k), full)
ragged = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=16, mask_mod=causal, seq_lengths=(S - 3, S - 5))
check("lengths that are no multiples", None, both, ragged, sq=S - 3, sk=S - 5)
refused("none", lambda: call(None, mask[:, :, :1]), RuntimeError)
refused("a BlockMask of (64, 64)", lambda: call(None, ragged), RuntimeError)

# The package needs no PyTorch, but for this.
code = """
import sys
sys.modules["torch"] = None
import numpy, flashtile
flashtile.attention(*(numpy.ones((1, 1, 4, 8), numpy.float32),) * 3)
try:
    flashtile.flex_attention
except ImportError:
    print("needs torch")
"""
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
assert done.stdout == "needs torch\n", done
print("right")
