"""``paddle.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, ShapeError, paddle as _ops
from ferrograd._core.paddle import diagonal, linalg as _linalg, matmul, matrix_transpose, vecdot
from ferrograd._core.paddle.linalg import (
    cholesky,
    cholesky_solve,
    cond,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    inv,
    logdet,
    matrix_exp,
    matrix_power,
    solve_triangular,
    svdvals,
)
from ferrograd._functions import linalg as _shared
from ferrograd._functions.linalg import hermitian_of
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.linalg._array_api import with_bounds
from ferrograd.paddle._functions.products import cross
from ferrograd.paddle._functions.reduce import norm as _norm
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "logdet",
    "lstsq",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "ormqr",
    "pca_lowrank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_lowrank",
    "svdvals",
    "triangular_solve",
    "vecdot",
    "vector_norm",
]


def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is ``x``."""
    shape = _arguments.tensor(x, "cholesky_inverse", "x").shape
    if len(shape) < 2:
        raise ShapeError(f"cholesky_inverse: x must have at least two axes, got shape {list(shape)}")
    return _linalg.cholesky_solve(_ops.eye(shape[-1], dtype=x.dtype), x, upper)


def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """The correlations of the rows of a matrix, or of its columns unless ``rowvar``."""
    return _ops.corrcoef(_variables(x, rowvar, "corrcoef"))


def cov(
    x: Tensor,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The covariances of the rows of a matrix, or of its columns unless ``rowvar``.

    The divisor is the number of observations, less 1 with ``ddof``.
    """
    return _ops.cov(_variables(x, rowvar, "cov"), float(ddof), fweights, aweights)


def _variables(x: Tensor, rowvar: bool, function: str) -> Tensor:
    x = _arguments.tensor(x, function, "x")
    # A matrix of one row is one variable either way.
    return x if rowvar or x.ndim < 2 or x.shape[0] == 1 else _ops.matrix_transpose(x)


def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solution of ``x @ z = y`` of least squares and least norm, the residuals, the rank and the singular values.

    All drivers use the singular value decomposition. Only "gelsd" and "gelss" return the singular values. "gels" takes
    every singular value, whatever ``rcond`` is, and returns no rank.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError(f"lstsq: the driver is 'gels', 'gelsy', 'gelsd' or 'gelss', not {driver!r:.40}")
    if len(_arguments.tensor(y, "lstsq", "y").shape) < 2:
        raise ShapeError(f"lstsq: y is a matrix or a batch of them, not of the shape {list(y.shape)}")
    solution, left, rank, values = _linalg.lstsq(x, y, None if driver == "gels" else rcond)
    ranked = _ops.cast(rank, "int32") if driver != "gels" else _ops.zeros([0], "int32")
    return solution, left, ranked, values if driver in ("gelsd", "gelss") else _ops.zeros([0], values.dtype)


def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> tuple[Tensor, ...]:
    """Both triangles of the LU factors in one matrix, and the pivots; with ``get_infos`` also zeros: none fails."""
    if not pivot:
        raise ArgumentError("lu: factors without pivoting are not available on the CPU; pivot=True")
    both, pivots = _linalg.lu_factor(x)
    return (both, pivots, _ops.zeros(list(both.shape[:-2]), "int32")) if get_infos else (both, pivots)


def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """The solution ``z`` of ``a @ z = b`` ("N"), or of the transposed ("T") or conjugate transposed ("C") ``a``.

    ``lu`` and ``pivots`` are the factors of ``a``.
    """
    if trans not in ("N", "T", "C"):
        raise ArgumentError(f"lu_solve: trans is 'N', 'T' or 'C', not {trans!r:.40}")
    if trans == "T":
        return _ops.conj(_linalg.lu_solve(lu, pivots, _ops.conj(b), True, True))
    return _linalg.lu_solve(lu, pivots, b, True, trans == "C")


def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The factors p, l and u of the packed factors ``x`` and the pivots ``y``; None for each that is switched off."""
    p, low, high = _ops.lu_unpack(x, y)
    return p if unpack_pivots else None, low if unpack_ludata else None, high if unpack_ludata else None


def matrix_rank(
    x: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    atol: Any = None,
    rtol: Any = None,
    name: str | None = None,
) -> Tensor:
    """The number of singular values above a bound: ``tol`` or ``atol``, or ``rtol`` times the largest.

    The bounds are numbers, or tensors with one for each matrix. Of a symmetric or Hermitian matrix
    (``hermitian``) the lower triangle is read.
    """
    x = hermitian_of(_arguments.tensor(x, "matrix_rank", "x")) if hermitian else x
    bound = tol if tol is not None else atol
    return with_bounds(_linalg.matrix_rank, x, bound, 0.0 if tol is not None else rtol)


def matrix_norm(x: Tensor, p: Any = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: Any = None) -> Tensor:
    """The norm of matrices along two axes: ``p`` is "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    return _linalg.matrix_norm(x, p, axis, keepdim)


def ormqr(
    x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None
) -> Tensor:
    """The product of ``y`` with the orthogonal matrix of Householder reflections."""
    return _ops.ormqr(x, tau, y, left, transpose)


def norm(
    x: Tensor, p: Any = None, axis: Any = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """:func:`ferrograd.paddle.norm`, computed in ``dtype`` if it is given."""
    return _norm(x if dtype is None else _ops.cast(x, dtype), p, axis, keepdim)


def vector_norm(
    x: Tensor, p: Any = 2.0, axis: Any = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """The ``p``-norm of the elements along axes, of all without one; computed in ``dtype`` if it is given."""
    return _linalg.vector_norm(x if dtype is None else _ops.cast(x, dtype), p, _arguments.axes_or_all(axis), keepdim)


def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None) -> Tensor:
    """The solution of ``x @ s = y``, or of ``s @ x = y`` if not ``left``; ``y`` may be a vector for each matrix."""
    x, y = _arguments.tensor(x, "solve", "x"), _arguments.tensor(y, "solve", "y")
    return _shared.solved(_ops, x, y, left)


def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """The pseudoinverse. Singular values up to ``rcond`` times the largest count as zero.

    Of a symmetric or Hermitian matrix (``hermitian``) the lower triangle is read.
    """
    if hermitian:
        x = hermitian_of(_arguments.tensor(x, "pinv", "x"))
    return with_bounds(_linalg.pinv, x, None, rcond)


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


def svd_lowrank(
    x: Tensor, q: int | None = None, niter: int = 2, M: Tensor | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest singular values of ``x``, or of ``x - M``, by random projections."""
    return _shared.svd_lowrank(x, q, niter, M, "svd_lowrank")


def pca_lowrank(
    x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest principal components of observations, the rows of ``x``."""
    return _shared.pca_lowrank(x, q, center, niter, "pca_lowrank")


__dir__ = _public.names(globals())
