"""``scipy.stats``: the densities and cumulative functions of some distributions."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.autograd.scipy.stats import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

__dir__ = _public.names(globals())
