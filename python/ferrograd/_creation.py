"""What the functions of the dialects that make tensors share."""

from __future__ import annotations

from ferrograd._core import Tensor


def placed(result: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """The result, written into ``out`` if that is given."""
    if out is not None:
        out.set_value(result)
        result = out
    if requires_grad:
        result.requires_grad = True
    return result
