"""Functions with gradients of their own: the machinery of ``Function``, natively and in torch, and of ``PyLayer``."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from ferrograd import _core
from ferrograd._autograd import batching
from ferrograd._autograd.context import Context
from ferrograd._autograd.modes import no_grad
from ferrograd._autograd.nested import filled, indices, laid_out, replaced, tensors_in
from ferrograd._core import ArgumentError, LanesError, LeafInplaceError, Tensor

__all__ = ["Context", "Function", "once_differentiable"]

F = TypeVar("F", bound=Callable[..., Any])

#: The roles of outputs, by their numbers in the core.
RESULT, ALIAS, WRITTEN, FIXED, FIXED_ALIAS = range(5)


class Function:
    """A function with a gradient of its own: a subclass with static methods ``forward`` and ``backward``.

    ``apply(*args)`` calls ``forward(ctx, *args)``, in which nothing is recorded. ``backward(ctx, *grads)`` gets a
    gradient for each result and returns one for each argument: None for what is no tensor, a list for a list of
    tensors. Both are written in ordinary functions, so gradients of gradients follow. With a static method
    ``setup_context(ctx, inputs, output)``, ``forward`` gets no context. ``jvp(ctx, *tangents)`` and ``vmap(info,
    in_dims, *args)``, which returns results and the axes of their lanes, are used where they are given and derived
    where they are not: what is written in ordinary functions runs once for all lanes, what asks for values (``item``,
    ``numpy``) once for each.

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
    #: Set on a class whose backward was seen to be recorded.
    _recorded: ClassVar[bool]
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
        if cls.vmap is not Function.vmap and _core.lanes_of(inputs):
            return batching.by_rule(cls.vmap, cls.__name__, values)
        ctx = cls._context(cls)
        ctx._call = call = _core.FunctionCall(inputs)
        ctx._ins, ctx._count = layout, len(inputs)
        ctx._needs = call.needs
        ctx.needs_input_grad = tuple(filled(layout, ctx._needs, False))
        before = _core.set_grad_mode(False)
        try:
            if split:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        except LanesError as refusal:
            _core.set_grad_mode(before)
            return batching.one_by_one(cls.apply, args, kwargs, refusal)
        finally:
            _core.set_grad_mode(before)
        return cls._finish(ctx, inputs, output)

    @classmethod
    def check(cls, inputs: Sequence[Any], order: int = 3, **options: Any) -> None:
        """Checks the gradients that ``backward`` gives, up to an order, against finite differences.

        The arguments are those of :func:`ferrograd.testing.check`, which is called for :meth:`apply`. By default it is
        in reverse and forward mode, for one vector and for many at once.

        Raises:
            GradcheckError: they do not agree; the text names the function, the order, the worst element and both
                values.

        >>> class Cube(fg.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return g * 2 * x**2
        >>> Cube.check([fg.tensor([1.0, 2.0])])
        Traceback (most recent call last):
        ferrograd.testing.GradcheckError: Cube: Jacobian of order 1 in reverse mode mismatch for output 0 ...
        """
        from ferrograd.testing import GradcheckError, check

        try:
            check(cls.apply, inputs, order, **options)
        except GradcheckError as e:
            raise GradcheckError(f"{cls.__name__}: {e}") from e

    @classmethod
    def _finish(cls, ctx: Context, inputs: list[Tensor], output: Any) -> Any:
        """Records the call whose result is ``output``, and returns what the caller gets."""
        several = cls._is_several(output)
        found: list[Tensor] = []
        ctx._outs = places = [laid_out(part, found, cls._nested) for part in (output if several else (output,))]
        cls._check_output(ctx, inputs, found)
        roles = [(y, cls._role(ctx, inputs, y)) for y in found]
        kept = [*tensors_in(ctx._saved), *tensors_in(ctx._saved_for_forward)]
        saved = list(zip(kept, (*ctx._copies, *ctx._copies_for_forward), strict=True))
        spots = [at for at, place in enumerate(ctx._ins) for _ in indices(place)]
        own = {
            name: at
            for name, value in vars(ctx).items()
            if isinstance(value, Tensor)
            for at, (y, role) in enumerate(roles)
            if y is value and role in (RESULT, WRITTEN)
        }
        results = ctx._call.finish(
            ctx, cls.__name__, spots, ctx._materialize, ctx._any_dtype, roles, saved, list(own.values())
        )
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
            if not any(x is y for y in inputs):
                warnings.warn(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                    "mutated should be passed to ctx.mark_dirty().",
                    stacklevel=4,
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
    def _has_jvp(cls) -> bool:
        return cls.jvp is not Function.jvp

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        """The function that computes gradients."""
        return cls.backward if cls.vjp is Function.vjp else cls.vjp

    @classmethod
    def _cotangents(cls, ctx: Context, grads: Sequence[Tensor | None]) -> list[Any]:
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
