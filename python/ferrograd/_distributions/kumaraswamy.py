"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _stable, constraints
from ferrograd._distributions.distribution import broadcast_all
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import AffineTransform, PowerTransform
from ferrograd._distributions.uniform import Uniform
from ferrograd._distributions.weibull import _EULER
from ferrograd._kit.ops import ops

__all__ = ["Kumaraswamy"]


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
        shape, new = list(batch_shape), self._get_checked_instance(self._fg_library_class(), _instance)
        a, b = (ops.broadcast_to(v, shape) for v in (self.concentration1, self.concentration0))
        Kumaraswamy.__init__(new, a, b, False)
        return new

    def _fg_moment(self, n: int) -> Any:
        a, b = self.concentration1, self.concentration0
        return ops.exp(ops.log(b) + _stable.log_beta(1 + n / a, b))

    def _fg_log_rest(self, value: Any) -> Any:
        """The logarithm of ``1 - x**a``."""
        return _stable.log1m_exp(-self.concentration1 * ops.log(value))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, a, b = self._fg_checked(value), self.concentration1, self.concentration0
        powers = ops.xlogy(a - 1, value) + _stable.times(b - 1, self._fg_log_rest(value))
        return ops.log(a) + ops.log(b) + powers

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(self.concentration0 * self._fg_log_rest(self._fg_checked(value)))

    def _fg_survival(self, value: Any) -> Any:
        return ops.exp(self.concentration0 * self._fg_log_rest(self._fg_checked(value)))

    def _fg_root(self, log: Any) -> Any:
        """The value at which the logarithm of the survival is given."""
        return ops.exp(_stable.log1m_exp(-log / self.concentration0) / self.concentration1)

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self._fg_root(ops.log1p(-value))

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self._fg_root(ops.log(value))

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._fg_moment(1)

    @property
    def mode(self) -> Any:
        """The value with the largest density: nan where it is at a bound."""
        a, b = self.concentration1, self.concentration0
        found = ops.exp((ops.log1p(-1 / a) - ops.log1p(-1 / (a * b)) - ops.log(b)) / a)
        return ops.where((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._fg_moment(2) - self.mean**2

    def entropy(self) -> Any:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        harmonic = ops.digamma(b + 1) + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - ops.log(a) - ops.log(b)
