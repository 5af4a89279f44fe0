"""Sparse Jacobians: columns without a common row share a pass (Curtis, Powell and Reid 1974)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import html as _html
from ferrograd.func._jacobians import joined, size, spans
from ferrograd.func._record import Record, real

Indices = np.ndarray[Any, np.dtype[np.int64]]
Pattern = tuple[Indices, Indices]

#: The number of parts into which a step of the detection splits a block of columns.
PARTS = 4


@dataclass(frozen=True)
class SparseMatrix:
    """A matrix in coordinate form: ``values[k]`` is at ``(rows[k], cols[k])``. Entries are unique and in row order.

    >>> from ferrograd.func import sparse_jacobian
    >>> matrix = sparse_jacobian(lambda x: x[1:] * x[:-1], fg.tensor([1.0, 2.0, 3.0]))
    >>> matrix.rows.tolist(), matrix.cols.tolist(), matrix.values.tolist()
    ([0, 0, 1, 1], [0, 1, 1, 2], [2.0, 1.0, 3.0, 2.0])
    >>> matrix.dense().tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    """

    rows: Indices
    cols: Indices
    values: Tensor
    shape: tuple[int, int]

    def dense(self) -> Tensor:
        """The dense matrix, ``[m, n]``."""
        m, n = self.shape
        zero = _core.native.zeros([m * n], dtype=self.values.dtype)
        flat = _core.make(self.rows * n + self.cols, None, False, 0)
        return _core.native.index_add(zero, 0, flat, self.values).reshape([m, n])

    def _repr_html_(self) -> str:
        """For notebooks: how many elements there are, and a picture of where they are."""
        m, n = self.shape
        known: dict[str, object] = {"shape": self.shape, "dtype": self.values.dtype, "elements": len(self.rows)}
        if not m or not n:
            return _html.facts("SparseMatrix", known)
        known["part"] = f"{len(self.rows) / (m * n):.2g}"
        # Each block of the picture has the number of its elements.
        blocks = np.zeros((min(m, _html.BLOCKS), min(n, _html.BLOCKS)))
        np.add.at(blocks, (self.rows * len(blocks) // m, self.cols * blocks.shape[1] // n), 1.0)
        return _html.facts("SparseMatrix", known) + _html.picture(blocks, "where the elements are")


def colours(pattern: Pattern, count: int) -> Indices:
    """A greedy colouring of ``count`` columns: columns with a common row get different colours."""
    rows, cols = pattern
    order = np.argsort(cols, kind="stable")
    ends = np.cumsum(np.bincount(cols, minlength=count)).tolist()
    entries = rows[order].tolist()
    # For each row, the colours of its columns as bits of an int.
    taken: dict[int, int] = {}
    found, start = [], 0
    for end in ends:
        here = entries[start:end]
        used = 0
        for r in here:
            used |= taken.get(r, 0)
        bit = ~used & (used + 1)
        for r in here:
            taken[r] = taken.get(r, 0) | bit
        found.append(bit.bit_length() - 1)
        start = end
    return np.asarray(found, np.int64)


def _compressed(record: Record, seeds: np.ndarray[Any, Any], forward: bool) -> Tensor:
    """The Jacobian times each row of ``seeds`` (``forward``), or each row of ``seeds`` times the Jacobian."""
    (x,), (y,) = record.inside, record.outputs
    source, target = (x, y) if forward else (y, x)
    parts = []
    for start, end in spans(record.what, len(seeds), max(size(x), size(y)), None):
        vectors = seeds[start:end].astype(source.dtype, copy=False).reshape(end - start, *source.shape)
        given = _core.make(vectors, None, False, 0)
        if forward:
            with _core.Level(end - start) as level:
                moved = record.push([level.enter(given, 0)])[0]
                part = level.leave(_core.native.zeros_like(y) if moved is None else moved, 0)
        else:
            (part,) = record.pull([given], batch_size=end - start)
        parts.append(part.reshape([end - start, size(target)]))
    return joined(parts)


def _detected(record: Record, forward: bool) -> Pattern:
    """The positions where the Jacobian is not zero: (rows, columns) if ``forward``, else (columns, rows).

    Blocks of columns are split repeatedly. In each step blocks without a common row share a pass with random weights;
    each pass runs twice with different weights, since one sum may cancel by chance.
    """
    (x,), (y,) = record.inside, record.outputs
    n, m = (size(x), size(y)) if forward else (size(y), size(x))
    generator = np.random.default_rng(0)
    bounds = np.array([0, n], np.int64)
    rows, blocks = np.arange(m if n else 0), np.zeros(m if n else 0, np.int64)
    done = False
    while len(rows) and not done:
        lengths = np.diff(bounds)
        steps = [bounds[:-1] + lengths * k // PARTS for k in range(PARTS)]
        inner = np.unique(np.concatenate([*steps, bounds[-1:]]))
        first = np.searchsorted(inner, bounds[blocks])
        count = np.searchsorted(inner, bounds[blocks + 1]) - first
        rows = np.repeat(rows, count)
        blocks = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        bounds, done = inner, len(inner) > n
        colour = colours((rows, blocks), len(bounds) - 1)
        by_column = np.repeat(colour, np.diff(bounds))
        hit = np.zeros(len(rows), bool)
        for _ in range(2):
            seeds = np.zeros((colour.max() + 1, n))
            seeds[by_column, np.arange(n)] = generator.uniform(0.5, 1.5, n)
            with no_grad():
                hit |= np.asarray(_compressed(record, seeds, forward))[colour[blocks], rows] != 0
        rows, blocks = rows[hit], blocks[hit]
    return rows, blocks


def _given(pattern: Any, m: int, n: int) -> Pattern:
    """The pattern argument as (rows, columns)."""
    if isinstance(pattern, SparseMatrix):
        pattern = pattern.rows, pattern.cols
    if isinstance(pattern, tuple) and len(pattern) == 2:
        rows, cols = (np.asarray(p) for p in pattern)
    elif hasattr(pattern, "tocoo"):
        if pattern.shape != (m, n):
            raise ArgumentError(f"sparse_jacobian: a pattern of shape {pattern.shape} for a Jacobian of {(m, n)}")
        rows, cols = pattern.nonzero()
    else:
        matrix = np.asarray(pattern)
        if matrix.shape != (m, n):
            raise ArgumentError(f"sparse_jacobian: a pattern of shape {matrix.shape} for a Jacobian of {(m, n)}")
        rows, cols = np.nonzero(matrix)
    if rows.ndim != 1 or rows.shape != cols.shape or rows.dtype.kind not in "iu" or cols.dtype.kind not in "iu":
        raise ArgumentError(
            "sparse_jacobian: the rows and the columns of a pattern are two lists of ints of one length"
        )
    if len(rows) and (rows.min() < 0 or cols.min() < 0 or rows.max() >= m or cols.max() >= n):
        raise ArgumentError(f"sparse_jacobian: the pattern names a place outside of a Jacobian of {(m, n)}")
    return rows.astype(np.int64), cols.astype(np.int64)


def sparse_jacobian(f: Callable[[Any], Any], x: Tensor, pattern: Any = None) -> SparseMatrix:
    """The Jacobian of ``f`` at ``x`` as a :class:`SparseMatrix`, computed in as few passes as its pattern needs.

    ``f`` maps one tensor to one tensor; the matrix counts the elements of both as flat. ``pattern`` says where the
    Jacobian may differ from zero: a dense or SciPy matrix that is not zero there, ``(rows, cols)``, or an earlier
    result. Elements outside of it must be zero, else the values are wrong. Without ``pattern`` the positions are
    detected at this ``x`` with random vectors, in about ``log(n)`` times as many passes as the result needs.

    Columns without a common row share a forward pass, or rows without a common column a reverse pass, whichever needs
    fewer. The values require a gradient if ``f`` depends on other tracked tensors.

    >>> from ferrograd.func import sparse_jacobian
    >>> j = sparse_jacobian(lambda x: x[1:] * x[:-1], fg.tensor([1.0, 2.0, 3.0]))
    >>> j.rows.tolist(), j.cols.tolist(), j.values.tolist()
    ([0, 0, 1, 1], [0, 1, 1, 2], [2.0, 1.0, 3.0, 2.0])
    """
    __tracebackhide__ = True
    x = real(x, "sparse_jacobian: x")
    record = Record("sparse_jacobian", f, (x,))
    if len(record.outputs) != 1:
        raise ArgumentError(f"sparse_jacobian: the function returns one tensor, not {len(record.outputs)}")
    (y,) = record.outputs
    m, n = size(y), size(x)
    if pattern is None:
        forward = n <= m
        rows, cols = _detected(record, forward)[:: 1 if forward else -1]
    else:
        rows, cols = _given(pattern, m, n)
    flat = np.unique(rows * n + cols)
    rows, cols = flat // max(n, 1), flat % max(n, 1)
    if not len(flat):
        return SparseMatrix(rows, cols, _core.native.zeros([0], dtype=y.dtype), (m, n))
    by_column, by_row = colours((rows, cols), n), colours((cols, rows), m)
    forward = bool(by_column.max() <= by_row.max())
    colour, this, other, width = (by_column, cols, rows, m) if forward else (by_row, rows, cols, n)
    seeds = (colour == np.arange(colour.max() + 1)[:, None]).astype(np.float64)
    found = _compressed(record, seeds, forward).reshape([len(seeds) * width])
    places = _core.make(colour[this] * width + other, None, False, 0)
    return SparseMatrix(rows, cols, _core.native.take(found, places, 0), (m, n))


__all__ = ["SparseMatrix", "sparse_jacobian"]
