"""Functions whose gradients a program defines itself, and traces of what a function computes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._autograd.nested import collect_tensors, fill, replace_tensors
from ferrograd._core import Tensor, native as ops
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.autograd._boxes import (
    Box as Box,
    Node as Node,
    has_box,
    is_traced,
    new_box as new_box,
    recorded,
    trace as trace,
)
from ferrograd.autograd._kit import subvals as subvals, toposort as toposort
from ferrograd.autograd._values import constant, is_tracked, numbers, plain, untracked

#: By primitive: the function that makes the rule of reverse mode, and the one of forward mode.
primitive_vjps: dict[Any, Callable[..., Any]] = {}
primitive_jvps: dict[Any, Callable[..., Any]] = {}


def isbox(x: Any) -> bool:
    """Whether a value stands for one that is differentiated, or traced: a tensor that depends on an argument, or a
    :class:`Box`."""
    return isinstance(x, Box) or (isinstance(x, Tensor) and x.requires_grad)


def getval(x: Any) -> Any:
    """What a value stands for: the numbers of a tensor, as NumPy has them, and the value in a box."""
    if isinstance(x, Box):
        return getval(x._value)
    return numbers(x) if isinstance(x, Tensor) else x


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the numbers of its arguments, whose result has no derivative."""

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*[plain(getval(arg)) for arg in args], **kwargs)

    return f_wrapped


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Declares that a function has no derivative. Functions with results of integers need no declaration."""


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes with NumPy's arrays, and whose gradient ``defvjp`` or ``defjvp`` defines.

    >>> from ferrograd.autograd import grad
    >>> from ferrograd.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def cube(x):
    ...     return x**3
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> float(grad(cube)(2.0))
    12.0

    Raises:
        NotImplementedError: the function is differentiated and has no rule, or by an argument that is passed by name.
    """

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        if has_box(args):
            return recorded(f_wrapped, args, kwargs) if is_traced(args) else _called(f_wrapped, f_raw, args, kwargs)
        if not is_tracked(args) or not _core.is_grad_enabled():
            return f_raw(*map(plain, args), **kwargs)
        return _called(f_wrapped, f_raw, args, kwargs)

    f_wrapped.fun = f_raw  # type: ignore[attr-defined]
    f_wrapped._is_autograd_primitive = True  # type: ignore[attr-defined]
    return f_wrapped


