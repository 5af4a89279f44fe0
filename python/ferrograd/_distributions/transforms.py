"""Functions of random variables with the logarithms of the determinants of their derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._distributions import constraints
from ferrograd._distributions.constraints import Constraint
from ferrograd._distributions.distribution import sum_last
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo
from ferrograd._tensor.shape import TorchSize as Size

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """The base of functions. ``t(x)`` is the value, ``t.inv(y)`` the argument.

    A function defines ``_call``, ``_inverse`` and ``log_abs_det_jacobian``. With ``cache_size=1`` it remembers its last
    argument and value, so that the argument of a value is exact.

    >>> import ferrograd.torch as torch
    >>> ExpTransform().inv(torch.tensor(1.0)).item()
    0.0
    """

    domain: Any
    codomain: Any
    bijective = False

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: Any = (None, None)
        # A class may derive from a module too.
        super().__init__()

    @property
    def event_dim(self) -> int:
        """The number of axes of one argument."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def sign(self) -> Any:
        """1 if the function increases, -1 if it decreases."""
        raise NotImplementedError

    def __call__(self, x: Any) -> Any:
        """The value at ``x``."""
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = (x, self._call(x))
        return self._cached_x_y[1]

    def _inv_call(self, y: Any) -> Any:
        """The argument at which the value is ``y``."""
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = (self._inverse(y), y)
        return self._cached_x_y[0]

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute determinant of the derivative at ``x``, where the value is ``y``."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value for the shape of an argument."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for the shape of a value."""
        return shape

    @property
    def inv(self) -> Any:
        """The inverse function."""
        return _InverseTransform(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cached_x_y": (None, None)}


class _InverseTransform(Transform):
    def __init__(self, forward: Transform) -> None:
        super().__init__(forward._cache_size)
        self._forward = forward

    @property
    def domain(self) -> Any:
        return self._forward.codomain

    @property
    def codomain(self) -> Any:
        return self._forward.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    def __call__(self, x: Any) -> Any:
        return self._forward._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._forward(y)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._forward.forward_shape(shape)

    @property
    def inv(self) -> Transform:
        return self._forward

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"_InverseTransform({self._forward!r})"


class _Simple(Transform):
    """A bijective function without parameters that increases. Two of one class are equal."""

    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class ExpTransform(_Simple):
    """``exp(x)``."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return ops.exp(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return x


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return PowerTransform(self.exponent, cache_size)

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return _sign(self.exponent)

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute derivative."""
        # The quotient of y and x could overflow.
        size = ops.log(ops.abs(ops.zeros_like(x) + self.exponent))
        return size + ops.log(ops.abs(y)) - ops.log(ops.abs(x))

    def forward_shape(self, shape: Any) -> Any:
        """The shapes of the argument and the exponent broadcast."""
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = Transform.__hash__


class SigmoidTransform(_Simple):
    """``1 / (1 + exp(-x))``, kept from 0 and 1 by the smallest numbers."""

    domain, codomain = constraints.real, constraints.unit_interval

    def _call(self, x: Any) -> Any:
        info = finfo(x.dtype)
        return ops.clip(ops.sigmoid(x), float(info.tiny), 1.0 - float(info.eps))

    def _inverse(self, y: Any) -> Any:
        info = finfo(y.dtype)
        y = ops.clip(y, float(info.tiny), 1.0 - float(info.eps))
        return ops.log(y) - ops.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return -ops.softplus(-x) - ops.softplus(x)


class SoftplusTransform(_Simple):
    """``log(1 + exp(x))``."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return ops.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return y + ops.log(-ops.expm1(-y))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        return -ops.softplus(-x)


