"""Tensors grouped for the functions ``torch._foreach_*``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._kit import public as _public

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """None: the functions call one method for each tensor."""
    return []


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """The columns of a table of tensors, by the device and the dtype of the tensor in the first row.

    >>> import ferrograd.torch as torch
    >>> groups = _group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(1, dtype=torch.float64)]])
    >>> [(dtype, len(rows[0])) for (_, dtype), (rows, _) in groups.items()]
    [(torch.float32, 1), (torch.float64, 1)]
    """
    found: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        rows, places = found.setdefault(key, ([[] for _ in tensorlistlist], []))
        for row, given in zip(rows, tensorlistlist, strict=True):
            if given:
                row.append(given[i])
        if with_indices:
            places.append(i)
    return found


__dir__ = _public.names(globals())
