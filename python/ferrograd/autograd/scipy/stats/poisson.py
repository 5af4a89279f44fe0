"""The Poisson distribution, differentiated by ``mu``."""

from __future__ import annotations

from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["cdf", "logpmf", "pmf"]


def _logpmf(k: Any, mu: Any) -> Any:
    return ops.xlogy(k, mu) - mu - ops.gammaln(k + 1.0)


_poisson = scipy.stats.poisson
logpmf = with_formula(_poisson.logpmf, _logpmf)
pmf = with_formula(_poisson.pmf, lambda k, mu: ops.exp(_logpmf(k, mu)))
cdf = with_formula(_poisson.cdf, lambda k, mu: ops.gammaincc(ops.floor(k * 1.0) + 1.0, mu))

__dir__ = _public.names(globals())
