"""ranked_plans.py ARCH SPEC [OPTION...]: all plans that a search would measure give right results.

Each rank's plans that no rank before it had run in the emulator of ARCH and are compared with float64. Given as text
(`--plan`), they make the same code: a tuning table has nothing else of them. Prints how many there are.
"""
import pathlib
import subprocess
import sys
import tempfile


def fa_run(*arguments):
    result = subprocess.run(["fa-run", "--cache=off", *arguments], capture_output=True, text=True)
    if result.returncode:
        sys.exit(" ".join(["fa-run", *arguments]) + "\n" + result.stdout + result.stderr)
    return result.stdout


def main(arch, spec, *options):
    shown = ["--attention", spec, f"--arch={arch}", "--launch"]
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan"
        for rank in range(8):
            plans = fa_run(*shown, f"--rank={rank}", "--emit=plan", *options)
            if plans in seen:
                continue
            seen.append(plans)
            if "PASS" not in fa_run("--attention", spec, f"--target=emulator:{arch}", f"--rank={rank}", "--check", *options):
                sys.exit(f"rank {rank}: not compared:\n{plans}")
            if options:
                continue
            file.write_text(plans)
            if fa_run(*shown, f"--rank={rank}", "--emit=tgpu") != fa_run(*shown, f"--plan={file}", "--emit=tgpu"):
                sys.exit(f"rank {rank}: other code from its text:\n{plans}")
    print(f"{len(seen)} plans on {arch}")


main(*sys.argv[1:])
