"""``paddle.grad`` and ``paddle.autograd.backward``."""

from __future__ import annotations

from collections.abc import Sequence

from ferrograd import _core
from ferrograd._autograd.gradients import needs_inputs, without_inputs
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import ArgumentError, DuplicateTensorError
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._base.backward_graph_files import pictures
from ferrograd.paddle._tensor import Tensor


def as_tensors(value: object, what: str) -> list[Tensor]:
    """A tensor, or a nonempty list or tuple of tensors, as a list; raises otherwise."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        way_out = "; for a function use ferrograd.func.grad(f)(x)" if callable(value) else ""
        raise ArgumentError(f"{what} must be Tensor or list of Tensor, not {_arguments.kind_of(value)}{way_out}")
    if not value:
        raise ArgumentError(f"{what} cannot be empty")
    for i, one in enumerate(value):
        if not isinstance(one, Tensor):
            raise ArgumentError(f"Elements of {what} must be Tensor, the one at index {i} is {_arguments.kind_of(one)}")
    return list(value)


def cotangents(value: object, what: str, owner: str, outs: list[Tensor]) -> list[Tensor | None] | None:
    """The cotangents argument as a list with a tensor or None for each output; an empty list is None.

    A cotangent of one element is reshaped to the shape of its output.
    """
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


def check_distinct(found: list[Tensor], text: str) -> None:
    """Raises if a tensor is given twice."""
    if len(found) > 1 and len({id(one) for one in found}) != len(found):
        raise DuplicateTensorError(text)


def check_bool(value: object, what: str) -> None:
    """Raises unless the value is a bool."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{what} must be True or False, not {value!r}")


@needs_inputs
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] = None,  # type: ignore[assignment]
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Sequence[Tensor] | set[Tensor] | None = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Tensor]:
    """The gradients of the sum of ``outputs`` with respect to each of ``inputs``, as a list.

    ``grad_outputs`` are the cotangents of the outputs; None stands for ones, of any shape. Unless ``retain_graph`` is
    False nothing is freed, so that another ``grad`` or a ``backward`` of the same graph works. See
    :func:`ferrograd.grad` for the other arguments and :func:`paddle.autograd.backward` for
    ``dump_backward_graph_path``.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.grad(x * x, x)[0].numpy()
    array([2., 4.], dtype=float32)
    """
    __tracebackhide__ = True
    if retain_graph is not None and not isinstance(retain_graph, bool):
        raise ArgumentError(f"retain_graph must be None, True or False, not {retain_graph!r}")
    check_bool(create_graph, "create_graph")
    check_bool(only_inputs, "only_inputs")
    check_bool(allow_unused, "allow_unused")
    if inputs is None:
        raise ArgumentError(without_inputs(outputs))
    outs, ins = as_tensors(outputs, "outputs"), as_tensors(inputs, "inputs")
    check_distinct(outs, "outputs contain duplicate tensor, please check outputs carefully.")
    check_distinct(ins, "inputs contain duplicate tensor, please check inputs carefully.")
    if no_grad_vars is None or isinstance(no_grad_vars, Tensor):
        blocked = [] if no_grad_vars is None else [no_grad_vars]
    elif isinstance(no_grad_vars, (list, tuple, set, frozenset)):
        blocked = list(no_grad_vars)
    else:
        raise ArgumentError("no_grad_vars must be None, Tensor or list/tuple/set of Tensors")
    if not all(isinstance(one, Tensor) for one in blocked):
        raise ArgumentError("no_grad_vars can only contain Tensor")
    given = cotangents(grad_outputs, "grad_outputs", "outputs", outs)
    with pictures(dump_backward_graph_path, outs, True):
        return _core.grad(
            outs,
            ins,
            given,
            PADDLE,
            retain_graph=retain_graph is not False,
            create_graph=create_graph or None,
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

    ``grad_tensors`` are the cotangents; None stands for ones. With ``dump_backward_graph_path`` files with the graph
    (outputs, saved bytes, the time of each node) and the line that recorded each node are written to that directory.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.autograd.backward(x * x)
    >>> x.gradient()
    array([2., 4.], dtype=float32)
    """
    __tracebackhide__ = True
    check_bool(retain_graph, "retain_graph")
    outs = as_tensors(tensors, "tensors")
    check_distinct(outs, "The argument 'tensors' of paddle.autograd.backward contains duplicate paddle.Tensor object.")
    given = cotangents(grad_tensors, "grad_tensors", "tensors", outs)
    with pictures(dump_backward_graph_path, outs, True):
        _core.backward(outs, given, PADDLE, retain_graph=retain_graph)
