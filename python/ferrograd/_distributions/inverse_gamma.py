"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _stable, constraints
from ferrograd._distributions.gamma import _SETTLED, Gamma
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import PowerTransform
from ferrograd._kit.ops import ops

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of ``1 / x`` for a gamma variable ``x``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(Gamma(concentration, rate, validate_args), PowerTransform(-1.0), validate_args)

    @property
    def concentration(self) -> Any:
        """The concentration."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """The mean: infinity for concentrations up to 1."""
        a = self.concentration
        return ops.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance: infinity for concentrations up to 2."""
        a = self.concentration
        return ops.where(a > 2, (self.rate / (a - 1)) ** 2 / (a - 2), math.inf)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, a, unit = self._fg_checked(value), self.concentration, ops.log(self.rate)
        log = ops.log(value)
        return _stable.log_gamma_density(a, self.rate / value, a * unit - (a + 1) * log, unit - 2 * log)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.gammaincc(self.concentration, self.rate / self._fg_checked(value))

    def _fg_survival(self, value: Any) -> Any:
        return ops.gammainc(self.concentration, self.rate / self._fg_checked(value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        a = self.concentration
        return _SETTLED + _stable.settled(a) + ops.log(self.rate) - 2 * ops.digamma(a)
