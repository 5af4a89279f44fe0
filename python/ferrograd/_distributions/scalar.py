"""Distributions of real numbers."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all

__all__ = ["Cauchy", "Exponential", "Gumbel", "HalfNormal", "Laplace", "Normal", "Uniform"]

#: The constant of Euler and Mascheroni, which is the mean of a Gumbel variable.
_EULER = 0.57721566490153286


class _LocationScale(Distribution):
    """A distribution of all real numbers, moved by ``loc`` and stretched by ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    _held = {"loc": 0, "scale": 0}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)


class Normal(_LocationScale):
    """The normal distribution with mean ``loc`` and standard deviation ``scale``."""

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale * self.scale

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.loc + _draws.normal(self.loc, self._extended_shape(sample_shape)) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        return -0.5 * z * z - ops.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return 0.5 * (1 + ops.erf((self._checked(value) - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)


class Laplace(_LocationScale):
    """The distribution with density ``exp(-|x - loc| / scale) / (2 scale)``."""

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The variance."""
        return 2 * self.scale * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        # The difference of two exponential variables. 1 - u is in (0, 1].
        a, b = (ops.log(1 - _draws.uniform(self.loc, shape)) for _ in range(2))
        return self.loc + self.scale * (a - b)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -abs(self._checked(value) - self.loc) / self.scale - ops.log(2 * self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        z = (self._checked(value) - self.loc) / self.scale
        # Each side has the other side's numbers replaced, so that none of them overflows.
        is_left = z <= 0
        left, right = ops.where(is_left, z, 0.0), ops.where(is_left, 0.0, z)
        return ops.where(is_left, 0.5 * ops.exp(left), 1 - 0.5 * ops.exp(-right))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        centered = value - 0.5
        return self.loc - self.scale * ops.sign(centered) * ops.log1p(-2 * abs(centered))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 1 + ops.log(2 * self.scale)


class Exponential(Distribution):
    """The distribution of waiting times with density ``rate * exp(-rate * x)``."""

    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _held = {"rate": 0}  # noqa: RUF012

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.rate)

    @property
    def variance(self) -> Any:
        """The variance."""
        return 1 / (self.rate * self.rate)

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return 1 / self.rate

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the rate."""
        return -ops.log1p(-_draws.uniform(self.rate, self._extended_shape(sample_shape))) / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return ops.log(self.rate) - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(-self.rate * self._checked(value))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return -ops.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 1 - ops.log(self.rate)


class Uniform(Distribution):
    """Numbers in [``low``, ``high``), each as likely."""

    arg_constraints = {"low": constraints.real, "high": constraints.real}  # noqa: RUF012
    has_rsample = True
    _held = {"low": 0, "high": 0}  # noqa: RUF012

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not _core.all_hold(self.low < self.high):
            raise ValueError("Uniform is not defined when low>= high")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Any:
        """nan, as no value is more likely than the others."""
        return math.nan * self.high

    @property
    def variance(self) -> Any:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the bounds."""
        drawn = _draws.uniform(self.low, self._extended_shape(sample_shape))
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity at the upper bound."""
        value = self._checked(value)
        inside = (value >= self.low) & (value < self.high)
        return ops.log(ops.astype(inside, self.low.dtype)) - ops.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.clip((self._checked(value) - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.high - self.low)


class Cauchy(_LocationScale):
    """The distribution with density ``1 / (pi scale (1 + ((x - loc) / scale)**2))``. It has no mean and no variance."""

    @property
    def mean(self) -> Any:
        """nan, as there is no mean."""
        return ops.full(self._extended_shape(), math.nan, self.loc.dtype)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Infinity."""
        return ops.full(self._extended_shape(), math.inf, self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.icdf(_draws.uniform(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - ops.log(self.scale) - ops.log1p(z * z)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return ops.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """The entropy in nats."""
        return math.log(4 * math.pi) + ops.log(self.scale)


class Gumbel(_LocationScale):
    """The distribution of the largest of many values, with ``cdf`` ``exp(-exp(-(x - loc) / scale))``."""

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance."""
        return (math.pi**2 / 6) * self.scale * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        # Minus the logarithm of an exponential variable. 1 - u is in (0, 1], and its logarithm is kept from 0.
        waiting = -ops.log1p(-_draws.uniform(self.loc, self._extended_shape(sample_shape)))
        tiny = 1e-300 if self.loc.dtype == "float64" else 1e-38
        return self.loc - self.scale * ops.log(ops.clip(waiting, tiny, None))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        return -z - ops.exp(-z) - ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.exp(-ops.exp((self.loc - self._checked(value)) / self.scale))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc - self.scale * ops.log(-ops.log(value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale) + (1 + _EULER)


class HalfNormal(Distribution):
    """The distribution of the absolute value of a normal variable with mean 0 and standard deviation ``scale``."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _held = {"scale": 0}  # noqa: RUF012

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.scale)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale * self.scale * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameter."""
        return abs(_draws.normal(self.scale, self._extended_shape(sample_shape))) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity below zero."""
        value = self._checked(value)
        z = value / self.scale
        found = 0.5 * math.log(2 / math.pi) - 0.5 * z * z - ops.log(self.scale)
        return ops.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.erf(self._checked(value) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.scale * ops.erfinv(value) * math.sqrt(2)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 * math.log(math.pi / 2) + 0.5 + ops.log(self.scale)
