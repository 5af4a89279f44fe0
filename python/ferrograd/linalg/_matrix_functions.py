"""Functions of matrices under SciPy's names, made of products and inverses: their derivatives have any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._autograd.function import Function
from ferrograd._core import LinAlgError, ShapeError, Tensor, native as _root
from ferrograd._core.native import linalg as _ops
from ferrograd._kit import arguments as _arguments
from ferrograd._tensor.dtypes import finfo

__all__ = ["expm", "logm", "solve_continuous_lyapunov", "solve_sylvester", "sqrtm"]

#: Steps after the values have converged: the derivatives of each order converge one step later.
_MORE_STEPS = 6
#: The degree of the approximant of `log(1 + x)`, exact to the last digits for norms of `x` up to a quarter.
_DEGREE = 8


def _square(x: Any, function: str) -> Tensor:
    x = _arguments.tensor(x, function, "x")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"linalg.{function}: square matrices are wanted, not {list(x.shape)}")
    return x if x.dtype.kind in "fc" else _root.cast(x, _root.get_default_dtype())


def _one(x: Tensor) -> Tensor:
    return _root.eye(x.shape[-1], dtype=x.dtype)


class _Largest(Function):
    """Appends the largest element to a list. Inside ``vmap`` that is one of the whole batch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, found: list[float]) -> Tensor:
        found.append(float(_root.max(x)) if 0 not in x.shape else 0.0)
        return _root.zeros([])

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, found: list[float]) -> Any:
        return _Largest.apply(x, found), None


def _norm(x: Tensor) -> float:
    """The largest sum of a column's absolute values."""
    found: list[float] = []
    _Largest.apply(_root.sum(_root.abs(x.detach()), -2), found)
    return found[0]


def expm(x: Tensor) -> Tensor:
    """The exponential of square matrices: the same as ``matrix_exp``.

    >>> fg.linalg.expm(fg.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _ops.matrix_exp(x)


def sqrtm(x: Tensor) -> Tensor:
    """The principal square root of square matrices, by the iteration of Denman and Beavers (1976).

    Raises:
        LinAlgError: an eigenvalue is 0, or real and negative, or an element is not finite.

    >>> root = fg.linalg.sqrtm(fg.tensor([[5.0, 4.0], [4.0, 5.0]]))
    >>> [[round(v, 5) for v in row] for row in root.tolist()]
    [[2.0, 1.0], [1.0, 2.0]]
    """
    return _rooted(_square(x, "sqrtm"), "sqrtm")


def _rooted(x: Tensor, function: str) -> Tensor:
    least = 10 * x.shape[-1] * float(finfo(x.dtype).eps)
    root, inverse, left = x, _root.broadcast_to(_one(x), list(x.shape)), 60
    while left:
        left -= 1
        try:
            # Where one of both has an inverse the other one has it too.
            new = 0.5 * (root + _ops.inv(inverse))
            inverse = 0.5 * (inverse + _ops.inv(root))
        except LinAlgError:
            break
        if left > _MORE_STEPS and _norm(new - root) <= least * _norm(new):
            left = _MORE_STEPS
        root = new
        if left == 0 and _norm(root @ root - x) <= 1e3 * least * _norm(root) ** 2:
            return root
    raise LinAlgError(
        f"linalg.{function}: the iteration does not converge; no eigenvalue may be 0, or real and negative"
    )


def logm(x: Tensor) -> Tensor:
    """The principal logarithm of square matrices, by square roots and an approximant of Padé.

    N. Higham, "Evaluating Padé approximants of the matrix logarithm" (2001).

    Raises:
        LinAlgError: an eigenvalue is 0, or real and negative, or an element is not finite.

    >>> fg.linalg.logm(fg.eye(2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    x = _square(x, "logm")
    one, scale = _one(x), 1.0
    while not _norm(x - one) <= 0.25:
        x, scale = _rooted(x, "logm"), 2 * scale
    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE)
    rest, total = x - one, 0 * x
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        total = total + (0.5 * scale * weight) * _ops.solve(one + (0.5 * (1 + node)) * rest, rest)
    return total


def solve_sylvester(a: Tensor, b: Tensor, q: Tensor) -> Tensor:
    """The solution ``x`` of ``a @ x + x @ b = q``, as one linear system of all elements of ``x``.

    Raises:
        LinAlgError: an eigenvalue of ``a`` is one of ``-b``.

    >>> a, b = fg.tensor([[2.0]]), fg.tensor([[1.0, 0.0], [0.0, 3.0]])
    >>> fg.linalg.solve_sylvester(a, b, fg.tensor([[6.0, 10.0]])).tolist()
    [[2.0, 2.0]]
    """
    a, b = _square(a, "solve_sylvester"), _square(b, "solve_sylvester")
    q = _arguments.tensor(q, "solve_sylvester", "q")
    m, n = a.shape[-1], b.shape[-1]
    if tuple(q.shape[-2:]) != (m, n):
        raise ShapeError(f"linalg.solve_sylvester: q is [..., {m}, {n}], not {list(q.shape)}")
    left = _root.einsum("...ij,kl->...ikjl", a, _one(b))
    right = _root.einsum("ij,...lk->...ikjl", _one(a), b)
    matrix = _root.reshape(left + right, [*(left + right).shape[:-4], m * n, m * n])
    found = _ops.solve(matrix, _root.reshape(q, [*q.shape[:-2], m * n, 1]))
    return _root.reshape(found, [*found.shape[:-2], m, n])


def solve_continuous_lyapunov(a: Tensor, q: Tensor) -> Tensor:
    """The solution ``x`` of ``a @ x + x @ aᴴ = q``.

    Raises:
        LinAlgError: the sum of an eigenvalue of ``a`` and a conjugate of one is 0.

    >>> fg.linalg.solve_continuous_lyapunov(fg.tensor([[2.0]]), fg.tensor([[8.0]])).tolist()
    [[2.0]]
    """
    a = _square(a, "solve_continuous_lyapunov")
    return solve_sylvester(a, _root.conj(_root.matrix_transpose(a)), q)
