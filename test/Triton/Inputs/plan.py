"""Plans of what Triton printed, without Triton, by the C interface: on the host and in the emulator.

usage: plan.py FOLDER
"""
import importlib.util
import pathlib
import sys

import numpy

import flashtile
import flashtile.triton
from flashtile import _structs
from flashtile._library import check, library
from flashtile._tensor import tensor


def expect(kind, parts, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        missing = [p for p in parts if p not in str(error)]
        assert not missing, (missing, str(error))
        return error
    raise AssertionError(f"expected {kind.__name__}, found none")


def launch(plan, *given):
    """Integers as i32, as Triton has them."""
    values = [_structs.Argument(type=_structs.I32, i64=a) if isinstance(a, int) else tensor(a).argument() for a in given]
    check(library.faPlanLaunch(plan._handle, (_structs.Argument * len(values))(*values), len(values)))


def main():
    texts = {path.stem: path.read_text() for path in pathlib.Path(sys.argv[1]).glob("*.ttir")}
    n = 3000
    x, y = numpy.random.default_rng(5).standard_normal((2, n)).astype("float32")
    grid = numpy.broadcast_to(numpy.zeros(1, "float32"), (3, 1, 1))  # one element, the sizes of which count
    for target in ("cpu", "emulator:sm_80"):
        context = flashtile.Context(target)
        out = numpy.full(n, numpy.nan, "float32")
        launch(context.module(texts["add"]), x, y, out, n, grid)
        assert (out == x + y).all()
        expect(flashtile.Error, ["kernels.py:", "'tt.atomic_rmw' op in kernel @atomics"], context.module, texts["atomics"])
    plan = flashtile.Context("emulator:sm_80").module(texts["add_no_mask"])
    error = expect(flashtile.Error, ["kernels.py:39:", "out of bounds"], launch, plan, x, out, n, grid)
    assert error.status == 3  # FA_ERROR_DEVICE
    expect(flashtile.Error, ["sm_1"], flashtile.Context, "emulator:sm_1")
    expect(flashtile.Error, ["emulator"], flashtile.Context, "emulator")
    if not importlib.util.find_spec("triton"):
        expect(ImportError, ["flashtile.triton needs Triton, 3.2 to 3.9"], flashtile.triton.wrap, main)
        expect(ImportError, ["flashtile.triton needs Triton, 3.2 to 3.9"], flashtile.triton.activate)
    print("right")


if __name__ == "__main__":
    main()
