"""Functions of ``paddle.linalg`` as methods of tensors, with other names or orders of the parameters."""

from __future__ import annotations

from typing import Any

from ferrograd._core import paddle as ops
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "cholesky_solve",
    "cond",
    "eig",
    "eigvals",
    "eigvalsh",
    "householder_product",
]


def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The solution of linear equations with right sides ``x``, given a Cholesky factor ``y``."""
    return ops.linalg.cholesky_solve(x, y, upper)


def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """The condition number of a matrix: its norm times that of its inverse."""
    return ops.linalg.cond(x, p)


def eig(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The complex eigenvalues of a matrix and its eigenvectors, as columns."""
    values, vectors = ops.linalg.eig(x)
    return values, vectors


def eigvals(x: Tensor, name: str | None = None) -> Tensor:
    """The complex eigenvalues of a matrix."""
    return ops.linalg.eigvals(x)


def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """The eigenvalues of a symmetric or Hermitian matrix, in ascending order. The function reads one triangle."""
    return ops.linalg.eigvalsh(x, UPLO)


def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """The first columns of the product of Householder reflections."""
    return ops.linalg.householder_product(x, tau)
