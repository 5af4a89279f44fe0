"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws
from ferrograd._distributions.location_scale import _LocationScale
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["Laplace"]


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

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        limits = finfo(self.loc.dtype)
        # From above -1, so that 1 minus the size is above 0.
        u = _draws.uniform(self.loc, self._extended_shape(sample_shape), float(limits.eps) - 1, 1)
        return self.loc - self.scale * ops.sign(u) * ops.log1p(-ops.clip(abs(u), float(limits.tiny), None))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -abs(self._fg_standardised(value)) - ops.log(self.scale) - math.log(2)

    @staticmethod
    def _fg_below(z: Any) -> Any:
        # Each side has the other side's numbers replaced, so that none of them overflows.
        is_left = z <= 0
        left, right = ops.where(is_left, z, 0.0), ops.where(is_left, 0.0, z)
        return ops.where(is_left, 0.5 * ops.exp(left), 1 - 0.5 * ops.exp(-right))

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return self._fg_below(self._fg_standardised(value))

    def _fg_survival(self, value: Any) -> Any:
        return self._fg_below(-self._fg_standardised(value))

    @staticmethod
    def _fg_quantile(value: Any) -> Any:
        is_left = value < 0.5
        left, right = ops.where(is_left, value, 0.5), ops.where(is_left, 0.5, 1 - value)
        return ops.where(is_left, ops.log(2 * left), -ops.log(2 * right))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc + self.scale * self._fg_quantile(value)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.loc - self.scale * self._fg_quantile(value)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 1 + math.log(2) + ops.log(self.scale)
