"""Functions of symmetric and Hermitian matrices, whose derivatives of any order are right at equal eigenvalues too.

The k-th derivative of a function of a matrix is a sum over divided differences of k + 1 eigenvalues (Daleckii and Krein
1951), which are as smooth as the function. :class:`_Differences` is that sum, and its derivatives are such sums again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._core import ArgumentError, Tensor, native as _root
from ferrograd._core.native import linalg as _ops
from ferrograd._kit.dialect import NATIVE
from ferrograd._tensor.dtypes import finfo
from ferrograd.linalg._matrix_functions import _square

__all__ = ["matrix_exph", "matrix_inv_sqrth", "matrix_logh", "matrix_powerh"]

#: The terms of a Taylor series whose terms fall by a factor of 7.
_TERMS = 22


class _Scalar(NamedTuple):
    """A function of numbers, with its Taylor series around any of them."""

    value: Callable[[Tensor], Tensor]
    #: The factor of all terms of order k and more around c, from c and k.
    factor: Callable[[Tensor, int], Tensor]
    #: By order: the number in its term.
    numbers: Sequence[float]
    #: Whether the series is one in (x - c) / c rather than in x - c.
    is_relative: bool

    def difference(self, points: list[Tensor], lower: Tensor, upper: Tensor) -> Tensor:
        """The divided difference of rising points, from that of all but the last and that of all but the first."""
        k, low, high = len(points) - 1, points[0], points[-1]
        if not any(self.numbers[k:]):
            return _root.zeros_like(low)
        gap = high - low
        size = _root.maximum(_root.abs(low), _root.abs(high)) if self.is_relative else _root.full_like(gap, 2.0)
        is_near = gap <= 0.25 * size
        apart = (upper - lower) / _root.where(is_near, 1.0, gap)
        return _root.where(is_near, self._series(points, is_near), apart)

    def _series(self, points: list[Tensor], is_near: Tensor) -> Tensor:
        """The divided difference of points that are near each other: no numbers of the same size are subtracted."""
        k, center = len(points) - 1, 0.5 * (points[0] + points[-1])
        scale = _root.where(is_near & (center != 0), center, 1.0) if self.is_relative else _root.ones_like(center)
        # The complete homogeneous polynomials of the distances, by order.
        sums = [_root.ones_like(center)] + [_root.zeros_like(center)] * (_TERMS - 1)
        for point in points:
            distance = _root.where(is_near, (point - center) / scale, 0.0)
            for j in range(1, _TERMS):
                sums[j] = sums[j] + distance * sums[j - 1]
        terms = [number * part for number, part in zip(self.numbers[k:], sums, strict=False) if number]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return self.factor(center, k) * total


#: The orders of the coefficients below: more than any derivative reads.
_ORDERS = range(_TERMS + 16)

_EXP = _Scalar(_root.exp, lambda c, k: _root.exp(c), [1.0 / math.factorial(m) for m in _ORDERS], False)
_LOG = _Scalar(_root.log, lambda c, k: c ** float(-k), [0.0] + [(-1.0) ** (m - 1) / m for m in _ORDERS if m], True)


def _power(p: float) -> _Scalar:
    """The function ``x ** p``."""
    numbers = [1.0]
    for m in _ORDERS[1:]:
        numbers.append(numbers[-1] * (p - m + 1) / m)
    return _Scalar(lambda x: x**p, lambda c, k: c ** (p - k), numbers, True)


def _table(f: _Scalar, w: Tensor, k: int) -> Tensor:
    """The divided differences of all k + 1 of the rising numbers ``w``, an axis for each."""
    n = w.shape[-1]
    if n == 0:
        return _root.zeros([*w.shape[:-1], *[0] * (k + 1)], dtype=w.dtype)
    # A divided difference is the same for its points in any order.
    chosen = np.array(list(itertools.combinations_with_replacement(range(n), k + 1)))
    points = [_root.take(w, _core.make(column, None, False, NATIVE), -1) for column in np.ascontiguousarray(chosen.T)]
    found = [f.value(x) for x in points]
    for size in range(1, k + 1):
        pairs = enumerate(itertools.pairwise(found))
        found = [f.difference(points[a : a + size + 1], lower, upper) for a, (lower, upper) in pairs]
    every = np.sort(np.indices([n] * (k + 1)).reshape(k + 1, -1), axis=0)
    numbers = [np.ravel_multi_index(tuple(indices), [n] * (k + 1)) for indices in (chosen.T, every)]
    places = np.searchsorted(*numbers)
    return _root.take(found[0], _core.make(places, None, False, NATIVE), -1).reshape([*w.shape[:-1], *[n] * (k + 1)])


def _h(x: Tensor) -> Tensor:
    return _root.conj(_root.matrix_transpose(x))


def _turned(parts: Sequence[Tensor]) -> list[Tensor]:
    """The conjugate transposes of factors, in the order of those of their product."""
    return [_h(x) for x in reversed(parts)]


class _Differences(Function):
    """The sum of ``f[w[a], …, w[z]] E1[a, b] … Ek[y, z]`` over all but the outer eigenvalues, in the matrix's basis.

    Without factors ``E`` that is the function of the matrix itself. ``w`` and ``v`` are the eigenvalues and
    eigenvectors of ``x``; derivatives are by ``x``.
    """

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, f: _Scalar, w: Tensor, v: Tensor, x: Tensor, *factors: Tensor) -> Tensor:
        ctx.f = f
        ctx.save_for_backward(w, v, x, *factors)
        k, vh = len(factors), _h(v)
        table = _root.astype(_table(f, w, k), v.dtype)
        if k == 0:
            return (v * table.unsqueeze(-2)) @ vh
        names = "abcdefghijklmnopqrstuvwxyz"[: k + 1]
        pairs = ",".join(f"...{a}{b}" for a, b in itertools.pairwise(names))
        inner = _root.einsum(f"...{names},{pairs}->...{names[0]}{names[-1]}", table, *(vh @ e @ v for e in factors))
        return v @ inner @ vh

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        w, v, x, *factors = ctx.saved_tensors
        needs = ctx.needs_input_grad

        def pulled(before: Sequence[Tensor], after: Sequence[Tensor]) -> Tensor:
            return _Differences.apply(ctx.f, w, v, x, *_turned(before), g, *_turned(after))

        of_x = None
        if needs[3]:
            for i in range(len(factors) + 1):
                part = pulled(factors[:i], factors[i:])
                of_x = part if of_x is None else of_x + part
        of_factors = [pulled(factors[:i], factors[i + 1 :]) if needs[4 + i] else None for i in range(len(factors))]
        return (None, None, None, of_x, *of_factors)


def _applied(f: _Scalar, x: Any, function: str, clears: bool = False) -> Tensor:
    """The function of the Hermitian part of matrices. ``clears`` takes small negative eigenvalues as zeros."""
    x = _square(x, function)
    if x.dtype.itemsize == 2:
        return _root.astype(_applied(f, _root.astype(x, "float32"), function, clears), x.dtype)
    x = 0.5 * (x + _h(x))
    w, v = _ops.eigh(x.detach())
    if clears and w.shape[-1]:
        least = 10 * w.shape[-1] * finfo(w.dtype).eps * _root.amax(_root.abs(w), -1, keepdims=True)
        w = _root.where((w < 0) & (w >= -least), 0.0, w)
    return _Differences.apply(f, w, v, x)


def matrix_exph(x: Tensor) -> Tensor:
    """The exponential of symmetric (or Hermitian) matrices ``x`` [..., n, n].

    Of other matrices it is that of their Hermitian part. Derivatives of any order are right at equal eigenvalues too.
    ``matrix_exp`` takes all square matrices.

    >>> fg.linalg.matrix_exph(fg.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _applied(_EXP, x, "matrix_exph")


def matrix_logh(x: Tensor) -> Tensor:
    """The logarithm of symmetric (or Hermitian) positive definite matrices ``x`` [..., n, n].

    Of other matrices it is that of their Hermitian part, and NaN where an eigenvalue is negative. Derivatives of any
    order are right at equal eigenvalues too. ``logm`` takes all square matrices.

    >>> x = fg.eye(2)
    >>> fg.func.grad(lambda x: fg.linalg.matrix_logh(x).sum())(x).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _applied(_LOG, x, "matrix_logh")


def matrix_powerh(x: Tensor, p: float) -> Tensor:
    """The power ``x ** p``, for any real ``p``, of symmetric (or Hermitian) matrices ``x`` [..., n, n].

    Of other matrices it is that of their Hermitian part. Where an eigenvalue is negative and ``p`` no whole number it
    is NaN; negative ones that may be rounding of zeros count as zeros. Derivatives of any order are right at equal
    eigenvalues too. ``matrix_sqrth`` is the root of positive definite matrices.

    >>> x = fg.tensor([[5.0, 4.0], [4.0, 5.0]])
    >>> [[round(v, 5) for v in row] for row in fg.linalg.matrix_powerh(x, 0.5).tolist()]
    [[2.0, 1.0], [1.0, 2.0]]
    """
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentError(f"linalg.matrix_powerh: p is a number, not {type(p).__name__}")
    return _applied(_power(float(p)), x, "matrix_powerh", clears=float(p) != int(p) and p > 0)


def matrix_inv_sqrth(x: Tensor) -> Tensor:
    """The inverse of the square root of symmetric (or Hermitian) positive definite matrices ``x`` [..., n, n].

    The same as ``matrix_powerh(x, -0.5)``.

    >>> fg.linalg.matrix_inv_sqrth(fg.tensor([[4.0, 0.0], [0.0, 0.25]])).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """
    return _applied(_power(-0.5), x, "matrix_inv_sqrth")
