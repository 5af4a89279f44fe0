"""Continuous distributions near discrete ones, with gradients through their samples."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.counts import _ByProbability
from ferrograd._distributions.discrete import Categorical, OneHotCategorical
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import ExpTransform, SigmoidTransform
from ferrograd._tensor.dtypes import finfo

__all__ = ["OneHotCategoricalStraightThrough", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


def _uniform(like: Any, shape: Any) -> Any:
    """Numbers in (0, 1)."""
    info = finfo(like.dtype)
    return ops.clip(_draws.uniform(like, shape), float(info.tiny), 1 - float(info.eps))


class LogitRelaxedBernoulli(_ByProbability):
    """The logits of a :class:`RelaxedBernoulli`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    _held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._hold(0.0, probs, logits)
        super().__init__(self.param_shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        u = _uniform(self.logits, self._extended_shape(sample_shape))
        return (ops.log(u) - ops.log1p(-u) + self.logits) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        difference = self.logits - self._checked(value) * self.temperature
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


class ExpRelaxedCategorical(Distribution):
    """The logarithms of a :class:`RelaxedOneHotCategorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._places = Categorical(probs, logits, validate_args)
        self.temperature = temperature
        super().__init__(self._places.batch_shape, [self._places._count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._places, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        held, new = vars(self._places.expand(batch_shape)), self._get_checked_instance(self._library_class(), _instance)
        ExpRelaxedCategorical.__init__(new, self.temperature, held.get("probs"), held.get("logits"), False)
        return new

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        u = _uniform(self.logits, self._extended_shape(sample_shape))
        scores = (self.logits - ops.log(-ops.log(u))) / self.temperature
        return scores - ops.logsumexp(scores, -1, keepdims=True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        n = self._places._count
        scale = math.lgamma(n) - _log(self.temperature) * -(n - 1)
        score = self.logits - self._checked(value) * self.temperature
        return ops.sum(score - ops.logsumexp(score, -1, keepdims=True), -1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of a simplex that are near its corners for small temperatures (E. Jang et al., 2017)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A :class:`OneHotCategorical` whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Vectors through which the gradient flows to the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
