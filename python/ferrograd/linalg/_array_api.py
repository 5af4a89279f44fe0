"""The functions of the array API standard's ``linalg`` that the core has in another form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ferrograd._core import Tensor, make, native as _root
from ferrograd._core.native import cross, linalg as _ops, matmul, matrix_transpose, outer, tensordot, vecdot

__all__ = [
    "cross",
    "diagonal",
    "eig",
    "eigh",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "svd",
    "tensordot",
    "trace",
    "vecdot",
]


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors, complex numbers."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns and a triangle."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Left vectors, singular values and right vectors."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def eig(x: Any) -> EigResult:
    """Complex eigenvalues, in no order, and eigenvectors (columns of length 1) of square matrices.

    Vectors are determined up to a factor of absolute value 1, and those of equal eigenvalues only as a space; a result
    that depends on more has no derivative. The derivative of a matrix without a basis of eigenvectors is NaN.

    >>> import ferrograd as fg
    >>> fg.linalg.eig(fg.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.tolist()
    [1j, -1j]
    """
    return EigResult(*_ops.eig(x))


def eigh(x: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues, rising, and eigenvectors of symmetric or Hermitian matrices, of which one triangle is read.

    >>> import ferrograd as fg
    >>> fg.linalg.eigh(2 * fg.ones((1, 1))).eigenvalues.tolist()
    [2.0]
    """
    return EighResult(*_ops.eigh(x, UPLO))


def qr(x: Any, mode: str = "reduced") -> QRResult:
    """Orthonormal columns Q and an upper triangle R with ``Q @ R = x``; with mode='complete', Q is square.

    >>> import ferrograd as fg
    >>> fg.linalg.qr(fg.ones((3, 2))).R.shape
    (2, 2)
    """
    return QRResult(*_ops.qr(x, mode))


def slogdet(x: Any) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix.

    >>> import ferrograd as fg
    >>> fg.linalg.slogdet(fg.ones((1, 1))).sign.item()
    1.0
    """
    return SlogdetResult(*_ops.slogdet(x))


def svd(x: Any, full_matrices: bool = True) -> SVDResult:
    """The factors U, S, Vh of ``x = U[:, :k] @ diag(S) @ Vh[:k, :]``, S falling.

    >>> import ferrograd as fg
    >>> fg.linalg.svd(2 * fg.ones((1, 1))).S.tolist()
    [2.0]
    """
    return SVDResult(*_ops.svd(x, full_matrices))


def matrix_rank(x: Any, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number of singular values (int64) that do not count as zero, as in :func:`pinv`.

    >>> import ferrograd as fg
    >>> fg.linalg.matrix_rank(fg.ones((3, 2))).item()
    1
    """
    return with_bounds(_ops.matrix_rank, x, atol, rtol)


def pinv(x: Any, atol: Any = None, rtol: Any = None) -> Tensor:
    """The pseudoinverse. Singular values up to ``atol`` or ``rtol`` times the largest count as zero.

    The bounds are numbers, or tensors with one for each matrix. If neither is given, ``rtol`` is the larger size of the
    matrix times the relative precision of the dtype.

    >>> import ferrograd as fg
    >>> fg.linalg.pinv(fg.tensor([[2.0, 0.0], [0.0, 1e-3]]), rtol=0.1).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    return with_bounds(_ops.pinv, x, atol, rtol)


def with_bounds(f: Callable[..., Any], x: Any, atol: Any, rtol: Any) -> Any:
    """``f(x, atol, rtol)`` for bounds that are numbers, or tensors with one number for each matrix."""
    bounds = [bound.item() if isinstance(bound, Tensor) and bound.ndim == 0 else bound for bound in (atol, rtol)]
    tensors = [bound for bound in bounds if isinstance(bound, Tensor)]
    if not tensors:
        return f(x, *bounds)
    x = x if isinstance(x, Tensor) else make(x, None, False, 0)
    batch = list(np.broadcast_shapes(x.shape[:-2], *[bound.shape for bound in tensors]))
    x = _root.broadcast_to(x, batch + list(x.shape[-2:]))
    n = math.prod(batch)
    if n == 0:
        return f(x)
    each = [
        _root.reshape(_root.broadcast_to(bound, batch), [n]).tolist() if isinstance(bound, Tensor) else [bound] * n
        for bound in bounds
    ]
    matrices = _root.reshape(x, [n, *x.shape[-2:]])
    results = _root.stack([f(matrices[i], *pair) for i, pair in enumerate(zip(*each, strict=True))])
    return _root.reshape(results, batch + list(results.shape[1:]))


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices, the main ones or those ``offset`` above.

    >>> import ferrograd as fg
    >>> fg.linalg.diagonal(fg.eye(2)).tolist()
    [1.0, 1.0]
    """
    return _root.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices. Truth values and integers are summed in 64 bits.

    >>> import ferrograd as fg
    >>> fg.linalg.trace(fg.eye(2)).item()
    2.0
    """
    return _root.sum(diagonal(x, offset=offset), -1, dtype=dtype)
