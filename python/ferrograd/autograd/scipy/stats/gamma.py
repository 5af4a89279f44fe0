"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["cdf", "logpdf", "pdf"]


def _logpdf(x: Any, a: Any) -> Any:
    return ops.xlogy(a - 1.0, x) - x - ops.gammaln(a)


_gamma = scipy.stats.gamma
logpdf = with_formula(_gamma.logpdf, _logpdf)
pdf = with_formula(_gamma.pdf, lambda x, a: ops.exp(_logpdf(x, a)))
cdf = with_formula(_gamma.cdf, lambda x, a: ops.gammainc(a, x))

__dir__ = _public.names(globals())
