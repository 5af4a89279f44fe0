"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws
from ferrograd._distributions.location_scale import _LocationScale
from ferrograd._kit.ops import ops

__all__ = ["Normal"]


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
        z = self._fg_standardised(value)
        return -0.5 * z * z - ops.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.ndtr(self._fg_standardised(value))

    def _fg_survival(self, value: Any) -> Any:
        return ops.ndtr(-self._fg_standardised(value))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc + self.scale * ops.ndtri(value)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.loc - self.scale * ops.ndtri(value)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)
