"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return -0.5 * ((x - loc) / scale) ** 2 - ops.log(scale + ops.zeros_like(x)) - 0.5 * math.log(2 * math.pi)


_norm = scipy.stats.norm
logpdf = with_formula(_norm.logpdf, _logpdf)
pdf = with_formula(_norm.pdf, lambda *args, **kwargs: ops.exp(_logpdf(*args, **kwargs)))
cdf = with_formula(_norm.cdf, lambda x, loc=0.0, scale=1.0: ops.ndtr((x - loc) / scale))
sf = with_formula(_norm.sf, lambda x, loc=0.0, scale=1.0: ops.ndtr((loc - x) / scale))
logcdf = with_formula(_norm.logcdf, lambda x, loc=0.0, scale=1.0: ops.log_ndtr((x - loc) / scale))
logsf = with_formula(_norm.logsf, lambda x, loc=0.0, scale=1.0: ops.log_ndtr((loc - x) / scale))

__dir__ = _public.names(globals())
