"""What the functions written in Python ask of their arguments before they look into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, Tensor


def tensor(value: object, function: str, name: str) -> Tensor:
    """The value, which must be a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{function}: {name} must be a Tensor, not {type(value).__name__}")
    return value


def whole(value: Any, function: str, name: str) -> int:
    """The value as an integer: a number, or a tensor of one element."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{function}: {name} must be an int, not {value!r:.60}") from None


def wholes(values: Any, function: str, name: str) -> list[int]:
    """The values of a list or tuple as integers."""
    if not isinstance(values, list | tuple | Tensor):
        raise ArgumentError(f"{function}: {name} must be a list of ints, not {type(values).__name__}")
    return [whole(v, function, name) for v in values]


def pairs(values: Any, function: str, name: str) -> list[tuple[int, int]]:
    """The integers of a list, two by two."""
    flat = wholes(values, function, name)
    if len(flat) % 2:
        raise ArgumentError(f"{function}: {name} must have a pair for each axis, not {len(flat)} numbers")
    return list(zip(flat[::2], flat[1::2], strict=True))


def ones(x: Any, function: str, axes: Any) -> list[int]:
    """Those of the axes that have size 1, and those that there are not, which the op refuses."""
    sizes = tensor(x, function, "x").shape
    given = wholes(axes, function, "axis") if isinstance(axes, list | tuple) else [whole(axes, function, "axis")]
    return [i for i in given if not -len(sizes) <= i < len(sizes) or sizes[i] == 1]


def sizes(own: Sequence[int], given: Any) -> Any:
    """The sizes that are given, where None is that of the input."""
    if given is None:
        return own
    if not isinstance(given, list | tuple) or len(given) != len(own):
        return given
    return [n if size is None else size for size, n in zip(given, own, strict=True)]
