"""Samples as tensors and as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import torch as ops
from ferrograd._data.collating import collated, converted
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor import Tensor

__all__ = ["default_collate", "default_convert"]


def default_convert(data: Any) -> Any:
    """The data with every NumPy array and number in it as a tensor; other things stay.

    >>> default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    return converted(data, _converted)


def _converted(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.number | np.bool_) and value.dtype.kind in "biuf":
        return _core.make(value, None, False, TORCH)
    return value


def default_collate(batch: Any) -> Any:
    """A list of samples as a batch: tensors, arrays and numbers of one place are stacked along a new first axis.

    Python floats give float64. Texts give a list, or a tuple in a sequence. Containers keep their structure; a tuple
    becomes a list.

    Raises:
        TypeError: a sample holds something else.
        ArgumentError: there is no sample, or samples have different lengths.

    >>> default_collate([(1.0, "a"), (2.0, "b")])
    [tensor([1., 2.], dtype=torch.float64), ('a', 'b')]
    """
    return collated(batch, _stacked, "each element in list of batch should be of equal size")


def _stacked(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Tensor):
        return ops.stack(list(values))
    if isinstance(first, np.ndarray):
        if first.dtype.kind not in "biuf":
            raise TypeError(_unknown(first.dtype))
        return ops.stack([_core.make(value, None, False, TORCH) for value in values])
    if isinstance(first, np.number | np.bool_):
        return _core.make(np.array(values), None, False, TORCH)
    if isinstance(first, float):
        return _core.make(list(values), "float64", False, TORCH)
    if isinstance(first, int):
        return _core.make(list(values), None, False, TORCH)
    if isinstance(first, str | bytes):
        return values
    raise TypeError(_unknown(type(first)))


def _unknown(kind: Any) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"


__dir__ = _public.names(globals())
