"""``torch.distributions``: distributions with samples, densities and divergences, all differentiable.

>>> import ferrograd.torch as torch
>>> loc = torch.tensor(1.0, requires_grad=True)
>>> torch.distributions.Normal(loc, 2.0).log_prob(torch.tensor(3.0)).backward()
>>> loc.grad.item()
0.5
"""

from __future__ import annotations

from ferrograd.torch.distributions import constraints, transforms
from ferrograd.torch.distributions.discrete import Bernoulli, Categorical, Geometric, OneHotCategorical
from ferrograd.torch.distributions.distribution import Distribution
from ferrograd.torch.distributions.independent import Independent
from ferrograd.torch.distributions.kl import kl_divergence, register_kl
from ferrograd.torch.distributions.multivariate_normal import MultivariateNormal
from ferrograd.torch.distributions.scalar import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, Normal, Uniform
from ferrograd.torch.distributions.transformed_distribution import LogNormal, TransformedDistribution
from ferrograd.torch.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
)

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Categorical",
    "Cauchy",
    "ComposeTransform",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transforms",
]
