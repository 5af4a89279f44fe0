"""The class of tensors in annotations: that of the dialect. Functions take tensors of all dialects.

Pickles of tensors of subclasses name this module.
"""

from typing import TYPE_CHECKING, Any

from ferrograd._core import TorchTensor

if TYPE_CHECKING:
    from ferrograd._core import TorchTensor as Tensor
else:
    from ferrograd._core import Tensor

__all__ = ["Tensor"]


def _of_class(cls: Any, tensor: Any) -> Any:
    """A leaf as one of a subclass."""
    if cls is type(tensor):
        return tensor
    made: Any = TorchTensor.__new__(cls, tensor.detach())
    made.requires_grad, made.grad = tensor.requires_grad, tensor.grad
    vars(made).update(vars(tensor))
    return made


def _rebuild_of_class(cls: Any, rebuild: Any, parts: tuple[Any, ...], state: Any = None) -> Any:
    """The tensor of a subclass from a pickle."""
    tensor = rebuild(*parts)
    vars(tensor).update(state or {})
    return _of_class(cls, tensor)
