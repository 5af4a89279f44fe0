"""Functions that make sparse tensors in PyTorch and Paddle. Here they make dense ones."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, Tensor

__all__ = ["scattered"]


def scattered(ops: ModuleType, dialect: int, indices: Any, values: Any, size: Any, dtype: Any) -> Any:
    """The dense tensor with values at indices. Each row of ``indices`` is for one axis. Values at one place are added.

    ``ops`` are the functions of the dialect, which makes tensors of lists and arrays.
    """
    places = indices if isinstance(indices, Tensor) else _core.make(indices, None, False, dialect)
    if places.dtype.kind not in "iu" and places.numel():
        raise ArgumentError(f"sparse_coo_tensor: indices are integers, not {places.dtype}")
    found = values if isinstance(values, Tensor) else _core.make(values, None, False, dialect)
    found = found if dtype is None else ops.astype(found, dtype)
    if places.ndim != 2 or found.ndim < 1 or places.shape[1] != found.shape[0]:
        raise ShapeError(
            f"sparse_coo_tensor: indices are a matrix with a column for each value, not {list(places.shape)} for "
            f"values of shape {list(found.shape)}"
        )
    at = np.asarray(places.detach().numpy(), np.int64)
    lead = [int(row.max(initial=-1)) + 1 for row in at]
    shape = [*lead, *found.shape[1:]] if size is None else [int(n) for n in size]
    axes = len(at)
    if len(shape) != axes + found.ndim - 1 or shape[axes:] != list(found.shape[1:]):
        raise ShapeError(
            f"sparse_coo_tensor: {axes} rows of indices and values {list(found.shape)} do not make {shape}"
        )
    if at.size and (at.min() < 0 or any(n > m for n, m in zip(lead, shape, strict=False))):
        raise ArgumentError(f"sparse_coo_tensor: indices must not be negative and lie within {shape}")
    made = ops.zeros(shape, found.dtype)
    if axes and at.size:
        rows = tuple(_core.make(row, "int64", False, dialect) for row in at)
        made = ops.index_put(made, rows, found, True)
    elif not axes:
        made = ops.broadcast_to(ops.sum(found, 0), shape)
    return made
