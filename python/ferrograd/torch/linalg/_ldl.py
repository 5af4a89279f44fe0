"""``torch.linalg.ldl_factor`` and ``ldl_solve``: J. Bunch, L. Kaufman, "Some stable methods for calculating inertia and
solving symmetric linear systems" (1977). The compact form is that of LAPACK's ``sytrf`` and ``hetrf``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._core import ArgumentError, LinAlgError, ShapeError, Tensor, torch as ops
from ferrograd._core.torch.linalg import solve_triangular
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.out import with_out
from ferrograd.torch import return_types

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]

#: What keeps the growth of elements smallest.
_ALPHA = (1 + 17**0.5) / 8


def _constant(values: Any) -> Tensor:
    return _core.make(np.array(values, order="C"), None, False, TORCH)


def _size(x: Any) -> Any:
    return abs(x.real) + abs(x.imag)


def _eliminate(rest: Any, pivots: Any) -> tuple[Any, int]:
    """The factors of one full matrix, which is overwritten, and the place of the first pivot 0, counted from 1."""
    n, k, info = len(rest), 0, 0
    out = np.zeros_like(rest)
    while k < n:
        count, row = 1, k
        column = _size(rest[k:, k])
        most = column[1:].max(initial=0)
        singular = not max(column[0], most) > 0
        if singular:
            info = info or k + 1
        elif column[0] < _ALPHA * most:
            found = k + 1 + int(column[1:].argmax())
            sizes = _size(rest[found, k:])
            own, sizes[found - k] = sizes[found - k], 0
            if column[0] < _ALPHA * most * (most / sizes.max()):
                row, count = found, 1 if own >= _ALPHA * sizes.max() else 2
        last, end = k + count - 1, k + count
        rest[[last, row], k:] = rest[[row, last], k:]
        rest[k:, [last, row]] = rest[k:, [row, last]]
        pivots[k:end] = row + 1 if count == 1 else -row - 1
        block, below = rest[k:end, k:end], rest[end:, k:end]
        if count == 1:
            factors = below if singular else below / block
        else:
            (a, b), (c, d) = block
            factors = below @ np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        out[k:end, k:end], out[end:, k:end] = np.tril(block), factors
        rest[end:, end:] -= factors @ rest[k:end, end:]
        k = end
    return out, info


def _plan(pivots: Any) -> tuple[Any, Any, Any]:
    """For matrices with these pivots: the order of rows, where each factor stands, and which places are in blocks."""
    n = pivots.shape[-1]
    order = np.broadcast_to(np.arange(n), pivots.shape).copy()
    source = np.broadcast_to(np.arange(n)[:, None], (*pivots.shape, n)).copy()
    blocks = np.zeros((*pivots.shape, n), bool)
    for at in np.ndindex(pivots.shape[:-1]):
        k = 0
        while k < n:
            last = k if pivots[at][k] > 0 else k + 1
            pair, row = pivots[at][k : last + 1], abs(int(pivots[at][k])) - 1
            if not last <= row < n or (pair != pair[0]).any():
                raise ArgumentError(f"linalg.ldl_solve: {pivots[at].tolist()} are no pivots of a factorization")
            order[at][[last, row]] = order[at][[row, last]]
            source[at][[last, row], :k] = source[at][[row, last], :k]
            blocks[at][k : last + 1, k : last + 1] = True
            k = last + 1
    return order, source, blocks


def _turned(x: Tensor, hermitian: bool) -> Tensor:
    """The transpose, conjugate for Hermitian matrices."""
    x = ops.swapaxes(x, -1, -2)
    return ops.conj(x) if hermitian else x


def _rows(x: Tensor, places: Any) -> Tensor:
    """The rows of matrices at places, which the matrices of a batch do not share."""
    shape = [*np.broadcast_shapes(x.shape[:-2], places.shape[:-1]), *x.shape[-2:]]
    index = _constant(np.broadcast_to(places[..., None], shape))
    return ops.take_along_axis(ops.broadcast_to(x, shape), index, -2)


def _both(x: Tensor, places: Any) -> Tensor:
    """Rows and columns at the same places."""
    return ops.swapaxes(_rows(ops.swapaxes(_rows(x, places), -1, -2), places), -1, -2)


class _Plan:
    """The factors ``l`` and ``d`` of ``x[order][:, order] = l @ d @ lᵀ``, and the masks of their places."""

    def __init__(self, compact: Tensor, pivots: Any, hermitian: bool) -> None:
        self.order, self.source, blocks = _plan(pivots)
        n = compact.shape[-1]
        lower = np.tri(n, dtype=bool)
        self.own, self.below = _constant(blocks & lower), _constant(lower & ~blocks)
        moved = ops.take_along_axis(compact, _constant(self.source), -2)
        self.l = ops.where(self.below, moved, ops.eye(n, dtype=compact.dtype))
        half = ops.where(_constant(blocks & np.tri(n, k=-1, dtype=bool)), compact, 0.0)
        diagonal = ops.where(_constant(np.eye(n, dtype=bool)), compact, 0.0)
        self.d = diagonal + half + _turned(half, hermitian)

    def back(self, x: Tensor) -> Tensor:
        """``(l⁻¹)ᴴ x``."""
        return solve_triangular(_turned(self.l, True), x, upper=True)

    def solved(self, x: Tensor) -> Tensor:
        """``l⁻¹ x``."""
        return solve_triangular(self.l, x, upper=False)


class _Factor(Function):
    """The compact factors of full matrices, their pivots, and where they are singular."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, hermitian: bool) -> Any:
        wide = np.asarray(x.detach().numpy())
        exact = wide.astype(np.result_type(wide.dtype, np.float64))
        pivots, info = np.zeros(wide.shape[:-1], np.int32), np.zeros(wide.shape[:-2], np.int32)
        out = np.zeros_like(wide)
        with np.errstate(all="ignore"):
            for at in np.ndindex(info.shape):
                out[at], info[at] = _eliminate(exact[at], pivots[at])
        results = tuple(_constant(a) for a in (out, pivots, info))
        ctx.save_for_backward(results[0])
        ctx.save_for_forward(results[0])
        ctx.pivots, ctx.hermitian = pivots, hermitian
        ctx.mark_non_differentiable(*results[1:])
        return results

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> Any:
        plan = _Plan(ctx.saved_tensors[0], ctx.pivots, ctx.hermitian)
        moved = ops.where(plan.below, ops.take_along_axis(g, _constant(plan.source), -2), 0.0)
        inner = ops.matmul(_turned(plan.l, True), moved)
        inner = _turned(ops.linalg.solve(plan.d, _turned(inner, True)), True)
        both = ops.where(plan.below, inner, 0.0) + ops.where(plan.own, g, 0.0)
        both = _turned(plan.back(_turned(plan.back(both), ctx.hermitian)), ctx.hermitian)
        return _both(both, np.argsort(plan.order, -1)), None

    @staticmethod
    def jvp(ctx: Any, t: Tensor, _: Any) -> Any:
        plan = _Plan(ctx.saved_tensors[0], ctx.pivots, ctx.hermitian)
        inner = plan.solved(_both(t, plan.order))
        inner = _turned(plan.solved(_turned(inner, ctx.hermitian)), ctx.hermitian)
        moves = ops.linalg.solve(_turned(plan.d, True), _turned(ops.where(plan.below, inner, 0.0), True))
        moved = ops.where(plan.below, ops.matmul(plan.l, _turned(moves, True)), 0.0)
        back = _constant(np.argsort(plan.source, -2))
        return ops.take_along_axis(moved, back, -2) + ops.where(plan.own, inner, 0.0), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, hermitian: bool) -> Any:
        return _Factor.apply(ops.movedim(x, in_dims[0], 0), hermitian), (0, 0, 0)


