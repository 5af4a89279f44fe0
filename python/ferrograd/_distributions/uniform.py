"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers in [``low``, ``high``), each as likely."""

    arg_constraints = {"low": constraints.real, "high": constraints.real}  # noqa: RUF012
    has_rsample = True
    _fg_held = {"low": 0, "high": 0}  # noqa: RUF012

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
        return self.low / 2 + self.high / 2

    @property
    def mode(self) -> Any:
        """nan, as no value is more likely than the others."""
        return math.nan * self.high

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.stddev**2

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (self.high - self.low) / math.sqrt(12)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the bounds."""
        drawn = _draws.uniform(self.low, self._extended_shape(sample_shape))
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity at the upper bound."""
        value = self._fg_checked(value)
        inside = (value >= self.low) & (value < self.high)
        return ops.log(ops.astype(inside, self.low.dtype)) - ops.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.clip((self._fg_checked(value) - self.low) / (self.high - self.low), 0, 1)

    def _fg_survival(self, value: Any) -> Any:
        return ops.clip((self.high - self._fg_checked(value)) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.low + value * (self.high - self.low)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.high - value * (self.high - self.low)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.high - self.low)
