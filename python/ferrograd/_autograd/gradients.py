"""``grad`` and ``backward`` of the native namespace, and the checks that all namespaces share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ferrograd import _core, _tree
from ferrograd._core import ArgumentError, GradientEdge, Tensor

End = Tensor | GradientEdge
Tree = TypeVar("Tree")

NATIVE = 0
LISTS = (list, tuple)


def leaves_of(tree: object, what: str) -> Iterator[End]:
    """The tensors of a structure, in order; sets are structures too."""
    if isinstance(tree, (Tensor, GradientEdge)):
        yield tree
        return
    parts = enumerate(tree) if isinstance(tree, (set, frozenset)) else _tree.children(tree)
    if tree is None or parts is None:
        raise ArgumentError(f"{what}: a Tensor or nested lists, tuples and dicts of them, not {type(tree).__name__}")
    for _, part in parts:
        yield from leaves_of(part, what)


def ends(tree: Any, what: str) -> list[End]:
    """:func:`leaves_of` as a list, which must hold one at least."""
    # What is asked for nearly always, before the walk that finds the rest.
    if isinstance(tree, (Tensor, GradientEdge)):
        return [tree]
    if type(tree) in LISTS and tree:
        for one in tree:
            if not isinstance(one, (Tensor, GradientEdge)):
                break
        else:
            return list(tree)
    found = list(leaves_of(tree, what))
    if not found:
        raise ArgumentError(f"{what} cannot be empty")
    return found


def cotangents(value: object) -> list[Tensor | None] | None:
    """What the outputs start from: one tensor, or a tensor or None for each."""
    if value is None or isinstance(value, Tensor):
        return None if value is None else [value]
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ArgumentError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    found = list(value)
    for one in found:
        if one is not None and not isinstance(one, Tensor):
            raise ArgumentError(f"gradients can be either Tensors or None, but got {type(one).__name__}")
    return found


def unused(allow: bool | None, materialize: bool) -> str:
    """What becomes of inputs that nothing reaches, from the two arguments that say so."""
    if not materialize:
        return "none" if allow else "refused"
    if allow is False:
        raise ArgumentError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    return "zeros"


def grad(
    outputs: End | Sequence[End],
    inputs: Tree,
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

    ``inputs`` is a tensor or nested lists, tuples, dicts and dataclasses of them. ``grad_outputs`` are what the
    derivatives of the outputs are multiplied with, in the shapes of the outputs; None stands for one. What the ops
    kept is freed unless ``retain_graph`` (by default: unless ``create_graph``, which makes results that can be
    differentiated again). Without ``only_inputs`` all other leaves add their gradients to their ``.grad``. Nothing
    flows into ``no_grad_vars``. An input that nothing reaches is an error, or None with ``allow_unused``, or zeros
    with ``materialize_grads``. With ``is_grads_batched`` the first axis of every ``grad_outputs`` counts vectors, and
    so does that of the results: all of them in one pass.

    Raises:
        UnusedInputError: an input on which no output depends.
        FreedGraphError: a graph that an earlier call has freed.
        ArgumentError: an output of several elements, or one that is not tracked, without its ``grad_outputs``.

    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> y = x * x * x
    >>> dy = fg.grad(y, x, create_graph=True)
    >>> dy.item(), fg.grad(dy, x).item()
    (27.0, 18.0)
    """
    found = _core.run(
        ends(outputs, "grad: outputs"),
        ends(inputs, "grad: inputs"),
        cotangents(grad_outputs),
        NATIVE,
        retain_graph=retain_graph,
        create_graph=create_graph,
        leaves=not only_inputs,
        blocked=[] if no_grad_vars is None else list(leaves_of(no_grad_vars, "grad: no_grad_vars")),
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
    """Adds the gradients of the sum of ``tensors`` to the ``.grad`` of every leaf, or of ``inputs`` alone.

    The other arguments are those of :func:`grad`; see also :meth:`Tensor.backward`.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> fg.backward((x * x).sum())
    >>> x.grad.numpy()
    array([2., 4.], dtype=float32)
    """
    _core.backward(
        ends(tensors, "backward: tensors"),
        cotangents(grad_tensors),
        NATIVE,
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if inputs is None else ends(inputs, "backward: inputs"),
    )
