"""Formulas of densities and divergences in which no large numbers cancel, and nothing overflows on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = [
    "bregman",
    "excess",
    "expm1_minus",
    "finite",
    "lgamma_bregman",
    "lgamma_bregman_rest",
    "log1m_exp",
    "log1p_minus",
    "log1p_ratio",
    "log1p_square",
    "log_beta",
    "log_beta_density",
    "log_binomial",
    "log_gamma_density",
    "log_gamma_step",
    "log_gamma_step_slope",
    "safe_log",
    "settled",
    "times",
]

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)

#: From this shape on a logarithm of a gamma function is large enough to cancel.
_LARGE = 16.0

#: Nodes in [0, 1] and weights of Gauss's quadrature.
_GAUSS = [(0.5 * (1 + float(x)), 0.5 * float(w)) for x, w in zip(*np.polynomial.legendre.leggauss(10), strict=True)]


def finite(x: Any) -> Any:
    """The numbers, with the largest ones of the dtype for infinities."""
    info = finfo(x.dtype)
    return ops.clip(x, float(info.min), float(info.max))


def safe_log(x: Any) -> Any:
    """The logarithm, which is minus infinity at 0, where no gradient flows."""
    is_zero = x == 0
    return ops.where(is_zero, -math.inf, ops.log(ops.where(is_zero, 1.0, x)))


def times(count: Any, log: Any) -> Any:
    """A product that is 0 where the count is 0 and the logarithm infinite."""
    is_none = (count == 0) & (abs(log) == math.inf)
    return ops.where(is_none, 0.0, count * ops.where(is_none, 0.0, log))


def log1p_minus(x: Any) -> Any:
    """``log(1 + x) - x``."""
    return x * (x * ops.log1p_rest(x))


def log1p_ratio(x: Any) -> Any:
    """``log(1 + x) / x``, which is 1 at 0."""
    is_near = abs(x) < 1
    near, far = ops.where(is_near, x, 0.0), ops.where(is_near, 1.0, x)
    return ops.where(is_near, 1 + near * ops.log1p_rest(near), ops.log1p(far) / far)


def expm1_minus(x: Any) -> Any:
    """``exp(x) - 1 - x``."""
    is_near = abs(x) < 1
    near, far = ops.where(is_near, x, 0.0), ops.where(is_near, 1.0, x)
    return ops.where(is_near, -log1p_minus(ops.expm1(near)), ops.expm1(far) - far)


def log1m_exp(x: Any) -> Any:
    """``log(1 - exp(-x))`` of numbers that are not negative."""
    is_near = x < math.log(2)
    near, far = ops.where(is_near, x, 1.0), ops.where(is_near, 1.0, x)
    return ops.where(is_near, ops.log(-ops.expm1(-near)), ops.log1p(-ops.exp(-far)))


def log1p_square(x: Any) -> Any:
    """``log(1 + x**2)``."""
    is_far = abs(x) > 1
    near, far = ops.where(is_far, 0.0, x), ops.where(is_far, x, 1.0)
    rest = 1 / far
    return ops.where(is_far, 2 * ops.log(abs(far)) + ops.log1p(rest * rest), ops.log1p(near * near))


def excess(x: Any, y: Any) -> Any:
    """``r - 1 - log(r)`` of the ratio ``r = y / x`` of positive numbers."""
    return ops.deviance(x, y) / x


def settled(a: Any) -> Any:
    """``lgamma(a) - (a - 1) digamma(a) + a`` without a constant."""
    return 0.5 * ops.log(a) - 0.5 / a + ops.binet(a) - (a - 1) * ops.binet(a, 1)


def log_gamma_step(x: Any) -> Any:
    """``lgamma(x + 1/2) - lgamma(x) - log(x) / 2``."""
    return x * log1p_minus(0.5 / x) + ops.binet(x + 0.5) - ops.binet(x)


def log_gamma_step_slope(x: Any) -> Any:
    """The derivative of :func:`log_gamma_step`."""
    part = 0.5 / x
    return log1p_minus(part) + part * (part / (1 + part)) + ops.binet(x + 0.5, 1) - ops.binet(x, 1)


def _share(a: Any, b: Any) -> Any:
    """``a log(a / (a + b))``."""
    total = a + b
    is_most = a > b
    rest = ops.where(is_most, b / total, 0.0)
    return ops.where(is_most, a * ops.log1p(-rest), ops.xlogy(a, ops.where(is_most, 1.0, a / total)))


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function of positive numbers."""
    total = a + b
    powers = _share(a, b) + _share(b, a) + 0.5 * (ops.log(total) - ops.log(a) - ops.log(b))
    large = _HALF_LOG_2_PI + powers + ops.binet(a) + ops.binet(b) - ops.binet(total)
    return ops.where(total < _LARGE, ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(total), large)


