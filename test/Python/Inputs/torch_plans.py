"""How long PyTorch's operator has its plans, and who makes them when several
threads ask first."""
import ctypes
import gc
import threading
import weakref

import flashtile._attention as _attention
import flashtile._torch_extension as extension

extension._host.mostPlans = 3

import torch

import flashtile.torch

assert flashtile.torch.dispatch == "c++"
# A package of another version is not taken at its word.
host = type(extension._host).from_buffer_copy(extension._host)
for member in ("size", "requestSize"):
    other = type(host).from_buffer_copy(host)
    setattr(other, member, getattr(host, member) + 8)
    assert flashtile.torch._extension.flashtileTorchRegister(ctypes.byref(other))

q, k, v = (torch.randn(1, 2, 8, 16) for _ in range(3))
op = torch.ops.flashtile.attention
patterns = [(), (k[:, :, :, :8],), (k[:, :1, :, :8],), (k[:, :, :1, :8],), (k[:, :1, :1, :8],)]


def call(n):
    return op(q, k, v, bias=patterns[n][0] if patterns[n] else None)


# As many threads at once as there are plans: each is made, and all are right.
found = [None] * 40
barrier = threading.Barrier(len(found))


def first(n):
    barrier.wait()
    found[n] = call(n % len(patterns))


threads = [threading.Thread(target=first, args=(n,)) for n in range(len(found))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for n, out in enumerate(found):
    assert torch.equal(out, call(n % len(patterns)))
# No more are held than are to be kept, however many there were.
for n in range(50):
    call(n % len(patterns))
    assert len(extension._held) <= 3, extension._held
# As each of five was called once, the three that were there have made way: nothing
# else holds them, and they are made again.
plans = [weakref.ref(plan) for plan in extension._held.values()]
assert plans
_attention.plan_of.cache_clear()
for n in range(len(patterns)):
    call(n)
gc.collect()
assert all(plan() is None for plan in plans), [gc.get_referrers(plan()) for plan in plans if plan()]
assert torch.equal(call(0), flashtile.attention(q, k, v))
print("right")
