"""Random in-place methods of torch's tensors, like ``normal_``. The overwritten values get no gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, DtypeError, TorchTensor
from ferrograd._core import torch as ops
from ferrograd._tensor.dtypes import finfo
from ferrograd.torch._generator import drawing

__all__ = ["bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]


def _real(x: Any) -> Any:
    """The dtype in which random numbers for a tensor are drawn."""
    return x.dtype if x.is_floating_point() else np.dtype("float64")


def _fine(x: Any) -> Any:
    """The dtype of uniform numbers that a function is taken of: those of a half have too few values for its tails."""
    return np.dtype("float32") if x.is_floating_point() and x.dtype.itemsize == 2 else _real(x)


def _in_parts(x: Any, shift: float) -> Any:
    """The shift of random numbers for a tensor. Both parts of a complex number are shifted."""
    return complex(shift, shift) if x.is_complex() else shift


def _check(x: Any, function: str, kinds: str) -> None:
    """Raises unless the dtype of the tensor is of one of the kinds, letters as NumPy has them."""
    # Bfloat16, which NumPy lacks, has a letter of its own.
    if not (x.is_floating_point() if x.dtype.kind not in "biuc" else x.dtype.kind in kinds):
        raise DtypeError(f"{function}: not defined for {x.dtype}")


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Overwrites with ones, with probability ``p`` (a number or tensor), and zeros."""
    _check(self, "bernoulli_", "biu")
    probabilities = ops.broadcast_to(ops.astype(_tensor(p), _fine(self)), self.shape)
    with drawing(generator, "bernoulli_"):
        drawn = ops.bernoulli(probabilities)
    return self.copy_(drawn)


def exponential_(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the exponential distribution with rate ``lambd``."""
    _check(self, "exponential_", "")
    if not lambd > 0:
        raise ArgumentError(f"exponential_ expects lambd > 0.0, but found lambd={lambd}")
    with drawing(generator, "exponential_"):
        drawn = ops.rand(self.shape, _fine(self))
    # 1 - u is in (0, 1].
    return self.copy_(ops.log(1 - drawn) / -lambd)


def cauchy_(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the Cauchy distribution."""
    _check(self, "cauchy_", "")
    if not sigma > 0:
        raise ArgumentError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    with drawing(generator, "cauchy_"):
        drawn = ops.rand(self.shape, _fine(self))
    return self.copy_(ops.tan((drawn - 0.5) * math.pi) * sigma + median)


def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of trials up to and with the first success, whose probability is ``p``."""
    _check(self, "geometric_", "iu")
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    with drawing(generator, "geometric_"):
        drawn = ops.rand(self.shape, _fine(self))
    # 1 - u is in (0, 1].
    return self.copy_(ops.clip(ops.ceil(ops.log(1 - drawn) / math.log1p(-p)), 1, None))


def log_normal_(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    """Overwrites with random numbers whose logarithms have the normal distribution."""
    _check(self, "log_normal_", "")
    if not std > 0:
        raise ArgumentError(f"log_normal_ expects std > 0.0, but found std={std}")
    with drawing(generator, "log_normal_"):
        drawn = ops.randn(self.shape, _fine(self))
    return self.copy_(ops.exp(drawn * std + mean))


def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the normal distribution."""
    _check(self, "normal_", "c")
    if not std >= 0:
        raise ArgumentError(f"normal_ expects std >= 0.0, but found std {std}")
    with drawing(generator, "normal_"):
        drawn = ops.randn(self.shape, self.dtype)
    return self.copy_(drawn * std + _in_parts(self, mean))


def random_(self: Any, low: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Overwrites with random integers in [``low``, ``to``). With one bound they start at 0.

    Without bounds they are all integers from 0 on that the dtype holds exactly.
    """
    _check(self, "random_", "biu")
    if to is None:
        low, to = (0, low) if low else (0, _end(self.dtype))
    with drawing(generator, "random_"):
        drawn = ops.randint(low, to, self.shape)
    return self.copy_(drawn)


def uniform_(self: Any, low: float = 0, to: float = 1, *, generator: Any = None) -> Any:
    """Overwrites with random numbers of the uniform distribution on [``low``, ``to``)."""
    _check(self, "uniform_", "c")
    if not low <= to:
        raise ArgumentError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    with drawing(generator, "uniform_"):
        drawn = ops.rand(self.shape, self.dtype)
    return self.copy_(drawn * (to - low) + _in_parts(self, low))


def _tensor(p: Any) -> Any:
    return p if isinstance(p, TorchTensor) else ops.full([], p, np.dtype("float64"))


def _end(dtype: Any) -> int:
    """The end of the range of integers drawn for a dtype."""
    if dtype.kind == "f":
        return int(2 ** (finfo(dtype).nmant + 1)) + 1
    return 2 if dtype.kind == "b" else min(int(np.iinfo(dtype).max), 2**63 - 2) + 1
