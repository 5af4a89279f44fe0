"""torch's random draws with the parameters of a tensor."""

from __future__ import annotations

from typing import Any

from ferrograd._functions import random
from ferrograd._kit import arguments as _arguments
from ferrograd.torch._base.generator import drawing
from ferrograd.torch._tensor import Tensor

__all__ = ["binomial", "poisson"]


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of successes in ``count`` trials, each with the probability ``prob``."""
    n, p = (_arguments.tensor(x, "binomial", name) for x, name in ((count, "count"), (prob, "prob")))
    with drawing(generator, "binomial"):
        return random.binomial(n, p)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of events, one for each rate."""
    with drawing(generator, "poisson"):
        return random.poisson(_arguments.tensor(input, "poisson", "input"))
