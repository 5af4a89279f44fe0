"""Where tensors are in lists, tuples and dicts of values, and putting others in their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ferrograd._core import Tensor

#: Where a saved tensor was.
SLOT = object()


def laid_out(value: Any, found: list[Tensor], nested: bool) -> Any:
    """Appends the tensors of a value to ``found``. Where they are: an index, a list or dict of such, or None."""
    if isinstance(value, Tensor):
        found.append(value)
        return len(found) - 1
    if not nested:
        return None
    if isinstance(value, (list, tuple)):
        parts = [laid_out(part, found, True) for part in value]
        return parts if any(part is not None for part in parts) else None
    if isinstance(value, dict):
        named = {key: laid_out(part, found, True) for key, part in value.items()}
        return named if any(part is not None for part in named.values()) else None
    return None


def filled(layout: Any, values: Sequence[Any], empty: Any = None) -> Any:
    """The values in the places of a layout, and ``empty`` where it has none."""
    if layout is None:
        return empty
    if isinstance(layout, int):
        return values[layout]
    if isinstance(layout, dict):
        return {key: filled(part, values, empty) for key, part in layout.items()}
    return [filled(part, values, empty) for part in layout]


def replaced(value: Any, layout: Any, tensors: list[Tensor]) -> Any:
    """The value with other tensors in the places of its layout."""
    if layout is None:
        return value
    if isinstance(layout, int):
        return tensors[layout]
    if isinstance(layout, dict):
        return {key: replaced(part, layout[key], tensors) for key, part in value.items()}
    parts = [replaced(part, place, tensors) for part, place in zip(value, layout, strict=True)]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def indices(layout: Any) -> Iterator[int]:
    """The indices in a layout, in order."""
    if isinstance(layout, int):
        yield layout
    elif layout is not None:
        for part in layout.values() if isinstance(layout, dict) else layout:
            yield from indices(part)


def tensors_in(tree: Any) -> Iterator[Tensor]:
    """The tensors in a list, tuple or dict, in order."""
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, (list, tuple, dict)):
            yield from tensors_in(part)


def refilled(tree: Any, tensors: Iterator[Any]) -> Iterator[Any]:
    """The values of a list with the next tensors in the places of its own."""
    for part in tree:
        if part is SLOT or isinstance(part, Tensor):
            yield next(tensors)
        elif isinstance(part, (list, tuple)):
            parts = refilled(part, tensors)
            yield type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
        elif isinstance(part, dict):
            yield dict(zip(part, refilled(part.values(), tensors), strict=True))
        else:
            yield part
