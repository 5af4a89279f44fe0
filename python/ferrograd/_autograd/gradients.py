"""``ferrograd.grad`` and ``ferrograd.backward``, and checks of their arguments that the dialects share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ferrograd import _core
from ferrograd._core import ArgumentError, GradientEdge, Tensor
from ferrograd._kit import arguments as _arguments, tree as _tree
from ferrograd._kit.dialect import NATIVE

End = Tensor | GradientEdge
Tree = TypeVar("Tree")
F = TypeVar("F", bound=Callable[..., Any])

LISTS = (list, tuple)


def leaves_of(tree: object, what: str) -> list[End]:
    """The tensors of a structure in order. Sets count as structures."""
    if isinstance(tree, (Tensor, GradientEdge)):
        return [tree]
    parts = list(enumerate(tree)) if isinstance(tree, (set, frozenset)) else _tree.children(tree)
    if tree is None or parts is None:
        raise ArgumentError(
            f"{what}: a Tensor or nested lists, tuples and dicts of them, not {_arguments.kind_of(tree)}"
        )
    # Generators within generators would take stack for each level, however high Python's limit on recursion is.
    found: list[End] = []
    for _, part in parts:
        found += leaves_of(part, what)
    return found


def ends(tree: Any, what: str) -> list[End]:
    """:func:`leaves_of` as a list; raises if it is empty."""
    # A tensor or a flat list, the common cases, need no walk over the structure.
    if isinstance(tree, (Tensor, GradientEdge)):
        return [tree]
    if type(tree) in LISTS and tree:
        for one in tree:
            if not isinstance(one, (Tensor, GradientEdge)):
                break
        else:
            return list(tree)
    found = leaves_of(tree, what)
    if not found:
        raise ArgumentError(f"{what} cannot be empty")
    return found


def cotangents(value: object) -> list[Tensor | None] | None:
    """The ``grad_outputs`` argument as a list: one tensor, or a tensor or None for each output."""
    if value is None or isinstance(value, Tensor):
        return None if value is None else [value]
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ArgumentError(f"gradients can be either Tensors or None, but got {_arguments.kind_of(value)}")
    found = list(value)
    for one in found:
        if one is not None and not isinstance(one, Tensor):
            raise ArgumentError(f"gradients can be either Tensors or None, but got {_arguments.kind_of(one)}")
    return found


def unused(allow: bool | None, materialize: bool) -> str:
    """How the core treats inputs that no output depends on: ``"refused"``, ``"none"`` or ``"zeros"``."""
    if not materialize:
        return "none" if allow else "refused"
    if allow is False:
        raise ArgumentError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    return "zeros"


def needs_inputs(function: F) -> F:
    """Shows in the signature that ``inputs`` is required. It may be None so that the error about it can say more."""
    signature = inspect.signature(function)
    parameters = dict(signature.parameters)
    parameters["inputs"] = parameters["inputs"].replace(default=inspect.Parameter.empty)
    function.__signature__ = signature.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
    return function


def without_inputs(outputs: object) -> str:
    """The text of the error that ``grad`` raises where it is called like a transform of a function."""
    if callable(outputs) and not isinstance(outputs, Tensor):
        return "grad: outputs is a function, not a Tensor; for a function use ferrograd.func.grad(f)(x)"
    return "grad() missing 1 required positional argument: 'inputs'"


def grad(
    outputs: End | Sequence[End],
    inputs: Tree = None,  # type: ignore[assignment]
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    no_grad_vars: Tensor | Iterable[Tensor] | None = None,
    *,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Tree:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``, in the structure of ``inputs``.

    ``inputs`` is a tensor or nested lists, tuples, dicts and dataclasses of tensors.

    * ``grad_outputs``: the cotangent of each output, with its shape. None stands for ones and is allowed for an output
      of one element.
    * ``retain_graph``: keep what the ops saved, for another pass. The default is the value of ``create_graph``.
    * ``create_graph``: record the pass, so that the results can be differentiated again. Inside of a function that a
      transform of :mod:`ferrograd.func` differentiates, what depends on its arguments is recorded anyway.
    * ``only_inputs``: if False, the gradients of all other leaves are added to their ``.grad``.
    * ``allow_unused``: the gradient of an input on which no output depends is None instead of an error.
    * ``materialize_grads``: it is zeros instead.
    * ``no_grad_vars``: tensors through which no gradient flows.
    * ``is_grads_batched``: axis 0 of each of ``grad_outputs`` is a batch of cotangents. The results have it too; all
      are computed in one pass.

    Raises:
        UnusedInputError: no output depends on an input.
        FreedGraphError: an earlier call has freed the graph.
        ArgumentError: an output has several elements, or does not require a gradient, and no ``grad_outputs``.

    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> y = x * x * x
    >>> dy = fg.grad(y, x, create_graph=True)
    >>> dy.item(), fg.grad(dy, x).item()
    (27.0, 18.0)
    """
    __tracebackhide__ = True
    if inputs is None or (callable(outputs) and not isinstance(outputs, Tensor)):
        raise ArgumentError(without_inputs(outputs))
    found = _core.grad(
        ends(outputs, "grad: outputs"),
        ends(inputs, "grad: inputs"),
        cotangents(grad_outputs),
        NATIVE,
        retain_graph=retain_graph,
        create_graph=create_graph or None,
        leaves=not only_inputs,
        blocked=[] if no_grad_vars is None else leaves_of(no_grad_vars, "grad: no_grad_vars"),
        unused=unused(allow_unused, materialize_grads),
        batched=is_grads_batched,
    )
    result: Tree = _tree.rebuilt(inputs, iter(found))
    return result


def backward(
    tensors: End | Sequence[End],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: object = None,
) -> None:
    """Adds the gradients of the sum of ``tensors`` to the ``.grad`` of every leaf, or only of ``inputs``.

    The other arguments are those of :func:`grad`; see also :meth:`Tensor.backward`.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> fg.backward((x * x).sum())
    >>> x.grad.numpy()
    array([2., 4.], dtype=float32)
    """
    __tracebackhide__ = True
    _core.backward(
        ends(tensors, "backward: tensors"),
        cotangents(grad_tensors),
        NATIVE,
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if inputs is None else ends(inputs, "backward: inputs"),
    )
