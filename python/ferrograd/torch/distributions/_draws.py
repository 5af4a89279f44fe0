"""Random numbers of more kinds than the core draws, with gradients by the parameters where they have one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import TORCH
from ferrograd.torch.autograd.function import Function, once_differentiable


def generator() -> np.random.Generator:
    """NumPy's generator, seeded from the stream that ``torch.manual_seed`` sets."""
    return np.random.default_rng(int(ops.randint(0, 2**62, [1]).item()))


def tensor(values: Any, dtype: Any) -> Any:
    """An array as a tensor of a dtype."""
    return _core.make(np.ascontiguousarray(values), dtype, False, TORCH)


def values(x: Any, shape: Sequence[int]) -> Any:
    """A parameter as a float64 array of a larger shape."""
    return np.broadcast_to(np.asarray(x.detach().numpy(), np.float64), tuple(shape))


class _StandardGamma(Function):
    """Gamma variables of rate 1. Their derivative by the concentration keeps the probability of smaller values."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        a = values(concentration, concentration.shape)
        found = tensor(
            np.maximum(generator().standard_gamma(a), np.finfo(concentration.dtype).tiny), concentration.dtype
        )
        ctx.save_for_backward(concentration, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        concentration, found = ctx.saved_tensors
        a, x = (values(v, v.shape) for v in (concentration, found))
        return grad * tensor(gamma_slope(a, x), grad.dtype)


def standard_gamma(concentration: Any) -> Any:
    """Gamma variables of rate 1, one for each concentration, with their implicit gradients."""
    return _StandardGamma.apply(concentration)


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
    digamma = tensor(a + 1, None).digamma().numpy()
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
        return ops.gammainc(tensor(b, None), tensor(x, None)).numpy()

    slope = (8 * (below(a + h) - below(a - h)) - (below(a + 2 * h) - below(a - 2 * h))) / (12 * h)
    log_density = (a - 1) * np.log(x) - x - tensor(a, None).lgamma().numpy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = -slope / np.exp(log_density)
    # Where both are too small for float64, x moves as by the approximation of Wilson and Hilferty.
    root = (x / a) ** (1 / 3)
    far = root**3 + 3 * root * root * (1 / (18 * a) - (root - 1) / 2)
    return np.where(np.isfinite(found) & (log_density > -25), found, far)
