"""Distributions of real numbers that are functions of simpler ones."""

from __future__ import annotations

import functools
import math
from typing import Any

from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.counts import _ByProbability
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._distributions.scalar import Cauchy, Exponential, Normal, Uniform
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from ferrograd._tensor.dtypes import finfo

__all__ = [
    "ContinuousBernoulli",
    "GeneralizedPareto",
    "HalfCauchy",
    "Kumaraswamy",
    "LogNormal",
    "LogisticNormal",
    "Pareto",
    "VonMises",
    "Weibull",
]

_EULER = 0.57721566490153286


class LogNormal(TransformedDistribution):
    """The distribution of ``exp(x)`` for a normal ``x`` with mean ``loc`` and standard deviation ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """The mean."""
        return ops.exp(self.loc + self.base_dist.variance / 2)

    @property
    def mode(self) -> Any:
        """The mode."""
        return ops.exp(self.loc - self.base_dist.variance)

    @property
    def variance(self) -> Any:
        """The variance."""
        v = self.base_dist.variance
        return ops.expm1(v) * ops.exp(2 * self.loc + v)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Points of a simplex: normal vectors through the stick-breaking transform."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The means."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviations."""
        return self.base_dist.base_dist.scale


class HalfCauchy(TransformedDistribution):
    """The distribution of the absolute value of a Cauchy variable."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args), AbsTransform(), validate_args)

    @property
    def scale(self) -> Any:
        """The scale."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """Infinity."""
        return ops.full(self._extended_shape(), math.inf, self.scale.dtype)

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.scale)

    @property
    def variance(self) -> Any:
        """Infinity."""
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity below zero."""
        value = self._checked(value)
        return ops.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Any:
        """The value whose ``cdf`` is ``prob``."""
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self.base_dist.entropy() - math.log(2)


class Pareto(TransformedDistribution):
    """The distribution above ``scale`` with density proportional to ``x ** (-alpha - 1)``."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        shape, new = list(batch_shape), self._get_checked_instance(self._library_class(), _instance)
        Pareto.__init__(new, ops.broadcast_to(self.scale, shape), ops.broadcast_to(self.alpha, shape), False)
        return new

    @property
    def mean(self) -> Any:
        """The mean: infinity for ``alpha`` up to 1."""
        return ops.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf)

    @property
    def mode(self) -> Any:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance: infinity for ``alpha`` up to 2."""
        a = self.alpha
        return ops.where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers that are at least ``scale``."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale / self.alpha) + 1 + 1 / self.alpha


