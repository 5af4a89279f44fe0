"""The gamma distribution and those that are made of gamma variables."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import ExponentialFamily, broadcast_all
from ferrograd._kit.dialect import dialect_of
from ferrograd._kit.ops import ops

__all__ = ["Gamma"]

#: Half of ``log(2 pi)``.
_HALF_LOG = 0.5 * math.log(2 * math.pi)

#: The constant that :func:`_stable.settled` leaves out.
_SETTLED = 0.5 + _HALF_LOG


class Gamma(ExponentialFamily):
    """The distribution with density ``rate**a x**(a - 1) exp(-rate x) / Gamma(a)``, where ``a`` is the concentration.

    >>> import ferrograd.torch as torch
    >>> a = torch.tensor(2.0, requires_grad=True)
    >>> torch.distributions.Gamma(a, 1.0).rsample().backward()
    >>> a.grad is not None
    True
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _fg_held = {"concentration": 0, "rate": 0}  # noqa: RUF012
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return ops.clip(self.concentration - 1, 0, None) / self.rate

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / (self.rate * self.rate)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        drawn = _draws.standard_gamma(ops.broadcast_to(self.concentration, shape))
        return drawn / ops.broadcast_to(self.rate, shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if not isinstance(value, Tensor):
            value = _core.make(value, self.rate.dtype, False, dialect_of(self.rate))
        value, a, unit = self._fg_checked(value), self.concentration, ops.log(self.rate)
        return _stable.log_gamma_density(a, self.rate * value, a * unit + ops.xlogy(a - 1, value), unit)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.gammainc(self.concentration, self.rate * self._fg_checked(value))

    def _fg_survival(self, value: Any) -> Any:
        return ops.gammaincc(self.concentration, self.rate * self._fg_checked(value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return _SETTLED + _stable.settled(self.concentration) - ops.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return ops.lgamma(x + 1) + (x + 1) * ops.log(-1 / y)
