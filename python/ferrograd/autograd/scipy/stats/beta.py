"""The beta distribution."""

from __future__ import annotations

from typing import Any

import scipy.stats

from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats._distribution import with_formula

__all__ = ["cdf", "logpdf", "pdf"]


def _logpdf(x: Any, a: Any, b: Any) -> Any:
    return ops.xlogy(a - 1.0, x) + ops.xlog1py(b - 1.0, -x) - ops.betaln(a, b)


_beta = scipy.stats.beta
logpdf = with_formula(_beta.logpdf, _logpdf)
pdf = with_formula(_beta.pdf, lambda x, a, b: ops.exp(_logpdf(x, a, b)))
cdf = with_formula(_beta.cdf, lambda x, a, b: ops.betainc(a, b, x))

__dir__ = _public.names(globals())
