"""The distinct elements of tensors, or their distinct slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, native as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of


def distinct(x: Tensor, axis: int | None, function: str) -> tuple[Any, Any, Any, Any]:
    """The distinct elements in rising order, where each first occurs, which of them each element is, and how often each
    occurs. With an axis, the same for the slices along it.
    """
    if axis is None:
        values, first, inverse, counts = _counted(x) or ops.unique_all(x)
        return values, first, inverse, counts
    axis = _arguments.axis(axis, function, x.ndim)
    ranks = _ranks(x.detach(), axis) if x.numel() > LARGE else None
    if ranks is not None:
        _, first, inverse, counts = (_like(x, part.numpy()) for part in ops.unique_all(ranks))
    else:
        # NumPy may have no bfloat16.
        given = ops.cast(x.detach(), "float32") if str(x.dtype).endswith("bfloat16") else x.detach()
        _, *found = np.unique(given.numpy(), True, True, True, axis=axis)
        first, inverse, counts = (_like(x, numbers.reshape(-1)) for numbers in found)
    return ops.index_select(x, axis, first), first, inverse, counts


#: NumPy does not listen for Ctrl-C, so it gets no more elements than these at once.
LARGE = 1 << 20


def _ranks(x: Tensor, axis: int) -> Tensor | None:
    """Numbers in the order of the slices along an axis, equal ones for equal slices. None for slices with a NaN."""
    n = x.shape[axis]
    rows = ops.reshape(ops.moveaxis(x, axis, 0), [n, -1])
    if x.dtype.kind == "c" or (x.dtype.kind == "f" and bool(ops.any(ops.isnan(rows)))):
        return None
    ranks = ops.unique_all(rows[:, 0])[2]
    for column in range(1, rows.shape[1]):
        if int(ops.max(ranks)) == n - 1:
            break
        ranks = ops.unique_all(ranks * n + ops.unique_all(rows[:, column])[2])[2]
    return ranks


def _counted(x: Tensor) -> tuple[Any, Any, Any, Any] | None:
    """:func:`distinct` of integers that span no more numbers than there are elements: each has a counter."""
    if x.dtype.kind not in "iu" or not x.numel():
        return None
    given = x.detach().numpy()
    numbers = given.ravel().astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    low = numbers.min()
    if int(numbers.max()) - int(low) > numbers.size:
        return None
    places = (numbers - low).astype(np.int64)
    every = np.bincount(places)
    there = np.flatnonzero(every)
    first = np.full(len(every), numbers.size)
    for start in range(0, numbers.size, LARGE):
        part = places[start : start + LARGE]
        np.minimum.at(first, part, np.arange(start, start + len(part)))
    inverse = (np.cumsum(every > 0) - 1)[places].reshape(given.shape)
    values = (there.astype(numbers.dtype) + low).astype(given.dtype)
    found = [_like(x, part) for part in (values, first[there], inverse, every[there])]
    return found[0], found[1], found[2], found[3]


def runs(x: Tensor, axis: int | None, function: str) -> tuple[Any, Any, Any]:
    """The first element (or slice along an axis) of each run of equal ones, the run of each, and the lengths."""
    flat, along = (ops.reshape(x, [-1]), 0) if axis is None else (x, _arguments.axis(axis, function, x.ndim))
    rows = ops.moveaxis(flat, along, 0)
    n = rows.shape[0]
    rows = ops.reshape(rows, [n, -1]) if n else rows
    starts = [True, *ops.any(ops.not_equal(rows[1:], rows[:-1]), 1).tolist()] if n else []
    first = [i for i, new in enumerate(starts) if new]
    values = ops.index_select(flat, along, _like(x, np.array(first, np.int64)))
    inverse = _like(x, np.cumsum(np.array(starts, np.int64)) - 1)
    lengths = _like(x, np.diff(np.array([*first, n], np.int64)))
    return values, ops.reshape(inverse, list(x.shape)) if axis is None else inverse, lengths


def _like(x: Tensor, numbers: Any) -> Any:
    """An array as a tensor of the class of ``x``."""
    return _core.make(numbers, None, False, dialect_of(x))
