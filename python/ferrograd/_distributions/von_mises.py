"""The von Mises distribution, of angles."""

from __future__ import annotations

import functools
import math
from typing import Any

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["VonMises"]


def _spread_terms(count: int) -> list[float]:
    """The coefficients of ``k**-n`` in ``1 - i1(k) / i0(k)``, from n = 1 on, by the ratio's differential equation."""
    ratio = [1.0]
    for n in range(1, count + 1):
        products = sum(ratio[i] * ratio[n - i] for i in range(1, n))
        ratio.append(0.5 * ((n - 2) * ratio[n - 1] - products))
    return [-r for r in ratio[1:]]


_SPREAD = _spread_terms(16)


class VonMises(Distribution):
    """A distribution of angles, with density proportional to ``exp(concentration * cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}  # noqa: RUF012
    support = constraints.real
    _fg_held = {"loc": 0, "concentration": 0}  # noqa: RUF012

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        k = self.concentration
        # The Bessel function is scaled by exp(-k), so that it does not overflow. cos(x) - 1 is -2 sin(x / 2)**2.
        half = ops.sin((self._fg_checked(value) - self.loc) / 2)
        near = -2 * k * half * half
        return near - math.log(2 * math.pi) - ops.log(ops.i0e(k))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Angles in [-pi, pi)."""

        def draw(source: Any, loc: Any, k: Any) -> Any:
            drawn = _draws.in_parts(functools.partial(source.vonmises, 0.0), k)
            return (drawn + math.pi + loc) % (2 * math.pi) - math.pi

        shape = self._extended_shape(sample_shape)
        return _draws.by_numpy(draw, shape, self.loc, self.concentration, like=self.loc)

    @property
    def mean(self) -> Any:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The direction with the largest density."""
        return self.loc

    @property
    def variance(self) -> Any:
        """One minus the length of the mean of the directions."""
        is_large = self.concentration > 50
        small, large = ops.where(is_large, 1.0, self.concentration), ops.where(is_large, self.concentration, 50.0)
        series: Any = 0.0
        for term in reversed(_SPREAD):
            series = (series + term) / large
        return ops.where(is_large, series, 1 - ops.i1e(small) / ops.i0e(small))
