"""Writes the golden outputs: attention in NumPy float64, from the formula of docs/numerics.md.

    python3 generate.py FOLDER

For each case, inputs and outputs as NAME.{q,k,v,...,out,lse}.npy; the SPEC of each case is in cases.txt.
Shares nothing with the C++ reference that it is compared with.
"""
import sys
import numpy as np

CASES = {
    "plain": "hq=2 sq=5 sk=7 d=8 type=f32",
    "causal": "hq=2 sq=5 sk=9 d=8 causal type=f32",
    "causal_tall": "hq=2 sq=9 sk=4 d=8 causal type=f32",
    "causal_top_left": "hq=2 sq=5 sk=9 d=8 causal=top-left type=f32",
    "window": "hq=1 sq=9 sk=12 d=8 window=3,1 type=f32",
    "window_left": "hq=1 sq=9 sk=12 d=8 window=2,-1 causal type=f32",
    "lengths": "b=3 hq=2 sq=4 sk=6 d=8 lengths type=f32",
    "softcap": "hq=2 sq=5 sk=7 d=8 softcap=0.7 type=f32",
    "alibi": "hq=6 sq=5 sk=7 d=8 alibi type=f32",
    "bias": "b=2 hq=3 sq=4 sk=5 d=8 bias=bhqk type=f32",
    "bias_keys": "b=2 hq=3 sq=4 sk=5 d=8 bias=1h1k type=f32",
    "grouped": "b=2 hq=6 hkv=2 sq=4 sk=5 d=8 dv=3 type=f32",
    "prefix": "hq=2 sq=6 sk=6 d=8 causal prefix=3 type=f32",
    "documents": "b=2 hq=1 sq=8 sk=8 d=8 documents type=f32",
    "sink": "hq=3 sq=4 sk=6 d=8 causal sink type=f32",
    "scale": "hq=1 sq=4 sk=6 d=8 scale=-0.4 type=f32",
    "dropout": "b=2 hq=3 sq=20 sk=21 d=8 dropout=0.3 causal sink type=f32",
}


def parse(spec):
    p = dict(b=1, hq=8, sk=None, d=64, dv=None, hkv=None)
    for word in spec.split():
        key, _, value = word.partition("=")
        p[key] = int(value) if key in ("b", "hq", "hkv", "sq", "sk", "d", "dv", "prefix") else value or True
    p["sk"] = p["sk"] or p["sq"]
    p["dv"] = p["dv"] or p["d"]
    p["hkv"] = p["hkv"] or p["hq"]
    return p


def slopes(heads):
    power = 1 << (heads.bit_length() - 1)
    first = [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)]
    rest = [2.0 ** (-8.0 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)]
    return np.array((first + rest)[:heads])


def dropout(probability, rng, b, heads, sq, sk):
    """What P is multiplied with, [b, heads, sq, sk]: Philox4x32-10 counted by the place of an element."""
    place = np.ix_(np.arange(b * heads), np.arange(sq), np.arange(sk))
    bh, i, j = np.broadcast_arrays(*(x.astype(np.uint64) for x in place))
    seed, offset = (int(x) & (2**64 - 1) for x in rng)
    low = 2**32 - 1
    c = [j & ~np.uint64(9), i & ~np.uint64(8), bh, np.full_like(bh, offset & low)]
    k = [seed & low, seed >> 32 ^ offset >> 32]
    for _ in range(10):
        x, y = (c[n] * np.uint64(m) for n, m in ((0, 0xD2511F53), (2, 0xCD9E8D57)))
        c = [y >> 32 ^ c[1] ^ k[0], y & low, x >> 32 ^ c[3] ^ k[1], x & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    word = np.choose((i >> 2 & 2 | j >> 3 & 1).astype(int), c)
    u = word >> 16 * (j & 1) & 0xFFFF
    t = round(probability * 65536)
    return np.where(u < t, 0, 65536 / (65536 - t)).reshape(b, heads, sq, sk)


def attention(p, t):
    b, sq, sk = p["b"], p["sq"], p["sk"]
    group = p["hq"] // p["hkv"]
    q, k, v = (t[n].astype(np.float64) for n in "qkv")
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    s = np.einsum("bhid,bhjd->bhij", q, k) * float(p.get("scale") or p["d"] ** -0.5)
    if "softcap" in p:
        cap = float(p["softcap"])
        s = cap * np.tanh(s / cap)
    i = np.arange(sq)[:, None] + 0 * np.arange(sk)
    j = np.arange(sk)[None, :] + 0 * i
    diagonal = i + sk - sq
    if "alibi" in p:
        s = s - slopes(p["hq"])[None, :, None, None] * np.abs(diagonal - j)
    if "bias" in p:
        s = s + t["bias"].astype(np.float64)
    seen = np.ones((b, 1, sq, sk), bool)
    if p.get("causal"):
        seen &= j <= (i if p["causal"] == "top-left" else diagonal)
    if "window" in p:
        left, right = map(int, p["window"].split(","))
        if left >= 0:
            seen &= j >= diagonal - left
        if right >= 0:
            seen &= j <= diagonal + right
    if "documents" in p:
        for n in range(b):
            document = lambda x: np.searchsorted(t["documents"][n], x, side="right")
            seen[n] &= document(diagonal) == document(j)
    if "prefix" in p:
        seen |= j < p["prefix"]
    if "lengths" in p:
        seen &= j < t["lengths"][:, None, None, None]
    s = np.where(seen, s, -np.inf)
    if "sink" in p:
        column = np.broadcast_to(t["sink"].astype(np.float64)[None, :, None, None], s.shape[:3] + (1,))
        s = np.concatenate([s, column], -1)
        v = np.concatenate([v, np.zeros(v.shape[:2] + (1, v.shape[3]))], 2)
    top = s.max(-1, keepdims=True)
    e = np.where(np.isneginf(s), 0, np.exp(s - np.where(np.isneginf(top), 0, top)))
    total = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, top + np.log(total), -np.inf)[..., 0]
    weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    if "dropout" in p:
        weights[..., :sk] *= dropout(float(p["dropout"]), t["rng"], b, p["hq"], sq, sk)
    return np.einsum("bhij,bhjd->bhid", weights, v), lse


def main():
    folder = sys.argv[1]
    lines = []
    for name, spec in CASES.items():
        p = parse(spec)
        random = np.random.default_rng(len(name) + sum(map(ord, name)))
        normal = lambda *sizes: random.standard_normal(sizes).astype(np.float32)
        t = {
            "q": normal(p["b"], p["hq"], p["sq"], p["d"]),
            "k": normal(p["b"], p["hkv"], p["sk"], p["d"]),
            "v": normal(p["b"], p["hkv"], p["sk"], p["dv"]),
        }
        if "bias" in p:
            sizes = (p["b"], p["hq"], p["sq"], p["sk"])
            t["bias"] = normal(*(1 if letter == "1" else size for letter, size in zip(p["bias"], sizes)))
        if "lengths" in p:
            t["lengths"] = np.array([p["sk"], 2, 0], np.int32)
        if "documents" in p:
            t["documents"] = np.array([[0, 3, 5, 8], [0, 1, 1, 8]], np.int32)
        if "sink" in p:
            t["sink"] = normal(p["hq"])
        if "dropout" in p:
            t["rng"] = random.integers(-(2**63), 2**63, 2)
        t["out"], t["lse"] = attention(p, t)
        for key, value in t.items():
            np.save(f"{folder}/{name}.{key}.npy", value)
        lines.append(f"{name} {spec}")
    with open(f"{folder}/cases.txt", "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
