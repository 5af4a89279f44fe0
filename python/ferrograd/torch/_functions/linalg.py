"""torch's functions of matrices in the root namespace. Those of ``torch.linalg`` are defined there."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.autocast import in_float32
from ferrograd._core import ArgumentError, ShapeError, torch as ops
from ferrograd._functions import linalg
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import with_out
from ferrograd.torch import return_types
from ferrograd.torch._tensor import Tensor

__all__ = [
    "cholesky_inverse",
    "frobenius_norm",
    "geqrf",
    "lu",
    "lu_solve",
    "lu_unpack",
    "nuclear_norm",
    "ormqr",
    "pca_lowrank",
    "pinverse",
    "slogdet",
    "svd",
    "svd_lowrank",
    "triangular_solve",
    "vander",
]


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition ``U diag(S) V.H``, with all columns unless ``some``.

    Without ``compute_uv`` ``U`` and ``V`` are zeros. ``linalg.svd`` gives the conjugate transpose of ``V`` instead.
    """
    if not compute_uv:
        values = ops.linalg.svdvals(input)
        batch, (m, n) = list(input.shape[:-2]), input.shape[-2:]
        return return_types.svd(ops.zeros([*batch, m, m], input.dtype), values, ops.zeros([*batch, n, n], input.dtype))
    u, s, vt = ops.linalg.svd(input, not some)
    return return_types.svd(u, s, ops.conj(ops.matrix_transpose(vt)))


@with_out
@in_float32
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is ``input``."""
    shape = _arguments.tensor(input, "cholesky_inverse", "input").shape
    if len(shape) < 2:
        raise ShapeError(f"cholesky_inverse: input must have at least two axes, got shape {list(shape)}")
    return ops.cholesky_solve(ops.eye(shape[-1], dtype=input.dtype), input, upper)


def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The packed LU factors and the pivots; with ``get_infos`` also zeros, as no factorisation fails."""
    _pivoted(pivot, "lu")
    both, pivots = ops.linalg.lu_factor(input)
    return (both, pivots, ops.zeros(list(both.shape[:-2]), "int32")) if get_infos else (both, pivots)


def _pivoted(pivot: bool, function: str) -> None:
    if not pivot:
        raise ArgumentError(f"{function}: factors without pivoting are not available on the CPU; pivot=True")


# The names of the parameters are torch's.
@with_out
@in_float32
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of linear equations with right sides ``input``, given LU factors."""
    return ops.linalg.lu_solve(LU_data, LU_pivots, input)


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> Any:
    """The factors p, l and u. Those that are not wanted are empty."""
    p, low, high = ops.lu_unpack(LU_data, LU_pivots)
    empty = ops.zeros([0], LU_data.dtype)
    return return_types.lu_unpack(
        p if unpack_pivots else empty, low if unpack_data else empty, high if unpack_data else empty
    )


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product with the orthogonal matrix of Householder reflections."""
    return ops.ormqr(input, tau, other, left, transpose)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse; singular values up to ``rcond`` times the largest count as zero."""
    return ops.linalg.pinv(input, None, rcond)


# The name of the second parameter is torch's.
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The solution of ``A @ x = input`` (of the transposed A if ``transpose``) for a triangle A, and A."""
    matrix = ops.matrix_transpose(A) if transpose else A
    solution = ops.linalg.solve_triangular(matrix, input, upper != transpose, True, unitriangular)
    return return_types.triangular_solve(solution, ops.clone(A))


def slogdet(input: Tensor) -> return_types.slogdet:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix."""
    return return_types.slogdet(*ops.slogdet(input))


def geqrf(input: Tensor) -> Any:
    """The QR factorisation as LAPACK packs it: see :func:`ferrograd.geqrf`."""
    return return_types.geqrf(*ops.geqrf(input))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns: falling, as in NumPy, or ``increasing``."""
    if _arguments.tensor(x, "vander", "x").ndim != 1:
        raise ShapeError(
            f"vander: x must be a one-dimensional tensor, not a {x.ndim}-D one; linalg.vander takes batches"
        )
    powers = ops.linalg.vander(ops.cast(x, "int64") if x.dtype.kind in "iub" else x, N)
    return powers if increasing else ops.flip(powers, -1)


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The square root of the sum of the squares over one or two axes."""
    return ops.norm(input, 2.0, dim if isinstance(dim, int) else list(dim), keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices."""
    return ops.linalg.matrix_norm(input, "nuc", list(dim), keepdim)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest singular values of ``A``, or of ``A - M``, by random projections."""
    return linalg.svd_lowrank(A, q, niter, M, "svd_lowrank")


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest principal components of observations, the rows of ``A``."""
    return linalg.pca_lowrank(A, q, center, niter, "pca_lowrank")
