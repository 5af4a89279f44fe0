"""Paddle's random functions that the core does not have. Each is a tensor method too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions import random
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of
from ferrograd.paddle._functions.create import normal
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "bernoulli",
    "bernoulli_",
    "binomial",
    "cauchy_",
    "geometric_",
    "log_normal",
    "log_normal_",
    "multinomial",
    "poisson",
    "seed",
    "standard_gamma",
]


class Generator:
    """The source of random numbers. There is one, whose state all objects of this class have."""

    def get_state(self) -> Any:
        """The state, which :meth:`set_state` takes."""
        return ops.get_rng_state()

    def set_state(self, state: Any) -> None:
        """Goes on from a state that :meth:`get_state` gave."""
        ops.set_rng_state(state)

    def manual_seed(self, seed: int) -> Generator:
        """Starts the random numbers anew and returns the generator."""
        ops.seed(seed)
        return self


def seed(seed: int) -> Generator:
    """Starts the random numbers anew. Returns their generator, which gives and takes their state.

    >>> import ferrograd.paddle as paddle
    >>> generator = paddle.seed(7)
    >>> state, x = generator.get_state(), paddle.rand([2])
    >>> generator.set_state(state)
    >>> bool((paddle.rand([2]) == x).all())
    True
    """
    return Generator().manual_seed(seed)


def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """Ones and zeros: one with the probability that is the element, or ``p`` for all elements."""
    return ops.bernoulli(x if p is None else ops.full_like(x, p))


def multinomial(x: Tensor, num_samples: int = 1, replacement: bool = False, name: str | None = None) -> Tensor:
    """Random indices into a vector of weights, or into each row of a matrix of them, by their shares of the sum.

    Without ``replacement`` no index is drawn twice, so at least ``num_samples`` weights of each row are not zero.
    """
    return random.multinomial(_arguments.tensor(x, "multinomial", "x"), num_samples, replacement)


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Random numbers whose logarithms have the normal distribution with this mean and deviation."""
    return ops.exp(normal(mean, std, shape))


def poisson(x: Tensor, name: str | None = None) -> Tensor:
    """Random numbers of events, one for each rate."""
    drawn = random.poisson(_arguments.tensor(x, "poisson", "x"))
    return drawn if x.stop_gradient else ops.where(ops.zeros_like(x, "bool"), x, drawn)


def binomial(count: Tensor, prob: Tensor, name: str | None = None) -> Tensor:
    """Random numbers of successes in ``count`` trials, each with the probability ``prob``, int64."""
    n, p = (_arguments.tensor(x, "binomial", name) for x, name in ((count, "count"), (prob, "prob")))
    return ops.cast(random.binomial(n, p), "int64")


def standard_gamma(x: Tensor, name: str | None = None) -> Tensor:
    """Random numbers of the gamma distribution of rate 1, one for each shape parameter, without gradients."""
    shapes = _parameters(x, "standard_gamma", "x")
    if not (shapes > 0).all():
        raise ArgumentError("standard_gamma: the elements must be positive")
    return random.drawn(random.generator(dialect_of(x)).standard_gamma(shapes), x)


def _parameters(x: Any, function: str, name: str) -> Any:
    return np.asarray(_arguments.tensor(x, function, name).detach().numpy(), np.float64)


def _overwritten(x: Tensor, name: str, values: Any) -> Tensor:
    _core.overwrite(_arguments.tensor(x, name, "x"), name, False, lambda _: ops.cast(values, x.dtype), (), {})
    return x


def bernoulli_(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """Overwrites with ones, with probability ``p`` (a number or tensor), and zeros."""
    uniform = ops.rand(list(_arguments.tensor(x, "bernoulli_", "x").shape), "float64")
    return _overwritten(x, "bernoulli_", ops.less(uniform, p))


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, name: str | None = None) -> Tensor:
    """Overwrites with random numbers as of :func:`log_normal`."""
    shape = list(_arguments.tensor(x, "log_normal_", "x").shape)
    return _overwritten(x, "log_normal_", ops.exp(ops.normal(mean, std, shape)))


def cauchy_(x: Tensor, loc: float = 0, scale: float = 1, name: str | None = None) -> Tensor:
    """Overwrites with random numbers of the Cauchy distribution."""
    uniform = ops.rand(list(_arguments.tensor(x, "cauchy_", "x").shape), "float64")
    return _overwritten(x, "cauchy_", ops.tan((uniform - 0.5) * math.pi) * scale + loc)


def geometric_(x: Tensor, probs: Any, name: str | None = None) -> Tensor:
    """Overwrites with ``log(u) / log(1 - probs)`` for uniform ``u``; rounded up these have a geometric distribution."""
    uniform = ops.rand(list(_arguments.tensor(x, "geometric_", "x").shape), "float64")
    chance = probs if isinstance(probs, Tensor) else ops.full([], probs, "float64")
    return _overwritten(x, "geometric_", ops.log1p(-uniform) / ops.log1p(-chance))
