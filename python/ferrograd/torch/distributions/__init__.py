"""``torch.distributions``: distributions with samples, densities and divergences, all differentiable.

>>> import ferrograd.torch as torch
>>> loc = torch.tensor(1.0, requires_grad=True)
>>> torch.distributions.Normal(loc, 2.0).log_prob(torch.tensor(3.0)).backward()
>>> loc.grad.item()
0.5
"""

from __future__ import annotations

import sys as _sys

from ferrograd import _public
from ferrograd._distributions.constraint_registry import (
    biject_to,
    transform_to,
)
from ferrograd._distributions.counts import (
    Binomial,
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from ferrograd._distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
)
from ferrograd._distributions.distribution import (
    Distribution,
    ExponentialFamily,
)
from ferrograd._distributions.gamma import (
    Beta,
    Chi2,
    Dirichlet,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    StudentT,
)
from ferrograd._distributions.independent import (
    Independent,
)
from ferrograd._distributions.kl import (
    kl_divergence,
    register_kl,
)
from ferrograd._distributions.matrices import (
    LKJCholesky,
    LowRankMultivariateNormal,
    Wishart,
)
from ferrograd._distributions.mixture_same_family import (
    MixtureSameFamily,
)
from ferrograd._distributions.multivariate_normal import (
    MultivariateNormal,
)
from ferrograd._distributions.multivariate_normal import factor_of_inverse as _precision_to_scale_tril  # noqa: F401
from ferrograd._distributions.relaxed import (
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from ferrograd._distributions.scalar import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from ferrograd._distributions.tails import (
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
from ferrograd._distributions.transformed_distribution import (
    TransformedDistribution,
)
from ferrograd._distributions.transforms import (
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
from ferrograd.torch.distributions import constraint_registry as constraint_registry
from ferrograd.torch.distributions import constraints, transforms
from ferrograd.torch.distributions import kl as kl
from ferrograd.torch.distributions import utils as utils

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
