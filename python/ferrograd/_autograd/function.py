"""``Function``: user-defined gradients. torch's ``Function`` and Paddle's ``PyLayer`` derive from it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from ferrograd import _core
from ferrograd._autograd import batching
from ferrograd._autograd.context import Context
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._autograd.nested import collect_tensors, fill, indices, replace_tensors, tensors_in
from ferrograd._core import ArgumentError, LeafInplaceError, Tensor, VmapError
from ferrograd._kit.dialect import NATIVE
from ferrograd._kit.warning import warn

__all__ = ["Context", "Function", "once_differentiable"]

F = TypeVar("F", bound=Callable[..., Any])

#: The roles of outputs, as the numbers that ``FunctionCall.finish`` takes.
RESULT, ALIAS, WRITTEN, CONSTANT, CONSTANT_ALIAS = range(5)


class Function:
    """A function with a user-defined gradient: a subclass with static methods ``forward`` and ``backward``.

    ``apply(*args)`` calls ``forward(ctx, *args)`` without recording its ops. ``backward(ctx, *grads)`` gets a gradient
    for each result and returns one for each argument: None for an argument that is not a tensor, a list for a list of
    tensors. If ``backward`` is written with functions that are recorded, gradients of gradients follow. One that
    computes with NumPy on saved tensors gives first derivatives, and raises ``ConversionError`` where it is recorded;
    :func:`once_differentiable` marks it. If a static method
    ``setup_context(ctx, inputs, output)`` is defined, ``forward`` gets no context.

    ``jvp(ctx, *tangents)`` and ``vmap(info, in_dims, *args)``, which returns ``(results, out_dims)``, are optional.
    Without ``jvp`` the tangent is the transpose of ``backward``. Without ``vmap`` ordinary functions run once on the
    whole batch; code that asks for values (``item``, ``numpy``) runs once per batch element.

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

    #: Asks for a ``vmap`` rule made of the other methods, which there is anyhow unless the class has one of its own.
    generate_vmap_rule: ClassVar[bool] = False
    _context: ClassVar[type[Context]] = Context
    #: Set on a class once its backward was found to be differentiable.
    _backward_is_recorded: ClassVar[bool]
    #: Whether it reads the numbers of tensors, so that a program calls it; None where that is not known yet.
    _reads_numbers: ClassVar[bool | None] = None
    #: Whether tensors inside containers count, and the containers that hold several results.
    _looks_into_containers: ClassVar[bool] = True
    _result_containers: ClassVar[tuple[type, ...]] = (tuple, list)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results from the arguments."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Saves what ``backward`` reads, after a ``forward`` without context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """The gradients of the arguments from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any, **_: Any) -> Any:
        """The tangents of the results from those of the arguments."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it here.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any, **_: Any) -> Any:
        """The results for the whole batch, and the batch axis of each: ``(results, out_dims)``."""
        raise NotImplementedError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Calls ``forward`` and records the call as one node."""
        if _core.is_tracing() and (replayed := _at_replay(cls, args, kwargs)) is not None:
            return replayed[0]
        stand_ins: list[tuple[Tensor, Tensor]] = []
        if _core.is_for_takers():
            args, kwargs = cls._of_takers(args, kwargs, stand_ins)
        split = cls.setup_context is not Function.setup_context
        if split and (kwargs or cls.forward.__defaults__):
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        if _core.is_transforming():
            cls._check_transformed(split, kwargs)
        values = (*args, *kwargs.values())
        inputs: list[Tensor] = []
        positions = cls._positions(values, inputs)
        if cls.vmap is not Function.vmap and _core.batches(inputs):
            if cls.generate_vmap_rule:
                raise RuntimeError(
                    f"{cls.__name__}: generate_vmap_rule=True and a vmap staticmethod exclude each other: the first "
                    "asks for a rule that is made of forward and backward. Remove one of them"
                )
            return batching.call_vmap_rule(cls.vmap, cls.__name__, args, kwargs)
        ctx = cls._context(cls)
        ctx._call = call = _core.FunctionCall(inputs)
        ctx._ins, ctx._count = positions, len(inputs)
        ctx._needs = call.needs
        ctx.needs_input_grad = tuple(fill(positions, ctx._needs, False))
        call.begin()
        try:
            if split:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        except VmapError as refusal:
            call.end()
            return batching.call_per_element(cls.apply, args, kwargs, refusal)
        finally:
            call.end()
        written = [(new, old) for new, old in stand_ins if any(new is x for x in ctx._written)]
        result = cls._record(ctx, inputs, output)
        for new, old in written:
            # Only the examples that take the branch are written to.
            old.copy_(new)
        return result

    @classmethod
    def _of_takers(
        cls, args: tuple[Any, ...], kwargs: dict[str, Any], stand_ins: list[tuple[Tensor, Tensor]]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the examples have them that take the branch which calls the function.

        Those that are other tensors than the caller's are put into ``stand_ins``, each with that of the caller.
        """
        values = (*args, *kwargs.values())
        inputs: list[Tensor] = []
        positions = cls._positions(values, inputs)
        taken = [_core.operand(x) for x in inputs]
        stand_ins += [(new, old) for new, old in zip(taken, inputs, strict=True) if new is not old]
        parts = [replace_tensors(value, place, taken) for value, place in zip(values, positions, strict=True)]
        return tuple(parts[: len(args)]), dict(zip(kwargs, parts[len(args) :], strict=True))

    @classmethod
    def _check_transformed(cls, split: bool, kwargs: dict[str, Any]) -> None:
        """Raises for what a dialect's transforms refuse: without ``split``, ``forward`` is given the context."""

    @classmethod
    def check(cls, inputs: Sequence[Any], order: int = 3, **options: Any) -> None:
        """Checks the gradients of :meth:`apply` up to an order against finite differences.

        The arguments are those of :func:`ferrograd.testing.check`, which by default checks reverse and forward mode,
        each with single and with batched vectors.

        Raises:
            GradcheckError: a gradient and its difference quotient disagree. The message has the function, the order,
                the worst element and both values.

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
    def _record(cls, ctx: Context, inputs: list[Tensor], output: Any) -> Any:
        """Records the call whose ``forward`` returned ``output``; the results for the caller."""
        several = cls._has_several_results(output)
        found: list[Tensor] = []
        ctx._outs = places = [
            collect_tensors(part, found, cls._looks_into_containers) for part in (output if several else (output,))
        ]
        cls._check_output(ctx, inputs, found)
        roles = [(y, cls._role(ctx, inputs, y)) for y in found]
        if ctx._constants:
            ctx._constant_results = [at for at, (_, role) in enumerate(roles) if role in (CONSTANT, CONSTANT_ALIAS)]
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
            ctx, cls.__name__, spots, ctx._materialize_grads, ctx._any_dtype, roles, saved, list(own.values())
        )
        ctx._release_tensors(own)
        if all(new is old for new, old in zip(results, found, strict=True)):
            return output
        return replace_tensors(output, places, results) if several else replace_tensors(output, places[0], results)

    @classmethod
    def _has_several_results(cls, output: Any) -> bool:
        """Whether an output is a container of several results."""
        return isinstance(output, cls._result_containers)

    @classmethod
    def _positions(cls, values: tuple[Any, ...], found: list[Tensor]) -> list[Any]:
        """For each argument, the positions of its tensors."""
        return [collect_tensors(value, found, cls._looks_into_containers) for value in values]

    @classmethod
    def _check_output(cls, ctx: Context, inputs: list[Tensor], found: list[Tensor]) -> None:
        """Raises for results that cannot be recorded."""
        for x in ctx._written:
            if not any(x is y for y in found):
                raise ArgumentError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
            if not any(x is y for y in inputs):
                warn(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                    "mutated should be passed to ctx.mark_dirty()."
                )

    @classmethod
    def _role(cls, ctx: Context, inputs: list[Tensor], y: Tensor) -> int:
        """The role of a result: ``RESULT`` or one of the constants beside it."""
        given = any(y is x for x in inputs)
        if any(y is x for x in ctx._constants):
            return CONSTANT_ALIAS if given else CONSTANT
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
    def _check_tangents(cls, ctx: Any, given: batching.Values, versions: list[int], found: batching.Values) -> None:
        """Raises for tangents that are not what a dialect wants, besides what is wrong in all.

        ``given`` are the tangents that ``jvp`` got, with their versions before that, and ``found`` those it returned.
        """

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        """The user's gradient rule."""
        return cls.backward if cls.vjp is Function.vjp else cls.vjp

    @classmethod
    def _cotangents(cls, ctx: Context, grads: Sequence[Tensor | None]) -> list[Any]:
        """The arguments of ``backward``: one for each result."""
        return [fill(place, grads) for place in ctx._outs]

    @classmethod
    def _assign_gradients(cls, ctx: Context, result: Any, found: list[Tensor | None]) -> None:
        """Writes what ``backward`` returned to ``found``, one gradient for each input tensor."""
        parts = _gradients_by_argument(result, ctx._ins, cls._result_containers)
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
            ctx._assign(place, part, found, "backward")


class _Replayed(Function):
    """A function that reads numbers, as an op of a program, which calls it at its place."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], found: list[Any], *tensors: Tensor) -> Any:
        def call(given: list[Tensor]) -> list[Tensor]:
            random = _core.native.mersenne.streams()
            outputs, *found[:] = function(given)
            return [*outputs, random]

        *results, random = _core.call_at_replay(call, tensors)
        ctx.function = function
        ctx.save_for_backward(*tensors, random)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        *tensors, random = ctx.saved_tensors
        wanted = [i for i, x in enumerate(tensors) if x.requires_grad]
        found = _ReplayedGradient.apply(ctx.function, wanted, len(tensors), random, *tensors, *g)
        grads = dict(zip(wanted, found, strict=True))
        return (None, None, *(grads.get(i) for i in range(len(tensors))))


class _ReplayedGradient(Function):
    """The gradients of a :class:`_Replayed`: the function is called again, and what it recorded is differentiated."""

    _reads_numbers = False

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], wanted: list[int], count: int, random: Tensor, *tensors: Tensor
    ) -> Any:
        def call(given: list[Tensor]) -> list[Tensor]:
            random, *leaves = (x.detach() for x in given)
            now = _core.native.mersenne.streams()
            # The function draws the numbers that its first call drew.
            _core.native.mersenne.set_streams(random)
            try:
                with enable_grad():
                    for i in wanted:
                        _core.require_grad(leaves[i])
                    return _gradients(function, wanted, count, leaves, False)
            finally:
                _core.native.mersenne.set_streams(now)

        ctx.of = function, wanted, count
        ctx.save_for_backward(*tensors)
        return tuple(_core.call_at_replay(call, [random, *tensors]))

    @staticmethod
    def backward(ctx: Any, *h: Tensor) -> Any:
        _core.give_up_trace("it differentiates a Function twice that reads the numbers of tensors")
        function, asked, count = ctx.of
        with enable_grad():
            # Two arguments may be one tensor. Their gradients are told apart.
            tensors = [x * 1 if x.requires_grad else x for x in ctx.saved_tensors]
            found = _gradients(function, asked, count, tensors, True)
        left = iter(pulled_back(found, h, [x for x in tensors if x.requires_grad], _core.is_grad_enabled()))
        return (None, None, None, None, *(next(left) if x.requires_grad else None for x in tensors))


def pulled_back(
    outputs: Sequence[Tensor], cotangents: Sequence[Tensor | None], inputs: list[Any], create_graph: bool
) -> list[Any]:
    """The gradients of the inputs, or None, from the cotangents of those outputs that are tracked and have one."""
    pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y.requires_grad and g is not None]
    if not pairs:
        return [None] * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    found: list[Any] = _core.grad(list(roots), inputs, list(seeds), NATIVE, create_graph=create_graph, stops=True)
    return found


def _gradients(
    function: Callable[..., Any], wanted: list[int], count: int, tensors: Sequence[Tensor], create_graph: bool
) -> list[Tensor]:
    """The gradients of the wanted ones of ``count`` tensors, which are followed by the gradients of the outputs."""
    outputs = function(tensors[:count])[0]
    inputs = [tensors[i] for i in wanted]
    found = pulled_back(outputs, tensors[count:], inputs, create_graph)
    return [_core.native.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def _at_replay(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
    """The results of a function that reads the numbers of tensors, while a trace is taken; None for any other."""
    values = (*args, *kwargs.values())
    tensors: list[Tensor] = []
    places = [collect_tensors(value, tensors, cls._looks_into_containers) for value in values]
    reads = vars(cls).get("_reads_numbers")
    if reads is False or not tensors or _core.batches(tensors):
        return None

    # The program keeps the function, but no tensor of the trace.
    nothing: list[Any] = [None] * len(tensors)
    fixed = [replace_tensors(x, place, nothing) for x, place in zip(values, places, strict=True)]
    count, names = len(args), list(kwargs)

    def function(given: Sequence[Tensor]) -> tuple[list[Tensor], Any, Any]:
        own = [replace_tensors(x, place, list(given)) for x, place in zip(fixed, places, strict=True)]
        output = cls.apply(*own[:count], **dict(zip(names, own[count:], strict=True)))
        found: list[Tensor] = []
        return found, output, collect_tensors(output, found, True)

    if reads is None:
        cls._reads_numbers = False
        cls._reads_numbers = _reads(function, tensors)
        if not cls._reads_numbers:
            return None
    found: list[Any] = []
    results = _Replayed.apply(function, found, *tensors)
    output, place = found
    return (replace_tensors(output, place, results),)


#: Why a trace is given up where a function reads numbers, or computes with another library.
_NUMBERS = frozenset({"its numbers are read", "it makes a tensor of another library's array"})


def _reads(function: Callable[[Sequence[Tensor]], Any], tensors: list[Tensor]) -> bool:
    """Whether a trace of a function and of its gradient is given up because numbers are read."""
    examples = [_core.copy_of(x.detach()) for x in tensors]
    for x, example in zip(tensors, examples, strict=True):
        _core.require_grad(example, x.requires_grad and _core.is_grad_enabled())
    tracer = _core.Tracer(examples)
    try:
        outputs = [y for y in function(tracer.arguments())[0] if y.requires_grad]
        if outputs and tracer.given_up is None:
            _core.grad(outputs, [x for x in examples if x.requires_grad], None, NATIVE, stops=True)
    except Exception:
        # The call itself will raise.
        pass
    finally:
        tracer.cancel(True)
    return tracer.given_up is not None and tracer.given_up[0] in _NUMBERS


def _gradients_by_argument(result: Any, positions: list[Any], several: tuple[type, ...]) -> list[Any]:
    """The result of ``backward`` by argument. A list is the gradient of a single argument that is a list."""
    if isinstance(result, tuple):
        return list(result)
    if isinstance(result, list) and list in several:
        single = len(positions) == 1 and isinstance(positions[0], list)
        return [result] if single and not (len(result) == 1 and isinstance(result[0], (list, tuple))) else result
    return [result]


def _with_defaults(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments as ``(args, kwargs)`` with the defaults of ``forward`` filled in."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def refuse_leaf(x: Tensor, text: str) -> None:
    """Raises ``LeafInplaceError`` for a write to a leaf that requires a gradient, while recording."""
    if _core.is_grad_enabled() and x.requires_grad and x.is_leaf:
        raise LeafInplaceError(text)


def once_differentiable(backward: F) -> F:
    """Marks a ``backward`` whose results cannot be differentiated again.

    Nothing is recorded in it, except for a tangent, which is the transpose of the ``backward``. A gradient through its
    results, or through that tangent, raises an error.

    >>> class Double(fg.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @fg.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> fg.grad(Double.apply(x), x).item()
    2.0
    """

    @functools.wraps(backward)
    def unrecorded(*args: Any) -> Any:
        with no_grad():
            return backward(*args)

    #: What forward mode runs: a tangent of the first order is the transpose of the rule.
    unrecorded._recorded = backward  # type: ignore[attr-defined]
    return unrecorded  # type: ignore[return-value]
