"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of what exceeds a high bound.

    Its ``cdf`` is ``1 - (1 + c * z) ** (-1 / c)`` for ``z = (x - loc) / scale`` and the concentration ``c``.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _fg_held = {"loc": 0, "scale": 0, "concentration": 0}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from ``loc`` on; up to ``loc - scale / concentration`` for a negative concentration."""
        c = self.concentration
        upper = ops.where(c < 0, self.loc - self.scale / ops.where(c < 0, c, -1.0), math.inf)
        return constraints.interval(self.loc, upper)

    @property
    def mean(self) -> Any:
        """The mean: infinity for concentrations from 1 on."""
        c = self.concentration
        return ops.where(c < 1, self.loc + self.scale / (1 - c), math.inf)

    @property
    def mode(self) -> Any:
        """The lower bound."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: infinity for concentrations from 1/2 on."""
        c = self.concentration
        return ops.where(c < 0.5, (self.scale / (1 - c)) ** 2 / (1 - 2 * c), math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.icdf(_draws.uniform(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return (1 + self.concentration) * self._fg_log_survival(self._fg_checked(value)) - ops.log(self.scale)

    def _fg_log_survival(self, value: Any) -> Any:
        # log(1 + c z) / c, which is z for c = 0.
        z, c = (value - self.loc) / self.scale, self.concentration
        is_near = (abs(c * z) < 1) | (c == 0)
        part = ops.where(is_near & (c != 0), c * z, 0.0)
        far = ops.where(is_near, 1.0, c)
        near = -z * (1 + part * ops.log1p_rest(part))
        return ops.where(is_near, near, -ops.log1p(ops.where(is_near, 0.0, c * z)) / far)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return -ops.expm1(self._fg_log_survival(self._fg_checked(value)))

    def _fg_survival(self, value: Any) -> Any:
        return ops.exp(self._fg_log_survival(self._fg_checked(value)))

    def _fg_quantile(self, log: Any) -> Any:
        """The value at which the logarithm of the survival is given."""
        c = self.concentration
        is_near = (abs(c * log) < 1) | (c == 0)
        near, small = ops.where(is_near, log, 0.0), ops.where(is_near & (c != 0), -c * log, 0.0)
        far = ops.where(is_near, 1.0, c)
        steps = ops.where(is_near, -near * ops.exp(ops.log_exprel(small)), ops.expm1(-far * log) / far)
        return self.loc + self.scale * steps

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self._fg_quantile(ops.log1p(-value))

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self._fg_quantile(ops.log(value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return ops.log(self.scale) + self.concentration + 1
