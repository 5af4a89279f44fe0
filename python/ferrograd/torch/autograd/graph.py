"""``torch.autograd.graph``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import (
    GradientEdge,
    Node,
    RemovableHandle,
    gradient_edge as get_gradient_edge,
    queue_callback,
    register_multi_grad_hook,
)
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.autograd._saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _MutationContext:
    """What ``with allow_mutation_on_saved_tensors() as ctx`` gives."""

    def clear(self) -> None:
        """Does nothing: there are no copies of tensors to forget."""


def allow_mutation_on_saved_tensors() -> nullcontext[_MutationContext]:
    """A context that does nothing: saved tensors may always be written to, since a node saves their values."""
    return nullcontext(_MutationContext())


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increments the version of one or several tensors, for a write made outside of this library."""
    with no_grad():
        for x in [tensor] if isinstance(tensor, Tensor) else tensor:
            # Tensors of inference mode have no version.
            if not _arguments.tensor(x, "increment_version", "tensor").is_inference():
                x.copy_(x.detach().clone())


class node_creation_hook:
    """A context in which ``hook`` is called with each new node of the graph, also those made by ``backward`` with
    ``create_graph``.

    The node is complete. Nothing is recorded while the hook runs. Hooks of nested contexts run from the outermost to
    the innermost. The hook does not get leaves.

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.node_creation_hook(lambda node: print(node.name())):
    ...     y = (x * 2).sin()
    MulBackward0
    SinBackward0
    """

    def __init__(self, hook: Callable[[Node], object]) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        """Adds the hook."""
        _core.push_node_hook(self.hook, TORCH)

    def __exit__(self, *_: object) -> None:
        """Removes the hook."""
        _core.pop_node_hook()


__dir__ = _public.names(globals())
