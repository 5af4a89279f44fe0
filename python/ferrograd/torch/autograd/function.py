"""``torch.autograd.function``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from ferrograd import _core
from ferrograd._autograd import function as _function
from ferrograd._autograd.function import once_differentiable
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, ShapeError
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class _Result(NamedTuple):
    """What its tangent has to agree with of a result of ``forward``."""

    shape: tuple[int, ...]
    #: The tensor among the arguments that was written to, or whose memory the result has; None for a new tensor.
    argument: int | None
    is_written: bool
    #: Whether that argument is a view itself.
    is_of_view: bool = False


def _base(x: Tensor) -> Tensor:
    """The tensor that a view is of, or the tensor itself."""
    base = x._base
    return x if base is None else base


class FunctionCtx(_function.Context):
    """Carries saved tensors from ``forward`` to ``backward`` of a :class:`Function`."""

    _tangents_read_all = False
    #: What ``jvp`` is checked against, if there is one.
    _results: tuple[_Result, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for ``backward`` with their present values."""
        for at, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise ArgumentError(
                    f"save_for_backward can only save variables, but argument {at} is of type {type(x).__name__}"
                )
        super().save_for_backward(*tensors)

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors as objects that take hooks of their own. They are there once the call is recorded."""
        found = itertools.count()
        return tuple(self._call.raw_saved(None if x is None else next(found)) for x in self._saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The saved tensors under an old name, with a warning."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


def _check_saves_no_returned_input(ctx: Any, inputs: list[Any], output: Any) -> None:
    """Raises where an argument is saved that ``forward`` returned as it is."""
    saved = [*ctx._saved, *ctx._saved_for_forward]
    if not saved:
        return
    for y in output if isinstance(output, tuple) else (output,):
        changed = any(y is x for x in (*ctx._written, *ctx._constants))
        if not changed and any(y is x for x in saved) and any(y is x for x in inputs):
            raise ArgumentError(
                f"{ctx!r}: A input that has been returned as-is as output is being saved for backward. This is not "
                "supported if you override setup_context. Return and save a view of it, x.view_as(x), or give forward "
                "the context"
            )


#: What ``backward`` gets as its context.
BackwardCFunction = FunctionCtx


def _result(ctx: Any, inputs: list[Any], y: Tensor) -> _Result:
    """A tensor that ``forward`` returned."""
    shape = tuple(y.shape)
    if any(y is x for x in ctx._constants):
        return _Result(shape, None, False)
    if any(y is x for x in inputs):
        return _Result(shape, next(i for i, x in enumerate(inputs) if y is x), any(y is x for x in ctx._written))
    of = [i for i, x in enumerate(inputs) if y._base is not None and y._base is _base(x)]
    return (
        _Result(shape, of[0], False, inputs[of[0]]._base is not None) if len(of) == 1 else _Result(shape, None, False)
    )


class Function(_function.Function):
    """A function with a user-defined gradient, with torch's conventions; see :class:`ferrograd.Function`.

    Tensors inside lists are constants, and only a tuple holds several results.
    """

    _context = FunctionCtx
    _looks_into_containers = False
    _result_containers = (tuple,)
    #: While a level of forward mode is entered: zeros for those of the tensors that have tangents, None if none has.
    _zero_tangents: ClassVar[Callable[[list[Any]], list[Any] | None] | None] = None

    @classmethod
    def _check_transformed(cls, split: bool, kwargs: dict[str, Any]) -> None:
        if not split:
            raise RuntimeError(
                f"{cls.__name__}: In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
                "jacrev, ...), it must override the setup_context staticmethod, and its forward takes no context"
            )
        if any(isinstance(x, Tensor) for x in kwargs.values()):
            raise NotImplementedError(
                f"{cls.__name__}: kwarg-only Tensor args are not supported in functorch transforms: pass the tensor by "
                "position"
            )

    @classmethod
    def _record(cls, ctx: Any, inputs: list[Any], output: Any) -> Any:
        """An argument of a subclass that ``forward`` returns as it is becomes a view, which the subclass makes."""

        def seen(y: Any) -> Any:
            is_own = isinstance(y, Tensor) and hasattr(type(y), "__torch_function__")
            if not is_own or not any(y is x for x in inputs) or any(y is x for x in (*ctx._written, *ctx._constants)):
                return y
            with no_grad():
                return y.view_as(y)

        if cls.setup_context is not _function.Function.setup_context:
            _check_saves_no_returned_input(ctx, inputs, output)
        found = tuple(map(seen, output)) if type(output) is tuple else seen(output)
        if not cls._has_jvp():
            if cls._zero_tangents is not None and not cls._has_rule() and cls._zero_tangents(inputs) is not None:
                raise NotImplementedError(
                    f"{cls.__name__}: You must implement the jvp function for custom autograd.Function to use it with "
                    "forward mode AD, or backward, which is transposed"
                )
            return super()._record(ctx, inputs, found)
        results = found if isinstance(found, tuple) else (found,)
        ctx._results = tuple(_result(ctx, inputs, y) for y in results if isinstance(y, Tensor))
        # What is written to depends on this call once it is recorded.
        zeros = None if cls._zero_tangents is None else cls._zero_tangents(inputs)
        recorded = super()._record(ctx, inputs, found)
        if zeros is not None and ctx._call.is_recorded:
            # The tangents are computed when they are asked for. Zeros tell whether the rule is one, where it is called.
            materialized = (_core.native.zeros_like(x) if x.dtype.kind in "fc" else None for x in inputs)
            given = [
                other if zero is None and ctx._materialize_grads else zero
                for zero, other in zip(zeros, materialized, strict=True)
            ]
            ctx._jvp(given)
        return recorded

    @classmethod
    def _check_tangents(cls, ctx: Any, given: Any, versions: list[int], found: Any) -> None:
        """Raises for tangents that do not fit the results: a view has that of a view, and writing writes to it."""
        for result, t in zip(ctx._results, found, strict=True):
            if t is None:
                continue
            name = f"{cls.__name__}.jvp"
            if tuple(t.shape) != result.shape:
                raise ShapeError(
                    f"{name}: Trying to set a forward gradient that has a different size than that of the original "
                    f"Tensor: the result is of size {list(result.shape)}, and its tangent of size {list(t.shape)}"
                )
            own = None if result.argument is None else given[result.argument]
            if own is None:
                continue
            if result.is_written:
                if t is not own or t.inplace_version == versions[result.argument]:
                    raise ArgumentError(
                        f"{name}: an inplace custom Function is not modifying the forward mode gradients inplace: "
                        "forward writes to an argument, so the jvp function must modify the corresponding gradient "
                        "inplace and return it"
                    )
            elif t._base is None:
                raise ArgumentError(
                    f"{name}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                    "returning a view. Return t.view_as(t) for an input as it is"
                )
            elif _base(t) is not _base(own):
                what = "the same base as the given tangent" if result.is_of_view else "the given tangent"
                raise ArgumentError(
                    f"{name}: A custom Function's forward is returning a view of an input but the jvp is not returning "
                    f"a view of {what}"
                )

    @classmethod
    def _has_rule(cls) -> bool:
        """Whether there is a gradient rule of the user's."""
        own = _function.Function
        return cls.vjp is not own.vjp or cls.backward is not own.backward

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        """The user's gradient rule, ``backward`` or ``vjp``."""
        if cls.vjp is not _function.Function.vjp and cls.backward is not _function.Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return super()._rule()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: functions are called by ``apply``."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method."
        )


class InplaceFunction(Function):
    """A :class:`Function` with a flag to write to its argument in place."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


__dir__ = _public.names(globals())
