"""Many processes on one folder, some of them killed."""
import random
import signal
import sys
import time

from runs import entries, expect, finish, fresh, run, start

folder = fresh(sys.argv[1])
cache = folder + "/together"
outcomes = [finish(p) for p in [start(cache) for _ in range(16)]]
assert sorted(o for o, _ in outcomes) == ["hit"] * 15 + ["miss"], outcomes
assert not any(said for _, said in outcomes), outcomes
# The twin: with a folder each, each compiles.
outcomes = [finish(p) for p in [start(f"{folder}/alone{n}") for n in range(2)]]
assert [o for o, _ in outcomes] == ["miss", "miss"], outcomes

# How long a cold run takes decides when to kill.
begin = time.monotonic()
expect(run(folder + "/timed"), "miss")
duration = time.monotonic() - begin
seed = random.randrange(10**6)
print("seed", seed)
random.seed(seed)
killed = 0
for round in range(8):
    cache = f"{folder}/killed{round}"
    process = start(cache)
    # Most moments are those towards the end, when the file is written.
    time.sleep(duration * random.uniform(0.0, 1.1) ** 0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    killed += process.returncode == -signal.SIGKILL
    before = bool(entries(cache))
    expect(run(cache), "hit" if before else "miss")
    expect(run(cache), "hit")
assert killed, "expected that some process was killed"
