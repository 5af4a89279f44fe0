"""Methods of Paddle's tensors that the namespace does not have as functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, PaddleTensor, paddle as ops
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.methods import set_ as _shared_set
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.specialize import specialize
from ferrograd.paddle._base.in_place import leaf_kept, overwrite, taking_the_dtype
from ferrograd.paddle._functions import index, reduce, shapes
from ferrograd.paddle._functions.create import full
from ferrograd.paddle._functions.predicates import is_complex, is_empty, is_integer
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "_copy_gradient_from",
    "_copy_to",
    "_grad_ivar",
    "_grad_value",
    "_inplace_version",
    "_is_initialized",
    "_is_shared_buffer_with",
    "_is_shared_underline_tensor_with",
    "_numel",
    "_set_grad_ivar",
    "_share_buffer_to",
    "_share_underline_tensor_to",
    "_slice",
    "_to",
    "_zero_grads",
    "add_n",
    "apply",
    "apply_",
    "argwhere",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cast_",
    "cdouble",
    "cfloat",
    "combinations",
    "complex64",
    "complex128",
    "copy_",
    "cuda",
    "cumsum_",
    "cumulative_trapezoid",
    "data_ptr",
    "fill_diagonal_",
    "fill_diagonal_tensor",
    "float16",
    "float32",
    "float64",
    "get_device",
    "get_strides",
    "get_tensor",
    "imag",
    "initialize",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_complex",
    "is_empty",
    "is_integer",
    "is_same_shape",
    "is_tensor",
    "ndimension",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "polar",
    "polygamma_",
    "real",
    "repeat",
    "resize_",
    "scatter_nd",
    "set",
    "set_",
    "softmax_",
    "trapezoid",
    "uint8",
    "value",
    "where",
    "where_",
]


def cuda(x: Tensor, device_id: int | None = None, blocking: bool = True) -> Any:
    """Raises: there is no GPU."""
    raise ArgumentError(
        "cuda: there is no GPU; the tensor stays on the CPU if the call is left out, or guarded by "
        "paddle.is_compiled_with_cuda()"
    )


_recorded_copy = PaddleTensor.copy_


def copy_(x: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Writes the values of another tensor over those of ``x``, broadcast and cast; returns ``x``.

    A leaf that requires a gradient stays one, with the new values. Otherwise gradients flow to the other tensor.
    """
    with leaf_kept(x):
        return _recorded_copy(x, other, blocking)


def cast_(x: Tensor, dtype: Any) -> Tensor:
    """The tensor itself, which has another dtype from now on. Gradients flow through it as through ``cast``."""
    return _cast_in_place(x, dtype)


def _cast(x: Tensor, dtype: Any) -> Tensor:
    return ops.cast(x, dtype)


_cast_in_place = taking_the_dtype(PaddleTensor, "cast", _cast)


def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Takes over the memory of another tensor, or the elements of it that a shape, strides and an offset choose.

    Without ``source`` the tensor is left with no elements. Strides and the offset count elements; without strides the
    elements follow each other. Nothing is recorded.

    Raises:
        LeafInplaceError: the tensor requires a gradient, and gradients are recorded.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.zeros([3])
    >>> x.set_(paddle.arange(4.0), [2], [2]).tolist()
    [0.0, 2.0]
    """
    if source is None or (shape is None and stride is None and not offset):
        _shared_set(x, source)
        return x
    shape = list(source.shape) if shape is None else _arguments.integers(shape, "set_", "shape")
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))] if stride is None else stride
    _shared_set(x, ops.as_strided(source.detach(), shape, steps, offset))
    return x


def softmax_(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Overwrites with ``exp(x) / sum(exp(x))`` along an axis."""
    return _softmax_in_place(x, axis, dtype)


def _softmax(x: Tensor, axis: int, dtype: Any) -> Tensor:
    return ops.softmax(in_inexact(x, dtype, "softmax"), axis)


_softmax_in_place = taking_the_dtype(PaddleTensor, "softmax", _softmax)


def data_ptr(x: Tensor) -> int:
    """The address of the first element, which a write may move; 0 if there is none."""
    return int(_data_ptr(x)) if x.size else 0


_data_ptr = PaddleTensor.data_ptr


def initialize(x: Tensor) -> Tensor:
    """The tensor itself: parameters have their first values as soon as they are made, also under ``LazyGuard``."""
    return x


def real(x: Tensor, name: str | None = None) -> Tensor:
    """The real part. Paddle has a method where NumPy and PyTorch have an attribute."""
    return ops.real(x)


