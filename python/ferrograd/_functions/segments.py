"""Reductions of the rows of tensors that belong to one segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of
from ferrograd._kit.specialize import specialize


def reduced(rows: Tensor, ids: Any, count: int, kind: str, empty: float, initial: float | None = None) -> Any:
    """For each of ``count`` numbers the rows that have it, reduced to one row; ``empty`` where no row has it.

    Equal extreme elements share the gradient. A given ``initial`` counts as an element too.
    """

    def constant(values: Any, dtype: Any) -> Any:
        return _core.make(np.ascontiguousarray(values), dtype, False, dialect_of(rows))

    filled = np.full([count, *rows.shape[1:]], empty if initial is None else initial)
    start, at = constant(filled, rows.dtype), constant(ids, "int64")
    if kind == "mean" and initial is not None:
        sizes = np.maximum(np.bincount(ids, minlength=count), 1).reshape(-1, *[1] * (rows.ndim - 1))
        sums: Tensor = ops.index_add(start, 0, at, rows)
        return sums / constant(sizes, rows.dtype)
    name = {"max": "amax", "min": "amin"}.get(kind, kind)
    found: Tensor = ops.index_reduce(start, 0, at, rows, name, initial is not None)
    return found


def _segments(data: Tensor, segment_ids: Tensor, name: str | None = None, *, _kind: str) -> Any:
    function = f"segment_{_kind}"
    rows = _arguments.tensor(data, function, "data")
    ids = np.asarray(_arguments.tensor(segment_ids, function, "segment_ids").detach().numpy())
    if rows.ndim == 0 or ids.shape != (rows.shape[0],):
        raise ShapeError(f"{function}: {list(rows.shape)} has no {list(ids.shape)} rows")
    if ids.dtype.kind != "i" or (ids[:1] < 0).any() or (np.diff(ids) < 0).any():
        raise ArgumentError(f"{function}: segment_ids are integers from 0 on that do not fall")
    return reduced(rows, ids, int(ids.max(initial=-1)) + 1, _kind, 0.0)


_DOC = (
    """The {} of the rows of ``data`` with each number in ``segment_ids``, which do not fall; 0 where there are none."""
)
segment_sum, segment_mean, segment_max, segment_min = (
    specialize(f"segment_{kind}", _DOC.format(what), _segments, _kind=kind)
    for kind, what in (("sum", "sum"), ("mean", "mean"), ("max", "largest"), ("min", "smallest"))
)
