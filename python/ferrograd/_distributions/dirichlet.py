"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import ExponentialFamily
from ferrograd._distributions.gamma import _HALF_LOG, _SETTLED
from ferrograd._distributions.probabilities import _others
from ferrograd._kit.ops import ops

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Points of a simplex with density proportional to the product of ``x ** (concentration - 1)``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True
    _fg_held = {"concentration": 1}  # noqa: RUF012

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the concentration."""
        shape = self._extended_shape(sample_shape)
        return _draws.dirichlet(ops.broadcast_to(self.concentration, shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, a = self._fg_checked(value), self.concentration
        total = ops.sum(a, -1, keepdims=True)
        # Large concentrations are compared with shares of their sum, which have the same sum.
        is_large = (a > 16) & (value > 0)
        many, place = ops.where(is_large, a, 1.0), ops.where(is_large, value, 1.0)
        large = 0.5 * ops.log(many) - _HALF_LOG - ops.binet(many) - ops.log(place) - ops.deviance(many, total * place)
        few = ops.where(is_large, 1.0, a)
        small = ops.xlogy(few - 1, ops.where(is_large, 1.0, value)) + few * ops.log(total) - ops.lgamma(few)
        terms = ops.sum(ops.where(is_large, large, small), -1)
        shares = ops.sum(ops.where(is_large, value, 0.0), -1)
        total = total[..., 0]
        return terms + total * (shares - 1) + ops.binet(total) - 0.5 * ops.log(total) + _HALF_LOG

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / ops.sum(self.concentration, -1, keepdims=True)

    @property
    def mode(self) -> Any:
        """The value with the largest density; a corner where all concentrations are below 1."""
        less = ops.clip(self.concentration - 1, 0.0, None)
        found = less / ops.sum(less, -1, keepdims=True)
        n = int(self._event_shape[0])
        corner = ops.expand_dims(ops.argmax(self.concentration, -1), -1) == ops.arange(0, n, 1)
        is_low = ops.all(self.concentration < 1, -1, keepdims=True)
        return ops.where(is_low, ops.astype(corner, found.dtype), found)

    @property
    def variance(self) -> Any:
        """The variance of each number."""
        a = self.concentration
        total = ops.sum(a, -1, keepdims=True)
        return a / total * (_others(a / total) / (total + 1))

    def entropy(self) -> Any:
        """The entropy in nats."""
        a = self.concentration
        total, k = ops.sum(a, -1), int(a.shape[-1])
        settled = ops.sum(_stable.settled(a), -1) - _stable.settled(total)
        return settled + (k - 1) * (_SETTLED - ops.digamma(total))

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.sum(ops.lgamma(x), -1) - ops.lgamma(ops.sum(x, -1))
