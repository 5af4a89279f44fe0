"""What the distributions share that a probability, or its logit, says."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _stable, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo


def _one_of(name: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: either `probs` or `logits` must be specified, but not both.")


def _clipped(probs: Any) -> Any:
    """Probabilities with a finite logarithm."""
    eps = float(finfo(probs.dtype).eps)
    return ops.clip(probs, eps, 1 - eps)


def _logit(p: Any) -> Any:
    """``log(p / (1 - p))``. No gradient flows to a probability of 0 or 1, where it is infinite."""
    is_open = (p > 0) & (p < 1)
    found = ops.logit(ops.where(is_open, p, 0.5))
    return ops.where(is_open, found, (p.detach() - 0.5) * math.inf)


def _others(p: Any) -> Any:
    """``1 - p`` of probabilities along the last axis. For the largest one it is computed as the sum of the others."""
    is_most = ops.expand_dims(ops.argmax(p, -1), -1) == ops.arange(0, int(p.shape[-1]), 1)
    rest = ops.sum(ops.where(is_most, 0.0, p), -1, keepdims=True)
    return ops.where(is_most, rest, 1 - p)


class _OfProbability(Distribution):
    """A distribution that holds ``probs`` or ``logits`` and computes the other."""

    def __getattr__(self, name: str) -> Any:
        # One of the two is held; the other is computed from it.
        if name == "logits" and "probs" in vars(self):
            return _logit(self.probs)
        if name == "probs" and "logits" in vars(self):
            return ops.sigmoid(self.logits)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _fg_chances(self) -> tuple[Any, Any]:
        """The probability of the event and of its opposite. The latter is not 0 where the former only rounds to 1."""
        if "probs" in vars(self):
            return self.probs, 1 - self.probs
        return ops.sigmoid(self.logits), ops.sigmoid(-self.logits)

    def _fg_log_chances(self) -> tuple[Any, Any]:
        """The logarithms of both probabilities, minus infinity for what is impossible."""
        if "logits" in vars(self):
            return ops.log_sigmoid(self.logits), ops.log_sigmoid(-self.logits)
        is_certain = self.probs == 1
        fails = ops.log1p(-ops.where(is_certain, 0.0, self.probs))
        return _stable.safe_log(self.probs), ops.where(is_certain, -math.inf, fails)

    def _fg_odds(self) -> Any:
        """The probability divided by that of its opposite."""
        return ops.exp(self.logits) if "logits" in vars(self) else self.probs / (1 - self.probs)

    def _fg_entropy_of_one(self) -> Any:
        """The entropy of one trial."""
        if "logits" in vars(self):
            logits, (p, q) = _stable.finite(self.logits), self._fg_chances()
            return p * ops.softplus(-logits) + q * ops.softplus(logits)
        p, is_small = self.probs, self.probs < 0.5
        small, large = ops.where(is_small, p, 0.0), ops.where(is_small, 0.5, 1 - p)
        rest = ops.where(is_small, -(1 - small) * ops.log1p(-small), ops.entr(large))
        return ops.entr(p) + rest


class _OneProbability(_OfProbability):
    """A distribution of one probability, held as ``probs`` or as ``logits``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    _fg_held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _one_of(type(self).__name__, probs, logits)
        (value,) = broadcast_all(logits if probs is None else probs)
        vars(self)["logits" if probs is None else "probs"] = value
        super().__init__(value.shape, (), validate_args)


class _ByProbability(_OfProbability):
    """A distribution of a probability and other parameters."""

    def _fg_hold(self, count: Any, probs: Any, logits: Any) -> Any:
        """Keeps the parameters, broadcast; the count is returned."""
        _one_of(type(self).__name__, probs, logits)
        name = "logits" if probs is None else "probs"
        total, value = broadcast_all(count, logits if probs is None else probs)
        vars(self)[name] = value
        return total

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return (vars(self)["probs"] if "probs" in vars(self) else vars(self)["logits"]).shape
