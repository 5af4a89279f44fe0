"""``torch.nn.utils``: gradient clipping."""

from __future__ import annotations

from collections.abc import Iterable

from ferrograd._core import Tensor
from ferrograd._optim import steps as _steps

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


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
    return _steps.clip_norm(parameters, max_norm, norm_type, error_if_nonfinite, "clip_grad_norm_")


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clips every element of the gradients to ``[-clip_value, clip_value]``, in place."""
    _steps.clip_value(parameters, clip_value)
