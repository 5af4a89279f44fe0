"""Hermitian matrices, given by one of their triangles."""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor
from ferrograd._core import native as ops


def hermitian_of(x: Tensor) -> Any:
    """The symmetric or Hermitian matrix with the lower triangle of ``x``. Its gradient is that of such a matrix."""
    other = ops.conj(ops.matrix_transpose(x))
    half = (x + other) * 0.5
    if not x.shape[-1]:
        return half
    low, up = ops.tril(x.detach(), -1), ops.triu(other.detach(), 1)
    given = low + up + ops.diag_embed(ops.diagonal(half.detach(), 0, -2, -1))
    return half + (given - half.detach())
