"""The chi-squared distribution."""

from __future__ import annotations

import math
from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["cdf", "logpdf", "pdf"]


def _logpdf(x: Any, df: Any) -> Any:
    half = 0.5 * df
    return ops.xlogy(half - 1.0, x) - 0.5 * x - half * math.log(2.0) - ops.gammaln(half)


_chi2 = scipy.stats.chi2
logpdf = with_formula(_chi2.logpdf, _logpdf)
pdf = with_formula(_chi2.pdf, lambda x, df: ops.exp(_logpdf(x, df)))
cdf = with_formula(_chi2.cdf, lambda x, df: ops.gammainc(0.5 * df, 0.5 * x))

__dir__ = _public.names(globals())
