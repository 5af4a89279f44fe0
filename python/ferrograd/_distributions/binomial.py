"""The binomial distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.probabilities import _ByProbability
from ferrograd._kit.ops import ops

__all__ = ["Binomial"]


class Binomial(_ByProbability):
    """The number of successes in ``total_count`` trials, each with probability ``probs``."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _fg_held = {"total_count": 0, "probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = self._fg_hold(total_count, probs, logits)
        super().__init__(self.total_count.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers up to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.clip(ops.floor((self.total_count + 1) * self.probs), None, self.total_count)

    @property
    def variance(self) -> Any:
        """The variance."""
        p, q = self._fg_chances()
        return self.total_count * p * q

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""
        shape = self._extended_shape(sample_shape)
        return _draws.binomial(*(ops.broadcast_to(x, shape) for x in (self.total_count, self.probs)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self._fg_checked(value)
        return _stable.log_binomial(value, self.total_count - value, self._fg_chances(), self._fg_log_chances())

    def entropy(self) -> Any:
        """The entropy in nats, for equal counts."""
        logs = self.log_prob(self.enumerate_support(False))
        return -ops.sum(ops.exp(logs) * ops.where(logs == -math.inf, 0.0, logs), 0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The numbers, along a new first axis, for equal counts."""
        n = int(self.total_count.max().item()) if 0 not in self.total_count.shape else 0
        if n and self.total_count.min().item() != n:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = _draws.drawn(np.arange(n + 1.0), self.probs)
        values = ops.reshape(values, [n + 1, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [n + 1, *self._batch_shape]) if expand else values
