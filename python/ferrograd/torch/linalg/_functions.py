"""``torch.linalg``: the functions whose arguments or results differ from the core's."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, LinAlgError, ShapeError, torch as ops
from ferrograd._core.torch.linalg import (
    cholesky_ex as _cholesky_ex,
    cond as _cond,
    eig as _eig,
    eigh as _eigh,
    inv_ex as _inv_ex,
    ldl_factor_ex as _ldl_factor_ex,
    ldl_solve as _ldl_solve,
    lstsq as _lstsq,
    lu as _lu,
    lu_factor as _lu_factor,
    lu_solve as _lu_solve,
    matrix_rank as _matrix_rank,
    multi_dot as _multi_dot,
    pinv as _pinv,
    qr as _qr,
    slogdet as _slogdet,
    solve_ex as _solve_ex,
    svd as _svd,
    svdvals as _svdvals,
    vander as _vander,
)
from ferrograd._functions import linalg
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.linalg import hermitian_of
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import with_out
from ferrograd.linalg._array_api import with_bounds
from ferrograd.torch import return_types
from ferrograd.torch._base.answers import accept_synonyms
from ferrograd.torch._tensor import Tensor

__all__ = [
    "cholesky_ex",
    "cond",
    "cross",
    "diagonal",
    "eig",
    "eigh",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "svd",
    "svdvals",
    "vander",
    "vecdot",
    "vector_norm",
]


# Torch calls the matrices A and B.
def eig(A: Tensor) -> return_types.linalg_eig:
    """Complex eigenvalues, in no order, and eigenvectors (columns of length 1) of square matrices."""
    return return_types.linalg_eig(*_eig(A))


def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse, or the ratio of its singular values.

    With the ratio, which is taken for None, 2 and -2, that of an empty matrix is zero.
    """
    A = _arguments.tensor(A, "linalg.cond", "A")
    if p in (None, 2, -2) and 0 in A.shape[-2:] and A.ndim > 1:
        return ops.linalg.vector_norm(A, 2, [-2, -1])
    return _cond(A, p)


