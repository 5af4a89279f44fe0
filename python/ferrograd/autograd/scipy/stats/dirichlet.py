"""The Dirichlet distribution: ``x`` has one row for each element of ``alpha``."""

from __future__ import annotations

from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.extend import primitive
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["logpdf", "pdf", "rvs"]


def _logpdf(x: Any, alpha: Any) -> Any:
    constant = ops.gammaln(ops.sum(alpha)) - ops.sum(ops.gammaln(alpha))
    powers = alpha.reshape([-1, *[1] * (x.ndim - 1)]) - 1.0
    return ops.sum(ops.xlogy(powers, x), axis=0) + constant


_dirichlet = scipy.stats.dirichlet
logpdf = with_formula(_dirichlet.logpdf, _logpdf)
pdf = with_formula(_dirichlet.pdf, lambda x, alpha: ops.exp(_logpdf(x, alpha)))
rvs = primitive(_dirichlet.rvs)

__dir__ = _public.names(globals())
