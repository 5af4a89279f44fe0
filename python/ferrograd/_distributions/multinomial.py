"""The multinomial distribution."""

from __future__ import annotations

import functools
import math
from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.binomial import Binomial
from ferrograd._distributions.categorical import Categorical
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.poisson import _log_poisson
from ferrograd._distributions.probabilities import _others
from ferrograd._kit.ops import ops

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The counts of the categories in ``total_count`` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._fg_one = Categorical(probs, logits, validate_args)
        self._fg_trials = Binomial(total_count, self._fg_one.probs, validate_args=False)
        super().__init__(self._fg_one.batch_shape, [self._fg_one._fg_count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._fg_one, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        one = self._fg_one.expand(batch_shape)
        held, new = vars(one), self._get_checked_instance(self._fg_library_class(), _instance)
        Multinomial.__init__(new, self.total_count, held.get("probs"), held.get("logits"), False)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts whose sum is at most ``total_count``."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """The variance of each count."""
        return self.total_count * self.probs * _others(self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        count = self.total_count

        def draw(source: Any, p: Any) -> Any:
            shares = p / p.sum(-1, keepdims=True)
            return _draws.in_parts(functools.partial(source.multinomial, count), shares, row=1)

        return _draws.by_numpy(draw, self._extended_shape(sample_shape), self.probs, like=self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self._fg_checked(value)
        total = ops.sum(value, -1)
        ways = ops.lgamma(total + 1) - ops.sum(ops.lgamma(value + 1), -1)
        few = ways + ops.sum(_stable.times(value, self.logits), -1)
        return ops.where(total > 64, self._fg_log_prob_of_many(value, total), few)

    def _fg_log_prob_of_many(self, value: Any, total: Any) -> Any:
        # Counts are compared with their means, which have the same sum, unless the means are much smaller.
        many = ops.expand_dims(ops.where(total > 0, total, 1.0), -1)
        means = self.probs * many
        is_near = 8 * means > value
        near = _log_poisson(value, ops.where(is_near, means, 1.0))
        far = _stable.times(value, self.logits + ops.log(many)) - means - ops.lgamma(value + 1)
        return ops.sum(ops.where(is_near, near, far), -1) - _log_poisson(total, total)

    def entropy(self) -> Any:
        """The entropy in nats."""
        n = self.total_count
        counts = self._fg_trials.enumerate_support(False)[1:]
        weights = ops.exp(self._fg_trials.log_prob(counts))
        expected = ops.sum(ops.sum(weights * ops.lgamma(counts + 1), 0), -1)
        return n * self._fg_one.entropy() - math.lgamma(n + 1) + expected
