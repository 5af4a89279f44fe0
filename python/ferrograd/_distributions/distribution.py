"""The base of distributions."""

from __future__ import annotations

import copy
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, no_derivative
from ferrograd._core import Tensor
from ferrograd._distributions import constraints
from ferrograd._distributions.constraints import Constraint
from ferrograd._functions.array_api import result_type
from ferrograd._kit.dialect import TORCH, dialect_of
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd._tensor.shape import TorchSize as Size

__all__ = ["Distribution", "ExponentialFamily"]


def broadcast_all(*values: Any) -> list[Any]:
    """Numbers and tensors as tensors of one shape; numbers get the dtype of the tensors."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = result_type(*tensors) if tensors else ops.get_default_dtype()
    dialect = dialect_of(tensors[0]) if tensors else TORCH
    found = [v if isinstance(v, Tensor) else _core.make(float(v), dtype, False, dialect) for v in values]
    return list(ops.broadcast_tensors(found))


def sum_last(value: Any, count: int) -> Any:
    """The sums over the last ``count`` axes."""
    return ops.sum(value, [-1 - i for i in range(count)]) if count else value


class Distribution:
    """The base of distributions: a ``batch_shape`` of independent ones, each with values of ``event_shape``."""

    has_rsample = False
    has_enumerate_support = False
    #: The constraint of each parameter.
    arg_constraints: dict[str, Constraint] = {}  # noqa: RUF012
    #: The parameters that tensors of the object hold, and the number of axes of each that are no batch.
    _fg_held: dict[str, int] = {}  # noqa: RUF012
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether distributions check their parameters and values."""
        if not isinstance(value, bool):
            raise ValueError(f"set_default_validate_args: True or False is wanted, not {value!r:.60}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(tuple(batch_shape)), Size(tuple(event_shape))
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            if self.arg_constraints is Distribution.arg_constraints:
                self._fg_miss_constraints()
            for name, constraint in self.arg_constraints.items():
                if constraints.is_dependent(constraint) or name not in vars(self):
                    continue
                self._fg_require(name, vars(self)[name])

    def _fg_miss_constraints(self) -> None:
        """Warns where a class of a user's, of no family, says nothing of its parameters."""
        if type(self) is not self._fg_library_class() and self._fg_library_class() in (Distribution, ExponentialFamily):
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation."
            )

    def _fg_require(self, name: str, value: Any) -> None:
        """Raises unless a parameter satisfies its constraint."""
        constraint = self.arg_constraints[name]
        if not _core.all_hold(constraint.check(value)):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @property
    def batch_shape(self) -> Any:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self) -> Constraint:
        """The set of values."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.sqrt(self.variance)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape; its parameters are views.

        A subclass that holds more makes an instance of its own with it, and hands this on as ``_instance``.
        """
        self._get_checked_instance(self._fg_library_class(), _instance)
        new = copy.copy(self)
        if _instance is not None:
            vars(_instance).update({**vars(self), **vars(_instance)})
            new = _instance
        new._batch_shape = Size(tuple(batch_shape))
        for name, axes in self._fg_held.items():
            if name in vars(self):
                value = vars(self)[name]
                own = tuple(value.shape)[len(value.shape) - axes :]
                vars(new)[name] = ops.broadcast_to(value, [*new._batch_shape, *own])
        return new

    def _fg_library_class(self) -> type:
        """The class, or the nearest of its bases that is not defined in another library."""
        return next(c for c in type(self).__mro__ if c.__module__.startswith("ferrograd."))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The instance that ``expand`` of ``cls`` fills: the one given, or a new one. Subclasses elsewhere call it.

        Raises:
            NotImplementedError: a subclass has a constructor of its own, so it may hold more than ``expand`` knows.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"expand: {type(self).__name__} has a constructor of its own, so it needs an expand of its own"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size([*sample_shape, *self._batch_shape, *self._event_shape])

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values of ``sample_shape + batch_shape + event_shape`` without a gradient."""
        with no_derivative():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, of values."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        raise NotImplementedError

    def _fg_survival(self, value: Any) -> Any:
        """The probability of values above ``value``, which a subclass computes without 1 where it is small."""
        return 1 - self.cdf(value)

    def _fg_upper_quantile(self, value: Any) -> Any:
        """The value above which the probability is ``value``."""
        return self.icdf(1 - value)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, along a new first axis."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy in nats."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return ops.exp(self.entropy())

    def _fg_checked(self, value: Any) -> Any:
        """The value; raises unless it is a tensor of a fitting shape in the support."""
        if not self._validate_args:
            return self._fg_as_tensor(value)
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event, wanted = tuple(value.shape), tuple(self._event_shape), self._extended_shape()
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        pairs = zip(reversed(shape), reversed(wanted), strict=False)
        if any(i != j and 1 not in (i, j) for i, j in pairs):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(tuple(wanted))}."
            )
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return value
        if not _core.all_hold(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {shape}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )
        return value

    def _fg_as_tensor(self, value: Any) -> Any:
        """A number as a tensor like the parameters; a tensor as it is."""
        if not isinstance(value, int | float):
            return value
        if "base_dist" in vars(self):
            return vars(self)["base_dist"]._fg_as_tensor(value)
        like = next((v for v in vars(self).values() if isinstance(v, Tensor)), None)
        return value if like is None else _core.make(float(value), like.dtype, False, dialect_of(like))

    def _validate_sample(self, value: Any) -> None:
        """Raises unless a value is a tensor of a fitting shape in the support; for subclasses of other libraries."""
        self._fg_checked(value)

    def __repr__(self) -> str:
        held = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = [f"{k}: {v.detach().item() if v.numel() == 1 else v.shape}" for k, v in held.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """The base of distributions with densities ``exp(<t(x), theta> - F(theta) + k(x))``.

    A distribution says its natural parameters, the logarithm of its normalizer and the mean of ``k``. Then the entropy
    comes from the derivative of the normalizer.
    """

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    def _fg_normalizer(self) -> tuple[Any, list[Any], list[Any]]:
        """The logarithm of the normalizer, the natural parameters, and its derivatives by them."""
        params = [p if p.requires_grad else _core.require_grad(p.detach()) for p in self._natural_params]
        with enable_grad():
            norm = self._log_normalizer(*params)
            slopes = _core.grad([ops.sum(norm)], params, None, dialect_of(norm), create_graph=True)
        return norm, params, list(slopes)

    def entropy(self) -> Any:
        """The entropy in nats."""
        found, params, slopes = self._fg_normalizer()
        found = found - self._mean_carrier_measure
        for p, g in zip(params, slopes, strict=True):
            found = found - sum_last(p * g, len(p.shape) - len(self._batch_shape))
        return found
