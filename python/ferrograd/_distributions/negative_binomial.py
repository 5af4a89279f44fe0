"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.probabilities import _ByProbability
from ferrograd._kit.ops import ops

__all__ = ["NegativeBinomial"]


class NegativeBinomial(_ByProbability):
    """The number of successes, each with probability ``probs``, before ``total_count`` failures."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _fg_held = {"total_count": 0, "probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = self._fg_hold(total_count, probs, logits)
        super().__init__(self.total_count.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self._fg_odds()

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.clip(ops.floor((self.total_count - 1) * self._fg_odds()), 0.0, None)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean / self._fg_chances()[1]

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""
        with no_derivative():
            shape = self._extended_shape(sample_shape)
            return _draws.negative_binomial(*(ops.broadcast_to(x, shape) for x in (self.total_count, self._fg_odds())))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, n, logs = self._fg_checked(value), self.total_count, self._fg_log_chances()
        # The number of successes after which the last failure comes has a density like that of a beta variable.
        is_some = value > 0
        count, failures = ops.where(is_some, value, 1.0), ops.where(is_some, n, 1.0)
        some = (
            _stable.log_beta_density(count + 1, failures, self._fg_chances(), logs)
            + logs[1]
            - ops.log(failures + count)
        )
        return ops.where(is_some, some, n * logs[1])
