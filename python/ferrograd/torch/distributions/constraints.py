"""Sets that values and parameters lie in: ``check(value)`` says for each event whether it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._arguments import typed
from ferrograd._core import torch as ops

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "less_than",
    "lower_cholesky",
    "nonnegative",
    "positive",
    "positive_definite",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]


class Constraint:
    """A set of values, each of which has ``event_dim`` axes.

    >>> import ferrograd.torch as torch
    >>> positive.check(torch.tensor([1.0, -1.0])).tolist()
    [True, False]
    """

    def __init__(self, name: str, holds: Callable[[Any], Any], event_dim: int = 0, is_discrete: bool = False) -> None:
        self._name, self._holds = name, holds
        self.event_dim = event_dim
        self.is_discrete = is_discrete

    def check(self, value: Any) -> Any:
        """A boolean for each event of the value."""
        return self._holds(value)

    def __repr__(self) -> str:
        return self._name


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above a bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda v: v > lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers that are at least a bound."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda v: v >= lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Numbers below a bound."""
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda v: v < upper_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between two bounds, which belong to the set."""
    name = f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda v: (v >= lower_bound) & (v <= upper_bound))


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between two bounds, of which the lower one belongs to the set."""
    name = f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda v: (v >= lower_bound) & (v < upper_bound))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Integers between two bounds, which belong to the set."""
    name = f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda v: (v % 1 == 0) & (v >= lower_bound) & (v <= upper_bound), is_discrete=True)


@typed(base=Constraint)
def independent(base: Constraint, count: int) -> Constraint:
    """Values whose parts along the last ``count`` axes are all in a set."""

    def holds(value: Any) -> Any:
        found = base.check(value)
        for _ in range(count):
            found = ops.all(found, -1)
        return found

    return Constraint(f"IndependentConstraint({base!r}, {count})", holds, base.event_dim + count, base.is_discrete)


def _is_one_hot(value: Any) -> Any:
    return ops.all((value == 0) | (value == 1), -1) & (ops.sum(value, -1) == 1)


def _is_lower_cholesky(value: Any) -> Any:
    lower = ops.all(ops.all(ops.tril(value) == value, -1), -1)
    return lower & ops.all(ops.diagonal(value, 0, -2, -1) > 0, -1)


def _is_positive_definite(value: Any) -> Any:
    close = abs(value - value.mT) <= 1e-6 * ops.maximum(abs(value), abs(value.mT)) + 1e-6
    symmetric = ops.all(ops.all(close, -1), -1)
    return symmetric & ops.all(ops.linalg.eigvalsh(value) > 0, -1)


real = Constraint("Real()", lambda v: v == v)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda v: v > 0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda v: v >= 0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), is_discrete=True)
nonnegative_integer = Constraint(
    "IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), is_discrete=True
)
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda v: (v % 1 == 0) & (v >= 1), is_discrete=True)
one_hot = Constraint("OneHot()", _is_one_hot, 1, True)
simplex = Constraint("Simplex()", lambda v: ops.all(v >= 0, -1) & (abs(ops.sum(v, -1) - 1) < 1e-6), 1)
real_vector = independent(real, 1)
lower_cholesky = Constraint("LowerCholesky()", _is_lower_cholesky, 2)
positive_definite = Constraint("PositiveDefinite()", _is_positive_definite, 2)
