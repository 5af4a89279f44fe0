"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.probabilities import _OneProbability
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["Geometric"]


class Geometric(_OneProbability):
    """The number of failures before the first success, each trial being one with probability ``probs``.

    ``logits`` are ``log(p / (1 - p))``.
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not _core.all_hold(self.probs > 0):
            raise ValueError(f"Geometric: probs must be positive, but found invalid values:\n{self.probs}")

    @property
    def mean(self) -> Any:
        """The mean."""
        return ops.exp(-self.logits) if "logits" in vars(self) else (1 - self.probs) / self.probs

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean * (1 + self.mean)

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.sqrt(self.mean) * ops.sqrt(1 + self.mean)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of failures."""
        with no_derivative():
            drawn = _draws.uniform(self.probs, self._extended_shape(sample_shape))
            drawn = ops.clip(drawn, float(finfo(drawn.dtype).tiny), None)
            # The logarithm of 1 - p is minus infinity for p = 1, where 0 failures are certain.
            return ops.floor(ops.log(drawn) / self._fg_log_chances()[1])

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        # No failures with p = 1 have the logarithm 0, not 0 times minus infinity.
        success, failure = self._fg_log_chances()
        return _stable.times(self._fg_checked(value), failure) + success

    def entropy(self) -> Any:
        """The entropy in nats."""
        if "logits" not in vars(self):
            p = self.probs
            return -ops.log(p) - ops.xlog1py((1 - p) / p, -p)
        # The odds against success times log(1 + odds) tend to 1 for small odds, and to 0 for large ones.
        is_rare = self.logits < 0
        odds = ops.exp(ops.where(is_rare, self.logits, 0.0))
        logits = ops.where(is_rare, 0.0, _stable.finite(self.logits))
        failures = ops.where(is_rare, _stable.log1p_ratio(odds), ops.exp(-logits) * ops.softplus(logits))
        return ops.softplus(-self.logits) + failures