def log_gamma_density(a: Any, x: Any, powers: Any, unit: Any = 0.0) -> Any:
    """``(a - 1) log(x) - x - lgamma(a) + unit``, of which ``powers`` is the sum of the first and the last term."""
    is_large = a > _LARGE
    k, far = ops.where(is_large, a, _LARGE) - 1, ops.where(is_large, x, _LARGE)
    large = unit - ops.deviance(k, far) - 0.5 * ops.log(k) - _HALF_LOG_2_PI - ops.binet(k)
    small, near = ops.where(is_large, 1.0, a), ops.where(is_large, 1.0, x)
    return ops.where(is_large, large, powers - near - ops.lgamma(small))


def log_beta_density(a: Any, b: Any, chances: tuple[Any, Any], logs: tuple[Any, Any]) -> Any:
    """``(a - 1) log(p) + (b - 1) log(q) - log_beta(a, b)`` of ``chances`` p and q = 1 - p, with their logarithms."""
    (p, q), total = chances, a + b - 2
    # Large powers cancel where the chances are near the shares of the shapes.
    is_large = (a > _LARGE) & (b > _LARGE) & (8 * total * p > a) & (8 * total * q > b)
    k, m = (ops.where(is_large, v, _LARGE) - 1 for v in (a, b))
    n = k + m
    gaps = [ops.deviance(count, n * ops.where(is_large, chance, 0.5)) for count, chance in ((k, p), (m, q))]
    rests = 0.5 * (ops.log(n) - ops.log(k) - ops.log(m)) + ops.binet(n) - ops.binet(k) - ops.binet(m)
    large = rests - gaps[0] - gaps[1] - _HALF_LOG_2_PI + ops.log(n + 1)
    powers = [times(shape - 1, log) for shape, log in zip((a, b), logs, strict=True)]
    return ops.where(is_large, large, powers[0] + powers[1] - log_beta(a, b))


def log_binomial(k: Any, m: Any, chances: tuple[Any, Any], logs: tuple[Any, Any]) -> Any:
    """The logarithm of ``(k + m)! / (k! m!) p**k q**m``."""
    is_mixed = (k > 0) & (m > 0)
    a, b = (ops.where(is_mixed, count, 1.0) for count in (k, m))
    mixed = log_beta_density(a + 1, b + 1, chances, logs) - ops.log(a + b + 1)
    return ops.where(is_mixed, mixed, times(k, logs[0]) + times(m, logs[1]))


def bregman(curve: Callable[[Any], Any], x: Any, step: Any) -> Any:
    """``f(x + step) - f(x) - step f'(x)`` for a small step, by the second derivative of f."""
    total: Any = 0.0
    for node, weight in _GAUSS:
        total = total + weight * (1 - node) * curve(x + node * step)
    return total * step * step


def lgamma_bregman(x: Any, y: Any) -> Any:
    """``lgamma(y) - lgamma(x) - (y - x) digamma(x)``."""
    return ops.deviance(y, x) + lgamma_bregman_rest(x, y)


def lgamma_bregman_rest(x: Any, y: Any) -> Any:
    """The difference of :func:`lgamma_bregman` and ``deviance(y, x)``."""
    step = y - x
    is_near = abs(step) < 0.5 * x
    place, small = ops.where(is_near, x, 1.0), ops.where(is_near, step, 0.0)
    near = bregman(lambda v: ops.binet(v, 2), place, small)
    far = ops.binet(y) - ops.binet(x) - step * ops.binet(x, 1)
    return 0.5 * excess(x, y) + ops.where(is_near, near, far)