class _Spec:
    """A call of a primitive: its arguments without their tensors, and the places of these.

    ``objects`` are boxes of objects, by argument: each has a tensor that stands for it in the graph.
    """

    def __init__(self, function: Any, f_raw: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.f_raw, self.kwargs = function, f_raw, kwargs
        self.objects = {i: arg for i, arg in enumerate(args) if isinstance(arg, Box)}
        args = tuple(arg._value if i in self.objects else arg for i, arg in enumerate(args))
        tensors: list[Tensor] = []
        self.places = [collect_tensors(arg, tensors, True) for arg in args]
        self.count = len(tensors)
        self.argnums = tuple(i for i, arg in enumerate(args) if i in self.objects or is_tracked(arg))
        nothing: list[Any] = [None] * self.count
        self.args = [replace_tensors(arg, place, nothing) for arg, place in zip(args, self.places, strict=True)]
        self.answer: Any = None
        # The tensors that stand for the arguments in the graph. A call does not keep them.
        self.inputs: list[Tensor] | None = [*tensors, *[box._node for box in self.objects.values()]]

    def take_inputs(self) -> list[Tensor]:
        """The tensors that stand for the arguments, which are given away once."""
        found, self.inputs = self.inputs or [], None
        return found

    def filled(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments with these values in the places of their tensors."""
        pairs = zip(self.args, self.places, strict=True)
        return [replace_tensors(arg, place, list(tensors)) for arg, place in pairs]

    def rule(self, rules: dict[Any, Callable[..., Any]], kind: str) -> Callable[..., Any]:
        """The rule of one mode."""
        if self.function not in rules:
            name = getattr(self.function, "__name__", self.function)
            raise NotImplementedError(f"{kind} of {name} wrt argnums {self.argnums} not defined")
        return rules[self.function]


def _called(function: Any, f_raw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a primitive of tracked arguments, recorded with its rules."""
    if is_tracked(kwargs):
        raise NotImplementedError(f"{function.__name__}: a primitive is differentiated by positional arguments only")
    spec = _Spec(function, f_raw, args, kwargs)
    if function not in primitive_jvps:
        spec.rule(primitive_vjps, "VJP")
    found = _node_of(function).apply(spec, *spec.take_inputs())
    return _tree.rebuilt(spec.answer, iter(found))


def _node_of(function: Any) -> type[_Call]:
    """The class of the nodes of a primitive. It has the primitive's name, which errors and graphs show."""
    base = _TwoWays if function in primitive_jvps else _Call
    kinds = vars(function).setdefault("_fg_nodes", {})
    if base not in kinds:
        kinds[base] = type(function.__name__, (base,), {"__module__": __name__})
    found: type[_Call] = kinds[base]
    return found


class _Call(Function):
    """A call of a primitive as a node of the graph."""

    @staticmethod
    def forward(ctx: Any, spec: _Spec, *inputs: Tensor) -> Any:
        tensors = inputs[: spec.count]
        answer = spec.f_raw(*spec.filled([numbers(x) for x in tensors]), **spec.kwargs)
        found = [constant(y) for y in _tree.leaves(answer)]
        # Only its structure is needed.
        spec.answer = _tree.mapped(lambda _: 0, answer)
        ctx.spec = spec
        ctx.save_for_backward(*tensors, *found)
        ctx.save_for_forward(*tensors, *found)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        spec: _Spec = ctx.spec
        args, answer = _inputs(ctx)
        make = spec.rule(primitive_vjps, "VJP")
        cotangent = _tree.rebuilt(spec.answer, iter([untracked(_conjugated(part)) for part in g]))
        slopes = dict(zip(spec.argnums, make(spec.argnums, answer, args, spec.kwargs)(cotangent), strict=True))
        found: list[Any] = [None] * spec.count
        for argnum, slope in slopes.items():
            if argnum in spec.objects:
                spec.objects[argnum]._add(slope)
            else:
                _place(spec.places[argnum], slope, found)
        return (None, *found, *[ops.zeros_like(box._node) for box in spec.objects.values()])


class _TwoWays(_Call):
    """A call of a primitive that has a rule of forward mode."""

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Tensor) -> Any:
        spec: _Spec = ctx.spec
        args, answer = _inputs(ctx)
        moving = [untracked(t) for t in tangents]
        parts = [_filled(arg, place, moving) for arg, place in zip(args, spec.places, strict=True)]
        make = spec.rule(primitive_jvps, "JVP")
        found = make(spec.argnums, [parts[i] for i in spec.argnums], answer, tuple(args), spec.kwargs)
        return tuple(constant(t) for t in _tree.leaves(found))


def _conjugated(x: Any) -> Any:
    return x.conj() if x is not None and x.dtype.kind == "c" else x


def _inputs(ctx: Any) -> tuple[list[Any], Any]:
    """The arguments and the results of a call, as its rules get them."""
    spec: _Spec = ctx.spec
    saved = [untracked(x) for x in ctx.saved_tensors]
    return spec.filled(saved[: spec.count]), _tree.rebuilt(spec.answer, iter(saved[spec.count :]))


def _filled(value: Any, places: Any, parts: Sequence[Any]) -> Any:
    """The value with other parts at its places."""
    filled = fill(places, parts)
    return type(value)(filled) if isinstance(value, tuple) else filled


def _place(places: Any, slope: Any, found: list[Any]) -> None:
    """Writes the gradient of an argument to the places of its tensors."""
    if places is None or slope is None:
        return
    if isinstance(places, int):
        found[places] = _conjugated(constant(slope))
        return
    for key, place in places.items() if isinstance(places, dict) else enumerate(places):
        _place(place, slope[key], found)


__all__ = [
    "Box",
    "Node",
    "getval",
    "isbox",
    "new_box",
    "notrace_primitive",
    "primitive",
    "primitive_jvps",
    "primitive_vjps",
    "register_notrace",
    "subvals",
    "toposort",
    "trace",
]

__dir__ = _public.names(globals())