@with_out
def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> return_types.linalg_ldl_factor_ex:
    """:func:`ldl_factor`, and for each matrix 0, or the first place on the diagonal of ``D`` that is 0.

    Raises:
        LinAlgError: with ``check_errors`` where such a place is.
    """
    A = _arguments.tensor(A, "linalg.ldl_factor", "A")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"linalg.ldl_factor: A must be batches of square matrices, but they have shape {list(A.shape)}"
        )
    lower, below = ops.tril(A), ops.tril(A, -1)
    if hermitian and A.dtype.kind == "c":
        lower = below + ops.diag_embed(ops.cast(ops.real(ops.diagonal(A, 0, -2, -1)), A.dtype))
    found = return_types.linalg_ldl_factor_ex(*_Factor.apply(lower + _turned(below, hermitian), hermitian))
    if check_errors and bool(ops.any(found.info.detach() != 0)):
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
    return return_types.linalg_ldl_factor(*ldl_factor_ex(A, hermitian=hermitian)[:2])


@with_out
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution ``X`` of ``A X = B`` from the factors of ``A`` that :func:`ldl_factor` gives.

    >>> import ferrograd.torch as torch
    >>> factors = torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> torch.linalg.ldl_solve(*factors, torch.tensor([[8.0], [8.0]])).tolist()
    [[1.0], [2.0]]
    """
    function = "linalg.ldl_solve"
    LD, B = _arguments.tensor(LD, function, "LD"), _arguments.tensor(B, function, "B")
    rows = _arguments.tensor(pivots, function, "pivots")
    n = LD.shape[-1] if LD.ndim > 1 else -1
    if tuple(LD.shape[-2:-1]) != (n,) or rows.shape != LD.shape[:-1] or B.ndim < 2 or B.shape[-2] != n:
        raise ShapeError(
            f"{function}: LD is [..., n, n], pivots are [..., n] and B is [..., n, k], not of the shapes "
            f"{list(LD.shape)}, {list(rows.shape)} and {list(B.shape)}"
        )
    plan = _Plan(LD, np.asarray(rows.detach().numpy()), hermitian)
    inner = ops.linalg.solve(plan.d, plan.solved(_rows(B, plan.order)))
    upper = _turned(plan.l, hermitian)
    return _rows(solve_triangular(upper, inner, upper=True), np.argsort(plan.order, -1))
