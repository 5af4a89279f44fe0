"""The normal distribution of vectors. With ``allow_singular`` the covariance is not differentiated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from ferrograd import linalg
from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd._values import constant, is_tracked, numbers
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["entropy", "logpdf", "pdf"]


def _logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    away = x if mean is None else x - mean
    away = away if away.ndim else away.reshape([1])
    size = away.shape[-1]
    matrix = _matrix(cov, size)
    logdet: Any
    if allow_singular:
        inverse, logdet, size = _pseudo(matrix)
        solved = ops.matmul(away, inverse)
    else:
        rows = away.reshape([-1, size])
        solved = linalg.solve(matrix, rows.T).T.reshape(list(away.shape))
        logdet = linalg.slogdet(matrix)[1]
    return -0.5 * (ops.sum(away * solved, axis=-1) + logdet + size * math.log(2 * math.pi))


def _matrix(cov: Any, size: int) -> Any:
    """The covariance as a matrix: a number is that of each element, a vector has one for each."""
    cov = constant(cov)
    if cov.ndim == 2:
        return cov
    return ops.diag(ops.broadcast_to(cov, [size]))


def _pseudo(cov: Any) -> tuple[Any, float, int]:
    """The pseudo-inverse, the logarithm of the product of the eigenvalues that are not zero, and their number."""
    if is_tracked(cov):
        raise NotImplementedError("The density is not differentiable by a singular covariance matrix")
    values, vectors = np.linalg.eigh(numbers(cov))
    kept = np.abs(values) > 1e6 * np.finfo(values.dtype).eps * np.max(np.abs(values))
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return constant(inverse), float(np.sum(np.log(values[kept]))), int(kept.sum())


def _entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    matrix = _matrix(cov, 1 if mean is None or not mean.ndim else mean.shape[0])
    return 0.5 * (linalg.slogdet(matrix)[1] + matrix.shape[0] * math.log(2 * math.pi * math.e))


_normal = scipy.stats.multivariate_normal
logpdf = with_formula(_normal.logpdf, _logpdf)
pdf = with_formula(_normal.pdf, lambda *args, **kwargs: ops.exp(_logpdf(*args, **kwargs)))
entropy = with_formula(_normal.entropy, _entropy)

__dir__ = _public.names(globals())
