"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["Exponential"]


class Exponential(Distribution):
    """The distribution of waiting times with density ``rate * exp(-rate * x)``."""

    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _fg_held = {"rate": 0}  # noqa: RUF012

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
        return self.mean * self.mean

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return 1 / self.rate

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the rate."""
        return _draws.exponential(self.rate, self._extended_shape(sample_shape)) / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return ops.log(self.rate) - self.rate * self._fg_checked(value)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(-self.rate * self._fg_checked(value))

    def _fg_survival(self, value: Any) -> Any:
        return ops.exp(-self.rate * self._fg_checked(value))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return -ops.log1p(-value) / self.rate

    def _fg_upper_quantile(self, value: Any) -> Any:
        return -ops.log(value) / self.rate

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 1 - ops.log(self.rate)
