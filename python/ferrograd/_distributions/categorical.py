"""The distribution of one of several classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._autograd.modes import no_derivative
from ferrograd._core import Tensor
from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.probabilities import _one_of
from ferrograd._kit.ops import ops

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The integers below n, with probabilities in proportion to ``probs`` of n numbers, or to ``exp(logits)``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True
    _fg_held = {"probs": 1, "logits": 1}  # noqa: RUF012

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _one_of("Categorical", probs, logits)
        given = logits if probs is None else probs
        if not isinstance(given, Tensor) or len(given.shape) < 1:
            raise ValueError("`probs` or `logits` must be a tensor that is at least one-dimensional.")
        if probs is None:
            self.logits = ops.log_softmax(given, -1)
        else:
            self.probs = given / ops.sum(given, -1, keepdims=True)
        super().__init__(given.shape[:-1], (), validate_args)

    def __getattr__(self, name: str) -> Any:
        # One of the two is held; the other is computed from it.
        if name == "logits" and "probs" in vars(self):
            return _stable.safe_log(self.probs)
        if name == "probs" and "logits" in vars(self):
            return ops.softmax(self.logits, -1)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _fg_count(self) -> int:
        held = vars(self)
        return int(held["probs" if "probs" in held else "logits"].shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers below n."""
        return constraints.integer_interval(0, self._fg_count - 1)

    @property
    def mean(self) -> Any:
        """nan, as the integers are names of categories."""
        return ops.full(list(self._batch_shape), float("nan"), self.probs.dtype)

    variance = mean

    @property
    def mode(self) -> Any:
        """The most likely integer."""
        return ops.argmax(self.logits if "logits" in vars(self) else self.probs, -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Integers."""
        shape, count = self._extended_shape(sample_shape), math.prod(sample_shape)
        if 0 in shape:
            return ops.zeros_like(ops.broadcast_to(ops.argmax(self.probs, -1), shape))
        with no_derivative():
            rows = ops.reshape(self.probs, [-1, self._fg_count])
            return ops.reshape(_draws.multinomial(rows, count, True).T, shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = ops.astype(self._fg_checked(value), np.dtype("int64"))
        shape = np.broadcast_shapes(tuple(value.shape), tuple(self._batch_shape))
        logits = ops.broadcast_to(self.logits, [*shape, self._fg_count])
        return ops.take_along_axis(logits, ops.broadcast_to(value, [*shape])[..., None], -1)[..., 0]

    def entropy(self) -> Any:
        """The entropy in nats."""
        return -ops.sum(self.probs * ops.where(self.logits == -math.inf, 0.0, self.logits), -1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The integers, along a new first axis."""
        n = self._fg_count
        values = ops.reshape(ops.arange(0, n, 1), [n, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [n, *self._batch_shape]) if expand else values
