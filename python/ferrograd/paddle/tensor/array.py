"""``paddle.tensor.array``: lists of tensors under the names that they have in static programs."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._functions.create import to_tensor
from ferrograd.paddle._tensor import Tensor

__all__ = ["array_length", "array_read", "array_write", "create_array", "tensor_array_to_tensor"]


def create_array(dtype: Any = "float32", initialized_list: Any = None) -> list[Tensor]:
    """A list of tensors that begins with those of ``initialized_list``.

    >>> import ferrograd.paddle as paddle
    >>> array = array_write(paddle.ones([2]), paddle.to_tensor(0), create_array())
    >>> array_length(array), array_read(array, 0).tolist()
    (1, [1.0, 1.0])
    """
    if initialized_list is not None and not isinstance(initialized_list, list | tuple):
        kind = type(initialized_list).__name__
        raise ArgumentError(f"create_array: initialized_list must be a list or tuple, not {kind}")
    return [_arguments.tensor(x, "create_array", "each element") for x in initialized_list or ()]


def array_length(array: list[Tensor]) -> int:
    """The number of tensors of a list."""
    return len(_list(array, "array_length"))


def array_read(array: list[Tensor], i: Any) -> Tensor:
    """The tensor at place ``i``, an int or a tensor of one element.

    Raises:
        ArgumentError: the list is too short.
    """
    place = _arguments.integer(i, "array_read", "i")
    if not 0 <= place < len(_list(array, "array_read")):
        raise ArgumentError(f"array_read: the list has {len(array)} tensors, so none at place {place}")
    return array[place]


def array_write(x: Tensor, i: Any, array: list[Tensor] | None = None) -> list[Tensor]:
    """The list, a new one by default, with ``x`` at place ``i``: in the list or at its end.

    Raises:
        ArgumentError: ``i`` is beyond the end.
    """
    place = _arguments.integer(i, "array_write", "i")
    array = create_array() if array is None else _list(array, "array_write")
    if not 0 <= place <= len(array):
        raise ArgumentError(f"array_write: the list has {len(array)} tensors, so the next place is not {place}")
    array[place : place + 1] = [_arguments.tensor(x, "array_write", "x")]
    return array


def tensor_array_to_tensor(
    input: list[Tensor], axis: int = 1, use_stack: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The tensors of a list joined along an axis, with ``use_stack`` a new one, and how far each reaches along it."""
    array = _list(input, "tensor_array_to_tensor")
    joined = ops.stack(array, axis) if use_stack else ops.concat(array, axis)
    # An empty tensor of one axis may be joined with any others.
    sizes = [x.shape[axis] if -x.ndim <= axis < x.ndim else 0 for x in array]
    return joined, to_tensor([1] * len(array) if use_stack else sizes, "int32")


def _list(array: Any, function: str) -> list[Tensor]:
    if not isinstance(array, list):
        raise ArgumentError(f"{function}: array must be a list of tensors, not {type(array).__name__}")
    return array


__dir__ = _public.names(globals())
