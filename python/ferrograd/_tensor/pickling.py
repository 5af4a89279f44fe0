"""Pickles of tensors."""

from __future__ import annotations

import pickle
from typing import Any, cast

import numpy as np

from ferrograd import _core
from ferrograd._tensor.dtypes import bfloat16_of_bits, bits_of_bfloat16


def reduce(
    view: np.ndarray[Any, Any],
    dtype: str,
    tracked: bool,
    dialect: int,
    name: str | None,
    attributes: dict[str, Any] | None,
    protocol: int,
) -> tuple[Any, ...]:
    """The result of ``Tensor.__reduce_ex__``. From protocol 5 on the values are passed without a copy; those of
    bfloat16 come in float32.
    """
    if dtype == "bfloat16":
        view = bits_of_bfloat16(view)
    data = pickle.PickleBuffer(cast(Any, view)) if protocol >= 5 else view.tobytes()
    made = _rebuild, (dtype, view.shape, data, tracked, dialect, name)
    return (*made, attributes) if attributes else made


def _rebuild(dtype: str, shape: tuple[int, ...], data: Any, tracked: bool, dialect: int, name: str | None) -> Any:
    """A leaf with these values. Its arguments are numbers and text only, so a pickle cannot run code through it.

    Raises:
        UnpicklingError: the arguments do not describe a tensor, because the pickle is damaged.
    """
    try:
        if dtype == "bfloat16":
            values = bfloat16_of_bits(np.frombuffer(data, dtype=np.uint16)).reshape(shape)
        else:
            values = np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape)
        tensor = _core.make(values, dtype if dtype == "bfloat16" else None, tracked, dialect)
        if name is not None:
            tensor.name = name
    except MemoryError:
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"The pickle of a tensor is damaged: {error}") from error
    return tensor


def in_order(made: tuple[Any, ...], strides: tuple[int, ...]) -> tuple[Any, ...]:
    """The result of :func:`reduce` for a tensor of torch's dialect with these strides. The copy has its axes in their
    order in memory, without gaps.
    """
    _, arguments, *rest = made
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    return _rebuild_in_order, (order, *arguments), *rest


def _rebuild_in_order(order: list[int], *arguments: Any) -> Any:
    """:func:`_rebuild` with the axes in an order in memory, the outermost first."""
    tensor = _rebuild(*arguments)
    try:
        tensor.data = tensor.detach()._clone_in_order(order)
    except MemoryError:
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"The pickle of a tensor is damaged: {error}") from error
    return tensor
