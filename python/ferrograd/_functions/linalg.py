"""Linear algebra that the dialects share: equations, Hermitian matrices, and the largest singular values.

These are found by random projections: N. Halko, P. Martinsson, J. Tropp (2009).
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, ShapeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments


def are_vectors(matrices: Any, right: Any) -> bool:
    """Whether the right sides are vectors: one, or one for each of the matrices."""
    return right.ndim == 1 or (matrices.ndim - 1 == right.ndim and tuple(right.shape) == tuple(matrices.shape[:-1]))


def solved(ops: Any, matrices: Any, right: Any, left: bool) -> Any:
    """The solution ``s`` of ``matrices @ s = right``, or of ``s @ matrices = right`` if not ``left``."""
    if not left:
        transposed = ops.linalg.solve(ops.matrix_transpose(matrices), ops.matrix_transpose(right))
        return ops.matrix_transpose(transposed)
    if are_vectors(matrices, right):
        return ops.squeeze(ops.linalg.solve(matrices, ops.expand_dims(right, -1)), -1)
    return ops.linalg.solve(matrices, right)


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


def svd_lowrank(x: Any, rank: int | None, steps: int, shift: Any, function: str) -> tuple[Any, Any, Any]:
    """U, S and V of about ``rank`` largest singular values of ``x - shift``, of a matrix or of each of a batch."""
    x = _arguments.tensor(x, function, "input")
    if x.ndim < 2:
        raise ShapeError(f"{function}: a matrix has two axes, {list(x.shape)} has {x.ndim}")
    rows, columns = x.shape[-2:]
    rank = min(6, rows, columns) if rank is None else _arguments.integer(rank, function, "q")
    steps = _arguments.integer(steps, function, "niter")
    if rank < 0 or steps < 0:
        raise ArgumentError(f"{function}: q(={rank}) and niter(={steps}) must not be negative")
    rank = min(rank, rows, columns)
    x = x if shift is None else x - ops.broadcast_to(shift, list(x.shape))
    tall = x if rows >= columns else ops.conj(x.mT)
    adjoint = ops.conj(tall.mT)
    with_rank = ops.broadcast_to(adjoint[..., :1].detach(), [*adjoint.shape[:-1], rank])
    basis = _basis(ops.matmul(tall, _random(with_rank)))
    for _ in range(steps):
        basis = _basis(ops.matmul(tall, _basis(ops.matmul(adjoint, basis))))
    u, s, vh = ops.linalg.svd(ops.matmul(ops.conj(basis.mT), tall), False)
    left, right = ops.matmul(basis, u), ops.conj(vh.mT)
    return (left, s, right) if rows >= columns else (right, s, left)


def _random(like: Any) -> Any:
    """Normal random numbers; real ones for complex matrices too, as any directions do."""
    return ops.astype(ops.randn_like(ops.real(like)), like.dtype) if like.dtype.kind == "c" else ops.randn_like(like)


def _basis(x: Any) -> Any:
    return ops.linalg.qr(x)[0]


def pca_lowrank(x: Any, rank: int | None, center: bool, steps: int, function: str) -> tuple[Any, Any, Any]:
    """:func:`svd_lowrank` of a matrix whose rows are observations, by default minus their mean."""
    x = _arguments.tensor(x, function, "input")
    if x.ndim > 1 and rank is not None and rank > min(x.shape[-2:]):
        raise ArgumentError(f"{function}: q(={rank}) must not be greater than min({x.shape[-2]}, {x.shape[-1]})")
    shift = ops.mean(x, -2, keepdims=True) if center and x.ndim > 1 else None
    return svd_lowrank(x, rank, steps, shift, function)
