"""The largest singular values of a matrix, by random projections: N. Halko, P. Martinsson, J. Tropp (2009)."""

from __future__ import annotations

from typing import Any

from ferrograd import _arguments
from ferrograd._core import ArgumentError, ShapeError
from ferrograd._core import native as ops


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
