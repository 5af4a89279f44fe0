"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.distribution import broadcast_all
from ferrograd._distributions.exponential import Exponential
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import AffineTransform, ExpTransform
from ferrograd._kit.ops import ops

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The distribution above ``scale`` with density proportional to ``x ** (-alpha - 1)``."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        shape, new = list(batch_shape), self._get_checked_instance(self._fg_library_class(), _instance)
        Pareto.__init__(new, ops.broadcast_to(self.scale, shape), ops.broadcast_to(self.alpha, shape), False)
        return new

    @property
    def mean(self) -> Any:
        """The mean: infinity for ``alpha`` up to 1."""
        return ops.where(self.alpha > 1, self.scale * (1 + 1 / (self.alpha - 1)), math.inf)

    @property
    def mode(self) -> Any:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance: infinity for ``alpha`` up to 2."""
        a = self.alpha
        return ops.where(a > 2, (self.scale / (a - 1)) ** 2 * (1 + 2 / (a - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._fg_checked(value)
        return ops.log(self.alpha) - self.alpha * ops.log(value / self.scale) - ops.log(value)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers that are at least ``scale``."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale) - ops.log(self.alpha) + 1 + 1 / self.alpha
