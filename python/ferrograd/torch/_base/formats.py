"""Orders of elements in memory, by torch's names of them."""

from __future__ import annotations

from typing import Any

__all__ = ["ORDERS", "as_images_of", "in_format"]

#: The order of the axes in memory, the outermost first.
ORDERS = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def in_format(made: Any, memory_format: Any) -> Any:
    """A new tensor in the order in memory that a format names; as it is for ``torch.preserve_format``."""
    if memory_format is None or getattr(memory_format, "name", "") == "preserve_format":
        return made
    return made.contiguous(memory_format)


def as_images_of(input: Any, made: Any) -> Any:
    """The result of a function of images, with its channels last in memory if those of the input are."""
    if made.ndim not in (4, 5) or not input._has_channels_last() or made._has_channels_last():
        return made
    return made._clone_in_order((0, *range(2, made.ndim), 1))
