"""``paddle.distribution.variable``: what a random variable is: whether it is discrete, how many axes it has, and under
which condition.

A transform says with ``_domain`` and ``_codomain`` which variables it takes and gives.

>>> import ferrograd.paddle as paddle
>>> paddle.distribution.variable.Independent(paddle.distribution.variable.real, 2).event_rank
2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._distributions import constraints as sets
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.distribution import constraint as constraints

__all__ = ["Independent", "Positive", "Real", "Stack", "Variable", "positive", "real"]


class Variable:
    """A random variable whose values have ``event_rank`` axes and meet ``constraint``."""

    def __init__(
        self, is_discrete: bool = False, event_rank: int = 0, constraint: constraints.Constraint | None = None
    ) -> None:
        self._is_discrete, self._event_rank, self._constraint = is_discrete, event_rank, constraint

    @property
    def is_discrete(self) -> bool:
        """Whether the values can be counted."""
        return self._is_discrete

    @property
    def event_rank(self) -> int:
        """The number of axes of one value."""
        return self._event_rank

    @property
    def event_dim(self) -> int:
        """The number of axes of one value."""
        return self.event_rank

    def constraint(self, value: Any) -> Any:
        """Whether the condition holds, of each value."""
        if self._constraint is None:
            raise NotImplementedError(f"{type(self).__name__} has no constraint")
        return self._constraint.check(value)

    check = constraint


class Real(Variable):
    """Real numbers."""

    def __init__(self, event_rank: int = 0) -> None:
        super().__init__(False, event_rank, constraints.real)


class Positive(Variable):
    """Numbers that are not negative."""

    def __init__(self, event_rank: int = 0) -> None:
        super().__init__(False, event_rank, constraints.positive)


class Independent(Variable):
    """A variable whose values have ``reinterpreted_batch_rank`` more axes than those of ``base``."""

    def __init__(self, base: Variable, reinterpreted_batch_rank: int) -> None:
        super().__init__(base.is_discrete, base.event_rank + reinterpreted_batch_rank)
        self._base, self._rank = base, reinterpreted_batch_rank

    def constraint(self, value: Any) -> Any:
        """Whether the condition holds for all numbers of each value."""
        held = self._base.constraint(value)
        if held.ndim < self._rank:
            raise ValueError(f"a value has at least {self._rank} axes, not {held.ndim}")
        return ops.all(held, list(range(-self._rank, 0))) if self._rank else held

    check = constraint


class Stack(Variable):
    """A variable whose slices along ``axis`` are variables."""

    def __init__(self, vars: Sequence[Variable], axis: int = 0) -> None:
        super().__init__(any(one.is_discrete for one in vars))
        self._vars, self._axis = list(vars), axis

    @property
    def event_rank(self) -> int:
        """The number of axes of one value: those of a slice, and ``axis`` if that is one of them."""
        rank = max(one.event_rank for one in self._vars)
        return rank + (self._axis + rank < 0)

    def constraint(self, value: Tensor) -> Any:
        """Whether each value meets the condition of the variable of its slice."""
        if not -value.ndim <= self._axis < value.ndim:
            raise ValueError(f"a value of {value.ndim} axes has no axis {self._axis}")
        slices = zip(self._vars, ops.unbind(value, self._axis), strict=True)
        return ops.stack([one.constraint(part) for one, part in slices], self._axis)

    check = constraint


real = Real()
positive = Positive()


def of(found: Any) -> Variable:
    """The variable whose values lie in a set, as transforms say their domains to both dialects."""
    if isinstance(found, Variable):
        return found
    if isinstance(found, sets.independent):
        return Independent(of(found.base_constraint), found.reinterpreted_batch_ndims)
    if isinstance(found, sets.stack):
        return Stack([of(one) for one in found.cseq], found.dim)
    if isinstance(found, sets.interval):
        return Variable(False, 0, constraints.Range(found.lower_bound, found.upper_bound))
    if found is sets.simplex:
        return Variable(False, 1, constraints.simplex)
    if isinstance(found, (sets.greater_than, sets.greater_than_eq)):
        return positive
    return real if found is sets.real else Variable(bool(found.is_discrete), int(found.event_dim))


__dir__ = _public.names(globals())
