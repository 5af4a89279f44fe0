"""Distributions of counts."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ferrograd._autograd.modes import no_grad
from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.discrete import Categorical, _OfProbability, _one_of
from ferrograd._distributions.distribution import Distribution, ExponentialFamily, broadcast_all

__all__ = ["Binomial", "Multinomial", "NegativeBinomial", "Poisson"]


class Poisson(ExponentialFamily):
    """The distribution of the number of events that happen at a rate."""

    arg_constraints = {"rate": constraints.nonnegative}  # noqa: RUF012
    support = constraints.nonnegative_integer
    _held = {"rate": 0}  # noqa: RUF012

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.floor(self.rate)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of events."""

        def draw(source: Any, rates: Any) -> Any:
            return _draws.in_parts(source.poisson, rates)

        return _draws.by_numpy(draw, self._extended_shape(sample_shape), self.rate, like=self.rate)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self._checked(value)
        return ops.xlogy(value, self.rate) - self.rate - ops.lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (ops.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.exp(x)


class _ByProbability(_OfProbability):
    """A distribution of a probability and other parameters."""

    def _hold(self, count: Any, probs: Any, logits: Any) -> Any:
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


class Binomial(_ByProbability):
    """The number of successes in ``total_count`` trials, each with probability ``probs``."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _held = {"total_count": 0, "probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = self._hold(total_count, probs, logits)
        super().__init__(self.total_count.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers up to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.clip(ops.floor((self.total_count + 1) * self.probs), None, self.total_count)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""

        def draw(source: Any, n: Any, p: Any) -> Any:
            return _draws.in_parts(source.binomial, n.astype(np.int64), p)

        shape = self._extended_shape(sample_shape)
        return _draws.by_numpy(draw, shape, self.total_count, self.probs, like=self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, n, logits = self._checked(value), self.total_count, self.logits
        ways = ops.lgamma(n + 1) - ops.lgamma(value + 1) - ops.lgamma(n - value + 1)
        # n log(1 + exp(logits)), without overflow.
        rest = n * ops.logaddexp(logits, ops.zeros_like(logits))
        return value * logits + ways - rest

    def entropy(self) -> Any:
        """The entropy in nats, for equal counts."""
        logs = self.log_prob(self.enumerate_support(False))
        return -ops.sum(ops.exp(logs) * logs, 0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The numbers, along a new first axis, for equal counts."""
        n = int(self.total_count.max().item()) if 0 not in self.total_count.shape else 0
        if n and self.total_count.min().item() != n:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = _draws.drawn(np.arange(n + 1.0), self.probs)
        values = ops.reshape(values, [n + 1, *[1] * len(self._batch_shape)])
        return ops.broadcast_to(values, [n + 1, *self._batch_shape]) if expand else values


class NegativeBinomial(_ByProbability):
    """The number of successes, each with probability ``probs``, before ``total_count`` failures."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _held = {"total_count": 0, "probs": 0, "logits": 0}  # noqa: RUF012

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = self._hold(total_count, probs, logits)
        super().__init__(self.total_count.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * ops.exp(self.logits)

    @property
    def mode(self) -> Any:
        """The most likely number."""
        return ops.clip(ops.floor((self.total_count - 1) * ops.exp(self.logits)), 0.0, None)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean / ops.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""

        def draw(source: Any, n: Any, odds: Any) -> Any:
            return _draws.in_parts(source.poisson, _draws.in_parts(source.standard_gamma, n) * odds)

        shape = self._extended_shape(sample_shape)
        with no_grad():
            return _draws.by_numpy(draw, shape, self.total_count, ops.exp(self.logits), like=self.logits)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, n, logits = self._checked(value), self.total_count, self.logits
        found = -n * ops.softplus(logits) - value * ops.softplus(-logits)
        ways = ops.lgamma(n + value) - ops.lgamma(1.0 + value) - ops.lgamma(n)
        return found + ops.where(n + value == 0.0, 0.0, ways)


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
        self._one = Categorical(probs, logits, validate_args)
        self._trials = Binomial(total_count, self._one.probs, validate_args=False)
        super().__init__(self._one.batch_shape, [self._one._count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._one, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        one = self._one.expand(batch_shape)
        held, new = vars(one), self._get_checked_instance(self._library_class(), _instance)
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
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        count = self.total_count

        def draw(source: Any, p: Any) -> Any:
            shares = p / p.sum(-1, keepdims=True)
            return _draws.in_parts(functools.partial(source.multinomial, count), shares, row=1)

        return _draws.by_numpy(draw, self._extended_shape(sample_shape), self.probs, like=self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self._checked(value)
        logits = ops.where((value == 0) & (self.logits == -math.inf), 0.0, self.logits)
        ways = ops.lgamma(ops.sum(value, -1) + 1) - ops.sum(ops.lgamma(value + 1), -1)
        return ways + ops.sum(logits * value, -1)

    def entropy(self) -> Any:
        """The entropy in nats."""
        n = self.total_count
        counts = self._trials.enumerate_support(False)[1:]
        weights = ops.exp(self._trials.log_prob(counts))
        expected = ops.sum(ops.sum(weights * ops.lgamma(counts + 1), 0), -1)
        return n * self._one.entropy() - math.lgamma(n + 1) + expected
