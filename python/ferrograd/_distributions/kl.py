"""Kullback and Leibler's divergences, by a table of pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._distributions import _stable
from ferrograd._distributions.bernoulli import Bernoulli
from ferrograd._distributions.beta import Beta
from ferrograd._distributions.binomial import Binomial
from ferrograd._distributions.categorical import Categorical
from ferrograd._distributions.cauchy import Cauchy
from ferrograd._distributions.continuous_bernoulli import ContinuousBernoulli
from ferrograd._distributions.dirichlet import Dirichlet
from ferrograd._distributions.distribution import Distribution, ExponentialFamily, sum_last
from ferrograd._distributions.exponential import Exponential
from ferrograd._distributions.gamma import Gamma
from ferrograd._distributions.geometric import Geometric
from ferrograd._distributions.gumbel import Gumbel
from ferrograd._distributions.half_cauchy import HalfCauchy
from ferrograd._distributions.half_normal import HalfNormal
from ferrograd._distributions.independent import Independent
from ferrograd._distributions.laplace import Laplace
from ferrograd._distributions.low_rank_multivariate_normal import LowRankMultivariateNormal
from ferrograd._distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from ferrograd._distributions.normal import Normal
from ferrograd._distributions.one_hot_categorical import OneHotCategorical
from ferrograd._distributions.pareto import Pareto
from ferrograd._distributions.poisson import Poisson
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.uniform import Uniform
from ferrograd._distributions.wishart import Wishart
from ferrograd._kit.ops import ops

__all__ = ["kl_divergence", "register_kl"]

#: The constant of Euler and Mascheroni.
_EULER = 0.57721566490153286

_table: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A decorator: the function computes ``kl_divergence(p, q)`` for these classes and their subclasses."""
    for given in (type_p, type_q):
        if not isinstance(given, type):
            raise TypeError(f"Expected a Distribution subclass but got {given}")

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _table[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The mean of ``log p - log q`` over ``p``, for each distribution of the batch.

    Raises:
        NotImplementedError: no function is registered for these classes.

    >>> import ferrograd.torch as torch
    >>> kl_divergence(torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(2.0, 1.0)).item()
    2.0
    """
    # The nearest classes come first.
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _table:
                return _table[a, b](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    # Bregman's divergence of the normalizer.
    if type(p) is not type(q):
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    norm, params, slopes = p._fg_normalizer()
    others = q._natural_params
    found = q._log_normalizer(*others) - norm
    for a, b, slope in zip(params, others, slopes, strict=True):
        found = found - sum_last((b - a) * slope, len(q.event_shape))
    return found


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return _of_scales(p, q) + 0.5 * distance


def _of_scales(p: Any, q: Any) -> Any:
    """Half of ``r**2 - 1 - log(r**2)`` for the ratio r of the scales."""
    gap = (p.scale - q.scale) / q.scale
    return _stable.excess(q.scale, p.scale) + 0.5 * gap * gap


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL(p || q) of transformed distributions needs the same transforms and event shapes")
    found = kl_divergence(p.base_dist, q.base_dist)
    return sum_last(found, len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    # Not the absolute value, whose derivative at 0 is 0: the divergence has a second derivative there.
    shift = (p.loc - q.loc) / p.scale
    distance = ops.where(shift < 0, -shift, shift)
    return _stable.excess(q.scale, p.scale) + p.scale / q.scale * _stable.expm1_minus(-distance)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Any:
    return _stable.excess(p.rate, q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Any:
    inside = (q.low <= p.low) & (q.high >= p.high)
    return ops.where(inside, ops.log(q.high - q.low) - ops.log(p.high - p.low), math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    success, failure = p._fg_chances()
    terms = [
        ops.where(chance == 0, 0.0, chance * ops.where(chance == 0, 0.0, log - other))
        for chance, log, other in zip((success, failure), p._fg_log_chances(), q._fg_log_chances(), strict=True)
    ]
    # The two terms cancel where the distributions are nearly equal. There the divergence is computed from the smaller
    # probability and the difference of the logits.
    step = q.logits - p.logits
    is_near = abs(step) < 1
    step = ops.where(is_near, step, 0.0)
    is_most = success > failure
    growth = ops.expm1(ops.where(is_most, -step, step))
    least = ops.where(is_most, failure, success)
    near = _stable.log1p_minus(least * growth) - least * _stable.log1p_minus(growth)
    return ops.where(is_near, near, terms[0] + terms[1])


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Any:
    is_never = p.probs == 0
    step = ops.where(is_never, 0.0, q.logits - ops.where(is_never, 0.0, p.logits))
    # Each term is positive with the difference of the probabilities, whose sum is 0.
    is_near = abs(step) < 1
    near = p.probs * _stable.expm1_minus(ops.where(is_near, step, 0.0))
    far = q.probs - p.probs - p.probs * ops.where(is_near, 0.0, step)
    return ops.sum(ops.where(is_near & ~is_never, near, far), -1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._fg_places, q._fg_places)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes")
    a, b = ops.broadcast_tensors([q.scale_tril, p.scale_tril])
    z = ops.linalg.solve_triangular(a, b, upper=False)
    trace = ops.sum(z * z, [-2, -1])
    distance = mahalanobis(q.scale_tril, q.loc - p.loc)
    return half_log_det(q.scale_tril) - half_log_det(p.scale_tril) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Any:
    n = p.event_shape[-1]
    a, b = ops.broadcast_tensors([q.scale_tril, p.scale_tril])
    z = ops.linalg.solve_triangular(a, b, upper=False)
    log_ratio = 2 * (half_log_det(q.scale_tril) - half_log_det(p.scale_tril))
    shapes = sum((_stable.lgamma_bregman((p.df - i) / 2, (q.df - i) / 2) for i in range(n)), 0.0)
    return 0.5 * (q.df * log_ratio + p.df * (ops.sum(z * z, [-2, -1]) - n)) + shapes


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("Independents with different numbers of reinterpreted axes")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    pairs = [ops.stack([d.concentration1, d.concentration0], -1) for d in (p, q)]
    return _dirichlet_shapes(*ops.broadcast_tensors(pairs))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    return _dirichlet_shapes(p.concentration, q.concentration)


def _dirichlet_shapes(a: Any, b: Any) -> Any:
    """The divergence from the concentrations: a term for their shares, and remainders of gamma functions."""
    total, other = ops.sum(a, -1), ops.sum(b, -1)
    means = a * ops.expand_dims(other / total, -1)
    terms = ops.deviance(b, means) + _stable.lgamma_bregman_rest(a, b)
    return ops.sum(terms, -1) - _stable.lgamma_bregman_rest(total, other)


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return ops.deviance(b, a * (q.rate / p.rate)) + _stable.lgamma_bregman_rest(a, b)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    growth = (q.loc - p.loc) / q.scale + ops.lgamma(1 + ratio)
    shapes = _stable.lgamma_bregman(ops.full_like(ratio, 2.0), 1 + ratio)
    return _stable.expm1_minus(growth) + shapes + _stable.excess(q.scale, p.scale)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return ops.deviance(p.rate, q.rate)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if not _core.all_hold(p.total_count >= q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    return ops.where(p.total_count > q.total_count, math.inf, p.total_count * _bernoulli(p, q))


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    # The probabilities of rare successes may be too small for the dtype.
    is_rare = (p.logits < -40) & (q.logits < -40)
    step = ops.where(is_rare, q.logits - p.logits, 0.0)
    return ops.where(is_rare, _stable.expm1_minus(step), _bernoulli(p, q) / ops.where(is_rare, 1.0, p.probs))


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _of_scales(p, q)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    # log(1 + x² + y²), where the squares may overflow.
    unit = 2 * ops.sqrt(p.scale) * ops.sqrt(q.scale)
    x, y = (p.scale - q.scale) / unit, (p.loc - q.loc) / unit
    is_far = (abs(x) > 1e6) | (abs(y) > 1e6)
    near = [ops.where(is_far, 0.0, v) for v in (x, y)]
    far = [ops.where(is_far, v, 1.0) for v in (x, y)]
    return ops.where(is_far, 2 * ops.log(ops.hypot(*far)), ops.log1p(near[0] * near[0] + near[1] * near[1]))


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: Any, q: Any) -> Any:
    return _cauchy(p.base_dist, q.base_dist)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return p._fg_divergence(q)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    gap = (p.scale - q.scale) / q.scale
    found = q.alpha * ops.log1p(ops.where(p.scale < q.scale, 0.0, gap)) + _stable.excess(p.alpha, q.alpha)
    return ops.where(p.scale < q.scale, math.inf, found)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (ops.xlogy(p.probs, q.rate) - q.rate)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / p.scale
    spread = p.scale * math.sqrt(2 / math.pi) * ops.exp(-0.5 * z * z) + (p.loc - q.loc) * ops.erf(z / math.sqrt(2))
    return -p.entropy() + spread / q.scale + ops.log(2 * q.scale)


def _over_interval(low: Any, high: Any) -> Any:
    """The mean of the logarithm over an interval."""
    width = high - low
    is_narrow = width < low
    least, step = ops.where(is_narrow, low, 1.0), ops.where(is_narrow, width, 0.0)
    part = step / least
    narrow = ops.log(least) + part * (1 + (1 + part) * ops.log1p_rest(part))
    wide = (ops.xlogy(high, high) - ops.xlogy(low, low)) / width - 1
    return ops.where(is_narrow, narrow, wide)


def _mean_log(p: Any) -> Any:
    """The mean of the logarithm of a positive variable."""
    if isinstance(p, Exponential):
        return -_EULER - ops.log(p.rate)
    if isinstance(p, Beta):
        return ops.digamma(p.concentration1) - ops.digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Pareto):
        return ops.log(p.scale) + 1 / p.alpha
    return _over_interval(p.low, p.high)


def _log_mean_exp(p: Any, t: Any, loc: Any) -> Any:
    """The logarithm of the mean of ``exp(t (loc - x))``."""
    if isinstance(p, Normal):
        return t * (loc - p.loc) + 0.5 * (t * p.scale) ** 2
    if isinstance(p, Exponential):
        return t * loc - ops.log1p(t / p.rate)
    if isinstance(p, Gamma):
        return t * loc - p.concentration * ops.log1p(t / p.rate)
    return t * (loc - p.low) + ops.log_exprel(-t * (p.high - p.low))


def _if_positive(p: Any, found: Any) -> Any:
    """The divergence from a distribution of positive numbers: infinite for an interval that begins below zero."""
    return ops.where(p.low < 0, math.inf, found) if isinstance(p, Uniform) else found


def _to_normal(p: Any, q: Any) -> Any:
    distance = (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)
    return -p.entropy() + distance + ops.log(q.scale) + 0.5 * math.log(2 * math.pi)


def _to_exponential(p: Any, q: Any) -> Any:
    return _if_positive(p, -p.entropy() - ops.log(q.rate) + q.rate * p.mean)


def _to_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    found = -p.entropy() - a * ops.log(q.rate) + ops.lgamma(a) - (a - 1) * _mean_log(p) + q.rate * p.mean
    return _if_positive(p, found)


def _to_gumbel(p: Any, q: Any) -> Any:
    t = 1 / q.scale
    return -p.entropy() + ops.log(q.scale) + (p.mean - q.loc) * t + ops.exp(_log_mean_exp(p, t, q.loc))


def _unit_to_uniform(p: Any, q: Any) -> Any:
    is_inside = (q.low <= 0) & (q.high >= 1)
    return ops.where(is_inside, -p.entropy() + ops.log(q.high - q.low), math.inf)


def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    # The logarithm of the density is linear.
    found = -p.entropy() - q._fg_log_density(p.mean)
    if not isinstance(p, Uniform):
        return found
    return ops.where((p.low >= 0) & (p.high <= 1), found, math.inf)


def _uniform_to_beta(p: Any, q: Any) -> Any:
    is_inside = (p.low >= 0) & (p.high <= 1)
    low, high = ops.where(is_inside, p.low, 0.0), ops.where(is_inside, p.high, 1.0)
    a, b = q.concentration1, q.concentration0
    found = _stable.log_beta(a, b) - (a - 1) * _over_interval(low, high) - (b - 1) * _over_interval(1 - high, 1 - low)
    return ops.where(is_inside, found - p.entropy(), math.inf)


def _uniform_to_pareto(p: Any, q: Any) -> Any:
    is_inside = p.low >= q.scale
    low, high = (ops.where(is_inside, v, bound) for v, bound in ((p.low, 1.0), (p.high, 2.0)))
    found = -p.entropy() - ops.log(q.alpha) - q.alpha * ops.log(q.scale) + (q.alpha + 1) * _over_interval(low, high)
    return ops.where(is_inside, found, math.inf)


def _infinite(p: Any, q: Any) -> Any:
    shape = np.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return ops.full_like(ops.broadcast_to(p.mean, list(shape)), math.inf)


def _register_all(function: Callable[[Any, Any], Any], kinds: Sequence[type], others: Sequence[type]) -> None:
    for kind in kinds:
        for other in others:
            register_kl(kind, other)(function)


_register_all(_to_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), (Normal,))
_register_all(_to_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform), (Exponential,))
_register_all(_to_gamma, (Beta, Exponential, Pareto, Uniform), (Gamma,))
_register_all(_to_gumbel, (Exponential, Gamma, Normal, Uniform), (Gumbel,))
_register_all(_unit_to_uniform, (Beta, ContinuousBernoulli), (Uniform,))
_register_all(_to_continuous_bernoulli, (Beta, Uniform), (ContinuousBernoulli,))
_register_all(_uniform_to_beta, (Uniform,), (Beta,))
_register_all(_uniform_to_pareto, (Uniform,), (Pareto,))
# The second distribution gives no probability to values that the first one has.
_UNIT = (Beta, ContinuousBernoulli)
_register_all(_infinite, _UNIT, (Pareto,))
_register_all(_infinite, (Exponential, Gamma), (*_UNIT, Pareto, Uniform))
_register_all(_infinite, (Gumbel, Laplace, Normal), (*_UNIT, Exponential, Gamma, Pareto, Uniform))
_register_all(_infinite, (Pareto,), (*_UNIT, Uniform))
_register_all(_infinite, (Poisson,), (Bernoulli, Binomial))
