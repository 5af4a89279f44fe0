"""Samples as tensors and as batches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd.torch._tensor import Tensor
from ferrograd.torch.utils.data.collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]

#: What finds the dtypes of texts and objects among those of NumPy.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """:func:`default_collate`, in which functions of a list of samples of one class take the place of its own."""
    for kind, function in (collate_fn_map or {}).items():
        if isinstance(batch[0], kind) and function is not collate_one:
            return function(batch, collate_fn_map=collate_fn_map)
    first = batch[0]
    if isinstance(first, dict):
        return type(first)((key, collate([x[key] for x in batch], collate_fn_map=collate_fn_map)) for key in first)
    if isinstance(first, (list, tuple)):
        if any(len(x) != len(first) for x in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate(list(part), collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return default_collate(batch)


def collate_one(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """The samples of one class as a batch."""
    return default_collate(batch)


collate_tensor_fn = collate_numpy_array_fn = collate_numpy_scalar_fn = collate_one
collate_float_fn = collate_int_fn = collate_str_fn = collate_one
#: The functions of :func:`collate`, by the classes of samples.
default_collate_fn_map: dict[Any, Callable[..., Any]] = dict.fromkeys(
    (Tensor, np.ndarray, (np.bool_, np.number), float, int, str, bytes), collate_one
)
