"""What libraries use of the functions that print tensors."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._tensor.repr import TORCH_OPTIONS as PRINT_OPTS
from ferrograd.torch._tensor import Tensor

__all__ = ["PRINT_OPTS"]


def _tensor_str(self: Tensor, indent: int = 0) -> str:
    """The elements of a tensor as text, whose lines after the first begin with blanks."""
    text = repr(self.detach())[len("tensor(") : -1]
    elements = text[: text.rfind("]") + 1] or text.partition(",")[0]
    return elements.replace("\n" + " " * len("tensor("), "\n" + " " * indent)


__dir__ = _public.names(globals())
