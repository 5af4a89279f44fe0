"""Axes joined and split."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the axes from ``start_dim`` to ``end_dim``, by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with fewer axes."""
        return ops.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits an axis into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        # Sizes of a named axis are pairs with names, which PyTorch checks first.
        is_named = isinstance(dim, str)
        wanted = "tuples" if is_named else "ints"
        if not isinstance(unflattened_size, tuple if is_named else (tuple, list)):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of {wanted}, but found type {kind}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, tuple if is_named else int):
                raise TypeError(
                    f"unflattened_size must be tuple of {wanted}, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        if is_named:
            raise NotImplementedError(f"Unflatten: axes have no names here: give the number of {dim!r}, and sizes")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with more axes."""
        return ops.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The axis and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__dir__ = _public.names(globals())
