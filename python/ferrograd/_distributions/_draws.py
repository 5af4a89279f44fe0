"""Random numbers of more kinds than the core draws, with gradients by the parameters where they have one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.function import Function, once_differentiable
from ferrograd._autograd.modes import enable_grad
from ferrograd._core.torch import mersenne
from ferrograd._functions.random import (
    binomial,
    by_numpy,
    drawn,
    gammas,
    generator,
    in_parts,
    log_gammas,
    multinomial,
    negative_binomial,
    poisson,
)
from ferrograd._kit.dialect import TORCH, dialect_of
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = [
    "beta_slope",
    "binomial",
    "by_numpy",
    "cauchy",
    "dirichlet",
    "drawn",
    "exponential",
    "gamma_slope",
    "generator",
    "in_parts",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "standard_gamma",
    "uniform",
    "values",
]


def uniform(like: Any, shape: Sequence[int], low: float = 0, high: float = 1) -> Any:
    """Random numbers in [low, high) with the class and the dtype of a parameter."""
    if (low, high) == (0, 1):
        return ops.rand_like(ops.broadcast_to(like.detach(), shape))
    if dialect_of(like) == TORCH:
        return mersenne.draw("uniform", shape, like.dtype, low, high)
    return uniform(like, shape) * (high - low) + low


def normal(like: Any, shape: Sequence[int]) -> Any:
    """Standard normal random numbers with the class and the dtype of a parameter."""
    return ops.randn_like(ops.broadcast_to(like.detach(), shape))


def exponential(like: Any, shape: Sequence[int]) -> Any:
    """Random numbers of the exponential distribution of rate 1 with the class and the dtype of a parameter."""
    if dialect_of(like) == TORCH:
        return mersenne.draw("exponential", shape, like.dtype, 1)
    # 1 - u is in (0, 1].
    return -ops.log1p(-uniform(like, shape))


def cauchy(like: Any, shape: Sequence[int]) -> Any:
    """Random numbers of Cauchy's distribution with the class and the dtype of a parameter."""
    if dialect_of(like) == TORCH:
        return mersenne.draw("cauchy", shape, like.dtype)
    return ops.tan((uniform(like, shape) - 0.5) * math.pi)


def _tensor(values: Any) -> Any:
    return _core.make(np.asarray(values, order="C"), None, False, TORCH)


def values(x: Any, shape: Sequence[int]) -> Any:
    """A parameter as a float64 array of a larger shape."""
    return np.broadcast_to(ops.astype(x.detach(), "float64").numpy(), tuple(shape))


class _StandardGamma(Function):
    """Gamma variables of rate 1. Their derivative by the concentration keeps the probability of smaller values."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        found = drawn(np.maximum(gammas(concentration.detach()), finfo(concentration.dtype).tiny), concentration)
        ctx.save_for_backward(concentration, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        concentration, found = ctx.saved_tensors
        a, x = (values(v, v.shape) for v in (concentration, found))
        return grad * drawn(gamma_slope(a, x), grad)


def standard_gamma(concentration: Any) -> Any:
    """Gamma variables of rate 1, one for each concentration, with their implicit gradients."""
    return _StandardGamma.apply(concentration)


class _Dirichlet(Function):
    """Points of a simplex. The derivative of a number by its concentration keeps the probability of smaller ones."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        # A gamma variable of a small concentration has a logarithm, even if it is too small itself.
        logs = log_gammas(concentration.detach())
        shares = np.exp(logs - logs.max(-1, keepdims=True, initial=-math.inf))
        limits = finfo(concentration.dtype)
        shares = np.clip(shares / shares.sum(-1, keepdims=True), limits.tiny, 1 - limits.eps)
        found = drawn(shares, concentration)
        ctx.save_for_backward(concentration, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        concentration, found = ctx.saved_tensors
        a, x, g = (values(v, v.shape) for v in (concentration, found, grad))
        # The other numbers shrink in proportion when one grows.
        slope = beta_slope(a, a.sum(-1, keepdims=True) - a, x) / (1 - x)
        return drawn(slope * (g - (x * g).sum(-1, keepdims=True)), grad)


def dirichlet(concentration: Any) -> Any:
    """Points of simplices, whose numbers lie along the last axis, with their implicit gradients."""
    return _Dirichlet.apply(concentration)


def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """The derivative of a beta variable ``x`` by ``a`` at a fixed probability: -dF/da / dF/dx."""
    a, b, x = (_tensor(v) for v in np.broadcast_arrays(a, b, x))
    a.requires_grad = True
    with enable_grad():
        below = ops.sum(ops.betainc(a, b, x))
        slope = _core.grad([below], [a], None, TORCH)[0]
    log_density = ops.xlogy(a - 1, x) + ops.xlog1py(b - 1, -x) - ops.lgamma(a) - ops.lgamma(b) + ops.lgamma(a + b)
    return (-slope / ops.exp(log_density)).detach().numpy()


def gamma_slope(a: Any, x: Any) -> Any:
    """The derivative of a gamma variable ``x`` by its concentration ``a`` at a fixed probability: -dF/da / dF/dx."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    found = np.empty(a.shape)
    # Below, the probability is a series of positive terms; above, it changes slowly, and differences are exact enough.
    is_small = (a < 40) & (x < 120)
    found[is_small] = _by_series(a[is_small], x[is_small])
    found[~is_small] = _by_differences(a[~is_small], x[~is_small])
    return found


def _by_series(a: Any, x: Any) -> Any:
    # F = sum over n of x**(a + n) exp(-x) / Gamma(a + n + 1), and dF/dx = x**(a - 1) exp(-x) / Gamma(a).
    if not a.size:
        return a
    digamma = _tensor(a + 1).digamma().numpy()
    log_x, total = np.log(x), np.zeros_like(a)
    term = x / a
    for n in range(1, 1 + int(x.max() + 12 * math.sqrt(x.max()) + 60)):
        total += term * (log_x - digamma)
        digamma = digamma + 1 / (a + n)
        term = term * x / (a + n)
    return -total


def _by_differences(a: Any, x: Any) -> Any:
    if not a.size:
        return a
    h = 3e-3 * np.sqrt(a)

    def below(b: Any) -> Any:
        return ops.gammainc(_tensor(b), _tensor(x)).numpy()

    slope = (8 * (below(a + h) - below(a - h)) - (below(a + 2 * h) - below(a - 2 * h))) / (12 * h)
    log_density = (a - 1) * np.log(x) - x - _tensor(a).lgamma().numpy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = -slope / np.exp(log_density)
    # Where both are too small for float64, x moves as by the approximation of Wilson and Hilferty.
    root = (x / a) ** (1 / 3)
    far = root**3 + 3 * root * root * (1 / (18 * a) - (root - 1) / 2)
    return np.where(np.isfinite(found) & (log_density > -25), found, far)
