"""``torch.distributions``: distributions with samples, densities and divergences, all differentiable.

>>> import ferrograd.torch as torch
>>> loc = torch.tensor(1.0, requires_grad=True)
>>> torch.distributions.Normal(loc, 2.0).log_prob(torch.tensor(3.0)).backward()
>>> loc.grad.item()
0.5
"""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.distributions import constraints, transforms
from ferrograd.torch.distributions.constraint_registry import (
    biject_to,
    transform_to,
)
from ferrograd.torch.distributions.counts import (
    Binomial,
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from ferrograd.torch.distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
)
from ferrograd.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
)
from ferrograd.torch.distributions.gamma import (
    Beta,
    Chi2,
    Dirichlet,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    StudentT,
)
from ferrograd.torch.distributions.independent import (
    Independent,
)
from ferrograd.torch.distributions.kl import (
    kl_divergence,
    register_kl,
)
from ferrograd.torch.distributions.matrices import (
    LKJCholesky,
    LowRankMultivariateNormal,
    Wishart,
)
from ferrograd.torch.distributions.mixture_same_family import (
    MixtureSameFamily,
)
from ferrograd.torch.distributions.multivariate_normal import (
    MultivariateNormal,
)
from ferrograd.torch.distributions.relaxed import (
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from ferrograd.torch.distributions.scalar import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from ferrograd.torch.distributions.tails import (
    ContinuousBernoulli,
    GeneralizedPareto,
    HalfCauchy,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    VonMises,
    Weibull,
)
from ferrograd.torch.distributions.transformed_distribution import (
    TransformedDistribution,
)
from ferrograd.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]

__dir__ = _public.names(globals())
