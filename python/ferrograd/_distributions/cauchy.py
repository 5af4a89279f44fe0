"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws, _stable
from ferrograd._distributions.location_scale import _LocationScale
from ferrograd._kit.ops import ops

__all__ = ["Cauchy"]


def arctangent(x: Any, unit: Any, half_turn: bool = False) -> Any:
    """The angle whose tangent is ``x / unit``, from 0 or from -pi / 2 on. Far below it is that of the inverse."""
    is_far = abs(x) > unit
    near = ops.atan(ops.where(is_far, 0.0, x) / unit)
    far = ops.atan(unit / ops.where(is_far, x, 1.0))
    start = math.pi / 2 if half_turn else 0.0
    return ops.where(is_far, start + (math.pi / 2) * ops.sign(x) - far, start + near)


def _cotangent(turn: Any) -> Any:
    """Minus the cotangent of a share in [0, 1] of a half turn."""
    is_near, is_left = abs(turn - 0.5) < 0.25, turn < 0.5
    middle = ops.tan(math.pi * (ops.where(is_near, turn, 0.5) - 0.5))
    edge = 1 / ops.tan(math.pi * ops.where(is_near, 0.25, ops.where(is_left, turn, 1 - turn)))
    return ops.where(is_near, middle, ops.where(is_left, -edge, edge))


class Cauchy(_LocationScale):
    """The distribution with density ``1 / (pi scale (1 + ((x - loc) / scale)**2))``. It has no mean and no variance."""

    @property
    def mean(self) -> Any:
        """nan, as there is no mean."""
        return ops.full(self._extended_shape(), math.nan, self.loc.dtype)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Infinity."""
        return ops.full(self._extended_shape(), math.inf, self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.loc + _draws.cauchy(self.loc, self._extended_shape(sample_shape)) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        spread = _stable.log1p_square(self._fg_standardised(value))
        return -math.log(math.pi) - ops.log(self.scale) - spread

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return arctangent(self._fg_checked(value) - self.loc, self.scale, True) / math.pi

    def _fg_survival(self, value: Any) -> Any:
        return arctangent(self.loc - self._fg_checked(value), self.scale, True) / math.pi

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self.loc + self.scale * _cotangent(value)

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self.loc - self.scale * _cotangent(value)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return math.log(4 * math.pi) + ops.log(self.scale)
