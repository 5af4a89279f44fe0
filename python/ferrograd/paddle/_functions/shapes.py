"""Paddle's functions on shapes. Each is a tensor method too."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import ArgumentError, DtypeError, ShapeError, paddle as ops
from ferrograd._functions.shapes import windows
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._functions.arithmetic import _tensors
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "concat",
    "crop",
    "diag",
    "dsplit",
    "hsplit",
    "meshgrid",
    "repeat_interleave",
    "reshape",
    "reverse",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "swapdims",
    "t",
    "tensor_split",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "unstack",
    "view",
    "vsplit",
]


def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """The tensors broadcast to their common shape."""
    return list(ops.broadcast_tensors(_tensors(input, "broadcast_tensors", "input")))


def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(x, _arguments.integer(axis, "concat", "axis"))


def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """The diagonal of a matrix, or a matrix with the vector ``x`` on the diagonal and ``padding_value`` elsewhere."""
    y = ops.diag(x, offset)
    if x.ndim != 1 or padding_value == 0:
        return y
    return ops.where(ops.diag(ops.ones_like(x, "bool"), offset), y, padding_value)


def meshgrid(*args: Any, name: str | None = None) -> list[Tensor]:
    """Coordinate tensors of a grid. The first vector runs along axis 0."""
    return list(ops.meshgrid(list(args[0]) if len(args) == 1 and not isinstance(args[0], Tensor) else list(args), "ij"))


def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements in C order with another shape. -1 is the remaining size, 0 the size of the axis in ``x``."""
    sizes = [int(d) for d in shape] if not isinstance(shape, int) else [shape]
    if 0 in sizes and 0 not in _arguments.tensor(x, "reshape", "x").shape:
        sizes = [x.shape[i] if d == 0 and i < x.ndim else d for i, d in enumerate(sizes)]
    return ops.reshape(x, sizes)


def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Parts along an axis: a number of equal ones, or a list of sizes, and one of them may be -1 for the rest."""
    axis = _arguments.integer(axis, "split", "axis")
    if isinstance(num_or_sections, int):
        return list(ops.split(x, num_or_sections, axis))
    sizes = _arguments.integers(num_or_sections, "split", "num_or_sections")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - builtins.sum(sizes) - 1
    return list(ops.split_sizes(x, sizes, axis))


def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """The tensor without its axes of size 1, or without those among ``axis``."""
    return ops.squeeze(x) if axis is None else ops.squeeze(x, _arguments.axes_of_size_one(x, "squeeze", axis))


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return ops.stack(x, axis)


def t(input: Tensor, name: str | None = None) -> Tensor:
    """The transpose of a matrix. A tensor with fewer axes is returned as it is."""
    if _arguments.tensor(input, "t", "input").ndim > 2:
        raise ShapeError(f"t: at most two axes, not {list(input.shape)}; transpose takes any")
    return ops.matrix_transpose(input) if input.ndim == 2 else input


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """The tensor with its axes in the order ``perm``."""
    if len(perm) > _arguments.tensor(x, "transpose", "x").ndim:
        raise ShapeError(f"transpose: perm={list(perm)} names more axes than a tensor of the shape {list(x.shape)} has")
    return ops.permute_dims(x, perm)


def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """The slices along an axis."""
    return list(ops.unbind(input, axis))


def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """A view with new axes of size 1. Several are inserted one after another, each counted in the result so far."""
    x = _arguments.tensor(x, "unsqueeze", "x")
    if isinstance(axis, Tensor):
        axis = ops.reshape(axis, [-1]).tolist()
    for one in axis if isinstance(axis, list | tuple) else [axis]:
        x = ops.unsqueeze(x, one)
    return x


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The slices along an axis; raises unless there are ``num``, if that is given."""
    if num is not None and _arguments.tensor(x, "unstack", "x").shape[axis] != num:
        raise ArgumentError(f"unstack: axis {axis} of {list(x.shape)} has {x.shape[axis]} slices, not {num}")
    return list(ops.unstack(x, axis))


def _each(f: Callable[[Tensor], Tensor], tensors: tuple[Any, ...], name: str) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tuple(tensors[0])
    found = [f(_arguments.tensor(x, name, "inputs")) for x in tensors]
    return found[0] if len(found) == 1 else found


