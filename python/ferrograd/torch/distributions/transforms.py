"""Invertible functions with the logarithm of their derivative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ferrograd._core import torch as ops
from ferrograd.torch.distributions import constraints
from ferrograd.torch.distributions.constraints import Constraint

__all__ = [
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
]


class Transform:
    """The base of invertible functions of numbers. ``t(x)`` is the value, ``t.inv(y)`` the argument.

    >>> import ferrograd.torch as torch
    >>> ExpTransform().inv(torch.tensor(1.0)).item()
    0.0
    """

    domain: Constraint
    codomain: Constraint
    bijective = True
    #: 1 if the function increases, -1 if it decreases.
    sign: Any = 1

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        """The argument at which the value is ``y``."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute derivative at ``x``, where the value is ``y``."""
        raise NotImplementedError

    @property
    def inv(self) -> Transform:
        """The inverse function."""
        return _InverseTransform(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, forward: Transform) -> None:
        self._forward = forward
        self.domain, self.codomain, self.sign = forward.codomain, forward.domain, forward.sign

    def __call__(self, x: Any) -> Any:
        return self._forward._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self._forward(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_abs_det_jacobian(y, x)

    @property
    def inv(self) -> Transform:
        return self._forward

    def __repr__(self) -> str:
        return f"_InverseTransform({self._forward!r})"


class ExpTransform(Transform):
    """``exp(x)``."""

    domain, codomain = constraints.real, constraints.positive

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return ops.exp(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return x


class AffineTransform(Transform):
    """``loc + scale * x``."""

    domain = codomain = constraints.real

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = loc, scale

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        return math.copysign(1, self.scale) if isinstance(self.scale, int | float) else ops.sign(self.scale)

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute scale."""
        return ops.zeros_like(x) + ops.log(ops.abs(ops.zeros_like(x) + self.scale))


class SigmoidTransform(Transform):
    """``1 / (1 + exp(-x))``."""

    domain, codomain = constraints.real, constraints.unit_interval

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return ops.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y) - ops.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return -ops.softplus(-x) - ops.softplus(x)


class TanhTransform(Transform):
    """``tanh(x)``."""

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return ops.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return 0.5 * (ops.log1p(y) - ops.log1p(-y))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return 2.0 * (math.log(2.0) - x - ops.softplus(-2.0 * x))


class SoftplusTransform(Transform):
    """``log(1 + exp(x))``."""

    domain, codomain = constraints.real, constraints.positive

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return ops.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return y + ops.log(-ops.expm1(-y))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return -ops.softplus(-x)


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any) -> None:
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return math.copysign(1, self.exponent) if isinstance(self.exponent, int | float) else ops.sign(self.exponent)

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute derivative."""
        return ops.log(ops.abs(self.exponent * y / x))


class ComposeTransform(Transform):
    """Functions one after the other, the first one first."""

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = list(parts)

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        """The domain of the first function."""
        return self.parts[0].domain if self.parts else constraints.real

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        """The codomain of the last function."""
        return self.parts[-1].codomain if self.parts else constraints.real

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        return math.prod(part.sign for part in self.parts)

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the logarithms of the functions."""
        total = ops.zeros_like(x)
        for part in self.parts:
            following = part(x)
            total = total + part.log_abs_det_jacobian(x, following)
            x = following
        return total

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"
