"""Kullback and Leibler's divergences, by a table of pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import torch as ops
from ferrograd._distributions.counts import Binomial, Poisson
from ferrograd._distributions.discrete import Bernoulli, Categorical, Geometric, OneHotCategorical
from ferrograd._distributions.distribution import Distribution, ExponentialFamily, sum_last
from ferrograd._distributions.gamma import Beta, Dirichlet, Gamma
from ferrograd._distributions.independent import Independent
from ferrograd._distributions.matrices import LowRankMultivariateNormal, Wishart, _mvdigamma, _mvlgamma
from ferrograd._distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from ferrograd._distributions.scalar import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, Normal, Uniform
from ferrograd._distributions.tails import ContinuousBernoulli, HalfCauchy, Pareto
from ferrograd._distributions.transformed_distribution import TransformedDistribution

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
    norm, params, slopes = p._normalizer()
    others = q._natural_params
    found = q._log_normalizer(*others) - norm
    for a, b, slope in zip(params, others, slopes, strict=True):
        found = found - sum_last((b - a) * slope, len(q.event_shape))
    return found


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ops.log(ratio))


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL(p || q) of transformed distributions needs the same transforms and event shapes")
    found = kl_divergence(p.base_dist, q.base_dist)
    return sum_last(found, len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    ratio, distance = p.scale / q.scale, abs(p.loc - q.loc)
    return -ops.log(ratio) + distance / q.scale + ratio * ops.exp(-distance / p.scale) - 1


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return ratio - ops.log(ratio) - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Any:
    inside = (q.low <= p.low) & (q.high >= p.high)
    return ops.where(inside, ops.log((q.high - q.low) / (p.high - p.low)), math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    one = p.probs * (ops.softplus(-q.logits) - ops.softplus(-p.logits))
    zero = (1 - p.probs) * (ops.softplus(q.logits) - ops.softplus(p.logits))
    one = ops.where(p.probs == 0, 0.0, ops.where(q.probs == 0, math.inf, one))
    return one + ops.where(p.probs == 1, 0.0, ops.where(q.probs == 1, math.inf, zero))


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = ops.where(q.probs == 0, math.inf, terms)
    return ops.sum(ops.where(p.probs == 0, 0.0, terms), -1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._places, q._places)


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
    return (
        0.5 * (q.df * log_ratio + p.df * (ops.sum(z * z, [-2, -1]) - n))
        + _mvlgamma(q.df / 2, n)
        - _mvlgamma(p.df / 2, n)
        + 0.5 * (p.df - q.df) * _mvdigamma(p.df / 2, n)
    )


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("Independents with different numbers of reinterpreted axes")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total, other = a + b, c + d
    first = ops.lgamma(c) + ops.lgamma(d) + ops.lgamma(total) - ops.lgamma(a) - ops.lgamma(b) - ops.lgamma(other)
    return first + (a - c) * ops.digamma(a) + (b - d) * ops.digamma(b) + (other - total) * ops.digamma(total)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = ops.sum(a, -1)
    first = ops.lgamma(total) - ops.lgamma(ops.sum(b, -1))
    second = ops.sum(ops.lgamma(a) - ops.lgamma(b), -1)
    return first - second + ops.sum((a - b) * (ops.digamma(a) - ops.expand_dims(ops.digamma(total), -1)), -1)


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    first = b * ops.log(p.rate / q.rate) + ops.lgamma(b) - ops.lgamma(a)
    return first + (a - b) * ops.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    return _to_gumbel(p, q)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return ops.xlogy(p.rate, p.rate) - ops.xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if not _core.all_hold(p.total_count >= q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + ops.log1p(-p.probs) - ops.log1p(-q.probs))
    return ops.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ops.log(ratio))


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ops.log(((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale))


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: Any, q: Any) -> Any:
    return _cauchy(p.base_dist, q.base_dist)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    first = p.mean * (p.logits - q.logits)
    return first + p._log_constant() + ops.log1p(-p.probs) - q._log_constant() - ops.log1p(-q.probs)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    found = q.alpha * ops.log(ratio) + ops.log(p.alpha / q.alpha) + q.alpha / p.alpha - 1
    return ops.where(p.scale < q.scale, math.inf, found)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * ops.log(q.rate) - q.rate)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / p.scale
    spread = p.scale * math.sqrt(2 / math.pi) * ops.exp(-0.5 * z * z) + (p.loc - q.loc) * ops.erf(z / math.sqrt(2))
    return -p.entropy() + spread / q.scale + ops.log(2 * q.scale)


def _over_interval(low: Any, high: Any) -> Any:
    """The mean of the logarithm over an interval."""
    return (ops.xlogy(high, high) - ops.xlogy(low, low)) / (high - low) - 1


def _mean_log(p: Any) -> Any:
    """The mean of the logarithm of a positive variable."""
    if isinstance(p, Exponential):
        return -_EULER - ops.log(p.rate)
    if isinstance(p, Beta):
        return ops.digamma(p.concentration1) - ops.digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Pareto):
        return ops.log(p.scale) + 1 / p.alpha
    return _over_interval(p.low, p.high)


def _mean_exp(p: Any, t: Any) -> Any:
    """The mean of ``exp(-t x)``."""
    if isinstance(p, Normal):
        return ops.exp(-t * p.loc + 0.5 * (t * p.scale) ** 2)
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate) ** -p.concentration
    if isinstance(p, Gumbel):
        return ops.exp(-t * p.loc + ops.lgamma(1 + t * p.scale))
    return (ops.exp(-t * p.low) - ops.exp(-t * p.high)) / (t * (p.high - p.low))


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
    return -p.entropy() + ops.log(q.scale) + (p.mean - q.loc) * t + ops.exp(q.loc * t) * _mean_exp(p, t)


def _unit_to_uniform(p: Any, q: Any) -> Any:
    is_inside = (q.low <= 0) & (q.high >= 1)
    return ops.where(is_inside, -p.entropy() + ops.log(q.high - q.low), math.inf)


def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    found = -p.entropy() - p.mean * q.logits - ops.log1p(-q.probs) - q._log_constant()
    if not isinstance(p, Uniform):
        return found
    return ops.where((p.low >= 0) & (p.high <= 1), found, math.inf)


def _uniform_to_beta(p: Any, q: Any) -> Any:
    is_inside = (p.low >= 0) & (p.high <= 1)
    low, high = ops.where(is_inside, p.low, 0.0), ops.where(is_inside, p.high, 1.0)
    a, b = q.concentration1, q.concentration0
    log_beta = ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)
    found = log_beta - (a - 1) * _over_interval(low, high) - (b - 1) * _over_interval(1 - high, 1 - low)
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
