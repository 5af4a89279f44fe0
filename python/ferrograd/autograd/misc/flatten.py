"""Structures of numbers and arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd.autograd.numpy as anp
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.autograd.core import make_vjp


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of a structure as one vector, and the function from such a vector to the structure.

    Structures are lists, tuples, and dicts, whose keys are sorted.

    >>> from ferrograd.autograd.misc import flatten
    >>> vector, unflatten = flatten({"b": 3.0, "a": [1.0, 2.0]})
    >>> vector.tolist(), unflatten(2 * vector)["b"].item()
    ([1.0, 2.0, 3.0], 6.0)
    """
    if not _tree.leaves(value):
        return np.array([]), lambda _: value
    unflatten, flat_value = make_vjp(_flatten, value)
    return flat_value, unflatten


def _flatten(value: Any) -> Any:
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if not isinstance(value, (list, tuple)):
        return anp.ravel(value)
    return anp.concatenate([_flatten(part) for part in value]) if value else np.array([])


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """``func`` as a function from vectors to vectors, the function from a vector to a structure like ``example``, and
    ``example`` as a vector.
    """
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector


__all__ = [
    "flatten",
    "flatten_func",
]

__dir__ = _public.names(globals())
