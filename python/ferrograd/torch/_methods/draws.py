"""Random in-place methods of torch's tensors, like ``normal_``. The overwritten values get no gradient."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, DtypeError, TorchTensor, torch as ops
from ferrograd._core.torch import mersenne
from ferrograd.torch._base.generator import drawing
from ferrograd.torch._functions.random import bernoulli

__all__ = ["bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]


def _draw(x: Any, generator: Any, function: str, law: str, a: float = 0, b: float = 1) -> Any:
    """Overwrites a tensor with random numbers of a law with the parameters ``a`` and ``b``."""
    with drawing(generator, function):
        drawn = mersenne.draw(law, x.shape, x.dtype, a, b)
    return x.copy_(drawn)


def _check(x: Any, function: str, kinds: str) -> None:
    """Raises unless the dtype of the tensor is of one of the kinds, letters as NumPy has them."""
    # Bfloat16, which NumPy lacks, has a letter of its own.
    if not (x.is_floating_point() if x.dtype.kind not in "biuc" else x.dtype.kind in kinds):
        raise DtypeError(f"{function}: not defined for {x.dtype}")


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Overwrites with ones, with probability ``p`` (a number or tensor), and zeros."""
    _check(self, "bernoulli_", "biu")
    if not isinstance(p, TorchTensor):
        if not 0 <= p <= 1:
            raise ArgumentError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        return _draw(self, generator, "bernoulli_", "coin", p)
    return self.copy_(bernoulli(ops.broadcast_to(p, self.shape), generator=generator))


def exponential_(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the exponential distribution with rate ``lambd``."""
    _check(self, "exponential_", "")
    if not lambd > 0:
        raise ArgumentError(f"exponential_ expects lambd > 0.0, but found lambd={lambd}")
    return _draw(self, generator, "exponential_", "exponential", lambd)


def cauchy_(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the Cauchy distribution."""
    _check(self, "cauchy_", "")
    if not sigma > 0:
        raise ArgumentError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _draw(self, generator, "cauchy_", "cauchy", median, sigma)


def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of trials up to and with the first success, whose probability is ``p``."""
    _check(self, "geometric_", "iu")
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _draw(self, generator, "geometric_", "geometric", p)


def log_normal_(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    """Overwrites with random numbers whose logarithms have the normal distribution."""
    _check(self, "log_normal_", "")
    if not std > 0:
        raise ArgumentError(f"log_normal_ expects std > 0.0, but found std={std}")
    return _draw(self, generator, "log_normal_", "log_normal", mean, std)


def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the normal distribution."""
    _check(self, "normal_", "c")
    if not std >= 0:
        raise ArgumentError(f"normal_ expects std >= 0.0, but found std {std}")
    return _draw(self, generator, "normal_", "normal", mean, std)


def random_(self: Any, low: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Overwrites with random integers in [``low``, ``to``). With one bound they start at 0.

    Without bounds they are all integers from 0 on that the dtype holds exactly.
    """
    _check(self, "random_", "biu")
    if to is None and not low:
        return _draw(self, generator, "random_", "whole")
    low, to = (0, low) if to is None else (low, to)
    with drawing(generator, "random_"):
        drawn = ops.randint(low, to, self.shape)
    return self.copy_(drawn)


def uniform_(self: Any, low: float = 0, to: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the uniform distribution on [``low``, ``to``)."""
    _check(self, "uniform_", "c")
    if not low <= to:
        raise ArgumentError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    return _draw(self, generator, "uniform_", "uniform", low, to)
