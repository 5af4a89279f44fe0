"""The distribution of the exponential of a normal variable."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.normal import Normal
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import ExpTransform
from ferrograd._kit.ops import ops

__all__ = ["LogNormal"]


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
        return -ops.expm1(-v) * ops.exp(2 * (self.loc + v))

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        v = self.base_dist.variance
        return ops.sqrt(-ops.expm1(-v)) * ops.exp(self.loc + v)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity at zero and below."""
        value = self._fg_checked(value)
        is_outside = value <= 0
        log = ops.log(ops.where(is_outside, 1.0, value))
        return ops.where(is_outside, -math.inf, self.base_dist.log_prob(log) - log)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self.base_dist.entropy() + self.loc
