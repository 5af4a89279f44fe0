"""What a call of a function with a gradient of its own hands to that gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from ferrograd import _core
from ferrograd._autograd import batching
from ferrograd._autograd.batching import Values
from ferrograd._autograd.nested import SLOT, filled, indices, refilled, tensors_in
from ferrograd._core import ArgumentError, Tensor


class Rules(Protocol):
    """The part of :class:`ferrograd.Function` that a context calls to run the gradient and tangent rules."""

    _recorded: ClassVar[bool]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The user's tangent rule."""

    @classmethod
    def _has_jvp(cls) -> bool: ...

    @classmethod
    def _rule(cls) -> Callable[..., Any]: ...

    @classmethod
    def _cotangents(cls, ctx: Context, grads: Sequence[Tensor | None]) -> list[Any]: ...

    @classmethod
    def _take(cls, ctx: Context, result: Any, found: list[Tensor | None]) -> None: ...

    @classmethod
    def _is_several(cls, output: Any) -> bool: ...


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
    _any_dtype: bool = False
    _finished: bool = False
    _own: Mapping[str, int] = {}
    _in_forward_mode: bool = False
    _call: _core.FunctionCall
    _function: type[Rules]
    _ins: Any
    _outs: Any
    _count: int
    _needs: list[bool]

    def __init__(self, function: type[Rules]) -> None:
        self._function = function

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for backward as they are now. What was saved before is forgotten."""
        self._saved = tensors
        self._copies = tuple(_core.copy_of(x) for x in tensors_in(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``, which finds them where backward finds its own."""
        self._saved_for_forward = tensors
        self._copies_for_forward = tuple(_core.copy_of(x) for x in tensors_in(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, in the same order; each tensor with its history."""
        if not self._finished:
            return tuple(self._saved)
        found = iter(batching.seen(self._call, self._call.saved()))
        saved = tuple(refilled(self._saved, found))
        return tuple(refilled(self._saved_for_forward, found)) if self._in_forward_mode else saved

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
            own = self._call.output(self._own[name])
            return own if own is None else batching.seen(self._call, [own])[0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _forget(self, own: dict[str, int]) -> None:
        """Lets go of the tensors, which the recorded call keeps from here on: ``own`` are attributes among them."""
        self._finished = True
        if self._call.is_recorded:
            for name in own:
                delattr(self, name)
            self._own = own
        self._saved = tuple(refilled(self._saved, itertools.repeat(SLOT)))
        self._saved_for_forward = tuple(refilled(self._saved_for_forward, itertools.repeat(SLOT)))
        self._copies = self._copies_for_forward = self._written = self._fixed = ()

    # What the core calls.

    def _backward(self, grads: Values) -> Values:
        """The gradients of the inputs, from those of the outputs."""
        return batching.ruled(self._call, self._gradients, grads)

    def _jvp(self, tangents: Values) -> Values:
        """The tangents of the outputs, from those of the inputs."""
        return batching.ruled(self._call, self._tangents, tangents)

    def _gradients(self, grads: Values) -> Values:
        found = self._ruled(grads)
        if _core.is_grad_enabled() and (why := self._why_once(grads, found)):
            found = self._call.refuse_twice(found, [g for g in grads if g is not None], why)
        return found

    def _ruled(self, grads: Values) -> list[Tensor | None]:
        """What the rule of the user's gives, by input."""
        function = self._function
        result = function._rule()(self, *function._cotangents(self, grads))
        found: list[Tensor | None] = [None] * self._count
        function._take(self, result, found)
        return found

    def _why_once(self, grads: Values, found: Values) -> str | None:
        """Why the gradients that the rule gave cannot be differentiated; None if they can."""
        function = self._function
        if getattr(function._rule(), "_once", False):
            return "trying to differentiate twice a function that was marked with @once_differentiable"

        def needed(grads: Values) -> list[Tensor]:
            return [g for g, need in zip(grads, self._needs, strict=True) if need and g is not None]

        if "_recorded" in vars(function) or all(g.requires_grad for g in needed(found)):
            return None
        # They may be constant. But what depends on no gradient that the rule gets is zero, or was not recorded.
        places = [g if g is None else _core.fresh(_core.native.ones_like(g)) for g in grads]
        again = needed(self._ruled(places))
        lost = [g for g in again if not g.requires_grad]
        if again and not lost:
            function._recorded = True
        if not any(batching.has_values(x) for x in lost):
            return None
        return (
            "its backward is not written in functions that are recorded, so there are no gradients of its gradients, "
            "and tangents only if you give the function a jvp"
        )

    def _tangents(self, tangents: Values) -> Values:
        function = self._function
        if not function._has_jvp():
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

    def _transposed(self, tangents: Values) -> Values:
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
