"""``paddle.distribution.constraint``: conditions that values of random variables meet.

>>> import ferrograd.paddle as paddle
>>> paddle.distribution.constraint.Range(0.0, 1.0).check(paddle.to_tensor([0.5, 2.0])).tolist()
[True, False]
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor

__all__ = ["Constraint", "Positive", "Range", "Real", "Simplex", "positive", "real", "simplex"]


class Constraint:
    """The base of conditions. A subclass defines ``__call__``, which says of each value whether it holds."""

    def __call__(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        raise NotImplementedError

    def check(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        return self(value)


class Real(Constraint):
    """Every number but NaN."""

    def __call__(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        return value == value


class Range(Constraint):
    """The numbers from ``lower`` to ``upper``, with both."""

    def __init__(self, lower: Any, upper: Any) -> None:
        self._lower, self._upper = lower, upper

    def __call__(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        above, below = value >= self._lower, value <= self._upper
        return above & below


class Positive(Constraint):
    """The numbers that are not negative."""

    def __call__(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        return value >= 0.0


class Simplex(Constraint):
    """Vectors of numbers that are not negative, with the sum 1."""

    def __call__(self, value: Tensor) -> Any:
        """Whether the condition holds, of each vector."""
        return ops.logical_and(ops.all(value >= 0, -1), ops.abs(ops.sum(value, -1) - 1) < 1e-6)


real = Real()
positive = Positive()
simplex = Simplex()

__dir__ = _public.names(globals())
