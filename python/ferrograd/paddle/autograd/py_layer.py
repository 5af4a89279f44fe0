"""``paddle.autograd.py_layer``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._autograd import function as _function
from ferrograd._autograd.function import once_differentiable
from ferrograd._autograd.nested import fill
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]


class PyLayerContext(_function.Context):
    """Carries saved tensors from ``forward`` to ``backward`` of a :class:`PyLayer`."""

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Whether ``backward`` gets gradients cast to the dtypes of the results (the default) or as they come."""
        self._any_dtype = not flag


class MissingBackwardError(NotImplementedError, OSError):
    """A :class:`PyLayer` without ``backward`` was differentiated. Paddle raises an OSError for that."""


class PyLayer(_function.Function):
    """A function with a user-defined gradient, with Paddle's conventions; see :class:`ferrograd.Function`.

    ``backward`` gets a gradient for each tensor that ``forward`` returned. It returns one for each argument that is a
    tensor or a list of tensors. An argument that ``forward`` returns itself counts as written to in place.
    """

    _context = PyLayerContext

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results from the arguments."""
        raise NotImplementedError("You must implement the forward function for PyLayer.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """The gradients of the arguments from those of the results."""
        raise MissingBackwardError("You must implement the backward function for PyLayer.")

    @classmethod
    def _positions(cls, values: tuple[Any, ...], found: list[Tensor]) -> list[Any]:
        """The positions of the tensors of each argument that holds any."""
        return [place for place in super()._positions(values, found) if place is not None]

    @classmethod
    def _check_output(cls, ctx: _function.Context, inputs: list[Tensor], found: list[Tensor]) -> None:
        """Raises for results that cannot be recorded."""
        if not found:
            raise ArgumentError(f"{cls.__name__}: At least one output of `PyLayer.forward` is a `Tensor`.")

    @classmethod
    def _role(cls, ctx: _function.Context, inputs: list[Tensor], y: Tensor) -> int:
        """The role of a result. A returned argument counts as written to, unless the context says otherwise."""
        role = super()._role(ctx, inputs, y)
        if role != _function.ALIAS or ctx._not_inplace:
            return role
        _function.refuse_leaf(y, f"Leaf Var that doesn't stop gradient can't use inplace strategy ({cls.__name__}).")
        return _function.WRITTEN

    @classmethod
    def _cotangents(cls, ctx: _function.Context, grads: Sequence[Tensor | None]) -> list[Any]:
        """The arguments of ``backward``: one for each result that holds tensors."""
        return [fill(place, grads) for place in ctx._outs if place is not None]

    @classmethod
    def _assign_gradients(cls, ctx: _function.Context, result: Any, found: list[Tensor | None]) -> None:
        """Writes what ``backward`` returned to ``found``. Missing gradients at the end are None."""
        parts = _function._gradients_by_argument(result, ctx._ins, cls._result_containers)
        if len(parts) > len(ctx._ins):
            raise ArgumentError(
                f"{cls.__name__}: The number of outputs of `PyLayer.backward` should be {len(ctx._ins)}, but received "
                f"{len(parts)}."
            )
        needs = ctx.needs_input_grad
        for at in range(len(parts), len(ctx._ins)):
            if needs[at] is True or (isinstance(needs[at], list) and any(needs[at])):
                raise ArgumentError(
                    f"{cls.__name__}: backward function should not return empty at {at} position: that argument needs "
                    "a gradient."
                )
        for place, part in zip(ctx._ins, parts, strict=False):
            ctx._assign(place, part, found, "backward")


__dir__ = _public.names(globals())
