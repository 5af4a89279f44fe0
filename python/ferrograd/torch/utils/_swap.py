"""``torch.utils.swap_tensors``."""

from __future__ import annotations

from ferrograd._core import ArgumentError, TorchTensor
from ferrograd._kit.arguments import typed

__all__ = ["swap_tensors"]


@typed(t1=TorchTensor, t2=TorchTensor)
def swap_tensors(t1: TorchTensor, t2: TorchTensor) -> None:
    """Exchanges values, gradients and attributes of two leaves of one class, each of which stays the same object.

    >>> import ferrograd.torch as torch
    >>> a, b = torch.zeros(1), torch.ones(2)
    >>> torch.utils.swap_tensors(a, b)
    >>> a.tolist(), b.tolist()
    ([1.0, 1.0], [0.0])
    """
    if not (t1.is_leaf and t2.is_leaf):
        raise ArgumentError("swap_tensors: both tensors must be leaves; a computed one belongs to its graph")
    if type(t1) is not type(t2):
        kinds = f"{type(t1).__name__} and {type(t2).__name__}"
        raise ArgumentError(f"swap_tensors: both tensors must be of one class, not {kinds}")
    held = [(t.detach(), t.requires_grad, t.grad, dict(vars(t))) for t in (t1, t2)]
    for t, (values, tracked, grad, attributes) in zip((t1, t2), reversed(held), strict=True):
        t.requires_grad = False
        t.grad = None
        t.data = values
        t.requires_grad = tracked
        t.grad = grad
        vars(t).clear()
        vars(t).update(attributes)