class Weibull(TransformedDistribution):
    """The distribution of ``scale`` times a power of an exponential variable."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}  # noqa: RUF012
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        power = PowerTransform(1 / self.concentration)
        base = Exponential(ops.ones_like(self.scale), validate_args)
        super().__init__(base, [power, AffineTransform(0, self.scale)], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        shape, new = list(batch_shape), self._get_checked_instance(self._library_class(), _instance)
        Weibull.__init__(new, ops.broadcast_to(self.scale, shape), ops.broadcast_to(self.concentration, shape), False)
        return new

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * ops.exp(ops.lgamma(1 + 1 / self.concentration))

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        k = self.concentration
        return self.scale * ops.where(k > 1, (ops.clip(k - 1, 0, None) / k) ** (1 / k), 0.0)

    @property
    def variance(self) -> Any:
        """The variance."""
        k = self.concentration
        return self.scale**2 * (ops.exp(ops.lgamma(1 + 2 / k)) - ops.exp(2 * ops.lgamma(1 + 1 / k)))

    def entropy(self) -> Any:
        """The entropy in nats."""
        k = self.concentration
        return _EULER * (1 - 1 / k) + ops.log(self.scale / k) + 1


class Kumaraswamy(TransformedDistribution):
    """The distribution on [0, 1] with ``cdf`` ``1 - (1 - x**a)**b``."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(ops.zeros_like(self.concentration0), ops.ones_like(self.concentration0), validate_args)
        steps = [
            PowerTransform(1 / self.concentration0),
            AffineTransform(1.0, -1.0),
            PowerTransform(1 / self.concentration1),
        ]
        super().__init__(base, steps, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        shape, new = list(batch_shape), self._get_checked_instance(self._library_class(), _instance)
        a, b = (ops.broadcast_to(v, shape) for v in (self.concentration1, self.concentration0))
        Kumaraswamy.__init__(new, a, b, False)
        return new

    def _moment(self, n: int) -> Any:
        a, b = self.concentration1, self.concentration0
        first = 1 + n / a
        return b * ops.exp(ops.lgamma(first) + ops.lgamma(b) - ops.lgamma(first + b))

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """The value with the largest density: nan where it is at a bound."""
        a, b = self.concentration1, self.concentration0
        found = ops.exp((ops.log1p(-1 / a) - ops.log1p(-1 / (a * b)) - ops.log(b)) / a)
        return ops.where((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._moment(2) - self.mean**2

    def entropy(self) -> Any:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        harmonic = ops.digamma(b + 1) + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - ops.log(a) - ops.log(b)


class GeneralizedPareto(Distribution):
    """The distribution of what exceeds a high bound.

    Its ``cdf`` is ``1 - (1 + c * z) ** (-1 / c)`` for ``z = (x - loc) / scale`` and the concentration ``c``.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _held = {"loc": 0, "scale": 0, "concentration": 0}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from ``loc`` on; up to ``loc - scale / concentration`` for a negative concentration."""
        c = self.concentration
        upper = ops.where(c < 0, self.loc - self.scale / ops.where(c < 0, c, -1.0), math.inf)
        return constraints.interval(self.loc, upper)

    def _is_zero(self) -> Any:
        return self.concentration == 0

    def _nonzero(self) -> Any:
        return ops.where(self._is_zero(), 1.0, self.concentration)

    @property
    def mean(self) -> Any:
        """The mean: infinity for concentrations from 1 on."""
        c = self.concentration
        return ops.where(c < 1, self.loc + self.scale / (1 - c), math.inf)

    @property
    def mode(self) -> Any:
        """The lower bound."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: infinity for concentrations from 1/2 on."""
        c = self.concentration
        return ops.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.icdf(_draws.uniform(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z, c = (self._checked(value) - self.loc) / self.scale, self._nonzero()
        found = -(1 / c + 1) * ops.log1p(ops.where(self._is_zero(), 0.0, c * z))
        return ops.where(self._is_zero(), -z, found) - ops.log(self.scale)

    def _log_survival(self, value: Any) -> Any:
        z, c = (value - self.loc) / self.scale, self._nonzero()
        return ops.where(self._is_zero(), -z, -ops.log1p(ops.where(self._is_zero(), 0.0, c * z)) / c)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(self._log_survival(self._checked(value)))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        left, c = ops.log1p(-value), self._nonzero()
        return self.loc + self.scale * ops.where(self._is_zero(), -left, ops.expm1(-c * left) / c)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale) + self.concentration + 1


class VonMises(Distribution):
    """A distribution of angles, with density proportional to ``exp(concentration * cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}  # noqa: RUF012
    support = constraints.real
    _held = {"loc": 0, "concentration": 0}  # noqa: RUF012

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        k = self.concentration
        # The Bessel function is scaled by exp(-k), so that it does not overflow.
        near = k * (ops.cos(self._checked(value) - self.loc) - 1)
        return near - math.log(2 * math.pi) - ops.log(ops.i0e(k))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Angles in [-pi, pi)."""

        def draw(source: Any, loc: Any, k: Any) -> Any:
            drawn = _draws.in_parts(functools.partial(source.vonmises, 0.0), k)
            return (drawn + math.pi + loc) % (2 * math.pi) - math.pi

        shape = self._extended_shape(sample_shape)
        return _draws.by_numpy(draw, shape, self.loc, self.concentration, like=self.loc)

    @property
    def mean(self) -> Any:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The direction with the largest density."""
        return self.loc

    @property
    def variance(self) -> Any:
        """One minus the length of the mean of the directions."""
        return 1 - ops.i1e(self.concentration) / ops.i0e(self.concentration)


class ContinuousBernoulli(_ByProbability):
    """The distribution on [0, 1] with density proportional to ``p**x (1 - p)**(1 - x)``.

    Within the bounds ``lims`` around 1/2 Taylor's polynomials replace the formulas.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True
    _held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._hold(0.0, probs, logits)
        self._lims = lims
        super().__init__(self.param_shape, (), validate_args)
        if probs is not None:
            vars(self)["probs"] = _inside(self.probs)

    def _is_outside(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Any:
        """The probability, kept from the bounds."""
        return ops.where(self._is_outside(), self.probs, self._lims[0])

    def _log_constant(self) -> Any:
        # The constant is l / tanh(l / 2) for logits l.
        size = abs(ops.where(self._is_outside(), self.logits, 1.0))
        rest = ops.exp(-size)
        found = ops.log(size) - ops.log1p(-rest) + ops.log1p(rest)
        x = (self.probs - 0.5) ** 2
        return ops.where(self._is_outside(), found, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        """The mean."""
        p = self._cut()
        x = self.probs - 0.5
        near = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return ops.where(self._is_outside(), p / (2.0 * p - 1.0) + 1.0 / (ops.log1p(-p) - ops.log(p)), near)

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.sqrt(self.variance)

    @property
    def variance(self) -> Any:
        """The variance."""
        p = self._cut()
        found = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / (ops.log1p(-p) - ops.log(p)) ** 2
        x = (self.probs - 0.5) ** 2
        return ops.where(self._is_outside(), found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameter."""
        return self.icdf(_draws.uniform(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, logits = self._checked(value), self.logits
        return value * logits - ops.softplus(logits) + self._log_constant()

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        value, p = self._checked(value), self._cut()
        found = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        return ops.clip(ops.where(self._is_outside(), found, value), 0.0, 1.0)

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        p = self._cut()
        found = (ops.log1p(-p + value * (2.0 * p - 1.0)) - ops.log1p(-p)) / (ops.log(p) - ops.log1p(-p))
        return ops.where(self._is_outside(), found, value)

    def entropy(self) -> Any:
        """The entropy in nats."""
        low, high = ops.log1p(-self.probs), ops.log(self.probs)
        return self.mean * (low - high) - self._log_constant() - low


def _inside(probs: Any) -> Any:
    eps = float(finfo(probs.dtype).eps)
    return ops.clip(probs, eps, 1 - eps)
