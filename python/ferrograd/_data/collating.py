"""Walks over samples of any structure, to put them together or to convert them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, ShapeError, Tensor


def rebuilt(sample: Any, parts: dict[Any, Any]) -> Any:
    """A container like ``sample``, of its class if possible, with other parts by key or place. A tuple gives a list.

    >>> rebuilt({"a": 1}, {"a": 2}), rebuilt((1, 2), {0: 3, 1: 4})
    ({'a': 2}, [3, 4])
    """
    values = list(parts.values())
    if isinstance(sample, tuple):
        return type(sample)(*values) if hasattr(sample, "_fields") else values
    try:
        if isinstance(sample, MutableMapping):
            # A subclass may hold more than its items.
            clone: Any = copy.copy(sample)
            clone.update(parts)
            return clone
        if isinstance(sample, MutableSequence):
            clone = copy.copy(sample)
            for i, value in parts.items():
                clone[i] = value
            return clone
        return type(sample)(parts if isinstance(sample, Mapping) else values)
    except TypeError:
        return dict(parts) if isinstance(sample, Mapping) else values


def parts(sample: Any) -> dict[Any, Any] | None:
    """The parts of a container by key or place; None for anything else, and for texts."""
    if isinstance(sample, Mapping):
        return {key: sample[key] for key in sample}
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return dict(enumerate(sample))
    return None


def converted(sample: Any, leaf: Callable[[Any], Any]) -> Any:
    """The sample with ``leaf`` applied to everything that is no container.

    >>> converted({"a": [1, (2,)]}, str)
    {'a': ['1', ['2']]}
    """
    found = parts(sample)
    return leaf(sample) if found is None else rebuilt(sample, {k: converted(v, leaf) for k, v in found.items()})


def collated(batch: Sequence[Any], stack: Callable[[Sequence[Any]], Any], unequal: str) -> Any:
    """Samples of one structure as one sample of that structure, with ``stack`` applied to the values of each place.

    ``stack`` gets a tuple for a place of a sequence, and a list for a key. ``unequal`` is the text of the error for
    sequences of different lengths.

    >>> collated([{"a": 1}, {"a": 2}], list, "")
    {'a': [1, 2]}
    """
    if isinstance(batch, Mapping) or not hasattr(batch, "__getitem__") or not hasattr(batch, "__len__"):
        raise ArgumentError(f"collate: a batch is a list of samples, not {type(batch).__name__}")
    if not len(batch):
        raise ArgumentError("collate: a batch has at least one sample")
    found = parts(batch[0])
    if found is None:
        shapes = [tuple(sample.shape) for sample in batch if isinstance(sample, Tensor | np.ndarray)]
        if other := [shape for shape in shapes if shape != shapes[0]]:
            raise ShapeError(
                f"collate: the samples of a batch have the shapes {shapes[0]} and {other[0]}: pad them to one, or give "
                "the loader a collate_fn of your own"
            )
        return stack(batch)
    if not isinstance(batch[0], Mapping) and any(len(sample) != len(found) for sample in batch):
        raise ArgumentError(unequal)
    group: Any = list if isinstance(batch[0], Mapping) else tuple
    return rebuilt(batch[0], {k: collated(group(sample[k] for sample in batch), stack, unequal) for k in found})
