"""The continuous Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.probabilities import _ByProbability
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(_ByProbability):
    """The distribution on [0, 1] with density proportional to ``p**x (1 - p)**(1 - x)``.

    The formulas hold around 1/2 too, so ``lims``, the bounds between which PyTorch takes polynomials, change nothing.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True
    _fg_held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._fg_hold(0.0, probs, logits)
        self._lims = lims
        super().__init__(self.param_shape, (), validate_args)
        if probs is not None:
            vars(self)["probs"] = _inside(self.probs)

    def _fg_turned(self) -> tuple[Any, Any]:
        """Minus the size of the logits, and whether they are positive.

        The distribution for positive logits is that of 1 - x for negative ones.
        """
        logits = self.logits
        is_positive = logits > 0
        return ops.where(is_positive, -logits, logits), is_positive

    @property
    def mean(self) -> Any:
        """The mean."""
        logits, is_positive = self._fg_turned()
        found = ops.log_exprel(logits, 1)
        return ops.where(is_positive, 1 - found, found)

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.sqrt(self.variance)

    @property
    def variance(self) -> Any:
        """The variance."""
        return ops.log_exprel(self._fg_turned()[0], 2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameter."""
        return self.icdf(_draws.uniform(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return self._fg_log_density(self._fg_checked(value))

    def _fg_log_density(self, value: Any) -> Any:
        # The density is exp(l x) by its integral, (exp(l) - 1) / l, for logits l.
        logits, is_positive = self._fg_turned()
        return logits * ops.where(is_positive, 1 - value, value) - ops.log_exprel(logits)

    def _fg_below(self, value: Any, is_positive: Any) -> Any:
        """The probability below ``value`` of positive or negative logits of this size."""
        logits = self._fg_turned()[0]
        lost = ops.where(is_positive, logits * (1 - value), 0.0)
        return value * ops.exp(ops.log_exprel(logits * value) - ops.log_exprel(logits) + lost)

    def _fg_sides(self, value: Any) -> tuple[Any, Any]:
        """The probabilities below and above a value. The larger one is what the smaller one leaves of 1."""
        value, is_positive = ops.clip(value, 0.0, 1.0), self.logits > 0
        below, above = self._fg_below(value, is_positive), self._fg_below(1 - value, ~is_positive)
        is_low = below < above
        return ops.where(is_low, below, 1 - above), ops.where(is_low, 1 - below, above)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return self._fg_sides(self._fg_checked(value))[0]

    def _fg_survival(self, value: Any) -> Any:
        return self._fg_sides(self._fg_checked(value))[1]

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        logits = self.logits
        # The upper half for positive logits is the lower half for negative ones.
        is_turned = (logits > 0) & (value > 0.5)
        found = _tilted_quantile(ops.where(is_turned, 1 - value, value), ops.where(is_turned, -logits, logits))
        return ops.clip(ops.where(is_turned, 1 - found, found), 0.0, 1.0)

    def entropy(self) -> Any:
        """The entropy in nats."""
        logits = self._fg_turned()[0]
        return ops.log_exprel(logits) - logits * ops.log_exprel(logits, 1)

    def _fg_divergence(self, other: Any) -> Any:
        """The divergence from another one: Bregman's of the logarithm of the integral."""
        logits, is_positive = self._fg_turned()
        others = ops.where(is_positive, -other.logits, other.logits)
        step = others - logits
        is_near = abs(step) < ops.clip(-0.5 * logits, 1.0, None)
        near = _stable.bregman(lambda v: ops.log_exprel(v, 2), logits, ops.where(is_near, step, 0.0))
        far = ops.where(is_near, 0.0, step)
        rest = ops.log_exprel(logits + far) - ops.log_exprel(logits) - far * ops.log_exprel(logits, 1)
        return ops.where(is_near, near, rest)


def _tilted_quantile(value: Any, logits: Any) -> Any:
    """``log(1 + v (exp(l) - 1)) / l`` for logits l; for large ones the same in logarithms."""
    is_near = abs(logits) < 50
    near, far = ops.where(is_near, logits, 0.0), ops.where(is_near, 50.0, logits)
    growth = value * ops.exp(ops.log_exprel(near))
    logs = ops.logaddexp(ops.log1p(-value), _stable.safe_log(value) + far)
    return ops.where(is_near, growth * _stable.log1p_ratio(near * growth), logs / far)


def _inside(probs: Any) -> Any:
    """Probabilities with finite logits."""
    info = finfo(probs.dtype)
    return ops.clip(probs, float(info.tiny), 1 - float(info.eps) / 2)
