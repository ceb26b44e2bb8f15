"""Runs kernels of attention as they are written and raised, by fa-run, and compares both with float64.

usage: run_forms.py [--raised] FOLDER TARGET NAME ...

--raised is for launches that have another result as attention, and targets that have no code for kernels as they are
written. What stands behind a point of NAME is which problem it is. FOLDER has NAME.ttir, texts of forms.py (run_served.py has those of served.py). What is raised is an error where it is not (--raise=only). The error rule and
the twin, another result, are those of ../../Inputs/run_kernels.py.
"""
import pathlib
import sys

import numpy

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
from problems import normal, problem_of
from run_kernels import run


def attention(q, k, v, scale, t, keep=None, wide=False, base=numpy.e, bias=None, sink=None, cap=0):
    """(output, log-sum-exp); in f32 P and the output are rounded as kernels round them."""
    k, v = (numpy.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q.astype(t) @ k.astype(t).swapaxes(-1, -2) * t(scale)
    if cap:
        s = t(cap) * numpy.tanh(s / t(cap))
    if bias is not None:
        s = s + bias.astype(t)
    if keep is not None:
        s = numpy.where(keep, s, -numpy.inf)
    m = s.max(-1, keepdims=True)
    p = numpy.exp(s - m)
    total = p.sum(-1, keepdims=True)
    if sink is not None:
        total = total + numpy.exp(sink.astype(t)[:, None, None] - m)
    narrow = t == numpy.float32 and not wide
    o = (p.astype("float16").astype(t) if narrow else p) @ v.astype(t) / total
    return o.astype("float16") if narrow else o, ((m + numpy.log(total)) / numpy.log(base)).squeeze(-1)


def causal(n):
    i, j = numpy.indices((n, n))
    return i >= j


def inputs(z, h, n, d, hkv=None):
    return (normal(z, heads, n, d, dtype="float16") for heads in (h, hkv or h, hkv or h))


def strided(z=2, h=2, n=150, d=64, hkv=None):
    q, k, v = inputs(z, h, n, d, hkv)
    steps = [x // 2 for tensor in (q, k, v, q) for x in tensor.strides]
    return ([q, k, v, (z, h, n, d), 0.125, *steps, h, n], (-(-n // 64), z * h),
            lambda t: [attention(q, k, v, 0.125, t)[0]])


def three_dimensions(is_causal=False, z=2, h=2, n=128, d=64):
    q, k, v = inputs(z, h, n, d)
    return ([q, k, v, (z, h, n, d), h * n * d, n * d, d, n], (z, h, n // 64),
            lambda t: [attention(q, k, v, 0.125, t, causal(n) if is_causal else None)[0]])


def wide_probabilities(h=2, n=100, d=64):
    q, k, v = inputs(1, h, n, d)
    return ([q, k, v, (1, h, n, d), 0.125, n * d, d, n, d], (-(-n // 32), h),
            lambda t: [attention(q, k, v, 0.125, t, wide=True)[0]])


def staged(is_causal, z=2, h=3, n=256, d=64, bm=64):
    q, k, v = inputs(z, h, n, d)
    return ([q, k, v, (z, h, n), (z, h, n, d), 0.125], (n // bm,),
            lambda t: list(reversed(attention(q, k, v, 0.125, t, causal(n) if is_causal else None, base=2))))


def tutorial(is_causal, z=1, h=2, n=256, d=64):
    q, k, v = inputs(z, h, n, d)
    return ([0.125, (z, h, n), z, h, q, k, v, (z, h, n, d), n], (n // 64, z * h),
            lambda t: list(reversed(attention(q, k, v, 0.125, t, causal(n) if is_causal else None, base=2))))


def carried(keep=None, h=2, n=150, d=64, w=40):
    q, k, v = inputs(1, h, n, d)
    return ([q, k, v, (1, h, n, d), (1, h, n), 0.125, n, w], (-(-n // 64), h),
            lambda t: list(attention(q, k, v, 0.125, t, keep and keep(n, w))))


def window(n, w):
    i, j = numpy.indices((n, n))
    return (j <= i) & (j >= i - w)


def changed(how, z=2, h=2, n=150, d=64):
    q, k, v = inputs(z, h, n, d)
    i, j = numpy.indices((n, n))
    extra = normal(z, h, n, n) if how == "bias" else normal(h)
    bias = {"alibi": extra.reshape(-1)[:h, None, None] * (j - i), "bias": extra}.get(how)
    return ([q, k, v, (z, h, n, d), extra, 0.125, h, n], (-(-n // 64), z * h),
            lambda t: [attention(q, k, v, 0.125, t, bias=bias, sink=extra if how == "sink" else None,
                                 cap=4 * (how == "softcap"))[0]])


def asserting(h=2, n=150, d=64):
    q, k, v = inputs(1, h, n, d)
    return ([q, k, v, (1, h, n, d), 0.125, n, n * d], (-(-n // 64), h), lambda t: [attention(q, k, v, 0.125, t)[0]])


def left_out(z=2, h=3, n=150, d=64):
    q, k, v = inputs(z, h, n, d)
    return ([q, k, v, (z, h, n, d), 0.125, h * n * d, n * d, d, h, n], (-(-n // 64), z * h),
            lambda t: [attention(q, k, v, 0.125, t)[0]])


FORMS = {
    "asserting": asserting,
    "left_out": left_out,
    "forward": strided,
    "grouped": lambda: strided(h=4, hkv=2),
    "wide": lambda: strided(d=128),
    "tail_of_zeros": three_dimensions,
    "causal_select": lambda: three_dimensions(True),
    "wide_probabilities": wide_probabilities,
    "staged_causal": lambda: staged(True),
    "staged_full": lambda: staged(False),
    "staged_straight": lambda: staged(False, n=64),
    "one_head": lambda: staged(True, z=1, h=1),
    "tutorial_causal": lambda: tutorial(True),
    "tutorial_full": lambda: tutorial(False),
    "tutorial_causal_128": lambda: tutorial(True, d=128),
    "tutorial_full_128": lambda: tutorial(False, d=128),
    **{name: lambda name=name: changed(name) for name in ("softcap", "alibi", "bias", "sink")},
    "window": lambda: carried(window),
    **{name: carried for name in ("divided_each_step", "log_sum_exp", "no_maximum", "guarded_maximum")},
}


def main(forms=FORMS):
    ways = ("only",) if "--raised" in sys.argv else ("only", "off")
    folder, target, *names = [x for x in sys.argv[1:] if x != "--raised"]
    failures = 0
    for name in names:
        given, grid, reference = forms[name]()
        exact, plain = reference(numpy.float64), reference(numpy.float32)
        problems = []
        for raises in ways:
            outputs, said = run(f"{folder}/{name.split('.')[0]}.ttir", target, given, grid, raises)
            if said.returncode or len(outputs) != len(exact):
                problems.append(f"--raise={raises}: {said.stdout}{said.stderr}")
                continue
            found = [problem_of(*x) for x in zip(outputs, exact, plain)]
            problems += [f"--raise={raises}: {x}" for x in found if x]
            twins = [problem_of(o, e[..., ::-1], p[..., ::-1]) for o, e, p in zip(outputs, exact, plain)]
            problems += ["a wrong result is not seen"] * (not all(twins))
            problems += ["what ran is not what was asked for"] * ((f"@{name.split('.')[0]} raised" in said.stdout) != (raises == "only"))
        print(f"{name}: {'; '.join(problems) or 'right'}")
        failures += bool(problems)
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


if __name__ == "__main__":
    main()
