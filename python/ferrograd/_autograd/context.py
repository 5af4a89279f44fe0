"""The context of a ``Function`` call: what ``forward`` hands to ``backward``, ``jvp`` and ``vmap``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from ferrograd import _core
from ferrograd._autograd import batching
from ferrograd._autograd.batching import Values
from ferrograd._autograd.nested import SLOT, fill, indices, refill, tensors_in
from ferrograd._core import ArgumentError, FreedGraphError, Tensor

#: Why what a rule gives has no gradient of its own.
_ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"


class Rules(Protocol):
    """The part of :class:`ferrograd.Function` that a context calls to run the gradient and tangent rules."""

    _backward_is_recorded: ClassVar[bool]

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
    def _assign_gradients(cls, ctx: Context, result: Any, found: list[Tensor | None]) -> None: ...

    @classmethod
    def _has_several_results(cls, output: Any) -> bool: ...

    @classmethod
    def _check_tangents(cls, ctx: Any, given: Values, versions: list[int], found: Values) -> None: ...


class Context:
    """Carries saved tensors, and any attribute that is set on it, from ``forward`` to ``backward``."""

    #: For each argument, whether it needs a gradient.
    needs_input_grad: tuple[Any, ...] = ()

    _saved: Any = ()
    _copies: tuple[Tensor, ...] = ()
    _saved_for_forward: Any = ()
    _copies_for_forward: tuple[Tensor, ...] = ()
    _written: tuple[Tensor, ...] = ()
    _constants: tuple[Tensor, ...] = ()
    _not_inplace: bool = False
    _materialize_grads: bool = True
    #: Whether ``backward`` gets zeros for the results that are marked as not differentiable.
    _materialize_non_diff_grads: bool = True
    #: The results, among the tensors, that are marked as not differentiable.
    _constant_results: Sequence[int] = ()
    _any_dtype: bool = False
    _finished: bool = False
    _output_attributes: Mapping[str, int] = {}
    _in_forward_mode: bool = False
    #: Whether ``jvp`` reads what was saved for ``backward`` if nothing was saved for it.
    _tangents_read_all: ClassVar[bool] = True
    _call: _core.FunctionCall
    _function: type[Rules]
    _ins: Any
    _outs: Any
    _count: int
    _needs: list[bool]

    def __init__(self, function: type[Rules]) -> None:
        self._function = function

    @classmethod
    def of_call(
        cls, function: type[Rules], call: _core.FunctionCall, needs: list[bool], saved: int, results: int
    ) -> Context:
        """The context of a call that was recorded without one. Its arguments are tensors, and so are its results."""
        ctx = cls(function)
        ctx._call, ctx._needs, ctx._count = call, needs, len(needs)
        ctx._ins, ctx._outs = list(range(len(needs))), list(range(results))
        ctx.needs_input_grad, ctx._saved, ctx._finished = tuple(needs), (SLOT,) * saved, True
        return ctx

    def save_for_backward(self, *tensors: Any) -> None:
        """Saves tensors for ``backward`` with their present values. Replaces what an earlier call saved."""
        self._saved = tensors
        self._copies = tuple(_core.copy_of(x) for x in tensors_in(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Saves tensors for ``jvp``, which reads them as :attr:`saved_tensors`."""
        self._saved_for_forward = tensors
        self._copies_for_forward = tuple(_core.copy_of(x) for x in tensors_in(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors in order. Gradients flow through them."""
        if not self._finished:
            return tuple(self._saved)
        found = iter(batching.current_element(self._call, self._call.saved()))
        try:
            saved = tuple(refill(self._saved, found))
            return tuple(refill(self._saved_for_forward, found)) if self._in_forward_mode else saved
        except StopIteration:
            raise FreedGraphError(
                f"{self!r}: saved tensors are read after they have already been freed together with the graph"
            ) from None

    def saved_tensor(self) -> tuple[Any, ...]:
        """The saved tensors: Paddle's name of :attr:`saved_tensors`."""
        return self.saved_tensors

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declares the arguments that ``forward`` wrote to in place. It must return them."""
        self._written = tensors

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Declares that a returned argument was not written to: the result is then a new tensor."""
        self._not_inplace = True

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declares results through which no gradient flows."""
        self._constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for a result without a gradient."""
        self._materialize_grads = bool(value)

    def __repr__(self) -> str:
        """The name of the backward."""
        return f"<{self._function.__name__}Backward>"

    def __getattr__(self, name: str) -> Any:
        """A result of ``forward`` that was set as an attribute. The core holds it to avoid a cycle."""
        if name in self._output_attributes:
            own = self._call.output(self._output_attributes[name])
            return own if own is None else batching.current_element(self._call, [own])[0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if name in vars(self) or name not in self._output_attributes:
            super().__delattr__(name)
        else:
            self._output_attributes = {key: at for key, at in self._output_attributes.items() if key != name}

    def _release_tensors(self, own: dict[str, int]) -> None:
        """Drops the tensors, which the recorded call now holds. ``own`` are the attributes among its results."""
        self._finished = True
        if self._call.is_recorded:
            for name in own:
                delattr(self, name)
            self._output_attributes = own
        self._saved = tuple(refill(self._saved, itertools.repeat(SLOT)))
        self._saved_for_forward = tuple(refill(self._saved_for_forward, itertools.repeat(SLOT)))
        self._copies = self._copies_for_forward = self._written = self._constants = ()

    # Called by the core.

    def _backward(self, grads: Values) -> Values:
        """The gradients of the inputs from those of the outputs."""
        __tracebackhide__ = True
        return batching.run_rule(self._call, self._gradients, grads)

    def _jvp(self, tangents: Values) -> Values:
        """The tangents of the outputs from those of the inputs."""
        __tracebackhide__ = True
        return batching.run_rule(self._call, self._tangents, tangents)

    def _gradients(self, grads: Values) -> Values:
        __tracebackhide__ = True
        found = self._user_gradients(grads)
        if _core.is_grad_enabled() and (why := self._why_not_twice(grads, found)):
            found = self._call.refuse_twice(found, [g for g in grads if g is not None], why)
        return found

    def _user_gradients(self, grads: Values, records: bool = False) -> list[Tensor | None]:
        """The gradients that the user's rule returns, one for each input tensor.

        With ``records`` a rule marked with ``once_differentiable`` is recorded like others.
        """
        __tracebackhide__ = True
        function = self._function
        rule = function._rule()
        rule = getattr(rule, "_recorded", rule) if records else rule
        if self._constant_results and not self._materialize_non_diff_grads:
            grads = [None if at in self._constant_results else g for at, g in enumerate(grads)]
        result = rule(self, *function._cotangents(self, grads))
        found: list[Tensor | None] = [None] * self._count
        function._assign_gradients(self, result, found)
        return found

    def _why_not_twice(self, grads: Values, found: Values) -> str | None:
        """The reason why the gradients in ``found`` cannot be differentiated again; None if they can."""
        return _ONCE if hasattr(self._function._rule(), "_recorded") else self._why_not_recorded(grads, found)

    def _why_not_recorded(self, grads: Values, found: Values) -> str | None:
        """The reason why the gradients in ``found`` do not tell how they depend on ``grads``; None if they do."""
        function = self._function

        def needed(grads: Values) -> list[Tensor]:
            return [g for g, need in zip(grads, self._needs, strict=True) if need and g is not None]

        if "_backward_is_recorded" in vars(function) or all(g.requires_grad for g in needed(found)):
            return None
        # They may be constants. A backward is linear in the gradients it gets, so it runs again with tracked ones: a
        # result that depends on none of them is zero, or was computed in functions that are not recorded.
        places = [g if g is None else _core.fresh(_core.native.ones_like(g)) for g in grads]
        again = needed(self._user_gradients(places, records=True))
        lost = [g for g in again if not g.requires_grad]
        if again and not lost:
            function._backward_is_recorded = True
        if not any(batching.has_nonzero(x) for x in lost):
            return None
        return (
            "its backward is not written in functions that are recorded, so there are no gradients of its gradients, "
            "and tangents only if you give the function a jvp"
        )

    def _tangents(self, tangents: Values) -> Values:
        __tracebackhide__ = True
        function = self._function
        if not function._has_jvp():
            return self._transposed_tangents(tangents)
        self._in_forward_mode = bool(self._saved_for_forward) or not self._tangents_read_all
        before, outputs = dict(vars(self)), self._output_attributes
        versions = [-1 if t is None else t.inplace_version for t in tangents]
        try:
            result = function.jvp(self, *fill(self._ins, tangents))
        finally:
            self._in_forward_mode = False
            # A rule that was written to run once may delete what forward left for it.
            vars(self).update({name: value for name, value in before.items() if name not in vars(self)})
            self._output_attributes = outputs
        found: list[Tensor | None] = [None] * len(indices(self._outs))
        parts = list(result) if function._has_several_results(result) else [result]
        if len(parts) != len(self._outs):
            raise ArgumentError(
                f"{function.__name__}.jvp returned an invalid number of forward gradients (expected {len(self._outs)} "
                f"but got {len(parts)}): return one for each result, and None for one that has none"
            )
        self._assign(self._outs, parts, found, "jvp")
        for at in self._constant_results:
            if found[at] is not None:
                raise ArgumentError(
                    f"{function.__name__}.jvp: result {at} is marked as not differentiable and has a tangent. You "
                    "should return None at that position instead"
                )
        if not _core.batches([t for t in (*tangents, *found) if t is not None]):
            function._check_tangents(self, tangents, versions, found)
        return found

    def _transposed_tangents(self, tangents: Values) -> Values:
        """Tangents without a ``jvp``: the transpose of ``backward``, which is linear in the gradients it gets."""
        record = _core.is_grad_enabled()
        seeds = self._call.seeds()
        before = _core.set_grad_mode(True)
        try:
            grads = self._user_gradients(list(seeds), records=True)
            if why := self._why_not_recorded(list(seeds), grads):
                grads = self._call.refuse_twice(grads, [seed for seed in seeds if seed is not None], why)
        finally:
            _core.set_grad_mode(before)
        pairs = [(g, t) for g, t in zip(grads, tangents, strict=True) if g is not None and t is not None]
        pairs = [(g, t) for g, t in pairs if g.requires_grad]
        ends = [seed for seed in seeds if seed is not None]
        if not pairs:
            return [None for _ in seeds]
        found = iter(
            _core.grad(
                [g for g, _ in pairs],
                ends,
                [_core.native.broadcast_to(t, g.shape).astype(g.dtype) for g, t in pairs],
                0,
                create_graph=record,
            )
        )
        result = [None if seed is None else next(found) for seed in seeds]
        if record and hasattr(self._function._rule(), "_recorded"):
            return self._call.refuse_twice(result, [t for t in tangents if t is not None], _ONCE)
        return result

    def _assign(self, positions: Any, result: Any, found: list[Tensor | None], rule: str) -> None:
        """Writes the tensors that a rule returned to ``found`` at the indices in ``positions``."""
        if isinstance(positions, int):
            if result is not None and not isinstance(result, Tensor):
                raise ArgumentError(
                    f"{self._function.__name__}.{rule}: expected Variable or None (got {type(result).__name__}): "
                    "only Tensor or None can be returned"
                )
            found[positions] = result
        elif isinstance(positions, dict) and isinstance(result, dict):
            for key, part in positions.items():
                self._assign(part, result.get(key), found, rule)
        elif isinstance(positions, list) and isinstance(result, (list, tuple)):
            if len(result) != len(positions):
                raise ArgumentError(
                    f"{self._function.__name__}.{rule}: {len(result)} values for {len(positions)} in a list"
                )
            for part, value in zip(positions, result, strict=True):
                self._assign(part, value, found, rule)
        elif positions is not None and result is not None:
            raise ArgumentError(
                f"{self._function.__name__}.{rule}: a {type(positions).__name__} is expected, not "
                f"{type(result).__name__}"
            )
