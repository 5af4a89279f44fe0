"""Sets that values and parameters lie in: ``check(value)`` says for each event whether it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values, each of which has ``event_dim`` axes.

    >>> import ferrograd.torch as torch
    >>> positive.check(torch.tensor([1.0, -1.0])).tolist()
    [True, False]
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """A boolean for each event of the value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({shown})"


class _Dependent(Constraint):
    """A set that depends on other parameters, so nothing is checked."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> _Dependent:
        return _Dependent(
            is_discrete=self.is_discrete if is_discrete is None else is_discrete,
            event_dim=self.event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Whether a set depends on other parameters, so that it cannot be checked alone."""
    return isinstance(constraint, _Dependent | dependent_property)


class dependent_property(property, Constraint):
    """A property whose value is a set that depends on other parameters."""

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> None:
        super().__init__(fn)
        self._known: dict[str, Any] = {"is_discrete": is_discrete, "event_dim": event_dim}

    @property
    def is_discrete(self) -> Any:
        """Whether the sets are discrete; raises if that depends on the object."""
        return self._fg_of_class("is_discrete")

    @property
    def event_dim(self) -> Any:
        """The number of axes of a value; raises if it depends on the object."""
        return self._fg_of_class("event_dim")

    def _fg_of_class(self, name: str) -> Any:
        if self._known[name] is None:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._known[name]

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:
        """The property of a function, as a decorator with arguments is used."""
        return dependent_property(fn, **self._known)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Any) -> Any:
        return ops.all((value == 0) | (value == 1), -1) & (ops.sum(value, -1) == 1)


class _IntegerInterval(Constraint):
    """Integers between two bounds, which belong to the set."""

    is_discrete = True

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value


class _GreaterThan(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(Constraint):
    """Numbers that are at least a bound."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _LessThan(Constraint):
    """Numbers below a bound."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(Constraint):
    """Numbers between two bounds, which belong to the set."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(Constraint):
    """Numbers between two bounds, of which the lower one belongs to the set."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ops.all(value >= 0, -1) & (abs(ops.sum(value, -1) - 1) < 1e-6)


class _Multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return ops.all(value >= 0, -1) & (ops.sum(value, -1) <= self.upper_bound)


def _all_of_matrix(found: Any) -> Any:
    return ops.all(ops.all(found, -1), -1)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return _all_of_matrix(ops.tril(value) == value)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return _all_of_matrix(ops.tril(value) == value) & ops.all(ops.diagonal(value, 0, -2, -1) > 0, -1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        small = 10 * int(value.shape[-1]) * float(finfo(value.dtype).eps)
        is_unit = ops.all(abs(ops.norm(value.detach(), 2.0, [-1]) - 1) <= small, -1)
        return lower_cholesky.check(value) & is_unit


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        found = value.shape[-1] == value.shape[-2]
        return ops.full([int(n) for n in value.shape[:-2]], found, "bool")


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        is_square = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return is_square
        return _all_of_matrix(abs(value - value.mT) <= 1e-6 * ops.maximum(abs(value), abs(value.mT)) + 1e-6)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not _core.all_hold(symmetric):
            return symmetric
        return ops.all(ops.linalg.eigvalsh(value) >= 0, -1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not _core.all_hold(symmetric):
            return symmetric
        return ops.all(ops.linalg.eigvalsh(value) > 0, -1)


class _IndependentConstraint(Constraint):
    """Values whose parts along the last axes are all in a set."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"independent: a Constraint is wanted, not {type(base_constraint).__name__}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """Whether the values are discrete."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """The number of axes of one value."""
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        found = self.base_constraint.check(value)
        if found.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        for _ in range(self.reinterpreted_batch_ndims):
            found = ops.all(found, -1)
        return found

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The values of the parts of a mixture."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """Whether the values are discrete."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """The number of axes of one value."""
        return int(self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        """Whether the value is one of every part."""
        found = self.base_constraint.check(ops.expand_dims(value, -1 - self.event_dim))
        return ops.all(found, -1) if found.ndim else found


def slices(value: Any, lengths: Sequence[int], axis: int) -> list[Any]:
    """Parts of given lengths along an axis."""
    found, start = [], 0
    for n in lengths:
        found.append(ops.narrow(value, axis, start, n))
        start += n
    return found


class cat(Constraint):
    """Sets of parts of values, whose lengths along ``dim`` are given."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        """Whether a part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The number of axes of one value."""
        return max(int(c.event_dim) for c in self.cseq)

    def check(self, value: Any) -> Any:
        """A boolean for each event of the parts."""
        parts = slices(value, self.lengths, self.dim)
        return ops.concat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class stack(Constraint):
    """Sets of the slices of values along ``dim``."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        """Whether a part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The number of axes of one value."""
        axes = max(int(c.event_dim) for c in self.cseq)
        return axes + 1 if self.dim + axes < 0 else axes

    def check(self, value: Any) -> Any:
        """A boolean for each event of the slices."""
        parts = ops.unbind(value, self.dim)
        return ops.stack([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
independent = _IndependentConstraint
multinomial = _Multinomial
dependent = _Dependent()
real = _Real()
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
unit_interval = _Interval(0.0, 1.0)
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
simplex = _Simplex()
real_vector = _IndependentConstraint(real, 1)
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
