"""Parts of tensors with memory of their own, such as the real parts of recorded complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import native

Take = Callable[[Any], Any]
Join = Callable[[Any, Any], Any]

#: See :func:`taken`.
_traced: list[tuple[Any, Any, Take, Join]] = []


def part_of(base: Any, part: Any, take: Take, join: Join) -> Any:
    """A part with memory of its own. After each write to it, what ``join`` makes of the part and its base is written to
    the base.

    A write to the base is not seen in a part that was taken before. ``take`` is what takes the part of a tensor.
    """
    shape = list(part.shape)

    def write(part: Any) -> None:
        sizes = list(part.shape)
        if sizes != shape and [n for n in sizes if n != 1] == [n for n in shape if n != 1]:
            # ``unsqueeze_`` or ``squeeze_`` has changed the number of axes.
            part = native.reshape(part, shape)
        _core.overwrite(base, "copy_", False, lambda x: join(part, x), (), {})

    part._when_written(write)
    if _core.is_tracing():
        _traced.append((part, base, take, join))
    return part


def taken() -> list[tuple[Any, Any, Take, Join]]:
    """What the trace has made since the last call: parts, what they are of, and what takes and joins them."""
    found = _traced[:]
    _traced.clear()
    return found


def parted(part: Any) -> None:
    """From now on a part stands for itself."""
    part._when_written(_nothing)


def _nothing(_: Any) -> None:
    """Nobody sees what the part is of."""
