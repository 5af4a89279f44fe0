"""Methods of Paddle's tensors that are no functions of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import paddle as ops
from ferrograd.paddle._framework import is_complex, is_empty, is_integer

__all__ = [
    "_grad_ivar",
    "_inplace_version",
    "_zero_grads",
    "apply",
    "apply_",
    "cumsum_",
    "exponential_",
    "fill_diagonal_",
    "fill_diagonal_tensor",
    "get_strides",
    "is_complex",
    "is_dense",
    "is_empty",
    "is_integer",
    "is_same_shape",
    "ndimension",
    "normal_",
    "uniform_",
]


def _grad_ivar(x: Tensor) -> Tensor | None:
    """The gradient under the name that older scripts know."""
    grad: Tensor | None = x.grad
    return grad


def _inplace_version(x: Tensor) -> int:
    """How often the tensor has been written to."""
    return int(x.inplace_version)


def _zero_grads(x: Tensor) -> None:
    """Writes zeros over the gradient, if there is one."""
    x.clear_gradient(True)


def cumsum_(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The running sums along an axis, written over the tensor; without an axis those of all elements, as a vector."""
    _core.overwrite(x, "cumsum", axis is None, ops.cumsum, (axis, dtype), {})
    return x


def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Writes a number over a diagonal. With ``wrap`` that of a matrix begins again below its end, one row further down.

    With more axes these are the elements at the same position along every axis, ``offset`` further along the last.
    """
    if x.ndim > 2:
        *sizes, last = x.shape
        places = [i for i in range(min(sizes)) if 0 <= i + offset < last]
        x[(*[places] * len(sizes), [i + offset for i in places])] = value
        return x
    rows, columns = x.shape if x.ndim == 2 else (0, 0)
    ops.diagonal(x, offset).fill_(value)
    if wrap:
        for start in range(columns + 1, rows, columns + 1):
            ops.diagonal(x[start:], offset).fill_(value)
    return x


def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with ``y`` over a diagonal of two of its axes; the last axis of ``y`` runs along it."""
    return ops.diagonal_scatter(x, y, offset, dim1, dim2)


def ndimension(x: Tensor) -> int:
    """The number of axes."""
    return int(x.ndim)


def get_strides(x: Tensor) -> list[int]:
    """The distances between neighbours along each axis, in elements."""
    return list(x.strides)


def is_dense(x: Tensor) -> bool:
    """True: there are no sparse tensors."""
    return True


def is_same_shape(x: Tensor, y: Tensor) -> bool:
    """Whether another tensor has the same shape."""
    return tuple(x.shape) == tuple(y.shape)


def apply(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function makes of the tensor, which does not want a gradient."""
    if not x.stop_gradient:
        raise ArgumentError("Cannot apply function on a tensor that required gradient.")
    return func(x)


def apply_(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """The tensor, which does not want a gradient, with what a function makes of it written over it."""
    if not x.stop_gradient:
        raise ArgumentError("Cannot apply function on a tensor that required gradient.")
    return _written(x, "apply", func)


def _written(x: Tensor, name: str, f: Callable[[Tensor], Any]) -> Tensor:
    _core.overwrite(x, name, False, f, (), {})
    return x


def uniform_(x: Tensor, min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Numbers spread evenly over [``min``, ``max``), written over the tensor."""
    if seed:
        ops.seed(seed)
    return _written(x, "uniform", lambda x: ops.uniform(min, max, list(x.shape), x.dtype))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Tensor:
    """Normal numbers, written over the tensor."""
    return _written(x, "normal", lambda x: ops.cast(ops.normal(mean, std, list(x.shape)), x.dtype))


def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Numbers with the density ``lam * exp(-lam * t)``, written over the tensor."""
    return _written(
        x, "exponential", lambda x: ops.divide(ops.negative(ops.log1p(-ops.rand(list(x.shape), x.dtype))), lam)
    )
