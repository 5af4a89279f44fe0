"""Tensors nested in lists, tuples and dicts: their positions, and other tensors put at these positions.

Positions have the structure of the value: an index for a tensor, a list or dict for a container with tensors, None for
anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ferrograd._core import Tensor

#: Marks the position of a saved tensor.
SLOT = object()


def collect_tensors(value: Any, found: list[Tensor], nested: bool) -> Any:
    """Appends the tensors of a value to ``found`` and returns their positions. Containers count if ``nested``."""
    if isinstance(value, Tensor):
        found.append(value)
        return len(found) - 1
    if not nested:
        return None
    if isinstance(value, (list, tuple)):
        parts = [collect_tensors(part, found, True) for part in value]
        return parts if any(part is not None for part in parts) else None
    if isinstance(value, dict):
        named = {key: collect_tensors(part, found, True) for key, part in value.items()}
        return named if any(part is not None for part in named.values()) else None
    return None


def fill(positions: Any, values: Sequence[Any], empty: Any = None) -> Any:
    """The positions with each index replaced by its value and None by ``empty``."""
    if positions is None:
        return empty
    if isinstance(positions, int):
        return values[positions]
    if isinstance(positions, dict):
        return {key: fill(part, values, empty) for key, part in positions.items()}
    return [fill(part, values, empty) for part in positions]


def replace_tensors(value: Any, positions: Any, tensors: list[Tensor]) -> Any:
    """The value with the tensors at its positions replaced."""
    if positions is None:
        return value
    if isinstance(positions, int):
        return tensors[positions]
    if isinstance(positions, dict):
        return {key: replace_tensors(part, positions[key], tensors) for key, part in value.items()}
    parts = [replace_tensors(part, place, tensors) for part, place in zip(value, positions, strict=True)]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def indices(positions: Any) -> list[int]:
    """The indices in positions, in order."""
    if isinstance(positions, int):
        return [positions]
    found: list[int] = []
    if positions is not None:
        for part in positions.values() if isinstance(positions, dict) else positions:
            found += indices(part)
    return found


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors in a list, tuple or dict, at any depth, in order."""
    found: list[Tensor] = []
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, Tensor):
            found.append(part)
        elif isinstance(part, (list, tuple, dict)):
            found += tensors_in(part)
    return found


def refill(tree: Any, tensors: Iterator[Any]) -> list[Any]:
    """The values of a container with each tensor or ``SLOT`` replaced by the next of ``tensors``."""
    filled: list[Any] = []
    for part in tree:
        if part is SLOT or isinstance(part, Tensor):
            filled.append(next(tensors))
        elif isinstance(part, (list, tuple)):
            parts = refill(part, tensors)
            filled.append(type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts))
        elif isinstance(part, dict):
            filled.append(dict(zip(part, refill(part.values(), tensors), strict=True)))
        else:
            filled.append(part)
    return filled
