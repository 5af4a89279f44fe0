"""``paddle.grad`` and ``paddle.autograd.backward``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import ArgumentError, DuplicateTensorError, Tensor
from ferrograd._graph.backward_files import pictures

PADDLE = 1


def as_tensors(value: object, what: str) -> list[Tensor]:
    """A tensor, or a list or tuple of them, as a list."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"{what} must be Tensor or list of Tensor, not {type(value).__name__}")
    if not value:
        raise ArgumentError(f"{what} cannot be empty")
    for i, one in enumerate(value):
        if not isinstance(one, Tensor):
            raise ArgumentError(f"Elements of {what} must be Tensor, the one at index {i} is {type(one).__name__}")
    return list(value)


def seeds(value: object, what: str, owner: str, outs: list[Tensor]) -> list[Tensor | None] | None:
    """A tensor, or a tensor or None for each output; an empty list is None. That of one element may have any shape of
    one element."""
    count = len(outs)
    if value is None:
        return None
    found = [value] if isinstance(value, Tensor) else value
    if not isinstance(found, (list, tuple)) or not all(one is None or isinstance(one, Tensor) for one in found):
        raise ArgumentError(
            f"The argument '{what}' is invalid, it can be 'None', 'paddle.Tensor' or 'list[None/paddle.Tensor]'"
        )
    if found and len(found) != count:
        raise ArgumentError(f"The length of {what} must be equal to {owner}: {len(found)} and {count}")
    return [_shaped(seed, out) for seed, out in zip(found, outs, strict=True)] if found else None


def _shaped(seed: Tensor | None, out: Tensor) -> Tensor | None:
    if seed is None or tuple(seed.shape) == tuple(out.shape) or {seed.size, out.size} != {1}:
        return seed
    with enable_grad():
        return _core.paddle.reshape(seed, list(out.shape))


def distinct(found: list[Tensor], text: str) -> None:
    """Refuses a tensor that is given twice."""
    if len(found) > 1 and len({id(one) for one in found}) != len(found):
        raise DuplicateTensorError(text)


def flag(value: object, what: str) -> None:
    """Refuses what is no bool."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{what} must be True or False, not {value!r}")


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Sequence[Tensor] | set[Tensor] | None = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Any]:
    """The sums of the gradients of ``outputs`` with respect to each of ``inputs``, as a list.

    Outputs start from ``grad_outputs``, from ones where that is None. Without ``only_inputs`` all other leaves add
    their gradients to their ``.grad``. See :func:`ferrograd.grad` for the other arguments, and
    :func:`paddle.autograd.backward` for ``dump_backward_graph_path``.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.grad(x * x, x)[0].numpy()
    array([2., 4.], dtype=float32)
    """
    if retain_graph is not None and not isinstance(retain_graph, bool):
        raise ArgumentError(f"retain_graph must be None, True or False, not {retain_graph!r}")
    flag(create_graph, "create_graph")
    flag(only_inputs, "only_inputs")
    flag(allow_unused, "allow_unused")
    outs, ins = as_tensors(outputs, "outputs"), as_tensors(inputs, "inputs")
    distinct(outs, "outputs contain duplicate tensor, please check outputs carefully.")
    distinct(ins, "inputs contain duplicate tensor, please check inputs carefully.")
    if no_grad_vars is None or isinstance(no_grad_vars, Tensor):
        blocked = [] if no_grad_vars is None else [no_grad_vars]
    elif isinstance(no_grad_vars, (list, tuple, set, frozenset)):
        blocked = list(no_grad_vars)
    else:
        raise ArgumentError("no_grad_vars must be None, Tensor or list/tuple/set of Tensors")
    if not all(isinstance(one, Tensor) for one in blocked):
        raise ArgumentError("no_grad_vars can only contain Tensor")
    given = seeds(grad_outputs, "grad_outputs", "outputs", outs)
    with pictures(dump_backward_graph_path, outs):
        return _core.run(
            outs,
            ins,
            given,
            PADDLE,
            retain_graph=retain_graph,
            create_graph=create_graph,
            leaves=not only_inputs,
            blocked=blocked,
            unused="none" if allow_unused else "refused",
        )


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
    *,
    dump_backward_graph_path: str | None = None,
) -> None:
    """Adds the gradients of the sum of ``tensors`` to the ``.grad`` of every leaf.

    They start from ``grad_tensors``, from ones where that is None. With ``dump_backward_graph_path`` pictures of the
    graph (values, bytes kept, the time of each node) and the line that recorded each node are written into that
    directory.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.autograd.backward(x * x)
    >>> x.gradient()
    array([2., 4.], dtype=float32)
    """
    flag(retain_graph, "retain_graph")
    outs = as_tensors(tensors, "tensors")
    distinct(outs, "The argument 'tensors' of paddle.autograd.backward contains duplicate paddle.Tensor object.")
    given = seeds(grad_tensors, "grad_tensors", "tensors", outs)
    with pictures(dump_backward_graph_path, outs):
        _core.backward(outs, given, PADDLE, retain_graph=retain_graph)
