"""Times fa-run's attention on one NVIDIA card beside what the peers' program measured there.

usage: gpu.py FA_RUN [--peers PEERS.json] [-o OUT.json] [--quick] [--first N]
PEERS.json is what the peers' program wrote on the same card just before: the rows of both are put side by side.
FLOPs: 2*B*H*Sq*Sk*(Dqk+Dv), half of that when causal. Our figures are medians of single launches between two events.
"""
import argparse, json, subprocess, sys


def shapes(quick):
    for d in (128, 64, 256):
        for causal in (False, True):
            for s in (4096,) if quick else (1024, 4096, 16384):
                yield dict(B=16384 // s, Hq=2048 // d, Hkv=2048 // d, S=s, Dq=d, Dv=d, causal=causal, dtype="bf16")
    if quick:
        return
    for causal in (False, True):
        for s in (4096, 16384):
            yield dict(B=1, Hq=64, Hkv=8, S=s, Dq=128, Dv=128, causal=causal, dtype="bf16")
    yield dict(B=4, Hq=16, Hkv=16, S=4096, Dq=192, Dv=128, causal=True, dtype="bf16")
    for causal in (False, True):
        yield dict(B=4, Hq=32, Hkv=32, S=4096, Dq=64, Dv=64, causal=causal, dtype="f16")
    yield dict(B=4, Hq=12, Hkv=12, S=512, Dq=64, Dv=64, causal=False, dtype="f16")


def measure(fa_run, r):
    spec = (f"b={r['B']} hq={r['Hq']} hkv={r['Hkv']} sq={r['S']} sk={r['S']} d={r['Dq']} dv={r['Dv']} "
            f"type={r['dtype']}" + (" causal" if r["causal"] else ""))
    run = subprocess.run([fa_run, "--attention", spec, "--target=cuda", "--bench", "--json"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{spec}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fa_run")
    parser.add_argument("--peers")
    parser.add_argument("-o")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="shapes to leave out at the start")
    options = parser.parse_args()
    peers = {}
    for p in json.load(open(options.peers)) if options.peers else []:
        if "tflops" in p:
            dtype = "bf16" if "bfloat16" in p["dtype"] else "f16"
            peers[p["B"], p["Hq"], p["Hkv"], p["S"], p["Dq"], p["Dv"], p["causal"], dtype] = p["tflops"]
    rows = []
    names = ["cudnn", "fa2", "triton", "flex", "matmul"]
    print("| shape | FlashTile | " + " | ".join(names) + " | tile, registers |")
    print("| --- " * (len(names) + 3) + "|")
    for r in list(shapes(options.quick))[options.first:]:
        report = measure(options.fa_run, r)
        flops = 2 * r["B"] * r["Hq"] * r["S"] ** 2 * (r["Dq"] + r["Dv"]) * (0.5 if r["causal"] else 1)
        ours = flops / report["time_ms"]["median"] / 1e9
        found = peers.get(tuple(r.values()), {})
        kernel = report["kernels"][0]
        rows.append(dict(r, tflops=ours, peers=found, report=report))
        shape = f"B{r['B']} Hq{r['Hq']} Hkv{r['Hkv']} S{r['S']} D{r['Dq']}/{r['Dv']} {r['dtype']} {'causal' if r['causal'] else 'full'}"
        print(f"| {shape} | {ours:.0f} | " + " | ".join(f"{found[n]:.0f}" if n in found else "–" for n in names)
              + f" | {kernel['tile']}, {kernel['registers']} |", flush=True)
    if options.o:
        json.dump(rows, open(options.o, "w"), indent=1)


main()
