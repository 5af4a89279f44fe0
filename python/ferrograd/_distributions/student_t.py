"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._distributions.gamma import _HALF_LOG, _SETTLED
from ferrograd._kit.ops import ops

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with ``df`` degrees of freedom, moved and scaled."""

    arg_constraints = {  # noqa: RUF012
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _fg_held = {"df": 0, "loc": 0, "scale": 0}  # noqa: RUF012

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean: nan for ``df`` up to 1."""
        return ops.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: infinity for ``df`` up to 2, nan up to 1."""
        found = ops.where(self.df > 2, self.scale**2 * (1 + 2 / (self.df - 2)), math.inf)
        return ops.where(self.df > 1, found, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            x = _draws.normal(self.df, shape)
        z = 2 * _draws.standard_gamma(ops.broadcast_to(self.df * 0.5, shape))
        return self.loc + self.scale * x * ops.rsqrt(z / self.df)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y, df = (self._fg_checked(value) - self.loc) / self.scale, self.df
        part = y / ops.sqrt(df)
        # Near the middle df log(1 + part²) is y² and a rest, so that its derivatives by large df do not cancel.
        is_near = abs(part) < 1
        near, far = ops.where(is_near, part, 0.0), ops.where(is_near, 1.0, part)
        normal = ops.where(is_near, y, 0.0)
        spread = _stable.log1p_square(part)
        power = ops.where(
            is_near, normal * normal + df * _stable.log1p_minus(near * near), df * _stable.log1p_square(far)
        )
        return _stable.log_gamma_step(0.5 * df) - 0.5 * (power + spread) - _HALF_LOG - ops.log(self.scale)

    def entropy(self) -> Any:
        """The entropy in nats."""
        half = 0.5 * self.df
        steps = (half + 0.5) * _stable.log_gamma_step_slope(half) - _stable.log_gamma_step(half)
        return ops.log(self.scale) + steps + 0.25 / half + _SETTLED
