"""``paddle.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _arguments
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import paddle as _ops
from ferrograd._core.paddle import linalg as _linalg
from ferrograd._core.paddle.linalg import (
    cholesky,
    cholesky_solve,
    det,
    eigh,
    eigvalsh,
    inv,
    logdet,
    matrix_norm,
    matrix_power,
    solve,
    solve_triangular,
    svdvals,
    vector_norm,
)
from ferrograd.paddle._functions import norm

__all__ = [
    "cholesky",
    "cholesky_solve",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "logdet",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "triangular_solve",
    "vector_norm",
]


def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The matrix product of two or more matrices. The first and the last may be vectors."""
    if not isinstance(x, list | tuple) or len(x) < 2:
        raise ArgumentError("multi_dot: two or more matrices are needed")
    product, *others = (_arguments.tensor(m, "multi_dot", "x") for m in x)
    for m in others:
        product = _ops.matmul(product, m)
    return product


def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """The QR decomposition ``(q, r)``, or with ``mode="r"`` only ``r``."""
    return _linalg.qr(x, "reduced")[1] if mode == "r" else _linalg.qr(x, mode)


def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """The signs of the determinants and the logarithms of their absolute values, stacked on a new axis 0."""
    return _ops.stack(list(_linalg.slogdet(x)), 0)


def svd(x: Tensor, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition ``(u, s, vh)``, reduced unless ``full_matrices``."""
    return _linalg.svd(x, full_matrices)


def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution ``s`` of ``x @ s = y`` for a triangular matrix ``x``, or with ``transpose`` of ``x.T @ s = y``."""
    if transpose:
        x, upper = _ops.matrix_transpose(x), not upper
    return _linalg.solve_triangular(x, y, upper, True, unitriangular)
