"""``torch.distributions``: distributions with samples, densities and divergences, all differentiable.

>>> import ferrograd.torch as torch
>>> loc = torch.tensor(1.0, requires_grad=True)
>>> torch.distributions.Normal(loc, 2.0).log_prob(torch.tensor(3.0)).backward()
>>> loc.grad.item()
0.5
"""

from __future__ import annotations

import sys as _sys

from ferrograd._distributions import families as _families, transforms as _transforms
from ferrograd._distributions.constraint_registry import biject_to, transform_to
from ferrograd._distributions.families import *
from ferrograd._distributions.kl import kl_divergence, register_kl
from ferrograd._distributions.multivariate_normal import (
    factor_of_inverse as _precision_to_scale_tril,  # noqa: F401
)
from ferrograd._distributions.transforms import *
from ferrograd._kit import public as _public
from ferrograd.torch.distributions import (
    constraint_registry as constraint_registry,
    constraints,
    kl as kl,
    transforms,
    utils as utils,
)

#: torch has a module for each of these; programs import from it too.
_MODULES = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution exp_family "
    "exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent "
    "inverse_gamma kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal "
    "mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto "
    "poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform von_mises weibull "
    "wishart"
)
for _name in _MODULES.split():
    globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _sys.modules[__name__]

__all__ = ["biject_to", "constraints", "kl_divergence", "register_kl", "transform_to", "transforms"]
__all__ += _families.__all__  # type: ignore[attr-defined]
__all__ += _transforms.__all__

# Those of torch are the shared ones.
for _name in _families.__all__:  # type: ignore[attr-defined]
    globals()[_name].__module__ = __name__

__dir__ = _public.names(globals())
