"""torch's functions about shapes that no other part of the library has. Each is a method of its tensors too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _arguments
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, Tensor
from ferrograd._core import torch as ops
from ferrograd._tensor.shape import TorchSize

__all__ = [
    "adjoint",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "conj",
    "dsplit",
    "hsplit",
    "take_along_dim",
    "tensor_split",
    "unfold",
    "vsplit",
]


def _each(f: Any, tensors: tuple[Any, ...], name: str) -> Any:
    """The function of a tensor, or of each one of several."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    many = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(f(_arguments.tensor(x, name, f"argument {i}")) for i, x in enumerate(many))


def atleast_1d(*tensors: Any) -> Any:
    """A tensor with at least one axis; a tuple for several."""
    return _each(lambda x: x if x.ndim else ops.reshape(x, [1]), tensors, "atleast_1d")


def atleast_2d(*tensors: Any) -> Any:
    """A tensor with at least two axes, new ones first; a tuple for several."""
    return _each(lambda x: ops.reshape(x, [1] * (2 - x.ndim) + list(x.shape)), tensors, "atleast_2d")


def atleast_3d(*tensors: Any) -> Any:
    """A tensor with at least three axes: a vector becomes the second one of them; a tuple for several."""

    def one(x: Tensor) -> Tensor:
        shape = list(x.shape)
        return ops.reshape(x, [1, *shape, 1] if x.ndim == 1 else shape + [1] * (3 - x.ndim) if x.ndim else [1, 1, 1])

    return _each(one, tensors, "atleast_3d")


def broadcast_shapes(*shapes: Any) -> TorchSize:
    """The shape to which all of these broadcast."""
    try:
        return TorchSize(np.broadcast_shapes(*shapes))
    except ValueError as error:
        raise ShapeError(
            f"broadcast_shapes: shape mismatch: objects cannot be broadcast to a single shape: {error}"
        ) from None


def adjoint(input: Tensor) -> Tensor:
    """The last two axes swapped: all numbers are real."""
    return ops.matrix_transpose(input)


def _lies_in_order(x: Tensor) -> bool:
    """Whether the elements lie in C order without gaps."""
    step = 1
    for size, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The elements so many steps apart in the memory of ``input``, from its first one on, or from an absolute place in
    that memory. Shares memory, and gradients of elements read twice add up.

    What ``input`` itself has not is read from the tensor that it is a view of; then gradients flow to that one, past
    ``input``.

    Raises:
        IndexOutOfRange: the steps leave the memory.
        ArgumentError: the elements do not lie in C order, and ``input`` is no view of a tensor whose elements do.

    >>> import ferrograd.torch as torch
    >>> x = torch.arange(6).reshape(2, 3)
    >>> x.T.as_strided((2, 2), (1, 2)).tolist(), x[1].as_strided((2,), (1,)).tolist()
    ([[0, 2], [1, 3]], [3, 4])
    """
    start = _arguments.tensor(input, "as_strided", "input").storage_offset()
    offset = start if storage_offset is None else _arguments.integer(storage_offset, "as_strided", "storage_offset")
    base = input._base
    if _lies_in_order(input):
        try:
            return ops.as_strided(input, size, stride, offset - start)
        except IndexOutOfRange:
            if base is None:
                raise
    if base is None or not _lies_in_order(base):
        raise ArgumentError(
            "as_strided: the elements do not lie in C order in memory, so there is nothing to count in: take "
            "contiguous() of the tensor"
        )
    return ops.as_strided(base, size, stride, offset - base.storage_offset())


def conj(input: Tensor) -> Tensor:
    """The tensor itself: all its numbers are real."""
    return _arguments.tensor(input, "conj", "input")


def _split(name: str, input: Tensor, parts: Any, axis: int, least: int) -> tuple[Tensor, ...]:
    if _arguments.tensor(input, name, "input").ndim < least:
        raise ShapeError(f"torch.{name} requires a tensor with at least {least} dimension, but got {input.ndim}")
    if isinstance(parts, int) and (parts < 1 or input.shape[axis] % parts):
        raise ShapeError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
            f"{input.shape[axis]} is not divisible by the split_size {parts}!"
        )
    return tuple(ops.tensor_split(input, parts, axis))


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the second axis, or the only one: so many equal ones, or before each index."""
    axis = min(_arguments.tensor(input, "hsplit", "input").ndim, 2) - 1
    return _split("hsplit", input, indices_or_sections, axis, 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the first axis of at least two."""
    return _split("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the third axis."""
    return _split("dsplit", input, indices_or_sections, 2, 3)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements by their indices along an axis, the other axes broadcast; of the flattened tensor without one."""
    return ops.take_along_axis(input, indices, dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many parts along an axis, the first ones longer by one where it does not go up evenly; or before each index.
    The number, or the indices, may be a tensor of int64."""
    _arguments.tensor(input, "tensor_split", "input")
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype != np.int64 or indices_or_sections.ndim > 1:
            raise ArgumentError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor "
                f"of dtype int64, but got {indices_or_sections.ndim} dimensions of dtype {indices_or_sections.dtype}"
            )
        indices_or_sections = indices_or_sections.tolist()
    return ops.tensor_split(input, indices_or_sections, dim)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along an axis, so many steps apart: the last axis runs inside a window. Shares memory.

    >>> import ferrograd.torch as torch
    >>> torch.arange(5).unfold(0, 2, 2).tolist()
    [[0, 1], [2, 3]]
    """
    shape = list(_arguments.tensor(input, "unfold", "input").shape) or [1]
    axis, size, step = (_arguments.integer(v, "unfold", "an argument") for v in (dimension, size, step))
    if not -len(shape) <= axis < len(shape):
        raise IndexOutOfRange(f"unfold: axis {axis} is out of range for {len(shape)} dimensions")
    if not 0 <= size <= shape[axis]:
        raise ShapeError(f"maximum size for tensor at dimension {axis} is {shape[axis]} but size is {size}")
    if step < 1:
        raise ArgumentError(f"step is {step} but must be > 0")
    strides = [int(np.prod(shape[i + 1 :], dtype=object)) for i in range(len(shape))]
    along = strides[axis]
    shape[axis], strides[axis] = (shape[axis] - size) // step + 1, along * min(step, shape[axis])
    if not input.ndim:
        return ops.as_strided(input, [size], [1])
    return ops.as_strided(input, [*shape, size], [*strides, along])
