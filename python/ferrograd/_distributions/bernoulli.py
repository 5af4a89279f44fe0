"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import constraints
from ferrograd._distributions.probabilities import _OneProbability
from ferrograd._kit.ops import ops

__all__ = ["Bernoulli"]


class Bernoulli(_OneProbability):
    """One with probability ``probs``, else zero. ``logits`` are ``log(p / (1 - p))``."""

    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Any:
        """The probability of one."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The more likely value; nan where both are as likely."""
        p, q = self._fg_chances()
        return ops.where(p == q, float("nan"), ops.astype(p >= q, p.dtype))

    @property
    def variance(self) -> Any:
        """The variance."""
        p, q = self._fg_chances()
        return p * q

    def sample(self, sample_shape: Any = ()) -> Any:
        """Zeros and ones."""
        with no_derivative():
            return ops.bernoulli(ops.broadcast_to(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability: minus infinity for what is impossible."""
        value = self._fg_checked(value)
        if "logits" in vars(self):
            return -ops.binary_cross_entropy_with_logits(self.logits, value, None, "none")
        return ops.xlogy(value, self.probs) + ops.xlog1py(1 - value, -self.probs)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self._fg_entropy_of_one()

    def enumerate_support(self, expand: bool = True) -> Any:
        """Zero and one, along a new first axis."""
        values = ops.reshape(ops.arange(0, 2, 1, self.probs.dtype), [2, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [2, *self._batch_shape]) if expand else values
