"""All distributions that the dialects share. The file of each is named here once."""

from __future__ import annotations

from ferrograd._distributions.bernoulli import *
from ferrograd._distributions.beta import *
from ferrograd._distributions.binomial import *
from ferrograd._distributions.categorical import *
from ferrograd._distributions.cauchy import *
from ferrograd._distributions.chi2 import *
from ferrograd._distributions.continuous_bernoulli import *
from ferrograd._distributions.dirichlet import *
from ferrograd._distributions.distribution import *
from ferrograd._distributions.exponential import *
from ferrograd._distributions.fisher_snedecor import *
from ferrograd._distributions.gamma import *
from ferrograd._distributions.generalized_pareto import *
from ferrograd._distributions.geometric import *
from ferrograd._distributions.gumbel import *
from ferrograd._distributions.half_cauchy import *
from ferrograd._distributions.half_normal import *
from ferrograd._distributions.independent import *
from ferrograd._distributions.inverse_gamma import *
from ferrograd._distributions.kumaraswamy import *
from ferrograd._distributions.laplace import *
from ferrograd._distributions.lkj_cholesky import *
from ferrograd._distributions.log_normal import *
from ferrograd._distributions.logistic_normal import *
from ferrograd._distributions.low_rank_multivariate_normal import *
from ferrograd._distributions.mixture_same_family import *
from ferrograd._distributions.multinomial import *
from ferrograd._distributions.multivariate_normal import *
from ferrograd._distributions.negative_binomial import *
from ferrograd._distributions.normal import *
from ferrograd._distributions.one_hot_categorical import *
from ferrograd._distributions.pareto import *
from ferrograd._distributions.poisson import *
from ferrograd._distributions.relaxed_bernoulli import *
from ferrograd._distributions.relaxed_one_hot_categorical import *
from ferrograd._distributions.student_t import *
from ferrograd._distributions.transformed_distribution import *
from ferrograd._distributions.uniform import *
from ferrograd._distributions.von_mises import *
from ferrograd._distributions.weibull import *
from ferrograd._distributions.wishart import *

# A type checker takes the names that are imported.
globals()["__all__"] = sorted(
    name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Distribution)
)
