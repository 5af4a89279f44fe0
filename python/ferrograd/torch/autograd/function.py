"""``torch.autograd.function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._autograd import function as _function
from ferrograd._autograd.function import once_differentiable
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx(_function.Context):
    """Carries saved tensors from ``forward`` to ``backward`` of a :class:`Function`."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for ``backward`` with their present values."""
        for at, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise ArgumentError(
                    f"save_for_backward can only save variables, but argument {at} is of type {type(x).__name__}"
                )
        super().save_for_backward(*tensors)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The saved tensors under an old name, with a warning."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


class Function(_function.Function):
    """A function with a user-defined gradient, with torch's conventions; see :class:`ferrograd.Function`.

    Tensors inside lists are constants, and only a tuple holds several results.
    """

    _context = FunctionCtx
    _looks_into_containers = False
    _result_containers = (tuple,)

    @classmethod
    def _record(cls, ctx: _function.Context, inputs: list[Any], output: Any) -> Any:
        """An argument of a subclass that ``forward`` returns as it is becomes a view, which the subclass makes."""

        def seen(y: Any) -> Any:
            is_own = isinstance(y, Tensor) and hasattr(type(y), "__torch_function__")
            if not is_own or not any(y is x for x in inputs) or any(y is x for x in (*ctx._written, *ctx._constants)):
                return y
            with no_grad():
                return y.view_as(y)

        found = tuple(map(seen, output)) if type(output) is tuple else seen(output)
        return super()._record(ctx, inputs, found)

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
