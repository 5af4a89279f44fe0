"""``paddle.static.input``: the description of an input, which layers and models take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE

__all__ = ["InputSpec"]


class InputSpec:
    """The shape, the dtype and the name of an input. A size that may differ is None or -1."""

    def __init__(
        self, shape: Sequence[int | None], dtype: Any = "float32", name: str | None = None, stop_gradient: bool = False
    ) -> None:
        self.shape = tuple(-1 if n is None else int(n) for n in shape)
        self.dtype, self.name, self.stop_gradient = _core.make(0, dtype, False, PADDLE).dtype, name, stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        """That of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_numpy(cls, ndarray: Any, name: str | None = None) -> InputSpec:
        """That of an array."""
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: Any) -> InputSpec:
        """With an axis before the others."""
        if isinstance(batch_size, list | tuple):
            if len(batch_size) != 1:
                raise ValueError(f"batch: one size of a batch is wanted, not {batch_size}")
            (batch_size,) = batch_size
        if not isinstance(batch_size, int):
            raise TypeError(f"batch: the size of a batch is an int, not {batch_size!r:.40}")
        self.shape = (batch_size, *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Without the first axis."""
        if not self.shape:
            raise ValueError("Not support to unbatch a InputSpec when len(shape) == 0.")
        self.shape = self.shape[1:]
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.shape, str(self.dtype), self.stop_gradient))

    def __repr__(self) -> str:
        shown = f"shape={self.shape}, dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient}"
        return f"InputSpec({shown})"


__dir__ = _public.names(globals())
