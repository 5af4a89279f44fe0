"""Student's t distribution. The cumulative functions are not differentiated by ``df``."""

from __future__ import annotations

import math
from typing import Any

import scipy.stats

import ferrograd.autograd.numpy as np
from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_density, with_formula

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]


def _logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    half, z = 0.5 * (df + 1.0), (x - loc) / scale
    constant = ops.gammaln(half) - ops.gammaln(0.5 * df) - 0.5 * ops.log(df * math.pi)
    return constant - half * ops.log1p(z**2 / df) - ops.log(scale + ops.zeros_like(x))


_t = scipy.stats.t
logpdf = with_formula(_t.logpdf, _logpdf)
pdf = with_formula(_t.pdf, lambda *args, **kwargs: ops.exp(_logpdf(*args, **kwargs)))
cdf = with_density(_t.cdf, lambda ans, *args, **named: pdf(*args, **named), (2, 3))
logcdf = with_density(_t.logcdf, lambda ans, *args, **named: np.exp(logpdf(*args, **named) - ans), (2, 3))

__dir__ = _public.names(globals())
