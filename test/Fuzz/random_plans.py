#!/usr/bin/env python3
"""random_plans.py COUNT SEED [OPTION...]: legal schedules that nobody chose give right results.

Of problems that have kernels with specialized warps, the plans of all of these are changed at random: slots, when dots run,
ping-pong, late rescaling, the speculative maximum, persistent blocks, a partition that stores; of 8 bits, slots that are widened. Each runs in the emulator and is compared with float64
(`fa-run --check`). A plan that has no room is refused and counted apart; anything else that fails is printed with the command that
gives it again, and the exit code is 1. OPTIONs are further ones of fa-run's.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TARGET = "sm_90a"
PROBLEMS = [
    "hq=4 sq=200 sk=260 d=64 type=bf16",
    "hq=4 sq=200 sk=260 d=64 type=f16 causal lse",
    "hq=4 sq=260 sk=200 d=128 type=bf16 causal",
    "hq=4 sq=200 sk=260 d=128 type=f16",
    "hq=4 sq=150 sk=300 d=64 type=bf16 window=70,0",
    "hq=4 sq=150 sk=300 d=80 type=bf16 softcap=30",
    "hq=4 sq=150 sk=300 d=64 type=bf16 alibi causal",
    "hq=4 sq=130 sk=256 d=64 type=bf16 bias=bhqk",
    "hq=4 sq=200 sk=260 d=64 type=bf16 kv=f8e4m3 causal",
    "hq=4 sq=200 sk=300 d=128 type=f8e4m3 out=bf16",
]
# Whose outputs are boxes, which a partition can store.
WITH_BOXES = ("@attention_roles", "@attention_roles_few")


def fa_run(*arguments):
    return subprocess.run(["fa-run", "--cache=off", *arguments], capture_output=True, text=True)


def with_store(partitions, consumers):
    """The same with a partition that stores, for which those that compute give up registers."""
    others = [int(number) for number in re.findall(r"(?:load|convert) w4 r(\d+)", partitions)]
    if not others:
        return partitions[:-1] + ", store w4]"
    groups = consumers + len(others) + 1
    compute = (512 // groups // 8 * 8 * groups - sum(others) - 24) // consumers // 8 * 8
    return re.sub(r"(compute\S* w4) r\d+", rf"\1 r{compute}", partitions)[:-1] + ", store w4 r24]"


def change(name, plan, random):
    """Another legal plan; its words in the order in which they are printed."""
    consumers = int((re.search(r"compute\*(\d)", plan) or [0, 1])[1])
    partitions = re.search(r"partitions \[[^\]]*\]", plan)[0]
    if name in WITH_BOXES and random.random() < 0.3:
        partitions = with_store(partitions, consumers)
    scores = re.search(r"scores \[([^\]]*)\]", plan)
    slots = f"program {consumers * random.randint(1, 2)}, step {random.randint(1, 3)}"
    if "narrow" in plan:
        slots += f", narrow {random.randint(1, 2)}"
    if scores:
        count = len(scores[1].split(","))
        slots += ", scores [" + ", ".join(str(consumers * random.randint(0, 2)) for _ in range(count)) + "]"
    words = [re.search(r"tile \d+x\d+", plan)[0], partitions, "slots {" + slots + "}"]
    words += random.choice([[], ["loop [0:0, 1:1]"], ["loop [0:0, 0:1]"], ["loop [0:1, 1:0]"]])
    words += [word for word in ("max speculative", "ping_pong", "late_rescale", "persistent") if random.random() < 0.5]
    return "plan<" + ", ".join(words) + ">"


def main(count, seed, *options):
    chosen = random.Random(seed)
    right = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan"
        for number in range(count):
            problem = PROBLEMS[number % len(PROBLEMS)]
            shown = fa_run("--attention", problem, f"--arch={TARGET}", "--emit=plan")
            plans = re.findall(r"^(@\S+) (plan<.*load.*>)$", shown.stdout, re.MULTILINE)
            if not plans:
                sys.exit(f"{problem}: expected a kernel with specialized warps, found {shown.stdout}{shown.stderr}")
            lines = [f"{name} {change(name, plan, chosen)}" for name, plan in plans]
            file.write_text("\n".join(lines) + "\n")
            ran = fa_run("--attention", problem, f"--target=emulator:{TARGET}", f"--plan={file}", "--check", *options)
            if ran.returncode == 0 and "PASS" in ran.stdout:
                right += 1
            elif re.search("bytes of shared memory|room in shared memory", ran.stderr):
                refused += 1
            else:
                print(f"fa-run --attention '{problem}' --target=emulator:{TARGET} --plan=F --check, F of")
                print("\n".join(lines), (ran.stdout + ran.stderr)[-800:], sep="\n")
                return 1
    print(f"{right} right, {refused} without room")
    return 0 if right else 1


sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
