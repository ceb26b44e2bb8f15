"""Launches forms of attention by flashtile.triton, as attention and as they are written, and compares with float64; then
what launches that are not the proof's run, and what is said of each.

usage: wrap_forms.py TARGET NAME ...
"""
import os
import pathlib
import sys

import numpy

import flashtile.triton

flashtile.triton.activate("cpu")  # before kernels are tuned: 3.2 asks for a driver there

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import forms
import kernels
import problems
import run_forms
import run_served
import served

TYPES = {"*fp32": "float32", "*fp16": "float16"}


def launch(name, given, grid, target, raises):
    """What kernel `name` wrote, and how it ran."""
    kernel, outputs, arguments = kernels.ALL[name], [], list(given)
    names = [n for n in kernel.fn.arg_names if n not in kernel.constants]
    for at, (argument, value) in enumerate(zip(names, arguments)):
        if isinstance(value, tuple):
            arguments[at] = numpy.full(value, numpy.nan, TYPES[kernel.types[argument]])
            outputs.append(arguments[at])
    flashtile.triton.wrap(kernel.fn, target, raise_attention=raises)[grid](*arguments, **kernel.constants)
    return outputs, flashtile.triton.last_launch()


def check(name, target):
    """What is wrong with kernel `name`, which is attention."""
    given, grid, reference = (run_forms.FORMS | run_served.FORMS)[name]()
    exact, plain = reference(numpy.float64), reference(numpy.float32)
    wrong = []
    for raises in ("only", "off"):
        outputs, launched = launch(name, given, grid, target, raises)
        wrong += [f"{raises}: {x}" for x in problems.compare(outputs, exact, plain)]
        wrong += [f"{raises}: ran as {launched}"] * ((launched.kernel, launched.raised) != (name, raises == "only"))
    return wrong


def expect(kind, part, call, *arguments, **meta):
    try:
        call(*arguments, **meta)
    except kind as error:
        assert part in str(error), str(error)
        return
    raise AssertionError(f"expected {kind.__name__}, found none")


def check_tail(target):
    """100 keys of tiles of 64, not masked: the kernel's own result counts 28 more of score 0, an attention's does not."""
    name, d, n = "tail_of_zeros", 64, 100
    q, k, v = run_forms.inputs(1, 2, n, d)
    given, grid = [q, k, v, (1, 2, n, d), 2 * n * d, n * d, d, n], (1, 2, 2)

    def reference(t, keys):
        padded = [numpy.pad(x, ((0, 0), (0, 0), (0, keys - n), (0, 0))) for x in (k, v)]
        return [run_forms.attention(q, *padded, 0.125, t)[0]]

    outputs, launched = launch(name, given, grid, target, "auto")
    assert not problems.compare(outputs, reference(numpy.float64, 128), reference(numpy.float32, 128))
    assert problems.compare(outputs, reference(numpy.float64, n), reference(numpy.float32, n))
    breaks = "@tail_of_zeros: not raised: this launch breaks: argument 7 (N) is a multiple of 64"
    assert (launched.raised, launched.explanation) == (False, breaks), launched
    expect(flashtile.triton.Error, breaks, launch, name, given, grid, target, "only")
    # 64 of its keys: the same kernel as attention, which Triton specialised anew or not.
    given[-1] = 64
    outputs, launched = launch(name, given, (1, 2, 1), target, "auto")
    q, k, v = (x[:, :, :64] for x in (q, k, v))
    found = [outputs[0][:, :, :64]]
    assert not problems.compare(found, *([run_forms.attention(q, k, v, 0.125, t)[0]] for t in (numpy.float64, numpy.float32)))
    assert launched.raised and "raised: @tail_of_zeros: softmax(Q K^T) V is one attention" in launched.explanation
    assert "if argument 7 (N) is a multiple of 64" in launched.explanation


def check_shared(target):
    """An output that lies between the queries: only the kernel as it is written may run, each program reads before it
    writes."""
    name, d, n = "tail_of_zeros", 64, 64
    q, k, v = run_forms.inputs(1, 1, n, d)
    kernel, out = kernels.ALL[name], q.copy()
    flashtile.triton.wrap(kernel.fn, target)[(1, 1, 1)](out, k, v, out, n * d, n * d, d, n, **kernel.constants)
    launched = flashtile.triton.last_launch()
    assert not launched.raised and "argument 3 (out), which is written, shares memory with argument 0 (q)" in launched.explanation
    assert not problems.compare([out], *([run_forms.attention(q, k, v, 0.125, t)[0]] for t in (numpy.float64, numpy.float32)))


def check_activated():
    """Plain launches, of arrays as Triton takes them."""
    given, grid, _ = run_forms.staged(False, n=64)
    kernel = kernels.ALL["staged_straight"]
    arrays = [numpy.zeros(x, "float32" if len(x) == 3 else "float16") if isinstance(x, tuple) else x for x in given]
    arrays = [flashtile.triton._backend().as_argument(x) for x in arrays]
    for raises, expected in ((None, True), ("off", False), ("only", True)):
        flashtile.triton.activate("cpu", raise_attention=raises)
        kernel.fn[grid](*arrays, **kernel.constants)
        assert flashtile.triton.last_launch().raised == expected, raises


def main():
    target, *names = sys.argv[1:]
    failures = 0
    for name in names:
        wrong = check(name, target)
        print(f"{name}: {'; '.join(wrong) or 'right'}", flush=True)
        failures += bool(wrong)
    if target == "cpu":
        check_tail(target)
        check_shared(target)
        check_activated()
        # What is no attention.
        kernel = kernels.ALL["two_scores"]
        given, grid, _ = run_forms.strided()
        launched = launch("two_scores", given, grid, target, "auto")[1]
        assert not launched.raised and "not raised: @two_scores: the scores of the sum" in launched.explanation, launched
        assert f"{os.path.basename(forms.__file__)}:" in launched.explanation
        expect(flashtile.triton.Error, "not raised: @two_scores", launch, "two_scores", given, grid, target, "only")
        # Where nobody says: on the CPU as attention, in the emulator not.
        given, grid, _ = run_forms.staged(False, n=64)
        assert launch("staged_straight", given, grid, "cpu", None)[1].raised
        assert not launch("staged_straight", given, grid, "emulator:sm_80", None)[1].raised
        expect(ValueError, "found 'maybe'", flashtile.triton.wrap, kernel.fn, raise_attention="maybe")
    print(f"{len(names)} kernels on {target}, {failures} failures")
    sys.exit(bool(failures) or not names)


main()