class TanhTransform(_Simple):
    """``tanh(x)``."""

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return ops.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return ops.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the derivative."""
        is_near = abs(x) < 1
        near, far = ops.where(is_near, x, 0.0), ops.where(is_near, 1.0, x)
        sine = ops.sinh(near)
        return ops.where(is_near, 0.0 - ops.log1p(sine * sine), 2.0 * (math.log(2.0) - far - ops.softplus(-2.0 * far)))


class AbsTransform(Transform):
    """``abs(x)``. The inverse takes the positive argument."""

    domain, codomain = constraints.real, constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return abs(x)

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    @property
    def event_dim(self) -> int:
        """The number of axes of one argument."""
        return self._event_dim

    @property
    def domain(self) -> Constraint:
        """All numbers."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        return _sign(self.scale)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute scale."""
        each = ops.zeros_like(x) + ops.log(ops.abs(ops.zeros_like(x) + self.scale))
        return sum_last(each, self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """The shapes of the argument, the location and the scale broadcast."""
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = Transform.__hash__


class CumulativeDistributionTransform(Transform):
    """The probability of values that are at most ``x``."""

    bijective = True
    sign = 1
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


class SoftmaxTransform(Transform):
    """The softmax of vectors. It is not bijective: the inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return ops.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)

    def forward_shape(self, shape: Any) -> Any:
        """The same shape, which has an axis."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Simple):
    """Vectors of n numbers to points of a simplex with n + 1 numbers, as shares of what is left of a stick."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        z = ops.sigmoid(x - self._fg_offset(x))
        left = ops.cumprod(1 - z, -1)
        one = ops.ones([*z.shape[:-1], 1], z.dtype)
        return ops.concat([z, one], -1) * ops.concat([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        share = y[..., :-1]
        rest = ops.clip(1 - ops.cumsum(share, -1), float(finfo(y.dtype).tiny), None)
        n = int(share.shape[-1])
        offset = ops.log(ops.astype(ops.arange(n, 0, -1), y.dtype))
        return ops.log(share) - ops.log(rest) + offset

    @staticmethod
    def _fg_offset(x: Any) -> Any:
        return ops.log(ops.astype(ops.arange(int(x.shape[-1]), 0, -1), x.dtype))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the determinant."""
        x = x - self._fg_offset(x)
        return ops.sum(-x - ops.softplus(-x) + ops.log(y[..., :-1]), -1)

    def forward_shape(self, shape: Any) -> Any:
        """The shape with one more number."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return _like(shape, (*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape with one number less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return _like(shape, (*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(_Simple):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices of n rows."""

    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = float(finfo(x.dtype).eps)
        r = _lower(ops.clip(ops.tanh(x), -1 + eps, 1 - eps))
        n = int(r.shape[-1])
        rest = ops.cumprod(ops.sqrt(1 - r * r), -1)
        r = r + ops.eye(n, dtype=r.dtype)
        return r * _shifted(rest)

    def _inverse(self, y: Any) -> Any:
        rest = 1 - ops.cumsum(y * y, -1)
        t = _below(y) / ops.sqrt(_below(_shifted(ops.clip(rest, float(finfo(y.dtype).tiny), None))))
        return (ops.log1p(t) - ops.log1p(-t)) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the determinant."""
        rest = 1 - ops.cumsum(y * y, -1)
        inner = _below(rest, -2)
        slope = ops.sum(ops.log(inner), -1) * 0.5 if inner.numel() else 0.0
        return slope + ops.sum(-2 * (x + ops.softplus(-2 * x) - math.log(2.0)), -1)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the matrices."""
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return _like(shape, (*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the vectors."""
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return _like(shape, (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _places(n: int, diagonal: int = -1) -> Any:
    return np.tril_indices(n, diagonal)


def _lower(x: Any) -> Any:
    """Vectors as matrices with zeros on and above the diagonal."""
    count = int(x.shape[-1])
    n = round((0.25 + 2 * count) ** 0.5 + 0.5)
    if n * (n - 1) // 2 != count:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangle")
    rows, columns = _places(n)
    index = np.full((n, n), count)
    index[rows, columns] = np.arange(count)
    padded = ops.concat([x, ops.zeros([*x.shape[:-1], 1], x.dtype)], -1)
    return ops.reshape(padded[..., index.ravel()], [*x.shape[:-1], n, n])


def _below(y: Any, diagonal: int = -1) -> Any:
    """The numbers below the diagonal as vectors."""
    rows, columns = _places(int(y.shape[-1]), diagonal)
    return y[..., rows, columns]


def _shifted(y: Any) -> Any:
    """Each row moved by one, with a one at its beginning."""
    return ops.concat([ops.ones([*y.shape[:-1], 1], y.dtype), y[..., :-1]], -1)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return ops.tril(x, -1) + ops.diag_embed(ops.exp(ops.diagonal(x, 0, -2, -1)))

    def _inverse(self, y: Any) -> Any:
        return ops.tril(y, -1) + ops.diag_embed(ops.log(ops.diagonal(y, 0, -2, -1)))


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        x = LowerCholeskyTransform()(x)
        return ops.matmul(x, x.mT)

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(ops.linalg.cholesky(y))


class ReshapeTransform(Transform):
    """The last axes in another shape with as many numbers."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(tuple(in_shape)), Size(tuple(out_shape))
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @property
    def domain(self) -> Constraint:
        """Numbers in the first shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:
        """Numbers in the second shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Any) -> Any:
        return ops.reshape(x, [*self._fg_swap(x.shape, self.in_shape, self.out_shape)])

    def _inverse(self, y: Any) -> Any:
        return ops.reshape(y, [*self._fg_swap(y.shape, self.out_shape, self.in_shape)])

    @staticmethod
    def _fg_swap(shape: Any, old: Any, new: Any) -> Any:
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {tuple(shape[max(cut, 0) :])} but got {tuple(old)}")
        return _like(shape, (*shape[:cut], *new))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Zero."""
        zeros = ops.zeros_like(x)
        return ops.sum(zeros, [-1 - axis for axis in range(len(self.in_shape))]) if self.in_shape else zeros

    def forward_shape(self, shape: Any) -> Any:
        """The shape with the last axes replaced."""
        return self._fg_swap(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape with the last axes replaced."""
        return self._fg_swap(shape, self.out_shape, self.in_shape)


class IndependentTransform(Transform):
    """A function whose ``reinterpreted_batch_ndims`` more axes belong to one argument."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform: Any = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @property
    def domain(self) -> Constraint:
        """The domain with more axes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        """The codomain with more axes."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether the function is bijective."""
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        """The sign of the function."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm, summed over the axes."""
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ComposeTransform(Transform):
    """Functions one after the other, the first one first."""

    parts: list[Any]

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The functions with another size of their caches."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    @property
    def domain(self) -> Constraint:
        """The domain of the first function, with the axes that a later one needs."""
        if not self.parts:
            return constraints.real
        found = self.parts[0].domain
        axes = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            axes = max(axes + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        more = axes - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def codomain(self) -> Constraint:
        """The codomain of the last function, with the axes that an earlier one has."""
        if not self.parts:
            return constraints.real
        found = self.parts[-1].codomain
        axes = self.parts[0].domain.event_dim
        for part in self.parts:
            axes = max(axes + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        more = axes - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all functions are bijective."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        return math.prod(part.sign for part in self.parts)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the logarithms of the functions."""
        if not self.parts:
            return ops.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        axes, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            total = total + sum_last(part.log_abs_det_jacobian(before, after), axes - part.domain.event_dim)
            axes += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


class CatTransform(Transform):
    """Functions of parts of the argument along ``dim``, whose lengths are given."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError("CatTransform: there must be a length for each transform")

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self) -> int:
        """The largest number of axes of the parts."""
        return max(t.event_dim for t in self.transforms)

    @property
    def domain(self) -> Constraint:
        """The domains of the parts."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:
        """The codomains of the parts."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all functions are bijective."""
        return all(t.bijective for t in self.transforms)

    def _fg_parts(self, x: Any) -> Any:
        return zip(self.transforms, constraints.slices(x, self.lengths, self.dim), strict=True)

    def _call(self, x: Any) -> Any:
        return ops.concat([t(part) for t, part in self._fg_parts(x)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return ops.concat([t.inv(part) for t, part in self._fg_parts(y)], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithms of the parts along ``dim``, or their sum where ``dim`` belongs to one argument."""
        found = []
        for (t, a), (_, b) in zip(self._fg_parts(x), self._fg_parts(y), strict=True):
            one = t.log_abs_det_jacobian(a, b)
            found.append(sum_last(one, self.event_dim - t.event_dim))
        axis = self.dim if self.dim < 0 else self.dim - x.ndim
        axis += self.event_dim
        return ops.concat(found, axis) if axis < 0 else sum(found[1:], found[0])


class StackTransform(Transform):
    """Functions of the slices of the argument along ``dim``."""

    transforms: list[Any]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq), dim

    def with_cache(self, cache_size: int = 1) -> Any:
        """The function with another size of its cache."""
        return StackTransform(self.transforms, self.dim, cache_size)

    @property
    def domain(self) -> Constraint:
        """The domains of the slices."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        """The codomains of the slices."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all functions are bijective."""
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Any) -> Any:
        parts = zip(self.transforms, ops.unbind(x, self.dim), strict=True)
        return ops.stack([t(part) for t, part in parts], self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = zip(self.transforms, ops.unbind(y, self.dim), strict=True)
        return ops.stack([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithms of the slices along ``dim``."""
        parts = zip(self.transforms, ops.unbind(x, self.dim), ops.unbind(y, self.dim), strict=True)
        return ops.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)


def _sign(value: Any) -> Any:
    return math.copysign(1, value) if isinstance(value, int | float) else ops.sign(value)


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters, numbers or tensors, have one shape and equal numbers."""
    if isinstance(a, int | float) and isinstance(b, int | float):
        return bool(a == b)
    shapes = [() if isinstance(x, int | float) else tuple(x.shape) for x in (a, b)]
    return shapes[0] == shapes[1] and _core.all_hold(ops.equal(a, b))


def _like(shape: Any, sizes: tuple[int, ...]) -> Any:
    """Sizes as a shape of the kind of another one."""
    return Size(sizes) if isinstance(shape, Size) else sizes


def _broadcast(shape: Any, *values: Any) -> Any:
    return _like(shape, np.broadcast_shapes(tuple(shape), *(tuple(getattr(v, "shape", ())) for v in values)))


identity_transform = ComposeTransform([])
