"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws
from ferrograd._distributions.location_scale import _LocationScale
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["Gumbel"]


#: The constant of Euler and Mascheroni, which is the mean of a Gumbel variable.
_EULER = 0.57721566490153286


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

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (math.pi / math.sqrt(6)) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        # Minus the logarithm of an exponential variable. Neither the uniform number nor its logarithm is 0.
        limits = finfo(self.loc.dtype)
        low, high = float(limits.tiny), 1 - float(limits.eps)
        drawn = _draws.uniform(self.loc, self._extended_shape(sample_shape)) * (high - low) + low
        return self.loc - self.scale * ops.log(-ops.log(drawn))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z = self._fg_standardised(value)
        return -z - ops.exp(-z) - ops.log(self.scale)

    def _fg_log_cdf(self, value: Any) -> Any:
        # Far below the location the probability is 0, and so are its derivatives: it falls faster than the exponential
        # rises.
        top = math.log(float(finfo(self.loc.dtype).max)) / 4
        return -ops.exp(ops.clip(-self._fg_standardised(value), None, top))

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.exp(self._fg_log_cdf(value))

    def _fg_survival(self, value: Any) -> Any:
        return -ops.expm1(self._fg_log_cdf(value))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc - self.scale * ops.log(-ops.log(value))

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.loc - self.scale * ops.log(-ops.log1p(-value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale) + (1 + _EULER)
