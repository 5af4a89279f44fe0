"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import ExponentialFamily, broadcast_all
from ferrograd._kit.ops import ops

__all__ = ["Poisson"]


def _log_poisson(count: Any, rate: Any) -> Any:
    """The logarithm of ``rate**count exp(-rate) / count!``."""
    return _stable.log_gamma_density(count + 1, rate, ops.xlogy(count, rate))


class Poisson(ExponentialFamily):
    """The distribution of the number of events that happen at a rate."""

    arg_constraints = {"rate": constraints.nonnegative}  # noqa: RUF012
    support = constraints.nonnegative_integer
    _fg_held = {"rate": 0}  # noqa: RUF012

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.floor(self.rate)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of events."""
        return _draws.poisson(ops.broadcast_to(self.rate.detach(), self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return _log_poisson(self._fg_checked(value), self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (ops.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.exp(x)
