"""The class of tensors in annotations: that of the dialect. Functions take tensors of all dialects."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrograd._core import TorchTensor as Tensor
else:
    from ferrograd._core import Tensor

__all__ = ["Tensor"]
