"""``torch.autograd.grad`` and ``torch.autograd.backward``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from ferrograd import _core
from ferrograd._autograd.gradients import LISTS, End, cotangents, needs_inputs, unused, without_inputs
from ferrograd._core import ArgumentError, GradientEdge
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor


def input_list(inputs: object, what: str) -> Any:
    """The ``inputs`` argument as one tensor or a list; of a dict the values."""
    if isinstance(inputs, (Tensor, GradientEdge)) or not isinstance(inputs, Iterable):
        return inputs
    if isinstance(inputs, Mapping) and not isinstance(inputs, dict):
        raise ArgumentError(
            f"{what} must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported."
        )
    found = list(inputs.values() if isinstance(inputs, dict) else inputs)
    if not found:
        raise ArgumentError(f"{what} cannot be empty. {what.split()[-1][1:-3]} requires non-empty inputs.")
    return found


Seeds = Tensor | Sequence[Tensor | None] | None


@overload
def grad(
    outputs: End | Sequence[End], inputs: dict[Any, End], grad_outputs: Seeds = ..., *args: Any, **options: Any
) -> dict[Any, Tensor]: ...
@overload
def grad(
    outputs: End | Sequence[End], inputs: End | Sequence[End], grad_outputs: Seeds = ..., *args: Any, **options: Any
) -> tuple[Tensor, ...]: ...
@needs_inputs
def grad(
    outputs: End | Sequence[End],
    inputs: End | Sequence[End] | dict[Any, End] = None,  # type: ignore[assignment]
    grad_outputs: Seeds = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of ``outputs`` with respect to each of ``inputs``: a tuple, or a dict for a dict.

    With ``is_grads_batched`` axis 0 of each of ``grad_outputs`` and of the results is a batch of cotangents. See
    :func:`ferrograd.grad` for the other arguments.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad((x * x).sum(), x)[0].numpy()
    array([2., 4.], dtype=float32)
    """
    __tracebackhide__ = True
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    if inputs is None:
        raise ArgumentError(without_inputs(outputs))
    found = _core.grad(
        outputs,
        # The common case: the core takes a nonempty list as it is.
        inputs if type(inputs) in LISTS and inputs else input_list(inputs, "`inputs` argument to `grad()`"),
        None if grad_outputs is None else cotangents(grad_outputs),
        TORCH,
        retain_graph=retain_graph,
        create_graph=create_graph or None,
        unused=unused(allow_unused, materialize_grads),
        batched=is_grads_batched,
    )
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def backward(
    tensors: End | Sequence[End],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: End | Sequence[End] | dict[Any, End] | None = None,
) -> None:
    """Adds the gradients of the sum of ``tensors`` to the ``.grad`` of every leaf, or only of ``inputs``.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad.numpy()
    array([2., 4.], dtype=float32)
    """
    __tracebackhide__ = True
    if grad_variables is not None:
        if grad_tensors is not None:
            raise ArgumentError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        grad_tensors = grad_variables
    _core.backward(
        tensors,
        cotangents(grad_tensors),
        TORCH,
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if inputs is None else input_list(inputs, "`inputs` argument to `backward()`"),
    )
