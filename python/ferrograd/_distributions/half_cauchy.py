"""The distribution of the absolute value of a Cauchy variable."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.cauchy import Cauchy, arctangent
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import AbsTransform
from ferrograd._kit.ops import ops

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The distribution of the absolute value of a Cauchy variable."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args), AbsTransform(), validate_args)

    @property
    def scale(self) -> Any:
        """The scale."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """Infinity."""
        return ops.full(self._extended_shape(), math.inf, self.scale.dtype)

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.scale)

    @property
    def variance(self) -> Any:
        """Infinity."""
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity below zero."""
        value = self._fg_checked(value)
        return ops.where(value < 0, -math.inf, self.base_dist.log_prob(value) + math.log(2))

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return (2 / math.pi) * arctangent(self._fg_checked(value), self.scale)

    def _fg_survival(self, value: Any) -> Any:
        return 2 * self.base_dist._fg_survival(self._fg_checked(value))

    def icdf(self, prob: Any) -> Any:
        """The value whose ``cdf`` is ``prob``."""
        # Above 1/2 by what is left to 1, which is exact.
        is_low = prob < 0.5
        low = ops.tan((0.5 * math.pi) * ops.where(is_low, prob, 0.25))
        high = 1 / ops.tan((0.5 * math.pi) * ops.where(is_low, 0.25, 1 - prob))
        return self.scale * ops.where(is_low, low, high)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.base_dist._fg_upper_quantile(value / 2)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self.base_dist.entropy() - math.log(2)
