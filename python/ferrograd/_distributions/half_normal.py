"""The distribution of the absolute value of a normal variable."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["HalfNormal"]


class HalfNormal(Distribution):
    """The distribution of the absolute value of a normal variable with mean 0 and standard deviation ``scale``."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _fg_held = {"scale": 0}  # noqa: RUF012

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

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return math.sqrt(1 - 2 / math.pi) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameter."""
        return abs(_draws.normal(self.scale, self._extended_shape(sample_shape))) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity below zero."""
        value = self._fg_checked(value)
        z = value / self.scale
        found = 0.5 * math.log(2 / math.pi) - 0.5 * z * z - ops.log(self.scale)
        return ops.where(value < 0, -math.inf, found)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.erf(self._fg_checked(value) / self.scale * math.sqrt(0.5))

    def _fg_survival(self, value: Any) -> Any:
        return ops.erfc(self._fg_checked(value) / self.scale * math.sqrt(0.5))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.scale * ops.erfinv(value) * math.sqrt(2)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return -self.scale * ops.ndtri(0.5 * value)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 * math.log(math.pi / 2) + 0.5 + ops.log(self.scale)