def eigh(A: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """Eigenvalues, rising, and eigenvectors of symmetric or Hermitian matrices, of which one triangle is read."""
    return return_types.linalg_eigh(*_eigh(A, UPLO))


def qr(A: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """Orthonormal columns Q and an upper triangle R with ``Q @ R = A``; with the mode "complete", Q is square.

    With the mode "r" Q is empty.
    """
    if mode == "r":
        r = _qr(A, "reduced")[1]
        return return_types.linalg_qr(ops.zeros([0], r.dtype), r)
    return return_types.linalg_qr(*_qr(A, mode))


def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix."""
    return return_types.linalg_slogdet(*_slogdet(A))


def svd(A: Tensor, full_matrices: bool = True, *, driver: None = None) -> return_types.linalg_svd:
    """The factors U, S, Vh of ``A = U[:, :k] @ diag(S) @ Vh[:k, :]``, S falling. Drivers are for GPUs only."""
    _no_driver(driver, "svd")
    return return_types.linalg_svd(*_svd(A, full_matrices))


def svdvals(A: Tensor, *, driver: None = None) -> Tensor:
    """The singular values, falling. Drivers are for GPUs only."""
    _no_driver(driver, "svdvals")
    return _svdvals(A)


def _no_driver(driver: object, function: str) -> None:
    if driver is not None:
        raise ArgumentError(f"linalg.{function}: keyword argument `driver=` is only supported on CUDA inputs")


def lu(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu:
    """The factors p, l and u of ``A`` with partial pivoting."""
    _pivoted(pivot, "lu")
    return return_types.linalg_lu(*_lu(A))


def lu_factor(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu_factor:
    """The packed factors of ``A`` with partial pivoting, and the rows that were exchanged."""
    _pivoted(pivot, "lu_factor")
    return return_types.linalg_lu_factor(*_lu_factor(A))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> return_types.linalg_lu_factor_ex:
    """:func:`lu_factor`, and the first pivot of each matrix that is zero."""
    _pivoted(pivot, "lu_factor_ex")
    both, pivots = _lu_factor(A)
    zero = ops.equal(ops.diagonal(both.detach(), 0, -2, -1), 0)
    first = ops.argmax(ops.cast(zero, "int32"), -1) + 1 if zero.shape[-1] else ops.sum(zero, -1)
    info = ops.cast(ops.where(ops.any(zero, -1), first, 0), "int32")
    _check(info, check_errors, "lu_factor_ex")
    return return_types.linalg_lu_factor_ex(both, pivots, info)


def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor:
    """The solution of linear equations with right sides ``B``, given the factors of :func:`lu_factor`."""
    return _lu_solve(LU, pivots, B, left, adjoint)


@with_out
def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> return_types.linalg_ldl_factor_ex:
    """:func:`ldl_factor`, and for each matrix 0, or the first place on the diagonal of ``D`` that is 0.

    Raises:
        LinAlgError: with ``check_errors`` where such a place is.
    """
    found = return_types.linalg_ldl_factor_ex(*_ldl_factor_ex(A, hermitian))
    if check_errors and bool(ops.any(found.info)):
        raise LinAlgError("linalg.ldl_factor_ex: the factor D has a zero on its diagonal")
    return found


@with_out
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> return_types.linalg_ldl_factor:
    """Symmetric or Hermitian matrices as ``P L D Lᵀ Pᵀ``. The function reads their lower triangles.

    The blocks of ``D`` on the diagonal, of one or two rows, and the factors below them are one matrix. A pivot says
    with which row, counted from 1, a row was exchanged; two equal negative ones belong to a block of two rows.

    >>> import ferrograd.torch as torch
    >>> torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]])).LD.tolist()
    [[4.0, 0.0], [0.5, 2.0]]
    """
    return return_types.linalg_ldl_factor(*_ldl_factor_ex(A, hermitian)[:2])


@with_out
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution ``X`` of ``A X = B`` from the factors of ``A`` that :func:`ldl_factor` gives.

    >>> import ferrograd.torch as torch
    >>> factors = torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> torch.linalg.ldl_solve(*factors, torch.tensor([[8.0], [8.0]])).tolist()
    [[1.0], [2.0]]
    """
    return _ldl_solve(LD, pivots, B, hermitian)


def _pivoted(pivot: bool, function: str) -> None:
    if not pivot:
        raise ArgumentError(f"linalg.{function}: factors without pivoting are not available on the CPU; pivot=True")


def _check(info: Tensor, check_errors: bool, function: str) -> None:
    if check_errors and bool(ops.any(info)):
        raise LinAlgError(f"linalg.{function}: a matrix has no result, info is {info.tolist()}")


def inv_ex(A: Tensor, *, check_errors: bool = False) -> return_types.linalg_inv_ex:
    """The inverse, NaN for a singular matrix, whose info is then not 0."""
    inverse, info = _inv_ex(A)
    _check(info, check_errors, "inv_ex")
    return return_types.linalg_inv_ex(inverse, info)


def cholesky_ex(
    input: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
) -> return_types.linalg_cholesky_ex:
    """The Cholesky factor, NaN for a matrix that is not positive definite, whose info is then not 0."""
    factor, info = _cholesky_ex(input, upper)
    _check(info, check_errors, "cholesky_ex")
    return return_types.linalg_cholesky_ex(factor, info)


