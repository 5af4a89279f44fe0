"""Helpers for rules of gradients: cotangents brought back to the shape of an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd.autograd.numpy as anp
from ferrograd._kit import public as _public


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """The sum of ``x`` over the axes that broadcasting has added to an array with this ``metadata``."""
    shape, _, _, is_complex = target_meta
    while np.ndim(x) > len(shape):
        x = anp.sum(x, axis=broadcast_idx)
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1 and np.shape(x)[axis] != 1)
    x = anp.sum(x, axis=axes, keepdims=True) if axes else x
    return x if is_complex or not np.iscomplexobj(x) else anp.real(x)


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The rule whose result is that of ``f`` in the shape of ``target``."""
    meta = anp.metadata(target)
    return lambda g: unbroadcast(f(g), meta)


def replace_zero(x: Any, val: Any) -> Any:
    """``x`` with ``val`` in the places of zeros."""
    return anp.where(x, x, val)


def repeat_to_match_shape(g: Any, shape: Any, dtype: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """The cotangent of a reduction along axes as an array of this shape, and how many elements each was made of."""
    if shape == ():
        return g, 1
    axes = tuple(range(len(shape))) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    kept = np.array(shape)
    try:
        kept[list(axes)] = 1
    except IndexError:
        raise ValueError(f"the axes {axes} are none of an array of shape {shape}") from None
    count = int(np.prod(np.array(shape)[list(axes)]))
    return anp.broadcast_to(anp.reshape(g, tuple(kept)), shape), count


__all__ = ["repeat_to_match_shape", "replace_zero", "unbroadcast", "unbroadcast_f"]

__dir__ = _public.names(globals())
