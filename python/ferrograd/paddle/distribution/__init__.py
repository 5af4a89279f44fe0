"""``paddle.distribution``: distributions with samples, densities and divergences, all differentiable.

>>> import ferrograd.paddle as paddle
>>> p = paddle.distribution.Normal(0.0, 1.0)
>>> paddle.distribution.kl_divergence(p, paddle.distribution.Normal(2.0, 1.0)).item()
2.0
"""

from __future__ import annotations

import sys as _sys

from ferrograd._distributions.kl import kl_divergence, register_kl
from ferrograd._kit import public as _public
from ferrograd.paddle.distribution import constraint, families, lkj_cholesky, transform, variable
from ferrograd.paddle.distribution.distribution import Distribution, ExponentialFamily
from ferrograd.paddle.distribution.families import *
from ferrograd.paddle.distribution.transform import *

#: Paddle has a module for each of these; programs import from it too.
_MODULES = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exponential exponential_family "
    "gamma geometric gumbel independent kl laplace lognormal multinomial multivariate_normal normal "
    "poisson student_t transformed_distribution uniform"
)
for _name in _MODULES.split():
    globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _sys.modules[__name__]

__all__ = ["Distribution", "ExponentialFamily", "constraint", "kl_divergence", "lkj_cholesky", "register_kl"]
__all__ += ["transform", "variable"]
__all__ += families.__all__
__all__ += [name for name in transform.__all__ if name != "Type"]

__dir__ = _public.names(globals())