def imag(x: Tensor, name: str | None = None) -> Tensor:
    """The imaginary part."""
    return ops.imag(x)


def new_full(
    x: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: object = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of a shape filled with one number, by default with the dtype of this one."""
    return full(size, fill_value, x.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


def _new_filled(
    x: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    _value: int,
) -> Tensor:
    shape = size if size is not None else sizes[0] if len(sizes) == 1 else sizes
    return new_full(x, shape, _value, dtype=dtype, device=device, requires_grad=requires_grad)


_LIKE = "of a shape, which may be given as several numbers, by default with the dtype of this tensor."
new_zeros = specialize("new_zeros", f"Zeros {_LIKE}", _new_filled, _value=0)
new_empty = specialize("new_empty", f"A tensor with unspecified values (zeros) {_LIKE}", _new_filled, _value=0)
new_ones = specialize("new_ones", f"Ones {_LIKE}", _new_filled, _value=1)


def _cast_to(x: Tensor, *, _dtype: str) -> Tensor:
    return ops.cast(x, _dtype)


float16, float32, float64, int8, int16, int32, int64, uint8, complex64, complex128, cfloat, cdouble = (
    specialize(name, f"The tensor in the dtype {dtype}.", _cast_to, _dtype=dtype)
    for name, dtype in (
        *((name, name) for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")),
        *((name, name) for name in ("complex64", "complex128")),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    )
)


def polygamma_(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Overwrites with the ``n``-th derivative of the digamma function."""
    return overwrite(x, "polygamma", lambda x: ops.polygamma(n, x))


def _grad_ivar(x: Tensor) -> Tensor | None:
    """The gradient, under a name that older scripts use."""
    grad: Tensor | None = x.grad
    return grad


_grad_value = _grad_ivar


def _set_grad_ivar(x: Tensor, grad: Tensor | None) -> None:
    """Makes a tensor the gradient."""
    x.grad = grad


_copy_gradient_from = _set_grad_ivar


def _inplace_version(x: Tensor) -> int:
    """The number of in-place writes to the tensor."""
    return int(x.inplace_version)


def _zero_grads(x: Tensor) -> None:
    """Fills the gradient with zeros, if there is one."""
    x.clear_gradient(True)


def cumsum_(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Overwrites the tensor with the cumulative sums along an axis; without one, of the flat tensor, as a vector."""
    _core.overwrite(x, "cumsum", axis is None, ops.cumsum, (axis, dtype), {})
    return x


def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Writes a number to a diagonal. With ``wrap``, the diagonal of a tall matrix starts again below one free row.

    With more than two axes the diagonal has the same index along every axis, plus ``offset`` along the last.
    """
    if x.ndim > 2:
        *sizes, last = x.shape
        places = [i for i in range(min(sizes)) if 0 <= i + offset < last]
        x[(*[places] * len(sizes), [i + offset for i in places])] = value
        return x
    rows, columns = x.shape if x.ndim == 2 else (0, 0)
    starts = range(columns + 1, rows, columns + 1) if wrap else ()
    for part in [ops.diagonal(part, offset) for part in (x, *(x[start:] for start in starts))]:
        part.fill_(value)
    return x


def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with ``y`` written to a diagonal of two axes. The last axis of ``y`` runs along the diagonal."""
    return ops.diagonal_scatter(x, y, offset, dim1, dim2)


def ndimension(x: Tensor) -> int:
    """The number of axes."""
    return int(x.ndim)


def get_strides(x: Tensor) -> list[int]:
    """The stride of each axis in elements."""
    return list(x.strides)


def get_device(x: Tensor) -> int:
    """-1: the tensor is on the CPU."""
    return -1


def value(x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


def is_same_shape(x: Tensor, y: Tensor) -> bool:
    """Whether another tensor has the same shape."""
    return tuple(x.shape) == tuple(y.shape)


def apply(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """``func`` of the tensor; raises if it requires a gradient."""
    if not x.stop_gradient:
        raise ArgumentError("Cannot apply function on a tensor that required gradient.")
    return func(x)


def apply_(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Overwrites the tensor with ``func`` of it; raises if it requires a gradient."""
    if not x.stop_gradient:
        raise ArgumentError("Cannot apply function on a tensor that required gradient.")
    return overwrite(x, "apply", func)


def resize_(x: Tensor, shape: Any, fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Gives the tensor another shape. It keeps its first elements; zeros follow if there are more.

    Raises:
        LeafInplaceError: the tensor requires a gradient, and gradients are recorded.
    """
    shape = _arguments.integers(shape, "resize_", "shape")
    n, flat = math.prod(shape), ops.reshape(x.detach(), [-1])
    more = n - flat.shape[0]
    kept = flat[:n] if more <= 0 else ops.concat([flat, ops.zeros([more], x.dtype)])
    _shared_set(x, ops.reshape(kept, shape))
    return x


def get_tensor(x: Tensor) -> Tensor:
    """The tensor itself, where Paddle gives the tensor's memory: ``x.get_tensor().set(array, place)``."""
    return x


def set(x: Tensor, array: Any, place: object = None) -> None:
    """Writes the numbers of an array over the tensor without recording it, in its dtype.

    A tensor without elements, as ``paddle.Tensor()`` is, takes the shape of the array too.
    """
    _core.check_device("set", place)
    if x.size == 0:
        x.resize_(list(np.shape(array)))
    x.set_value(array)


def _numel(x: Tensor) -> int:
    """The number of elements, as an integer."""
    return int(x.size)


def _is_initialized(x: Tensor) -> bool:
    """True: every tensor has memory."""
    return True


def _is_shared_buffer_with(x: Tensor, y: Tensor) -> bool:
    """Whether the two tensors lie in one memory."""
    return bool(x._memory().data_ptr() == y._memory().data_ptr())


_is_shared_underline_tensor_with = _is_shared_buffer_with


def _share_buffer_to(x: Tensor, dst: Tensor) -> None:
    """Makes ``dst`` a tensor of this one's numbers, in the same memory. Nothing is recorded."""
    with no_grad():
        set_(dst, x)


_share_underline_tensor_to = _share_buffer_to


def _copy_to(x: Tensor, place: object, blocking: bool | None = None) -> Tensor:
    """A copy, outside of the graph. The CPU is the only device."""
    _core.check_device("_copy_to", place)
    made = ops.clone(x.detach())
    made.stop_gradient = x.stop_gradient
    return made


def _slice(x: Tensor, begin_idx: int, end_idx: int) -> Tensor:
    """The rows from ``begin_idx`` to before ``end_idx``, in the same memory."""
    return x[begin_idx:end_idx]


def _to(x: Tensor, device: object = None, dtype: Any = None, blocking: bool | None = None) -> Tensor:
    """The tensor in another dtype, or itself. The CPU is the only device."""
    _core.check_device("_to", device)
    return x if dtype is None else ops.cast(x, dtype)


def argwhere(x: Tensor) -> Tensor:
    """The indices of the nonzero elements: a matrix with one row each."""
    return ops.argwhere(x)


def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """All choices of ``r`` elements of a vector, one in each row."""
    return ops.combinations(x, r, with_replacement)


def repeat(x: Tensor, *repeat_times: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated along each axis as often as ``repeat_times`` says, or ``repeats``, a number or a list."""
    times = repeat_times if repeats is None else (repeats,)
    return ops.tile(x, times[0] if len(times) == 1 and not isinstance(times[0], int) else times)


def trapezoid(
    tensor: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """The integral by the trapezoidal rule, of values at the points ``x`` or ``dx`` (1) apart."""
    return reduce.trapezoid(tensor, x, dx, axis)


def cumulative_trapezoid(
    tensor: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """The integrals up to each point by the trapezoidal rule."""
    return reduce.cumulative_trapezoid(tensor, x, dx, axis)


def polar(tensor: Tensor, angle: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers with these absolute values and angles."""
    return ops.polar(tensor, angle)


def where(tensor: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """The elements of ``x`` where this condition holds, else those of ``y``."""
    return index.where(tensor, x, y)


def where_(tensor: Tensor, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Writes to ``x`` the elements of ``y`` where this condition does not hold."""
    return index.where_(tensor, x, y)


def scatter_nd(tensor: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape with ``updates`` added at these indices."""
    return index.scatter_nd(tensor, updates, shape)


def add_n(x: Tensor, name: str | None = None) -> Tensor:
    """A copy: the sum of one tensor."""
    return ops.clone(x)


def block_diag(x: Tensor, name: str | None = None) -> Tensor:
    """The tensor as the one block of a matrix."""
    return shapes.block_diag([x])


def atleast_1d(x: Tensor, name: str | None = None) -> Any:
    """The tensor with at least one axis."""
    return shapes.atleast_1d(x)


def atleast_2d(x: Tensor, name: str | None = None) -> Any:
    """The tensor with at least two axes."""
    return shapes.atleast_2d(x)


def atleast_3d(x: Tensor, name: str | None = None) -> Any:
    """The tensor with at least three axes."""
    return shapes.atleast_3d(x)


def is_tensor(x: Tensor) -> bool:
    """True."""
    return True
