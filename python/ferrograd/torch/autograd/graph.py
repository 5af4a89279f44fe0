"""``torch.autograd.graph``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

from ferrograd import _check
from ferrograd._core import GradientEdge, Node, RemovableHandle, Tensor, queue_callback, register_multi_grad_hook
from ferrograd._core import gradient_edge as get_gradient_edge
from ferrograd._modes import no_grad
from ferrograd.torch.autograd._saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def allow_mutation_on_saved_tensors() -> nullcontext[None]:
    """A context inside of which tensors may be written to after a node has kept them. They may be everywhere: what a
    node keeps is a snapshot."""
    return nullcontext()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write to a tensor, or to each of several, that was made elsewhere."""
    with no_grad():
        for x in [tensor] if isinstance(tensor, Tensor) else tensor:
            _check.tensor(x, "increment_version", "tensor")
            x.copy_(x.detach().clone())
