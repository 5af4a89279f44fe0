"""Random in-place methods of Paddle's tensors, like ``normal_``. The overwritten values get no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._base.in_place import overwrite
from ferrograd.paddle._functions.predicates import finfo
from ferrograd.paddle._tensor import Tensor

__all__ = ["exponential_", "normal_", "random_", "uniform_"]


def uniform_(x: Tensor, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Overwrites with random numbers of the uniform distribution on [``min``, ``max``)."""
    if seed:
        ops.seed(seed)
    return overwrite(x, "uniform", lambda x: ops.uniform(min, max, list(x.shape), x.dtype))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrites with random numbers of the normal distribution.

    The real and imaginary parts of complex ones have the variance ``std ** 2 / 2``.
    """

    def drawn(x: Tensor) -> Any:
        if x.dtype.kind == "c":
            return ops.randn(list(x.shape), x.dtype) * std + mean
        return ops.cast(ops.normal(mean, std, list(x.shape)), x.dtype)

    return overwrite(x, "normal", drawn)


def random_(x: Tensor, from_: int = 0, to: int | None = None, *, generator: None = None) -> Tensor:
    """Overwrites with random integers in [``from_``, ``to``). With one bound they start at 0.

    Without bounds the end is the largest number of an integer dtype, or ``2**p`` for floats of ``p`` bits of precision.

    Raises:
        ValueError: there is no integer in the range.
    """
    if to is None:
        whole = np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 2 / finfo(x.dtype).eps
        from_, to = 0, from_ or int(whole)
    low, high = _arguments.integer(from_, "random_", "from_"), _arguments.integer(to, "random_", "to")
    if low >= high:
        raise ArgumentError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return overwrite(x, "random", lambda x: ops.cast(ops.randint(low, high, list(x.shape), "int64"), x.dtype))


def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrites with random numbers of the exponential distribution with rate ``lam``."""

    def drawn(x: Tensor) -> Any:
        # Uniform numbers of half precision have too few values.
        uniform = ops.rand(list(x.shape), "float64" if x.dtype == "float64" else "float32")
        return ops.cast(ops.log1p(-uniform) / -lam, x.dtype)

    return overwrite(x, "exponential", drawn)
