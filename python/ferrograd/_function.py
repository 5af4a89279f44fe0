"""Functions with gradients of their own: the machinery of ``Function``, natively and in torch, and of ``PyLayer``."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from ferrograd import _core
from ferrograd._core import ArgumentError, LeafInplaceError, Tensor
from ferrograd._modes import no_grad

__all__ = ["Context", "Function", "once_differentiable"]

F = TypeVar("F", bound=Callable[..., Any])

#: Where a saved tensor was.
SLOT = object()

#: The roles of outputs, by their numbers in the core.
RESULT, ALIAS, WRITTEN, FIXED, FIXED_ALIAS = range(5)


def laid_out(value: Any, found: list[Tensor], nested: bool) -> Any:
    """Appends the tensors of a value to ``found``. Where they are: an index, a list or dict of such, or None."""
    if isinstance(value, Tensor):
        found.append(value)
        return len(found) - 1
    if not nested:
        return None
    if isinstance(value, (list, tuple)):
        parts = [laid_out(part, found, True) for part in value]
        return parts if any(part is not None for part in parts) else None
    if isinstance(value, dict):
        named = {key: laid_out(part, found, True) for key, part in value.items()}
        return named if any(part is not None for part in named.values()) else None
    return None


def filled(layout: Any, values: list[Any], empty: Any = None) -> Any:
    """The values in the places of a layout, and ``empty`` where it has none."""
    if layout is None:
        return empty
    if isinstance(layout, int):
        return values[layout]
    if isinstance(layout, dict):
        return {key: filled(part, values, empty) for key, part in layout.items()}
    return [filled(part, values, empty) for part in layout]


def replaced(value: Any, layout: Any, tensors: list[Tensor]) -> Any:
    """The value with other tensors in the places of its layout."""
    if layout is None:
        return value
    if isinstance(layout, int):
        return tensors[layout]
    if isinstance(layout, dict):
        return {key: replaced(part, layout[key], tensors) for key, part in value.items()}
    parts = [replaced(part, place, tensors) for part, place in zip(value, layout, strict=True)]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def indices(layout: Any) -> Iterator[int]:
    """The indices in a layout, in order."""
    if isinstance(layout, int):
        yield layout
    elif layout is not None:
        for part in layout.values() if isinstance(layout, dict) else layout:
            yield from indices(part)


class Context:
    """What a call of a function hands to its backward: what it saved, and any attribute that is set on it."""

    #: By argument: whether a gradient can flow into it.
    needs_input_grad: tuple[Any, ...] = ()

    _saved: Any = ()
    _copies: tuple[Tensor, ...] = ()
    _saved_for_forward: Any = ()
    _copies_for_forward: tuple[Tensor, ...] = ()
    _written: tuple[Tensor, ...] = ()
    _fixed: tuple[Tensor, ...] = ()
    _not_inplace: bool = False
    _materialize: bool = True
    _finished: bool = False
    _own: Mapping[str, int] = {}
    _in_forward_mode: bool = False
    _call: _core.FunctionCall
    _function: type[Function]
    _ins: Any
    _outs: Any
    _count: int

    def __init__(self, function: type[Function]) -> None:
        self._function = function

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for backward as they are now. What was saved before is forgotten."""
        self._saved = tensors
        self._copies = tuple(_core.copy_of(x) for x in _tensors(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``, which finds them where backward finds its own."""
        self._saved_for_forward = tensors
        self._copies_for_forward = tuple(_core.copy_of(x) for x in _tensors(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, in the same order; each tensor with its history."""
        if not self._finished:
            return tuple(self._saved)
        found = iter(self._call.saved())
        saved = tuple(_refilled(self._saved, found))
        return tuple(_refilled(self._saved_for_forward, found)) if self._in_forward_mode else saved

    def saved_tensor(self) -> tuple[Any, ...]:
        """Paddle's name of :attr:`saved_tensors`."""
        return self.saved_tensors

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that the function wrote into these arguments. They must be among its results."""
        self._written = tensors

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Says that an argument that is returned as it is was not written to: the result is another tensor."""
        self._not_inplace = True

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that no gradient flows through these results."""
        self._fixed = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None where no gradient arrives."""
        self._materialize = bool(value)

    def __repr__(self) -> str:
        """The name of the backward."""
        return f"<{self._function.__name__}Backward>"

    def __getattr__(self, name: str) -> Any:
        """A result that was set as an attribute: without a cycle, since the results hold the context."""
        if name in self._own:
            return self._call.output(self._own[name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _forget(self, own: dict[str, int]) -> None:
        """Lets go of the tensors, which the recorded call keeps from here on: ``own`` are attributes among them."""
        self._finished = True
        if self._call.is_recorded:
            for name in own:
                delattr(self, name)
            self._own = own
        self._saved = tuple(_refilled(self._saved, itertools.repeat(SLOT)))
        self._saved_for_forward = tuple(_refilled(self._saved_for_forward, itertools.repeat(SLOT)))
        self._copies = self._copies_for_forward = self._written = self._fixed = ()

    # What the core calls.

    def _backward(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """The gradients of the inputs, from those of the outputs."""
        function = self._function
        given = function._cotangents(self, grads)
        rule = function._rule()
        result = rule(self, *given)
        found: list[Tensor | None] = [None] * self._count
        function._take(self, result, found)
        if _core.is_grad_enabled() and getattr(rule, "_once", False):
            found = self._call.refuse_twice(found, [g for g in grads if g is not None])
        return found

    def _jvp(self, tangents: list[Tensor | None]) -> list[Tensor | None]:
        """The tangents of the outputs, from those of the inputs."""
        function = self._function
        if function.jvp is Function.jvp:
            return self._transposed(tangents)
        self._in_forward_mode = bool(self._saved_for_forward)
        try:
            result = function.jvp(self, *filled(self._ins, tangents))
        finally:
            self._in_forward_mode = False
        found: list[Tensor | None] = [None] * len(list(indices(self._outs)))
        several = function._is_several(result)
        self._place(self._outs, list(result) if several else [result], found, "jvp")
        return found

    def _transposed(self, tangents: list[Tensor | None]) -> list[Tensor | None]:
        """Tangents without a ``jvp``: those of the transpose of backward, which is linear in the gradients it gets."""
        record = _core.is_grad_enabled()
        seeds = self._call.seeds()
        before = _core.set_grad_mode(True)
        try:
            grads = self._backward(list(seeds))
        finally:
            _core.set_grad_mode(before)
        pairs = [(g, t) for g, t in zip(grads, tangents, strict=True) if g is not None and t is not None]
        pairs = [(g, t) for g, t in pairs if g.requires_grad]
        ends = [seed for seed in seeds if seed is not None]
        if not pairs:
            return [None for _ in seeds]
        found = iter(
            _core.run(
                [g for g, _ in pairs],
                ends,
                [_core.native.broadcast_to(t, g.shape).astype(g.dtype) for g, t in pairs],
                0,
                create_graph=record,
            )
        )
        return [None if seed is None else next(found) for seed in seeds]

    def _place(self, layout: Any, result: Any, found: list[Tensor | None], rule: str) -> None:
        """Puts the tensors that a rule returned where the layout says."""
        if isinstance(layout, int):
            if result is not None and not isinstance(result, Tensor):
                raise ArgumentError(
                    f"{self._function.__name__}.{rule}: expected Variable or None (got {type(result).__name__}): "
                    "only Tensor or None can be returned"
                )
            found[layout] = result
        elif isinstance(layout, dict) and isinstance(result, dict):
            for key, part in layout.items():
                self._place(part, result.get(key), found, rule)
        elif isinstance(layout, list) and isinstance(result, (list, tuple)):
            if len(result) != len(layout):
                raise ArgumentError(
                    f"{self._function.__name__}.{rule}: {len(result)} values for {len(layout)} in a list"
                )
            for part, value in zip(layout, result, strict=True):
                self._place(part, value, found, rule)
        elif layout is not None and result is not None:
            raise ArgumentError(
                f"{self._function.__name__}.{rule}: a {type(layout).__name__} is expected, not {type(result).__name__}"
            )


def _tensors(tree: Any) -> Iterator[Tensor]:
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, (list, tuple, dict)):
            yield from _tensors(part)


def _refilled(tree: Any, tensors: Iterator[Any]) -> Iterator[Any]:
    """The values of a list with the next tensors in the places of its own."""
    for part in tree:
        if part is SLOT or isinstance(part, Tensor):
            yield next(tensors)
        elif isinstance(part, (list, tuple)):
            parts = _refilled(part, tensors)
            yield type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
        elif isinstance(part, dict):
            yield dict(zip(part, _refilled(part.values(), tensors), strict=True))
        else:
            yield part


class Function:
    """A function with a gradient of its own: a subclass with static methods ``forward`` and ``backward``.

    ``apply(*args)`` calls ``forward(ctx, *args)``, in which nothing is recorded. ``backward(ctx, *grads)`` gets a
    gradient for each result and returns one for each argument: None for what is no tensor, a list for a list of
    tensors. Both are written in ordinary functions, so gradients of gradients follow. With a static method
    ``setup_context(ctx, inputs, output)``, ``forward`` gets no context. ``jvp(ctx, *tangents)`` and ``vmap(info,
    in_dims, *args)`` are used where they are given and derived where they are not.

    >>> class Cube(fg.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x**2
    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> dx = fg.grad(Cube.apply(x), x, create_graph=True)
    >>> dx.item(), fg.grad(dx, x).item()
    (27.0, 18.0)
    """

    _context: ClassVar[type[Context]] = Context
    #: Whether tensors are looked for in containers, and which containers hold several results.
    _nested: ClassVar[bool] = True
    _several: ClassVar[tuple[type, ...]] = (tuple, list)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keeps what backward reads, after a ``forward`` without context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it here.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The results for all lanes at once, and the axis of the lanes in each."""
        raise NotImplementedError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Calls the function and records the call."""
        split = cls.setup_context is not Function.setup_context
        if split and (kwargs or cls.forward.__defaults__):
            args, kwargs = _bound(cls.forward, args, kwargs)
        values = (*args, *kwargs.values())
        inputs: list[Tensor] = []
        layout = cls._layout(values, inputs)
        ctx = cls._context(cls)
        ctx._call = call = _core.FunctionCall(inputs)
        ctx._ins, ctx._count = layout, len(inputs)
        ctx.needs_input_grad = tuple(filled(layout, call.needs, False))
        before = _core.set_grad_mode(False)
        try:
            if split:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        finally:
            _core.set_grad_mode(before)
        return cls._finish(ctx, inputs, output)

    @classmethod
    def _finish(cls, ctx: Context, inputs: list[Tensor], output: Any) -> Any:
        """Records the call whose result is ``output``, and returns what the caller gets."""
        several = cls._is_several(output)
        found: list[Tensor] = []
        ctx._outs = places = [laid_out(part, found, cls._nested) for part in (output if several else (output,))]
        cls._check_output(ctx, inputs, found)
        roles = [(y, cls._role(ctx, inputs, y)) for y in found]
        kept = [*_tensors(ctx._saved), *_tensors(ctx._saved_for_forward)]
        saved = list(zip(kept, (*ctx._copies, *ctx._copies_for_forward), strict=True))
        spots = [at for at, place in enumerate(ctx._ins) for _ in indices(place)]
        own = {
            name: at
            for name, value in vars(ctx).items()
            if isinstance(value, Tensor)
            for at, (y, role) in enumerate(roles)
            if y is value and role in (RESULT, WRITTEN)
        }
        results = ctx._call.finish(ctx, cls.__name__, spots, ctx._materialize, roles, saved, list(own.values()))
        ctx._forget(own)
        if all(new is old for new, old in zip(results, found, strict=True)):
            return output
        return replaced(output, places, results) if several else replaced(output, places[0], results)

    @classmethod
    def _is_several(cls, output: Any) -> bool:
        """Whether an output is a list of results."""
        return isinstance(output, cls._several)

    @classmethod
    def _layout(cls, values: tuple[Any, ...], found: list[Tensor]) -> list[Any]:
        """By argument: where its tensors are."""
        return [laid_out(value, found, cls._nested) for value in values]

    @classmethod
    def _check_output(cls, ctx: Context, inputs: list[Tensor], found: list[Tensor]) -> None:
        """Refuses results that cannot be recorded."""
        for x in ctx._written:
            if not any(x is y for y in found):
                raise ArgumentError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )

    @classmethod
    def _role(cls, ctx: Context, inputs: list[Tensor], y: Tensor) -> int:
        """What becomes of a result."""
        given = any(y is x for x in inputs)
        if any(y is x for x in ctx._fixed):
            return FIXED_ALIAS if given else FIXED
        if not given:
            return RESULT
        if not any(y is x for x in ctx._written):
            return ALIAS
        refuse_leaf(y, "a leaf Variable that requires grad has been used in an in-place operation.")
        return WRITTEN

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        """The function that computes gradients."""
        return cls.backward if cls.vjp is Function.vjp else cls.vjp

    @classmethod
    def _cotangents(cls, ctx: Context, grads: list[Tensor | None]) -> list[Any]:
        """The arguments of backward: one for each result."""
        return [filled(place, grads) for place in ctx._outs]

    @classmethod
    def _take(cls, ctx: Context, result: Any, found: list[Tensor | None]) -> None:
        """Puts what backward returned where the layout of the arguments says."""
        parts = _parts(result, ctx._ins, cls._several)
        while len(parts) > len(ctx._ins) and parts[-1] is None:
            parts.pop()
        name = f"{cls.__name__}Backward"
        if len(parts) != len(ctx._ins):
            raise ArgumentError(
                f"function {name} returned an incorrect number of gradients (expected {len(ctx._ins)}, got "
                f"{len(parts)})"
            )
        for at, (place, part) in enumerate(zip(ctx._ins, parts, strict=False)):
            if place is None and part is not None:
                raise ArgumentError(
                    f"function {name} returned a gradient different than None at position {at + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            ctx._place(place, part, found, "backward")


def _parts(result: Any, layout: list[Any], several: tuple[type, ...]) -> list[Any]:
    """What backward returned, by argument. A list is the gradient of a single argument that is a list."""
    if isinstance(result, tuple):
        return list(result)
    if isinstance(result, list) and list in several:
        single = len(layout) == 1 and isinstance(layout[0], list)
        return [result] if single and not (len(result) == 1 and isinstance(result[0], (list, tuple))) else result
    return [result]


def _bound(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments by place, with the defaults of ``forward`` among them."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def refuse_leaf(x: Tensor, text: str) -> None:
    """Refuses a write into a leaf whose gradient is wanted, while recording."""
    if _core.is_grad_enabled() and x.requires_grad and x.is_leaf:
        raise LeafInplaceError(text)


def once_differentiable(backward: F) -> F:
    """Marks a backward whose results cannot be differentiated: nothing is recorded in it, and whoever asks for a
    gradient through it gets an error."""

    @functools.wraps(backward)
    def unrecorded(*args: Any) -> Any:
        with no_grad():
            return backward(*args)

    unrecorded._once = True  # type: ignore[attr-defined]
    return unrecorded  # type: ignore[return-value]
