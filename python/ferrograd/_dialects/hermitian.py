"""Hermitian matrices, given by one of their triangles."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ShapeError, Tensor
from ferrograd._core import native as ops


def hermitian_of(x: Tensor) -> Any:
    """The symmetric or Hermitian matrix with the lower triangle of ``x``. Its gradient is that of such a matrix.

    NaN and infinity in the other triangle change nothing.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"a Hermitian matrix must be square, not of shape {list(x.shape)}")
    finite = ops.where(ops.isfinite(x), x, 0)
    half = (finite + ops.conj(ops.matrix_transpose(finite))) * 0.5
    if not x.shape[-1]:
        return half
    low = ops.tril(x.detach(), -1)
    up = ops.conj(ops.matrix_transpose(low))
    given = low + up + ops.diag_embed(ops.real(ops.diagonal(x.detach(), 0, -2, -1)))
    return half + (given - half.detach())
