"""Jacobians and Hessians: all rows, or all columns, in one batched pass over the graph."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Literal

from ferrograd import _core, _tree
from ferrograd._core import ArgumentError, Tensor
from ferrograd.func._record import Record

Progress = bool | Callable[[int, int], None]
Argnums = int | Sequence[int]

#: A pass over a batch of rows is limited so that none of its inputs and outputs has more elements than this.
ELEMENTS = 1 << 24


def size(x: Tensor) -> int:
    """The number of elements of a tensor of any dialect."""
    return math.prod(x.shape)


def spans(what: str, n: int, widest: int, chunk_size: int | None) -> Iterator[tuple[int, int]]:
    """The (start, end) of each pass over ``n`` rows; ``widest`` is the largest number of elements in a row."""
    if chunk_size is None:
        chunk_size = max(ELEMENTS // max(widest, 1), 1)
    elif not isinstance(chunk_size, int) or chunk_size < 1:
        raise ArgumentError(f"{what}: chunk_size must be None or a positive int, not {chunk_size!r}")
    for start in range(0, n, chunk_size):
        yield start, min(start + chunk_size, n)


def basis(x: Tensor, start: int, end: int) -> Tensor:
    """The unit vectors ``start`` to ``end``, each in the shape of ``x``, stacked on a new axis 0."""
    eye = _core.native.eye(end - start, size(x), start, dtype=x.dtype)
    return eye.reshape([end - start, *x.shape])


def joined(parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The results of the passes, concatenated."""
    return parts[0] if len(parts) == 1 else _core.native.concat(list(parts), axis)


class Meter:
    """Reports how many rows are done, to stderr or to a callback."""

    def __init__(self, what: str, total: int, progress: Progress) -> None:
        self.what, self.total, self.done, self.progress = what, total, 0, progress

    def add(self, count: int) -> None:
        """Adds ``count`` rows and reports."""
        self.done += count
        if callable(self.progress):
            self.progress(self.done, self.total)
        elif self.progress:
            end = "\n" if self.done == self.total else ""
            print(f"\r{self.what}: {self.done} of {self.total}", end=end, file=sys.stderr, flush=True)


def rows(record: Record, chunk_size: int | None, progress: Progress = False) -> Any:
    """The Jacobian in reverse mode: for each output, blocks in the structure of the arguments."""
    inside, meter = record.inside, Meter(record.what, sum(map(size, record.outputs)), progress)
    found = []
    for k, y in enumerate(record.outputs):
        n, shape = size(y), list(y.shape)
        parts = []
        for start, end in spans(record.what, n, max(map(size, [*inside, y])), chunk_size):
            seeds: list[Tensor | None] = [None] * len(record.outputs)
            if n == 1:
                seeds[k] = _core.native.ones_like(y)
                parts.append(record.pull(seeds))
            else:
                seeds[k] = basis(y, start, end)
                parts.append(record.pull(seeds, batch_size=end - start))
            meter.add(end - start)
        if parts:
            blocks = [
                g if list(g.shape) == [*shape, *x.shape] else g.reshape([*shape, *x.shape])
                for x, g in zip(inside, map(joined, zip(*parts, strict=True)), strict=True)
            ]
        else:
            blocks = [_core.native.zeros([*shape, *x.shape], dtype=x.dtype) for x in inside]
        found.append(record.as_wrt(blocks))
    return _tree.rebuilt(record.result, iter(found))


def columns(record: Record, chunk_size: int | None, progress: Progress = False) -> Any:
    """The Jacobian in forward mode: for each output, blocks in the structure of the arguments."""
    outputs, meter = record.outputs, Meter(record.what, sum(map(size, record.inside)), progress)
    found: list[list[Tensor]] = [[] for _ in outputs]
    for k, x in enumerate(record.inside):
        parts: list[list[Tensor]] = [[] for _ in outputs]
        for start, end in spans(record.what, size(x), max(map(size, [*outputs, x])), chunk_size):
            with _core.Level(end - start) as level:
                tangents: list[Tensor | None] = [None] * len(record.inside)
                tangents[k] = level.enter(basis(x, start, end), 0)
                for y, t, part in zip(outputs, record.push(tangents), parts, strict=True):
                    part.append(level.leave(_core.native.zeros_like(y) if t is None else t, -1))
            meter.add(end - start)
        for y, part, blocks in zip(outputs, parts, found, strict=True):
            shape = [*y.shape, *x.shape]
            empty = not part
            blocks.append(_core.native.zeros(shape, dtype=y.dtype) if empty else joined(part, -1).reshape(shape))
    return _tree.rebuilt(record.result, map(record.as_wrt, found))


def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``f`` in reverse mode, one row per element of the output.

    The result has the structure of the output. In place of each of its tensors stands the structure of the arguments
    at ``argnums``, with tensors of shape ``[*output shape, *argument shape]``. ``chunk_size`` rows are computed in one
    pass; None chooses a number that limits the memory. ``progress`` is True for a line on stderr, or a function of
    (rows done, rows in total). See :func:`grad` for ``has_aux``.

    >>> from ferrograd.func import jacrev
    >>> jacrev(lambda x: x * x)(fg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacrev", f, argnums, lambda record: rows(record, chunk_size, progress), has_aux)


def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
) -> Callable[..., Any]:
    """Like :func:`jacrev`, in forward mode: one column per element of the arguments.

    >>> from ferrograd.func import jacfwd
    >>> jacfwd(lambda x: x * x)(fg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", f, argnums, lambda record: columns(record, chunk_size, progress), has_aux, True)


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    mode: Literal["forward", "reverse"] | None = None,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: Progress = False,
) -> Callable[..., Any]:
    """Like :func:`jacrev`, in the mode that needs fewer passes: forward if the arguments have fewer elements.

    ``mode="forward"`` or ``mode="reverse"`` chooses the mode.

    >>> from ferrograd.func import jacobian
    >>> jacobian(lambda x: fg.outer(x, x))(fg.tensor([1.0, 2.0])).shape
    (2, 2, 2)
    """
    if mode not in (None, "forward", "reverse"):
        raise ArgumentError(f"jacobian: mode must be 'forward', 'reverse' or None, not {mode!r}")

    def both(record: Record) -> Any:
        forward = sum(map(size, record.inside)) < sum(map(size, record.outputs)) if mode is None else mode == "forward"
        return (columns if forward else rows)(record, chunk_size, progress)

    return _jacobian("jacobian", f, argnums, both, has_aux)


def _jacobian(
    what: str,
    f: Callable[..., Any],
    argnums: Argnums,
    of: Callable[[Record], Any],
    has_aux: bool,
    writable: bool = False,
) -> Callable[..., Any]:
    @wraps(f)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        record = Record(what, f, args, kwargs, argnums, has_aux, writable)
        found = of(record)
        return (found, record.settled(record.aux)) if has_aux else found

    return derivative


def hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
) -> Callable[..., Any]:
    """The function that computes the Hessian of ``f``: forward mode over reverse mode.

    The result nests the structures of the output, the arguments and the arguments again; see :func:`jacrev`, also for
    ``has_aux`` and ``progress``. ``chunk_size`` columns are computed in one pass.

    >>> from ferrograd.func import hessian
    >>> hessian(lambda x: (x**3).sum())(fg.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux, chunk_size=chunk_size, progress=progress)


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]
