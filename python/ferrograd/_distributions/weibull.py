"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _stable, constraints
from ferrograd._distributions.distribution import broadcast_all
from ferrograd._distributions.exponential import Exponential
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import AffineTransform, PowerTransform
from ferrograd._kit.ops import ops

__all__ = ["Weibull"]


_EULER = 0.57721566490153286


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
        shape, new = list(batch_shape), self._get_checked_instance(self._fg_library_class(), _instance)
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
        # The mean of the square is the square of the mean times a number that tends to 1 for large concentrations.
        step = 1 / self.concentration
        is_small = step < 0.25
        near, far = ops.where(is_small, step, 0.0), ops.where(is_small, 1.0, step)
        apart = _stable.bregman(lambda v: ops.polygamma(1, v), 1 + near, near)
        back = _stable.bregman(lambda v: ops.polygamma(1, v), 1 + near, -near)
        growth = ops.where(is_small, apart + back, ops.lgamma(1 + 2 * far) - 2 * ops.lgamma(1 + far))
        return self.mean**2 * ops.expm1(growth)

    def _fg_power(self, value: Any) -> tuple[Any, Any]:
        """The logarithm of the value in units of the scale, and its power."""
        log = ops.log(value) - ops.log(self.scale)
        return log, ops.exp(self.concentration * log)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        k = self.concentration
        log, power = self._fg_power(self._fg_checked(value))
        return ops.log(k) - ops.log(self.scale) + _stable.times(k - 1, log) - power

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(-self._fg_power(self._fg_checked(value))[1])

    def _fg_survival(self, value: Any) -> Any:
        return ops.exp(-self._fg_power(self._fg_checked(value))[1])

    def entropy(self) -> Any:
        """The entropy in nats."""
        k = self.concentration
        return _EULER * (1 - 1 / k) + ops.log(self.scale) - ops.log(k) + 1
