"""Functions of random variables, and the distributions of their values."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._distributions import constraints, transformed_distribution as _transformed, transforms as _shared
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.distribution import variable
from ferrograd.paddle.distribution.distribution import Distribution, parameters

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ChainTransform",
    "ExpTransform",
    "IndependentTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Type",
]


class Type(enum.Enum):
    """Kinds of functions."""

    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"


class Transform(_shared.Transform):
    """The base of functions. ``t(x)`` is the value, ``t(distribution)`` the distribution of the values.

    A subclass defines ``_forward``, ``_inverse``, and one of ``_forward_log_det_jacobian`` and
    ``_inverse_log_det_jacobian``. If its arguments or values are not single real numbers, it defines the properties
    ``_domain`` and ``_codomain``, which give variables of ``paddle.distribution.variable``.

    >>> import ferrograd.paddle as paddle
    >>> t = paddle.distribution.ExpTransform()
    >>> t.inverse(paddle.to_tensor(1.0)).item()
    0.0
    """

    _type = Type.INJECTION
    _cache_size = 0
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for own, shared in (("_domain", "domain"), ("_codomain", "codomain")):
            if own in vars(cls) and shared not in vars(cls):
                setattr(cls, shared, vars(cls)[own])

    @property
    def _domain(self) -> variable.Variable:
        """The variable of the arguments."""
        return variable.of(self.domain)

    @property
    def _codomain(self) -> variable.Variable:
        """The variable of the values."""
        return variable.of(self.codomain)

    def _is_injective(self) -> bool:
        return self._type in (Type.BIJECTION, Type.INJECTION)

    def __call__(self, input: Any) -> Any:
        """The value at a tensor, the distribution of the values, or this function followed by another one."""
        if isinstance(input, Distribution):
            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([self, input])
        return self.forward(input)

    def forward(self, x: Tensor) -> Any:
        """The value at ``x``."""
        return self._call(_with_axes(x, self.domain.event_dim))

    def inverse(self, y: Tensor) -> Any:
        """The argument at which the value is ``y``."""
        return self._inverse(_with_axes(y, self.codomain.event_dim))

    def forward_log_det_jacobian(self, x: Tensor) -> Any:
        """The logarithm of the absolute determinant of the derivative at ``x``."""
        _with_axes(x, self.domain.event_dim)
        if not self._is_injective():
            raise NotImplementedError("forward_log_det_jacobian can't be implemented for non-injective transforms.")
        return self.log_abs_det_jacobian(x, self._call(x))

    def inverse_log_det_jacobian(self, y: Tensor) -> Any:
        """The logarithm of the absolute determinant of the derivative of the inverse at ``y``."""
        _with_axes(y, self.codomain.event_dim)
        return -self.log_abs_det_jacobian(self._inverse(y), y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute determinant of the derivative at ``x``, where the value is ``y``."""
        if hasattr(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(y)
        raise NotImplementedError(
            "Neither _forward_log_det_jacobian nor _inverse_log_det_jacobian is implemented. One of them is required."
        )

    def _call(self, x: Any) -> Any:
        return self._forward(x)

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("Forward not implemented")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("Inverse not implemented")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value for the shape of an argument."""
        return self._forward_shape(_shape(shape))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for the shape of a value."""
        return self._inverse_shape(_shape(shape))

    def _forward_shape(self, shape: Any) -> Any:
        return shape

    _inverse_shape = _forward_shape


def _shape(shape: Any) -> Any:
    if not isinstance(shape, Sequence):
        raise TypeError(f"Expected shape is Sequence[int] type, but got {type(shape)}.")
    return shape


def _with_axes(x: Any, axes: int) -> Any:
    if not isinstance(x, Tensor):
        raise TypeError(f"Expected a Tensor, but got {type(x)}.")
    if x.ndim < axes:
        raise ValueError(f"The dimensions of the tensor ({x.ndim}) should be greater than or equal to {axes}")
    return x


def _sequence(transforms: Any) -> list[Any]:
    if not isinstance(transforms, list | tuple) or not all(isinstance(t, Transform) for t in transforms):
        raise TypeError(f"Expected a sequence of Transforms, but got {transforms!r:.80}.")
    return list(transforms)


class AbsTransform(_shared.AbsTransform, Transform):
    """``abs(x)``. The inverse has two values."""

    _type = Type.SURJECTION

    def inverse(self, y: Tensor) -> Any:
        """The negative and the positive argument."""
        return -y, y

    def inverse_log_det_jacobian(self, y: Tensor) -> Any:
        """Zero for both branches."""
        return ops.zeros([], y.dtype), ops.zeros([], y.dtype)


class AffineTransform(_shared.AffineTransform, Transform):
    """``loc + scale * x``."""

    _type = Type.BIJECTION

    def __init__(self, loc: Any, scale: Any) -> None:
        _shared.AffineTransform.__init__(self, *parameters(loc, scale))

    def forward_log_det_jacobian(self, x: Tensor) -> Any:
        """The logarithm of the absolute scale, in the scale's shape."""
        return ops.log(ops.abs(self.scale))

    def inverse_log_det_jacobian(self, y: Tensor) -> Any:
        """Minus the logarithm of the absolute scale, in the scale's shape."""
        return -self.forward_log_det_jacobian(y)


class ChainTransform(_shared.ComposeTransform, Transform):
    """Functions one after the other, the first one first."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        _shared.ComposeTransform.__init__(self, _sequence(transforms))

    @property
    def transforms(self) -> list[Any]:
        """The functions."""
        return self.parts

    def _is_injective(self) -> bool:
        return all(t._is_injective() for t in self.parts)


class ExpTransform(_shared.ExpTransform, Transform):
    """``exp(x)``."""

    _type = Type.BIJECTION


class IndependentTransform(_shared.IndependentTransform, Transform):
    """A function whose ``reinterpreted_batch_rank`` more axes belong to one argument."""

    def __init__(self, base: Transform, reinterpreted_batch_rank: int) -> None:
        (base,) = _sequence([base])
        if reinterpreted_batch_rank <= 0:
            raise ValueError(
                f"Expected 'reinterpreted_batch_rank' is greater than zero, but got {reinterpreted_batch_rank}"
            )
        _shared.IndependentTransform.__init__(self, base, reinterpreted_batch_rank)

    def _is_injective(self) -> bool:
        return bool(self.base_transform._is_injective())


class PowerTransform(_shared.PowerTransform, Transform):
    """``x ** power`` of positive numbers."""

    _type = Type.BIJECTION
    domain = _shared.PowerTransform.domain

    def __init__(self, power: Any) -> None:
        _shared.PowerTransform.__init__(self, *parameters(power))

    @property
    def _domain(self) -> variable.Variable:
        """Paddle says real numbers, although powers of negative ones are complex."""
        return variable.real

    @property
    def power(self) -> Any:
        """The exponent."""
        return self.exponent


class ReshapeTransform(_shared.ReshapeTransform, Transform):
    """The last axes in another shape with as many numbers."""

    _type = Type.BIJECTION

    def __init__(self, in_event_shape: Sequence[int], out_event_shape: Sequence[int]) -> None:
        _shared.ReshapeTransform.__init__(self, in_event_shape, out_event_shape)

    @property
    def in_event_shape(self) -> tuple[int, ...]:
        """The shape of an argument."""
        return tuple(self.in_shape)

    @property
    def out_event_shape(self) -> tuple[int, ...]:
        """The shape of a value."""
        return tuple(self.out_shape)


class SigmoidTransform(_shared.SigmoidTransform, Transform):
    """``1 / (1 + exp(-x))``. The inverse of 1 is infinity."""

    def _call(self, x: Any) -> Any:
        return ops.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y) - ops.log1p(-y)


class SoftmaxTransform(_shared.SoftmaxTransform, Transform):
    """The softmax of vectors. The inverse is the logarithm."""

    _type = Type.OTHER


class StackTransform(_shared.StackTransform, Transform):
    """Functions of the slices of the argument along ``axis``."""

    def __init__(self, transforms: Sequence[Transform], axis: int = 0) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"Expected 'axis' is int, but got {type(axis)}.")
        if not transforms:
            raise TypeError("Expected 'transforms' is Sequence[Transform], but it is empty.")
        _shared.StackTransform.__init__(self, _sequence(transforms), axis)

    @property
    def axis(self) -> int:
        """The axis."""
        return self.dim

    def _is_injective(self) -> bool:
        return all(t._is_injective() for t in self.transforms)


class StickBreakingTransform(_shared.StickBreakingTransform, Transform):
    """Vectors of n numbers to points of a simplex with n + 1 numbers, as shares of what is left of a stick."""

    _type = Type.BIJECTION


class TanhTransform(_shared.TanhTransform, Transform):
    """``tanh(x)``."""

    _type = Type.BIJECTION


class TransformedDistribution(Distribution, _transformed.TransformedDistribution):
    """The distribution of ``t(x)``, where ``x`` has a base distribution; of several functions the first comes first.

    >>> import ferrograd.paddle as paddle
    >>> d = paddle.distribution
    >>> y = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.AffineTransform(2.0, 4.0)])
    >>> y.log_prob(paddle.to_tensor(2.0)).item()
    -2.30523...
    """

    def __init__(self, base: Distribution, transforms: Sequence[Transform]) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"Expected type of 'base' is Distribution, but got {type(base)}.")
        _transformed.TransformedDistribution.__init__(self, base, _sequence(transforms))


__dir__ = _public.names(globals())
