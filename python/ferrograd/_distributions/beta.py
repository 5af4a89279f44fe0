"""The beta distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.dirichlet import Dirichlet
from ferrograd._distributions.distribution import ExponentialFamily, broadcast_all
from ferrograd._distributions.gamma import _SETTLED
from ferrograd._kit.ops import ops

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The distribution on [0, 1] with density proportional to ``x**(a - 1) (1 - x)**(b - 1)``."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True
    _fg_held = {"concentration1": 0, "concentration0": 0}  # noqa: RUF012

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration0.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        pair = ops.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(pair, False).mode[..., 0]

    @property
    def variance(self) -> Any:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 / total * (self.concentration0 / total) / (total + 1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the concentrations."""
        shape = self._extended_shape(sample_shape)
        pair = ops.stack([self.concentration1, self.concentration0], -1)
        return _draws.dirichlet(ops.broadcast_to(pair, [*shape, 2]))[..., 0]

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._fg_checked(value)
        logs = ops.log(value), ops.log1p(-value)
        return _stable.log_beta_density(self.concentration1, self.concentration0, (value, 1 - value), logs)

    def entropy(self) -> Any:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        settled = _stable.settled(a) + _stable.settled(b) - _stable.settled(a + b)
        return settled + _SETTLED - ops.digamma(a + b)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return _stable.log_beta(x, y)
