"""``torch.nn.parameter``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import TorchTensor

__all__ = ["Buffer", "Parameter"]


class Parameter(TorchTensor):
    """A trainable tensor: a leaf that requires a gradient and shares the memory of ``data``.

    >>> import ferrograd.torch as torch
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> (w * w).sum().backward()
    >>> w.grad.tolist(), isinstance(w, torch.Tensor), isinstance(w * 2, torch.nn.Parameter)
    ([2.0, 2.0], True, False)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """A parameter that shares the memory of ``data``; an empty one without it."""
        made: Any = super().__new__(cls, *([] if data is None else [data.detach()]))
        made.requires_grad = requires_grad
        return made  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """The text of the tensor after a header."""
        return f"Parameter containing:\n{super().__repr__()}"

    def __copy__(self) -> Parameter:
        """A parameter with copied values and the same attributes."""
        copied = type(self)(self.detach().clone(), self.requires_grad)
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with copied values."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        copied: Parameter = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, the values, ``requires_grad`` and the attributes."""
        return type(self), (self.detach(), self.requires_grad), self.__dict__ or None


class Buffer(TorchTensor):
    """A tensor that a module keeps as a buffer when it is assigned to it; in its ``state_dict`` if ``persistent``.

    >>> import ferrograd.torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """A buffer that shares the memory of ``data``; an empty one without it."""
        made: Any = super().__new__(cls, *([] if data is None else [data.detach()]))
        made.requires_grad = data is not None and data.requires_grad
        made.persistent = persistent
        return made  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, the values and the attributes."""
        return type(self), (self.detach(),), self.__dict__
