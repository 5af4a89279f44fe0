"""Distributions of integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor
from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._tensor.dtypes import finfo

__all__ = ["Bernoulli", "Categorical", "Geometric", "OneHotCategorical"]


def _one_of(name: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: either `probs` or `logits` must be specified, but not both.")


def _clipped(probs: Any) -> Any:
    """Probabilities with a finite logarithm."""
    eps = float(finfo(probs.dtype).eps)
    return ops.clip(probs, eps, 1 - eps)


class _OfProbability(Distribution):
    """A distribution that holds ``probs`` or ``logits`` and computes the other."""

    def __getattr__(self, name: str) -> Any:
        # One of the two is held; the other is computed from it.
        if name == "logits" and "probs" in vars(self):
            p = _clipped(self.probs)
            return ops.log(p) - ops.log1p(-p)
        if name == "probs" and "logits" in vars(self):
            return ops.sigmoid(self.logits)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class _OneProbability(_OfProbability):
    """A distribution of one probability, held as ``probs`` or as ``logits``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    _held = {"probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _one_of(type(self).__name__, probs, logits)
        (value,) = broadcast_all(logits if probs is None else probs)
        vars(self)["logits" if probs is None else "probs"] = value
        super().__init__(value.shape, (), validate_args)


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
        p = self.probs
        return ops.where(p == 0.5, float("nan"), ops.astype(p >= 0.5, p.dtype))

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Zeros and ones."""
        with no_grad():
            return ops.bernoulli(ops.broadcast_to(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        logits = self.logits
        return self._checked(value) * logits - ops.softplus(logits)

    def entropy(self) -> Any:
        """The entropy in nats."""
        logits = self.logits
        return ops.softplus(logits) - self.probs * logits

    def enumerate_support(self, expand: bool = True) -> Any:
        """Zero and one, along a new first axis."""
        values = ops.reshape(ops.arange(0, 2, 1, self.probs.dtype), [2, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [2, *self._batch_shape]) if expand else values


class Categorical(Distribution):
    """The integers below n, with probabilities in proportion to ``probs`` of n numbers, or to ``exp(logits)``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True
    _held = {"probs": 1, "logits": 1}  # noqa: RUF012

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _one_of("Categorical", probs, logits)
        given = logits if probs is None else probs
        if not isinstance(given, Tensor) or len(given.shape) < 1:
            raise ValueError("`probs` or `logits` must be a tensor that is at least one-dimensional.")
        if probs is None:
            self.logits = given - ops.logsumexp(given, -1, keepdims=True)
        else:
            self.probs = given / ops.sum(given, -1, keepdims=True)
        super().__init__(given.shape[:-1], (), validate_args)

    def __getattr__(self, name: str) -> Any:
        # One of the two is held; the other is computed from it.
        if name == "logits" and "probs" in vars(self):
            return ops.log(_clipped(self.probs))
        if name == "probs" and "logits" in vars(self):
            return ops.softmax(self.logits, -1)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _count(self) -> int:
        held = vars(self)
        return int(held["probs" if "probs" in held else "logits"].shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers below n."""
        return constraints.integer_interval(0, self._count - 1)

    @property
    def mean(self) -> Any:
        """nan, as the integers are names of categories."""
        return ops.full(list(self._batch_shape), float("nan"), self.probs.dtype)

    variance = mean

    @property
    def mode(self) -> Any:
        """The most likely integer."""
        return ops.argmax(self.probs, -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Integers."""
        shape, count = self._extended_shape(sample_shape), math.prod(sample_shape)
        if 0 in shape:
            return ops.zeros_like(ops.broadcast_to(ops.argmax(self.probs, -1), shape))
        with no_grad():
            rows = ops.reshape(self.probs, [-1, self._count])
            return ops.reshape(_draws.multinomial(rows, count, True).T, shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = ops.astype(self._checked(value), np.dtype("int64"))
        shape = np.broadcast_shapes(tuple(value.shape), tuple(self._batch_shape))
        logits = ops.broadcast_to(self.logits, [*shape, self._count])
        return ops.take_along_axis(logits, ops.broadcast_to(value, [*shape])[..., None], -1)[..., 0]

    def entropy(self) -> Any:
        """The entropy in nats."""
        return -ops.sum(self.probs * ops.clip(self.logits, float(finfo(self.logits.dtype).min), None), -1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The integers, along a new first axis."""
        n = self._count
        values = ops.reshape(ops.arange(0, n, 1), [n, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [n, *self._batch_shape]) if expand else values


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
        return 1 / self.probs - 1

    @property
    def mode(self) -> Any:
        """Zero."""
        return ops.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of failures."""
        with no_grad():
            drawn = _draws.uniform(self.probs, self._extended_shape(sample_shape))
            # log(0) / log(1 - p) is 0 for p = 1, where 0 failures are certain.
            return ops.floor(ops.log1p(-drawn) / ops.log1p(-_clipped(self.probs)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, p = self._checked(value), self.probs
        # No failures with p = 1 have the logarithm 0, not 0 times minus infinity.
        failed = ops.where(value == 0, 0.0, value)
        return failed * ops.log1p(-ops.where((p == 1) & (value == 0), 0.0, p)) + ops.log(p)

    def entropy(self) -> Any:
        """The entropy in nats."""
        p = self.probs
        return (ops.softplus(self.logits) - p * self.logits) / p


class OneHotCategorical(Distribution):
    """Vectors of n numbers with one 1, the others 0; its place is that of a :class:`Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._places = Categorical(probs, logits, validate_args)
        super().__init__(self._places.batch_shape, [self._places._count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._places, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape; its parameters are views."""
        held, new = vars(self._places.expand(batch_shape)), self._get_checked_instance(self._library_class(), _instance)
        OneHotCategorical.__init__(new, held.get("probs"), held.get("logits"), False)
        return new

    support = constraints.one_hot

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most likely vector."""
        return self._vectors(self._places.mode)

    @property
    def variance(self) -> Any:
        """The variance of each number."""
        return self.probs * (1 - self.probs)

    def _vectors(self, places: Any) -> Any:
        return ops.astype(ops.expand_dims(places, -1) == ops.arange(0, self._places._count, 1), self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors."""
        with no_grad():
            return self._vectors(self._places.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return self._places.log_prob(ops.argmax(self._checked(value), -1))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self._places.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The vectors, along a new first axis."""
        return self._vectors(self._places.enumerate_support(expand))
