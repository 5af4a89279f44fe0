"""Rows of a table of vectors, which both dialects look up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad, own_writes
from ferrograd._core import DtypeError, Tensor, constant as _constant_of, native as ops
from ferrograd._kit.dialect import TORCH, dialect_of


def _constant(values: Any) -> Any:
    made: Tensor = _constant_of(np.ascontiguousarray(values))
    return made


def check_indices(index: Tensor) -> None:
    """Raises unless the tensor can name rows."""
    if index.dtype.kind not in "iub":
        cast = "long()" if dialect_of(index) == TORCH else "astype('int64')"
        raise DtypeError(f"embedding: indices are integers, not {index.dtype}: x.{cast}")


@no_grad()
def renormalize(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are looked up, in place, so that their norms are at most ``max_norm``."""
    used = ops.reshape(index.detach(), [-1])
    if not _core.is_tracing():
        used = _constant(np.unique(used.numpy()))
    rows = _core.from_zero(ops.index_select, weight.detach(), 0, used)
    norms = ops.norm(rows, norm_type, 1, True)
    with own_writes(weight):
        weight[used] = rows * ops.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)


def by_frequency(rows: Tensor, flat: Tensor, count: int) -> Any:
    """The rows of a table of ``count``; their gradients are divided by the number of times that each is looked up."""
    flat = flat.detach()
    times = ops.index_add(ops.zeros([count], "int64"), 0, flat, ops.ones(flat.shape, "int64"))
    share = ops.cast(ops.expand_dims(1.0 / ops.cast(ops.index_select(times, 0, flat), "float64"), -1), rows.dtype)
    return ops.add(rows.detach(), ops.multiply(ops.subtract(rows, rows.detach()), share))