def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least one axis; a list for several tensors."""
    return _each(lambda x: x if x.ndim else ops.reshape(x, [1]), inputs, "atleast_1d")


def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least two axes, new ones in front; a list for several tensors."""
    return _each(lambda x: x if x.ndim > 1 else ops.reshape(x, [1, -1]), inputs, "atleast_2d")


def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least three axes; a vector of n elements becomes [1, n, 1]. A list for several tensors."""

    def one(x: Tensor) -> Tensor:
        if x.ndim > 2:
            return x
        before = [1] * (x.ndim < 2)
        return ops.reshape(x, [*before, *x.shape] + [1] * (3 - x.ndim - len(before)))

    return _each(one, inputs, "atleast_3d")


def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """A number of parts along an axis, the first ones longer by one if need be, or the parts between indices."""
    return list(ops.tensor_split(x, num_or_indices, _arguments.integer(axis, "tensor_split", "axis")))


def _split_along(x: Tensor, num_or_indices: Any, axis: int, function: str) -> list[Tensor]:
    if _arguments.tensor(x, function, "x").ndim <= axis:
        raise ShapeError(f"{function}: x must have more than {axis} axes, got shape {list(x.shape)}")
    return list(ops.tensor_split(x, num_or_indices, axis))


def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 1, or along axis 0 of a vector."""
    axis = 0 if _arguments.tensor(x, "hsplit", "x").ndim == 1 else 1
    return _split_along(x, num_or_indices, axis, "hsplit")


def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 0 of a tensor with at least two axes."""
    if _arguments.tensor(x, "vsplit", "x").ndim < 2:
        raise ShapeError(f"vsplit: x must have at least two axes, got shape {list(x.shape)}")
    return _split_along(x, num_or_indices, 0, "vsplit")


def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 2."""
    return _split_along(x, num_or_indices, 2, "dsplit")


def swapaxes(x: Tensor, *axes: Any, perm: Any = None, name: str | None = None) -> Tensor:
    """Two axes swapped, or all axes in the order ``perm``."""
    order = perm if perm is not None else axes[0] if len(axes) == 1 else None
    return ops.swapaxes(x, *axes) if order is None else ops.permute_dims(x, order)


def swapdims(x: Tensor, *axes: Any, perm: Any = None, name: str | None = None) -> Tensor:
    """The same as :func:`swapaxes`."""
    return swapaxes(x, *axes, perm=perm)


def block_diag(inputs: Any, name: str | None = None) -> Tensor:
    """A matrix with these matrices along its diagonal, and zeros elsewhere."""
    return ops.block_diag(inputs)


def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """A view of the same memory with another shape.

    Raises:
        DtypeError: a dtype is given; the bytes of a tensor cannot be read as another dtype.
    """
    if not isinstance(shape_or_dtype, list | tuple | Tensor):
        raise DtypeError(
            "view: the bytes of a tensor cannot be read as another dtype; cast(dtype) converts the numbers"
        )
    return ops.view(x, shape_or_dtype)


def reverse(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """The tensor with the order of its elements along axes reversed."""
    return ops.flip(x, axis)


def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """The part of ``x`` of a shape that begins at ``offsets`` (zeros). A size of -1 takes all that is left."""
    x = _arguments.tensor(x, "crop", "x")
    starts = [0] * x.ndim if offsets is None else _arguments.integers(offsets, "crop", "offsets")
    sizes = list(x.shape) if shape is None else _arguments.integers(shape, "crop", "shape")
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise ShapeError(f"crop: a size and an offset for each axis of {list(x.shape)}, not {sizes} and {starts}")
    for i, (n, start, size) in enumerate(zip(x.shape, starts, sizes, strict=True)):
        sizes[i] = n - start if size == -1 else size
        if start < 0 or sizes[i] < 0 or start + sizes[i] > n:
            raise ShapeError(f"crop: {size} elements from {start} on are not in axis {i} of {list(x.shape)}")
    return ops.clone(x[tuple(builtins.slice(start, start + size) for start, size in zip(starts, sizes, strict=True))])


def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """A view of the memory of ``x`` with this shape and these strides, counted in elements."""
    return ops.as_strided(x, shape, stride, offset)


def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """A view of all windows of ``size`` elements along an axis, ``step`` apart. The last axis runs inside a window."""
    return windows(x, axis, size, step)


def repeat_interleave(
    x: Tensor, repeats: Any, axis: int | None = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """The slices along an axis, each repeated; without an axis the elements. ``output_size`` is known without it."""
    return ops.repeat_interleave(x, repeats, axis)
