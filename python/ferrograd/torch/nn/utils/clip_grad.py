"""Norms of gradients, and clipping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._autograd.modes import no_grad as _no_grad
from ferrograd._kit import public as _public
from ferrograd._kit.ops import ops as _ops
from ferrograd._optim import fused as _steps
from ferrograd.torch._tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients in place so that their total norm is at most ``max_norm``; returns the norm before.

    >>> import ferrograd.torch as torch
    >>> w = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([w], 5.0).item()
    10.0
    """
    found: Any = _steps.clip_norm(parameters, max_norm, norm_type, error_if_nonfinite, "clip_grad_norm_", _ops)
    return found


#: The old name.
clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clips every element of the gradients to ``[-clip_value, clip_value]``, in place."""
    _steps.clip_value(parameters, clip_value)


@_no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of the vector of all elements of several tensors, without a graph.

    >>> import ferrograd.torch as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])]).item()
    5.0
    """
    many: Any = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    total: Any = _steps.total_norm(many, norm_type, _ops)
    if error_if_nonfinite and not abs(total.item()) < float("inf"):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients in place by ``max_norm / total_norm``, if that is below 1."""
    _steps.scale_to(_steps.gradients(parameters, "clip_grads_with_norm_"), total_norm, max_norm)


__dir__ = _public.names(globals())
