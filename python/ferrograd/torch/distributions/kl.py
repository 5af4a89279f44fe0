"""Kullback and Leibler's divergences, by a table of pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ferrograd._core import torch as ops
from ferrograd.torch.distributions.discrete import Bernoulli, Categorical
from ferrograd.torch.distributions.distribution import Distribution, sum_last
from ferrograd.torch.distributions.independent import Independent
from ferrograd.torch.distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from ferrograd.torch.distributions.scalar import Exponential, Laplace, Normal, Uniform
from ferrograd.torch.distributions.transformed_distribution import LogNormal

__all__ = ["kl_divergence", "register_kl"]

_table: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A decorator: the function computes ``kl_divergence(p, q)`` for these classes and their subclasses."""
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
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


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ops.log(ratio))


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Any:
    return _normal(p.base_dist, q.base_dist)


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


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes")
    a, b = ops.broadcast_tensors([q.scale_tril, p.scale_tril])
    z = ops.linalg.solve_triangular(a, b, upper=False)
    trace = ops.sum(z * z, [-2, -1])
    distance = mahalanobis(q.scale_tril, q.loc - p.loc)
    return half_log_det(q.scale_tril) - half_log_det(p.scale_tril) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("Independents with different numbers of reinterpreted axes")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
