"""Attributes and special methods of Paddle's tensors that are not those of the core."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, PaddleTensor
from ferrograd.paddle._functions import arithmetic

__all__: list[str] = []

_repr, _left, _right = PaddleTensor.__repr__, PaddleTensor.__lshift__, PaddleTensor.__rshift__


class Attributes:
    """The attributes and special methods that tensors get."""

    def __repr__(self: PaddleTensor) -> str:  # type: ignore[misc]
        """The text of a tensor, which says of a parameter that it is one."""
        return f"Parameter containing:\n{_repr(self)}" if "optimize_attr" in self.__dict__ else _repr(self)

    def __lshift__(self: PaddleTensor, y: Any, is_arithmetic: bool = True) -> Any:  # type: ignore[misc]
        return _left(self, y)

    def __rshift__(self: PaddleTensor, y: Any, is_arithmetic: bool = True) -> Any:  # type: ignore[misc]
        return _right(self, y) if is_arithmetic else arithmetic.bitwise_right_shift(self, y, False)

    @property
    def trainable(self: PaddleTensor) -> bool:  # type: ignore[misc]
        """Whether the tensor gets a gradient."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self: PaddleTensor, value: bool) -> None:  # type: ignore[misc]
        if not isinstance(value, bool):
            raise ArgumentError(f"The type of trainable MUST be bool, but the type is {type(value).__name__}")
        self.stop_gradient = not value

    @property
    def persistable(self: PaddleTensor) -> bool:  # type: ignore[misc]
        """Whether a static program would keep the tensor, as it keeps parameters."""
        return bool(vars(self).get("_persistable", False))

    @persistable.setter
    def persistable(self: PaddleTensor, value: bool) -> None:  # type: ignore[misc]
        vars(self)["_persistable"] = bool(value)

    @property
    def _place_str(self: PaddleTensor) -> str:  # type: ignore[misc]
        """The device, as text."""
        return str(self.place)

    @property
    def type(self) -> str:
        """The one kind of tensors, as static programs name it: ``paddle.base.core.VarDesc.VarType.DENSE_TENSOR``."""
        return "dense_tensor"
