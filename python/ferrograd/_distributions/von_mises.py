"""The von Mises distribution, of angles."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.dialect import dialect_of
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


def _angles(like: Any, k: Any) -> Any:
    """Angles around 0 of these concentrations (D. Best, N. Fisher, 1979), drawn in the order of PyTorch."""
    root = 1 + np.sqrt(1 + 4 * k * k)
    rho = (root - np.sqrt(2 * root)) / (2 * k)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
    if not ((r > 1) & (r < math.inf)).all():
        # No angle would be accepted.
        return _draws.in_parts(functools.partial(_draws.generator(dialect_of(like)).vonmises, 0.0), k)
    wide = ops.astype(like.detach(), "float64")
    found, is_done = np.empty(k.shape), np.zeros(k.shape, bool)
    while not is_done.all():
        u = _draws.uniform(wide, [3, *k.shape]).numpy()
        z = np.cos(math.pi * u[0])
        f = (1 + r * z) / (r + z)
        c = k * (r - f)
        with np.errstate(divide="ignore", invalid="ignore"):
            is_accepted = (c * (2 - c) - u[1] > 0) | (np.log(c / u[1]) + 1 - c >= 0)
        found = np.where(is_accepted, np.sign(u[2] - 0.5) * np.arccos(np.clip(f, -1, 1)), found)
        is_done |= is_accepted
    return found


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
        shape = self._extended_shape(sample_shape)

        def call(given: list[Any]) -> list[Any]:
            loc, k = (_draws.values(x, shape) for x in given)
            return [_draws.drawn((_angles(given[0], k) + math.pi + loc) % (2 * math.pi) - math.pi, given[0])]

        return _core.call_at_replay(call, [self.loc.detach(), self.concentration.detach()])[0]

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
