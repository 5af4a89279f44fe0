"""``paddle.fluid.dygraph``: the dynamic graph as Paddle 1.8 had it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.paddle._base import gradients as _gradients
from ferrograd.paddle._functions.create import to_tensor
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.fluid._replaced import missing

__all__ = ["BackwardStrategy", "grad", "guard", "no_grad", "to_variable"]


class BackwardStrategy:
    """Accepted for Paddle 1.8 and ignored: the order of sums depends on the graph alone."""

    sort_sum_gradient = False


@contextmanager
def guard(place: object = None) -> Iterator[None]:
    """A context that does nothing: the dynamic graph is always on."""
    yield


def to_variable(value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None) -> Tensor:
    """:func:`paddle.to_tensor` under its old name, with a name for the tensor."""
    variable = to_tensor(value, dtype)
    if name is not None:
        variable.name = name
    return variable


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Sequence[Tensor] | set[Tensor] | None = None,
    backward_strategy: BackwardStrategy | None = None,
) -> tuple[Any, ...]:
    """:func:`paddle.grad`, as a tuple. ``retain_graph`` is by default ``create_graph``: else the graph is freed."""
    kept = create_graph if retain_graph is None else retain_graph
    return tuple(
        _gradients.grad(outputs, inputs, grad_outputs, kept, create_graph, only_inputs, allow_unused, no_grad_vars)
    )


#: Names whose successors have others.
_REPLACED = {
    **{f"{name}Decay": f"paddle.optimizer.lr.{name}Decay" for name in ("Exponential", "InverseTime", "NaturalExp")},
    **{f"{name}Decay": f"paddle.optimizer.lr.{name}Decay" for name in ("Noam", "Piecewise", "Polynomial")},
    "CosineDecay": "paddle.optimizer.lr.CosineAnnealingDecay",
    "FC": "paddle.nn.Linear",
    "GRUUnit": "paddle.nn.GRUCell",
    "Pool2D": "paddle.nn.MaxPool2D or AvgPool2D",
    "declarative": "paddle.jit.to_static",
    "load_dygraph": "paddle.load",
    "save_dygraph": "paddle.save",
}

__dir__ = _public.names(globals())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name, _REPLACED)