def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> return_types.linalg_solve_ex:
    """:func:`solve`, NaN for a singular matrix, whose info is then not 0."""
    A, B = _arguments.tensor(A, "linalg.solve_ex", "A"), _arguments.tensor(B, "linalg.solve_ex", "B")
    if left:
        vector = linalg.are_vectors(A, B)
        solution, info = _solve_ex(A, ops.expand_dims(B, -1) if vector else B)
        solution = ops.squeeze(solution, -1) if vector else solution
    else:
        solution, info = _solve_ex(ops.matrix_transpose(A), ops.matrix_transpose(B))
        solution = ops.matrix_transpose(solution)
    _check(info, check_errors, "solve_ex")
    return return_types.linalg_solve_ex(solution, info)


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution of ``A @ x = B`` (of ``x @ A = B`` if not ``left``). ``B`` may be vectors, one for each matrix."""
    A, B = _arguments.tensor(A, "linalg.solve", "A"), _arguments.tensor(B, "linalg.solve", "B")
    return linalg.solved(ops, A, B, left)


def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> return_types.linalg_lstsq:
    """The solution of ``A @ x = B`` of least squares and least norm, by the singular value decomposition.

    The ``driver`` decides only which of the other results are there: the rank for all but "gels", the residuals for all
    but "gelsy" (the default), the singular values for "gelsd" and "gelss".
    """
    A, B = _arguments.tensor(A, "linalg.lstsq", "A"), _arguments.tensor(B, "linalg.lstsq", "B")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), not {driver}"
        )
    vector = linalg.are_vectors(A, B)
    solution, left, rank, values = _lstsq(
        A, ops.expand_dims(B, -1) if vector else B, None if driver == "gels" else rcond
    )
    if vector:
        solution = ops.squeeze(solution, -1)
    none = ops.zeros([0], values.dtype)
    # The residuals are a function of the arguments even if there are none.
    kept = left if driver not in (None, "gelsy") else ops.narrow(ops.reshape(left, [-1]), 0, 0, 0)
    has_values = driver in ("gelsd", "gelss")
    ranked = rank if driver != "gels" else ops.zeros([0], "int64")
    return return_types.linalg_lstsq(solution, kept, ranked, values if has_values else none)


def pinv(
    A: Tensor,
    *,
    atol: Any = None,
    rtol: Any = None,
    rcond: Any = None,
    hermitian: bool = False,
) -> Tensor:
    """The pseudoinverse. Singular values up to ``atol`` or ``rtol`` times the largest count as zero.

    Of a Hermitian matrix (``hermitian``) the lower triangle is read, and the gradient is that of a Hermitian matrix.
    The bounds are numbers, or tensors with one for each matrix.
    """
    if hermitian:
        A = hermitian_of(_arguments.tensor(A, "linalg.pinv", "A"))
    return with_bounds(_pinv, A, atol, rtol if rcond is None else rcond)


def matrix_rank(
    A: Tensor,
    tol: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
) -> Tensor:
    """The number of singular values that do not count as zero. See :func:`pinv`."""
    A = hermitian_of(_arguments.tensor(A, "linalg.matrix_rank", "A")) if hermitian else A
    if tol is not None:
        return with_bounds(_matrix_rank, A, tol, 0.0)
    return with_bounds(_matrix_rank, A, atol, rtol)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements along an axis; the other axes broadcast."""
    if _arguments.tensor(input, "cross", "input").ndim != _arguments.tensor(other, "cross", "other").ndim:
        raise ShapeError(f"cross: inputs must have the same number of dimensions, not {input.ndim} and {other.ndim}")
    return ops.cross(input, other, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, a view."""
    return ops.diagonal(A, offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of matrices, as :func:`ferrograd.torch.matmul`."""
    return ops.matmul(input, other)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of ``conj(x) * y`` along an axis; the other axes broadcast."""
    return ops.vecdot(x, y, dim)


def multi_dot(tensors: Any) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications."""
    return _multi_dot(tensors)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of a vector's elements as columns: 1, x, x², …; of a tensor without axes as one row."""
    x = _arguments.tensor(x, "linalg.vander", "x")
    x = ops.cast(x, "int64") if x.dtype.kind in "iub" else x
    return _vander(ops.reshape(x, [1]) if x.ndim == 0 else x, N)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of the elements along axes, of all without one; computed in ``dtype`` if it is given."""
    return ops.linalg.vector_norm(in_inexact(x, dtype, "linalg.vector_norm"), ord, dim, keepdim)


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of matrices along two axes; computed in ``dtype`` if it is given."""
    return ops.linalg.matrix_norm(in_inexact(A, dtype, "linalg.matrix_norm"), ord, dim, keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """:func:`vector_norm` along one axis or, without ``ord``, of all elements; else :func:`matrix_norm`."""
    return ops.linalg.norm(in_inexact(A, dtype, "linalg.norm"), ord, dim, keepdim)


globals().update({name: with_out(accept_synonyms(globals()[name])) for name in __all__})
