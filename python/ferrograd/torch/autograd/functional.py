"""``torch.autograd.functional``: derivatives of functions of tensors or tuples of tensors.

``jvp`` and ``hvp`` run in forward mode, and Jacobians are computed in one batched pass. ``vectorize`` changes nothing;
the strategies choose the mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.func._jacobians import columns, rows
from ferrograd.func._record import Record, is_inside

Function = Callable[..., Any]
Values = tuple[Tensor, ...]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value: Any, what: str, caller: str) -> tuple[bool, Values]:
    """Whether the value is a tuple, and its tensors as a tuple."""
    several = isinstance(value, tuple)
    found = value if several else (value,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise ArgumentError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(x)}."
            )
    return several, found


def _direction(v: Any, like: Values, several: bool, caller: str, none: str) -> Values:
    """The tensors of ``v``, which must be like ``like``. None stands for one if there is one element."""
    if v is None:
        if len(like) != 1 or math.prod(like[0].shape) != 1:
            raise ArgumentError(f"The vector v can only be None if {none}.")
        return (_core.native.ones_like(like[0]),)
    found = _tuple(v, "v", caller)[1]
    if len(found) != len(like):
        text = f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
        raise ArgumentError(text if several else "The given v should contain a single Tensor.")
    for i, (t, x) in enumerate(zip(found, like, strict=True)):
        if tuple(t.shape) != tuple(x.shape):
            entry = f"Entry {i} in " if several else ""
            raise ShapeError(f"{entry}v has invalid size: should be {x.shape} but got {t.shape}.")
    return found


class _Call(Record):
    """The graph of a function at its inputs, with the checks of ``strict``."""

    def __init__(self, caller: str, func: Function, inputs: Any, create_graph: bool, strict: bool) -> None:
        if _core.is_transforming():
            raise ArgumentError(
                f"torch.autograd.functional.{caller} is not supported inside of a function being transformed by "
                "torch.func (You are attempting to call Tensor.requires_grad_()): use its transforms, such as vjp and "
                "jacrev, there too"
            )
        self.several, given = _tuple(inputs, "inputs", caller)
        # A transform around this call differentiates the result, whatever ``create_graph`` says.
        create_graph = create_graph or (is_inside() and any(x.requires_grad for x in given))
        self.create_graph, self.strict = create_graph, strict

        def checked(*args: Any) -> Any:
            result = func(*args)
            _tuple(result, "outputs of the user-provided function", caller)
            return result

        with enable_grad() if create_graph else no_grad():
            super().__init__(caller, checked, given, argnums=range(len(given)))
        # With create_graph results are tracked even if the inputs are not.
        self._beyond = create_graph
        self.several_out, _ = _tuple(self.result, "outputs of the user-provided function", caller)
        if strict:
            for i, y in enumerate(self.outputs):
                if not y.requires_grad:
                    raise ArgumentError(
                        f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                        "computed in a differentiable manner from the input when running in strict mode."
                    )
            for k, y in enumerate(self.outputs):
                which = "The output" if caller != "jacobian" else f"Output {k}"
                text = which + " of the user-provided function is independent of input {}"
                if caller == "hessian":
                    text = "The jacobian of the user-provided function with respect to input {} is zero"
                text += ". This is not allowed in strict mode."
                self.depends([y] if caller == "jacobian" else self.outputs, text)

    def depends(self, outputs: Any, text: str) -> None:
        """In strict mode, raises unless ``outputs`` depend on every input."""
        if self.strict:
            for i, found in enumerate(self.reached(outputs)):
                if not found:
                    raise ArgumentError(text.format(i))

    def differentiable(self, results: Any, what: str) -> None:
        """In strict mode with ``create_graph``, raises unless the results depend on every input."""
        if self.create_graph:
            self.depends(
                results,
                f"The {what} of the user-provided function is independent of input {{}}. This is not allowed in "
                "strict mode when create_graph=True.",
            )

    def given(self, tree: Any) -> Any:
        """Results for the caller: detached unless ``create_graph``."""
        if self.create_graph:
            return tree
        return _tree.mapped(lambda t: t.detach() if t.requires_grad else t, tree)

    def answer(self, values: Any, several: bool, what: str) -> Any:
        """The pair (value of the function, result) for the caller."""
        self.differentiable(values, what)
        found = self.given(tuple(values))
        return self.given(self.result), found if several else found[0]

    def single(self) -> Tensor:
        """The output; raises unless it is a single tensor of one element."""
        if self.several_out:
            raise ArgumentError(f"The function given to {self.what} should return a single Tensor")
        if math.prod(self.outputs[0].shape) != 1:
            raise ShapeError(
                f"The Tensor returned by the function given to {self.what} should contain a single element"
            )
        return self.scalar()


_ONE_OUTPUT = "the user-provided function returns a single Tensor with a single element"
_ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element"


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of ``func`` and the product of ``v`` with its Jacobian: ``(output, product)``.

    ``inputs`` is a tensor or a tuple of tensors, and so is the product. ``v`` has the shapes of the output; it can be
    left out for an output of one element. With ``create_graph`` both results can be differentiated again. With
    ``strict`` an input that the output does not depend on raises an error instead of giving zeros.

    >>> import ferrograd.torch as torch
    >>> y, g = torch.autograd.functional.vjp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    >>> y.item(), g.tolist()
    (9.0, [3.0, 12.0])
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    seeds = _direction(v, tuple(call.outputs), call.several_out, "vjp", _ONE_OUTPUT)
    return call.answer(call.pull(seeds, record=call.create_graph), call.several, "jacobian")


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of ``func`` and the product of its Jacobian with ``v``, in forward mode: ``(output, product)``.

    ``v`` has the shapes of the inputs; it can be left out for an input of one element. See :func:`vjp` for the rest.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: x**3, x, x)[1].tolist()
    [3.0, 24.0]
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    moved = call.push(_direction(v, tuple(call.inside), call.several, "jvp", _ONE_INPUT), call.create_graph)
    found = _tree.leaves(call.filled(moved))
    return call.answer(found, call.several_out, "jacobian")


def _second(caller: str, func: Function, inputs: Any, create_graph: bool, strict: bool) -> tuple[_Call, list[Tensor]]:
    """The graph of a function with a one-element output, and its recorded gradients."""
    call = _Call(caller, func, inputs, create_graph, strict)
    y = call.single()
    with enable_grad():
        gradients = call.pull([_core.native.ones_like(y)], record=True)
    call.depends(
        gradients,
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
        "function for example).",
    )
    return call, gradients


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The one-element output of ``func`` and the product of ``v`` with its Hessian: ``(output, product)``.

    See :func:`vjp` for the arguments.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    call, gradients = _second("vhp", func, inputs, create_graph, strict)
    seeds = _direction(v, tuple(call.inside), call.several, "vhp", _ONE_INPUT)
    return call.answer(call.pull(seeds, gradients, record=call.create_graph), call.several, "hessian")


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The one-element output of ``func`` and the product of its Hessian with ``v``: ``(output, product)``.

    See :func:`vjp` for the arguments.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    call, gradients = _second("hvp", func, inputs, create_graph, strict)
    tangents = _direction(v, tuple(call.inside), call.several, "hvp", _ONE_INPUT)
    moved = _core.push(gradients, call.inside, list(tangents), call.create_graph)
    found = [_core.native.zeros_like(x) if t is None else t for x, t in zip(call.inside, moved, strict=True)]
    return call.answer(found, call.several, "hessian")


def _mode(strategy: str) -> Callable[..., Any]:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ArgumentError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    return columns if strategy == "forward-mode" else rows


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func`` at ``inputs``, with shape ``[*output shape, *input shape]``.

    For a tuple of inputs it is a tuple, and for a tuple of outputs a tuple of these. All rows (all columns with
    ``strategy="forward-mode"``) are computed in one pass. See :func:`vjp` for ``create_graph`` and ``strict``.

    >>> import ferrograd.torch as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    mode = _mode(strategy)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    with enable_grad() if call.create_graph else no_grad():
        found = mode(call, None)
    by_output = found if call.several_out else (found,)
    call.differentiable([b for part in by_output for b in part], "jacobian")
    return call.given(_unpacked(by_output, call.several_out, call.several))


def _unpacked(matrix: Any, several_out: bool, several: bool) -> Any:
    """Blocks by output and input, without tuples where the caller used a single tensor."""
    found = tuple(tuple(part) if several else part[0] for part in matrix)
    return found if several_out else found[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of ``func``, which returns one element. It is a tuple of tuples for a tuple of inputs.

    See :func:`jacobian` for the arguments.

    >>> import ferrograd.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    mode = _mode(outer_jacobian_strategy)
    call, gradients = _second("hessian", func, inputs, create_graph, strict)
    call.result, call.outputs = tuple(gradients), gradients
    with enable_grad() if call.create_graph else no_grad():
        found = mode(call, None)
    call.differentiable([b for part in found for b in part], "hessian")
    return call.given(_unpacked(found, call.several, call.several))


# Helpers that minimizers of functions import.


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, Values]:
    """Whether a value is a tuple, and its tensors as a tuple."""
    return _tuple(inp, arg_name or "value", fn_name or "the function")


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The tuple, or its only element, depending on what the caller gave. Two truth values say so for two levels."""
    outer, *inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack,)
    if inner:
        res = tuple(_tuple_postprocess(part, inner[0]) for part in res)
    return res if outer else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors in tuples, detached unless a graph was wanted."""
    return inputs if create_graph else _tree.mapped(lambda t: t.detach(), inputs)


def _construct_standard_basis_for(tensors: Values, tensor_numels: tuple[int, ...]) -> Values:
    """The rows of a unit matrix for tensors that together are one vector, cut into the parts for each tensor."""
    total = sum(tensor_numels)
    rows = (_core.torch.eye(total, dtype=t.dtype) for t in tensors)
    ends = [sum(tensor_numels[: i + 1]) for i in range(len(tensors))]
    parts = zip(rows, ends, tensor_numels, strict=True)
    return tuple(eye[:, end - n : end] for eye, end, n in parts)


__dir__ = _public.names(globals())
