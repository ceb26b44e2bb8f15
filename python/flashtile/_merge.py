# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flashtile.merge: attention over parts of the keys becomes attention over all."""

import functools

from . import _structs as fa
from ._attention import context_of
from ._plan import Launch, Launches
from ._tensor import NAMES, Tensor, address, empty_like, row_major

_launches = Launches()


@functools.lru_cache(maxsize=1024)
def _plan(target, type, head_dim, parts, return_lse):
    return context_of(target).merge(fa.MergeDesc(type=type, headDim=head_dim, parts=parts, hasLse=int(return_lse)))


def _rows(name, found, rank, layout):
    """The rows of `found` as a launch takes them, [b, h, s, ..]: `rank` is that
    of an output, without whose last dimension a log-sum-exp is."""
    is_lse = name == "lse"
    if len(found.shape) != rank - is_lse:
        raise ValueError(f"expected {name} of {rank - is_lse} dimensions, found the shape {found.shape}")
    if rank == 3:  # packed: outputs [rows, h, d], log-sum-exps [h, rows]
        order = (0, 1) if is_lse else (1, 0, 2)
        rows = found.permuted(*order)
        rows.shape, rows.strides = (1, *rows.shape), (0, *rows.strides)
        return rows
    return found if is_lse or layout == "bhsd" else found.permuted(0, 2, 1, 3)


def _longest_last(rows):
    """Batch, heads and rows are alike: a program has several of the last ones."""
    order = (2, 1, 0, 3)[: len(rows.shape)]
    return rows.permuted(*order)


def _prepare(tensors, parts, layout, return_lse):
    """The launch of a call. `tensors` are an output and a log-sum-exp of each
    part and perhaps an out."""
    given = tensors[2 * parts :]
    first = tensors[0]
    shape, rank = first.shape, len(first.shape)
    if rank not in (3, 4):
        raise ValueError(f"expected outputs of three or four dimensions, found the shape {shape}")
    out = given[0] if given else Tensor(None, first.type, shape, row_major(shape), 0, first.target)
    if not out.writable:
        raise ValueError("expected an out that can be written, found a read-only one")
    arguments = [_rows("lse" if n % 2 else "out", x, rank, layout) for n, x in enumerate(tensors[: 2 * parts])]
    arguments.append(_rows("out", out, rank, layout))
    if return_lse:
        sizes = arguments[0].shape[:-1]
        arguments.append(Tensor(None, fa.F32, sizes, row_major(sizes), 0, first.target))
    if arguments[0].shape[0] > arguments[0].shape[2]:
        arguments = [_longest_last(x) for x in arguments]
    return Launch(_plan(first.target, first.type, shape[-1], parts, return_lse), arguments, shape)


def merge(outs, lses, *, layout="bhsd", return_lse=True, out=None, stream=None):
    """Attention over all keys from attention of the same queries over parts of them.

    outs: of each part its output [b, h, s, d] or, with layout="bshd", [b, s, h, d],
    or of packed rows [rows, h, d], with any strides; a list of 1 to 16, or one
    array of them along its first dimension. lses: their natural log-sum-exps,
    float32 [b, h, s], of packed rows [h, rows].

    A part whose log-sum-exp is -inf or +inf has no keys, whatever its output
    holds; a row of which all parts are such is 0, with -inf.

    Returns the output, `out` if it is given, and with return_lse the log-sum-exp of
    all, float32 like those of the parts.
    """
    outs, lses = list(outs), list(lses)
    if len(outs) != len(lses) or not 1 <= len(outs) <= 16:
        raise ValueError(f"expected 1 to 16 outs and as many lses, found {len(outs)} and {len(lses)}")
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"expected the layout 'bhsd' or 'bshd', found {layout!r}")
    arrays = [array for pair in zip(outs, lses) for array in pair]
    if out is not None:
        arrays.append(out)
    kind = len(outs), layout, return_lse, out is not None
    launch, addresses = _launches.get(kind, arrays)
    if launch is None:
        if any(getattr(array, "requires_grad", False) for array in arrays):  # no launch that is known has such
            raise ValueError("expected no array that requires a gradient: of a merge none is derived")
        launch, addresses = _launches.add(
            kind, arrays, lambda tensors: _prepare(tensors, len(outs), layout, return_lse)
        )
    if out is None:
        out = empty_like(outs[0], launch.shape, None)
        addresses.append(address(out))
    if return_lse:
        *rows, _ = launch.shape
        if len(launch.shape) == 3 or layout == "bshd":
            rows[-2:] = rows[:-3:-1]  # heads before rows
        lse = empty_like(outs[0], tuple(rows), NAMES[fa.F32])
        addresses.append(address(lse))
    launch.run(addresses, outs[0], stream)
    return (out, lse) if return_lse else out
