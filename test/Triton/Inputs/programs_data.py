"""What the kernels of programs.py are run on, and what they must give: a function of a kernel's name gives its runs.

A run is (arguments by name, constants, grid, reference): Out is an output; reference(type) gives the outputs in order as
NumPy computes them in `type`, where float32 stands for the types that the kernel has.
"""
from dataclasses import dataclass

import numpy

from problems import attention_of, normal, product_of, softmax_of


@dataclass
class Out:
    shape: tuple
    type: str = "float32"


def half(*shape):
    return normal(*shape, dtype="float16")


def _strides(shape):
    return [int(numpy.prod(shape[d + 1:])) for d in range(len(shape))]


def seed_000():
    def run(z, h, n, d):
        q, k, v = (half(z, h, n, d) for _ in range(3))
        scale = d**-0.5
        strides = {f"{x}{s}": step for x, names in zip("qkvo", ("zhmk", "zhnk", "zhnk", "zhmk"))
                   for s, step in zip(names, _strides(q.shape))}
        return (dict(q=q, k=k, v=v, scale=scale, out=Out(q.shape, "float16"), **strides, H=h, N=n),
                dict(D=d, BM=64, BN=64), (-(-n // 64), z * h, 1), lambda t: attention_of(q, k, v, scale, t)[:1])
    return [run(2, 4, 256, 64), run(1, 8, 512, 128), run(1, 2, 150, 64)]


def seed_001(z=1, h=3, n=300, d=64):
    q, k, v = (half(z, h, n, d) for _ in range(3))
    def reference(t):
        out, lse = attention_of(q, k, v, 1.3, t)
        return [(lse * numpy.log(t(2))).astype(t), out]
    return [(dict(q=q, k=k, v=v, scale=1.3, lse=Out((z, h, n)), out=Out(q.shape, "float16"), sz=h * n * d, sh=n * d, sn=d, sd=1,
                  H=h, N=n), dict(D=d, BM=128, BN=64), (-(-n // 128), z * h), reference)]


def seed_002():
    """As written, wrong: the keys' [d, s] is taken for [s, d], and keys beyond the end are zeros."""
    def run(z, h, n, causal, d=64):
        q, k, v = (half(z, h, n, d) for _ in range(3))
        padded = -(-n // 64) * 64

        def reference(t):
            zeros = ((0, 0), (0, 0), (0, padded - n), (0, 0))
            keys = numpy.pad(k, zeros).reshape(z, h, -1, 64, d).swapaxes(-1, -2).reshape(z, h, padded, d)
            s = q.astype(t) @ keys.astype(t).swapaxes(-1, -2) * t(d**-0.5)
            if causal:
                s = numpy.where(numpy.arange(n)[:, None] < numpy.arange(padded), -numpy.inf, s)
            p = numpy.exp(s - s.max(-1, keepdims=True))
            values, total = numpy.pad(v, zeros).astype(t), p.sum(-1, keepdims=True)
            if t == numpy.float64:
                return [p @ values / total]
            return [(p.astype("float16").astype(t) @ values / total).astype("float16")]
        return (dict(q=q, k=k, v=v, out=Out(q.shape, "float16"), sz=h * n * d, sh=n * d, sn=d, sd=1, N=n),
                dict(D=d, BM=128, BN=64, CAUSAL=causal), (z, h, -(-n // 128)), reference)
    return [run(1, 2, 256, False), run(1, 2, 256, True), run(1, 1, 200, False)]


def seed_003():
    def run(b, h, s, d, padded):
        q, k, v = (half(b, h, s, d) for _ in range(3))

        def reference(t):
            p = softmax_of(q.astype(t) @ k.astype(t).swapaxes(-1, -2) * t(d**-0.5), t)
            return [(p @ v.astype(t)).astype("float64" if t == numpy.float64 else "float16")]
        return (dict(q=q, k=k, v=v, out=Out(q.shape, "float16"), sb=h * s * d, sh=s * d, sm=d, sd=1, H=h, S=s, D=d,
                     scale=d**-0.5), dict(BM=64, BN=64, BD=padded), (-(-s // 64), b * h), reference)
    return [run(2, 2, 128, 64, 64), run(1, 2, 130, 40, 64)]


def seed_004():
    def run(z, h, n, d, bm, bn, causal=False):
        q, k, v = (half(z, h, n, d) * numpy.float16(0.5) for _ in range(3))
        return (dict(q=q, k=k, v=v, lse=Out((z, h, n)), out=Out(q.shape, "float16"), sm_scale=0.5),
                dict(sz=h * n * d, sh=n * d, sn=d, sd=1, Z=z, H=h, N=n, D=d, BM=bm, BN=bn, STAGE=3 if causal else 1),
                (-(-n // bm), 1, 1), lambda t: list(attention_of(q, k, v, 0.5, t, causal))[::-1])
    return [run(4, 32, 32, 64, 32, 32), run(1, 32, 64, 64, 32, 64), run(1, 2, 128, 128, 32, 128),
            run(1, 1, 128, 128, 64, 128), run(1, 2, 128, 256, 32, 128), run(1, 2, 256, 256, 32, 256),
            run(1, 2, 192, 64, 64, 32, causal=True)]


def softmax_persistent(rows=23, columns=781):
    x = normal(rows, columns)
    return [(dict(out=Out(x.shape), x=x, stride_x=columns, stride_out=columns, rows=rows, columns=columns), dict(B=1024), (4,),
             lambda t: [softmax_of(x, t)])]


def matmul_grouped():
    def run(m, n, k, activation):
        a, b = half(m, k), half(k, n)
        def reference(t):
            product = product_of(a, b, t)
            return [numpy.where(product >= 0, product, product * product.dtype.type(0.01)) if activation else product]
        return (dict(a=a, b=b, c=Out((m, n), "float16"), M=m, N=n, K=k, am=k, ak=1, bk=n, bn=1, cm=n, cn=1),
                dict(BM=32, BN=64, BK=32, GROUP=2, ACTIVATION=activation), (-(-m // 32) * -(-n // 64),), reference)
    return [run(160, 192, 64, ""), run(100, 136, 72, "leaky")]


def dropout_kept(n=700, p=0.5):
    x, kept = normal(n), (normal(n) > 0).astype("int32")
    return [(dict(x=x, kept=kept, out=Out(x.shape), n=n, p=p), dict(B=256), (3,),
             lambda t: [numpy.where(kept, x.astype(t) / t(1 - p), 0)])]


def _normalised(x, t):
    d = x.astype(t) - x.astype(t).mean(-1, keepdims=True)
    rstd = 1 / numpy.sqrt((d * d).mean(-1, keepdims=True) + t(1e-5))
    return d * rstd, x.astype(t).mean(-1), rstd[..., 0]


def layer_norm_kept(rows=6, n=300):
    x, w, b = normal(rows, n), normal(n), normal(n)
    def reference(t):
        normalised, mean, rstd = _normalised(x, t)
        return [normalised * w.astype(t) + b.astype(t), mean, rstd]
    return [(dict(x=x, y=Out(x.shape), w=w, b=b, mean=Out((rows,)), rstd=Out((rows,)), stride=n, n=n, eps=1e-5), dict(B=128),
             (rows,), reference)]


def layer_norm_weights(rows=70, n=90):
    x, dy = normal(rows, n), normal(rows, n)
    _, mean, rstd = (y.astype("float32") for y in _normalised(x, numpy.float64))
    def reference(t):
        d = (x.astype(t) - mean.astype(t)[:, None]) * rstd.astype(t)[:, None]
        return [(dy.astype(t) * d).sum(0), dy.astype(t).sum(0)]
    return [(dict(x=x, dy=dy, mean=mean, rstd=rstd, dw=Out((n,)), db=Out((n,)), rows=rows, n=n, stride=n), dict(R=32, B=64),
             (2,), reference)]


def attention_forward():
    def run(z, h, n, d, causal):
        q, k, v = (half(z, h, n, d) for _ in range(3))
        return (dict(q=q, k=k, v=v, scale=0.3, lse=Out((z, h, n)), out=Out(q.shape, "float16"), H=h, N=n),
                dict(D=d, BM=64, BN=32, CAUSAL=causal), (n // 64, z * h),
                lambda t: list(attention_of(q, k, v, 0.3, t, causal))[::-1])
    return [run(1, 2, 128, 64, True), run(1, 2, 128, 64, False)]


def attention_delta(z=1, h=2, n=128, d=64):
    out, dout = half(z, h, n, d), half(z, h, n, d)
    return [(dict(out=out, dout=dout, delta=Out((z, h, n)), N=n), dict(D=d, BM=32), (n // 32, z * h),
             lambda t: [(out.astype(t) * dout.astype(t)).sum(-1)])]


def attention_backward(z=1, h=2, n=128, d=64, scale=0.5):
    q, k, v, dout = (half(z, h, n, d) for _ in range(4))
    scaled = (k.astype("float32") * (scale / numpy.log(2))).astype("float16")
    keys = scaled.astype("float64") * (numpy.log(2) / scale)
    out, lse = attention_of(q, keys, v, scale, numpy.float64, causal=True)
    lse, delta = lse.astype("float32"), (out * dout).sum(-1).astype("float32")

    def reference(t):
        def rounded(x):
            return x if t == numpy.float64 else x.astype("float16").astype(t)
        def result(x):
            return x if t == numpy.float64 else x.astype("float16")
        x, y, w, g = (a.astype(t) for a in (q, scaled, v, dout))
        s = x @ y.swapaxes(-1, -2)
        i, j = numpy.indices(s.shape[-2:])
        p = numpy.where(i >= j, numpy.exp2(s - lse[..., None].astype(t)), t(0))
        ds = rounded(p * (g @ w.swapaxes(-1, -2) - delta[..., None].astype(t)))
        return [result(ds @ y * t(numpy.log(2))), result(ds.swapaxes(-1, -2) @ x * t(scale)),
                result(rounded(p).swapaxes(-1, -2) @ g)]
    shape = Out(q.shape, "float16")
    return [(dict(q=q, k=scaled, v=v, scale=scale, dout=dout, dq=shape, dk=Out(q.shape, "float16"), dv=Out(q.shape, "float16"),
                  lse=lse, delta=delta, H=h, N=n), dict(D=d, BM1=32, BN1=64, BM2=64, BN2=32, PARTS=2), (n // 64, 1, z * h),
             reference)]


def rms_norm(rows=5, n=500):
    x, w = half(rows, n), half(n)
    def reference(t):
        y = x.astype(t)
        y = y / numpy.sqrt((y * y).mean(-1, keepdims=True) + t(1e-6)) * w.astype(t)
        return [y if t == numpy.float64 else y.astype("float16")]
    return [(dict(x=x, w=w, out=Out(x.shape, "float16"), stride=n, n=n, eps=1e-6), dict(B=512), (rows,), reference)]


def rope(batch=2, length=7, heads=3, d=96):
    x, at = half(batch, length, heads, d), numpy.arange(length)[:, None] * 10000.0 ** (-numpy.arange(d // 2) / (d // 2))
    c, s = numpy.cos(at).astype("float32"), numpy.sin(at).astype("float32")
    def reference(t):
        left, right = x[..., :d // 2].astype(t), x[..., d // 2:].astype(t)
        cs, sn = c.astype(t)[:, None], s.astype(t)[:, None]
        y = numpy.concatenate([left * cs - right * sn, right * cs + left * sn], -1)
        return [y if t == numpy.float64 else y.astype("float16")]
    return [(dict(x=x, cosines=c, sines=s, out=Out(x.shape, "float16"), length=length, heads=heads, half=d // 2), dict(B=64),
             (batch * length,), reference)]


def paged_decode(sequences=3, kv_heads=2, group=4, d=64, page=16):
    lengths = numpy.array([37, 1, 64], "int32")
    pages = numpy.random.default_rng(3).permutation(16)[:12].reshape(3, 4).astype("int32")
    q, k, v = half(sequences, kv_heads * group, d), half(16, page, kv_heads, d), half(16, page, kv_heads, d)

    def reference(t):
        rows = []
        for n in range(sequences):
            keys, values = (x[pages[n]].reshape(-1, kv_heads, d)[:lengths[n]].swapaxes(0, 1) for x in (k, v))
            mine = q[n].reshape(kv_heads, group, d)
            rows.append(attention_of(mine, keys, values, 0.125, t)[0].reshape(-1, d))
        return [numpy.stack(rows)]
    return [(dict(q=q, k=k, v=v, pages=pages, lengths=lengths, out=Out(q.shape, "float16"), scale=0.125, table_stride=4,
                  kv_heads=kv_heads, group=group), dict(PAGE=page, D=d, G=16), (sequences, kv_heads), reference)]
