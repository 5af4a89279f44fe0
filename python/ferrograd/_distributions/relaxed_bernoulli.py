"""Continuous numbers in the place of a Bernoulli variable, and their logits."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.probabilities import _ByProbability
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import SigmoidTransform
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["RelaxedBernoulli"]


def uniform_like(like: Any, shape: Any) -> Any:
    """Numbers in (0, 1)."""
    info = finfo(like.dtype)
    return ops.clip(_draws.uniform(like, shape), float(info.tiny), 1 - float(info.eps))


class LogitRelaxedBernoulli(_ByProbability):
    """The logits of a :class:`RelaxedBernoulli`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    _fg_held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._fg_hold(0.0, probs, logits)
        super().__init__(self.param_shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        u = uniform_like(self.logits, self._extended_shape(sample_shape))
        return (ops.log(u) - ops.log1p(-u) + self.logits) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        difference = self.logits - self._fg_checked(value) * self.temperature
        return _log(self.temperature) + difference - 2 * ops.softplus(difference)


def _log(value: Any) -> Any:
    return math.log(value) if isinstance(value, int | float) else ops.log(value)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that are near 0 or 1 for small temperatures (C. Maddison et al., 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logits of one."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probability of one."""
        return self.base_dist.probs
