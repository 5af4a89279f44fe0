"""Continuous vectors in the place of those with a single one, and their logarithms."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.categorical import Categorical
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.relaxed_bernoulli import _log, uniform_like
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import ExpTransform
from ferrograd._kit.ops import ops

__all__ = ["RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of a :class:`RelaxedOneHotCategorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._fg_places = Categorical(probs, logits, validate_args)
        self.temperature = temperature
        super().__init__(self._fg_places.batch_shape, [self._fg_places._fg_count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._fg_places, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        held, new = (
            vars(self._fg_places.expand(batch_shape)),
            self._get_checked_instance(self._fg_library_class(), _instance),
        )
        ExpRelaxedCategorical.__init__(new, self.temperature, held.get("probs"), held.get("logits"), False)
        return new

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        u = uniform_like(self.logits, self._extended_shape(sample_shape))
        scores = (self.logits - ops.log(-ops.log(u))) / self.temperature
        return scores - ops.logsumexp(scores, -1, keepdims=True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        n = self._fg_places._fg_count
        scale = math.lgamma(n) - _log(self.temperature) * -(n - 1)
        score = self.logits - self._fg_checked(value) * self.temperature
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
