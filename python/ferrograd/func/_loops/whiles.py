"""Loops that end where a test fails, as single nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.function import Function, pulled_back
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._compile.holders import Holder, note
from ferrograd._core import Tensor
from ferrograd.func._loops.batches import in_batches
from ferrograd.func._loops.gradients import for_constants, step_back
from ferrograd.func._loops.parts import Part, tracked_kinds
from ferrograd.func._loops.tensors import (
    Kind,
    are_there,
    edge_of,
    entered,
    filled,
    inexact_kinds,
    is_inexact,
    is_tracked,
    left,
    only_where,
    placed,
    refuse_batch,
    with_edges,
)


class Repeated(Holder):
    """The steps of a loop that ends where a test fails, as one node. It is traced inside a compiled function."""

    def __init__(self, test: Part, step: Part) -> None:
        note(self)
        self.test = test
        self.step = step
        #: What :meth:`backward` returns, by which carries have gradients at the end.
        self._back: dict[Any, tuple[list[Part], int, list[bool]]] = {}

    def run(self, carry: Sequence[Tensor]) -> list[Tensor]:
        """The last carry."""
        if (batches := _core.batches(carry)) and (last := self._in_batches(carry, batches)) is not None:
            return last
        # No gradient flows into the test.
        tested = [x.detach() for x in self.test.constants]
        return list(_While.apply(self, *carry, *tested, *self.step.constants))

    def _in_batches(self, carry: Sequence[Tensor], batches: Sequence[_core.Batch]) -> list[Tensor] | None:
        """What :meth:`run` returns, by a loop over whole batches; None where there is none, or its end differs."""
        shares = any(x.requires_grad for x in carry if not _core.batches([x]))
        if shares or (found := in_batches(self.step, carry, batches, len(carry))) is None:
            return None
        test = in_batches(self.test, carry, batches, 1, found.arguments)
        if test is None or test.arguments != found.arguments:
            return None
        return found.entered(Repeated(test.part, found.part).run(found.left(carry)))

    def backward(self, carry: Sequence[Kind], has: tuple[bool, ...]) -> tuple[list[Part], int, list[bool]]:
        """The steps back in turn, the one that follows the last of these, and which of the carries and of the constants
        get a gradient.

        Each step is for those of the carries that have a gradient there: zeros in the place of the others would be
        gradients too, and where a derivative is infinite they would be NaN.
        """
        key = has, self.step.live()
        if key in self._back:
            return self._back[key]
        constants, sums = tracked_kinds(self.step), len(has)
        turns: dict[tuple[bool, ...], Part] = {}
        reached_at_all = [*has, *(False for _ in constants)]
        now, is_hidden = has, False
        while now not in turns:
            of_step, reached = step_back(self.step, (True,) * len(carry), now)

            def step(*x: Tensor, of_step: Any = of_step) -> list[Tensor]:
                totals = x[sums : sums + len(constants)]
                grads = of_step(*x[:sums], *x[sums + len(constants) :])
                return [*grads[:sums], *(a + b for a, b in zip(totals, grads[sums:], strict=True))]

            turns[now] = self.step.derivative(step, [*inexact_kinds(carry), *constants, *carry])
            is_hidden = is_hidden or False in reached
            reached_at_all = [before or x is not None for before, x in zip(reached_at_all, reached, strict=True)]
            now = tuple(map(bool, reached[:sums]))
        if is_hidden:
            # A derivative that is all zero hides what else it would reach, so every input gets zeros.
            reached_at_all = [True for _ in reached_at_all]
        self._back[key] = found = list(turns.values()), list(turns).index(now), reached_at_all
        return found

    def gradients(self, tensors: Sequence[Tensor], g: Sequence[Tensor], has: tuple[bool, ...]) -> list[Any]:
        """The gradients of the carry and of the constants, computed by a second run and a walk back."""
        carry, constants = tensors[: len(self.step.outputs)], tracked_kinds(self.step)
        sums = len(has)
        back, again, _ = self.backward([Kind.of(x) for x in carry], has)
        first = [*g, *(kind.zeros() for kind in constants)]
        if batches := _core.batches(g):
            refuse_batch(tensors)
            # If the last steps give a gradient a batch, it has that batch from the beginning.
            whole = [*(True for _ in first), *(False for _ in carry)]
            parts = [in_batches(part, [*first, *carry], batches, len(first), whole) for part in back]
            first = [left(x, batches) for x in first]
            back = [part.part for part in parts if part is not None]
            if len(back) < len(parts):
                refuse_batch(g)
        others = [x for part in back for x in part.constants]
        programs = [part.program for part in back]
        found = _core.while_gradient(self.test.program, self.step.program, programs, again, [*first, *tensors, *others])
        found = [entered(x, batches) for x in found]
        return [
            *placed(found[:sums], carry),
            *(None for _ in self.test.constants),
            *placed(found[sums:], self.step.constants, is_tracked),
        ]

    def tangents(self, tensors: Sequence[Tensor], moved: Sequence[Tensor | None]) -> list[Tensor | None] | None:
        """The tangents of the last carry from those of the carry and of the constants: a loop that computes both. None
        where no program does, as where a constant was computed from another one that has a tangent.
        """
        count = len(self.step.outputs)
        carry, kinds = tensors[:count], [Kind.of(x) for x in tensors]
        constants = kinds[len(kinds) - len(self.step.constants) :]
        of_carry, of_constants = moved[:count], moved[len(moved) - len(constants) :]
        tracked = [i for i, x in enumerate(self.step.found) if x.requires_grad]
        ends = [edge_of(self.step.found[i]) for i in tracked]
        batches = [_core.batches([self.step.found[i]]) for i in tracked]
        own = [
            *filled(of_carry, kinds[:count]),
            *(constants[i].zeros() if (t := of_constants[i]) is None else t for i in tracked),
        ]
        first = len(own) - len(ends)

        def both(*x: Tensor) -> list[Tensor]:
            values, t = x[:count], x[count:]
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = with_edges(values)
                outputs = self.step.function(*inner)
            places = [*(v for v in inner if is_inexact(v)), *ends]
            turned = [*t[:first], *map(entered, t[first:], batches)]
            pushed = _core.push([y for y in outputs if is_inexact(y)], places, turned, creates)
            kinds = [kind for kind in self.step.outputs if kind.is_inexact]
            return [*outputs, *filled(pushed, kinds), *t[first:]]

        more = [*kinds[:count], *map(Kind.of, own)]
        step, test = self.step.like(both), self.test.like(lambda *x: self.test.function(*x[:count]))
        with no_grad():
            examples = [kind.zeros() for kind in more]
            if not step.can_trace(examples) or not test.can_trace(examples):
                return None
        found = Repeated(test, step).run([*carry, *own])
        return placed(found[count:], carry)

    def recorded(self, tensors: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Tensor]:
        """The gradients of the tracked tensors, recorded step by step: no program knows how many steps there are."""
        value = carry = list(tensors[: len(self.step.outputs)])
        while bool(self.test.function(*value)[0]):
            value = self.step.function(*value)
        kinds = [*(Kind.of(x) for x in carry if x.requires_grad), *tracked_kinds(self.step)]
        grads = self.arrived([y for y in value if is_inexact(y)], g, [], carry, True)
        return [kind.zeros() if h is None else h for h, kind in zip(grads, kinds, strict=True)]

    def arrived(
        self,
        outputs: Sequence[Tensor],
        g: Sequence[Tensor | None],
        more: list[Any],
        carry: Sequence[Tensor],
        creates: bool,
    ) -> list[Tensor | None]:
        """The gradients of ``more`` edges, of a carry and of the constants, if tracked, with batches as axes."""
        constants = [x for x in self.step.found if x.requires_grad]
        wanted = [*more, *(edge_of(x) for x in carry if x.requires_grad), *map(edge_of, constants)]
        grads = pulled_back(outputs, g, wanted, creates)
        for i, x in enumerate(constants, len(wanted) - len(constants)):
            if (h := grads[i]) is not None:
                grads[i] = left(h, self.step.axes(x)[::-1])
        return grads


class _While(Function):
    """A loop that ends where a test fails, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Repeated, *tensors: Tensor) -> Any:
        refuse_batch(tensors)
        ctx.loop = loop
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(_core.while_loop(loop.test.program, loop.step.program, tensors))

    @staticmethod
    def jvp(ctx: Any, _: None, *moved: Tensor | None) -> Any:
        found = ctx.loop.tangents(ctx.saved_tensors, moved)
        return tuple(ctx._transposed_tangents(moved) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        loop, tensors = ctx.loop, ctx.saved_tensors
        seeds, has = filled(g, loop.step.outputs), are_there(g, loop.step.outputs)
        found = placed(_WhileGradient.apply(loop, has, *seeds, *tensors), tensors, is_tracked)
        carry = tensors[: len(loop.step.outputs)]
        *_, reached = loop.backward([Kind.of(x) for x in carry], has)
        is_there = [
            *placed(reached[: len(has)], carry),
            *(None for _ in loop.test.constants),
            *placed(reached[len(has) :], loop.step.constants, is_tracked),
        ]
        grads = [y if is_one else None for y, is_one in zip(found, is_there, strict=True)]
        first = len(grads) - len(loop.step.constants)
        of_constants = [g for g, x in zip(grads[first:], loop.step.found, strict=True) if x.requires_grad]
        of_constants = for_constants(loop.step, of_constants)
        return (None, *grads[:first], *placed(of_constants, loop.step.found, is_tracked))


class _WhileGradient(Function):
    """The gradients of a :class:`_While`, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Repeated, has: tuple[bool, ...], *tensors: Tensor) -> Any:
        count = len(has)
        ctx.loop, ctx.count, ctx.has = loop, count, has
        ctx.save_for_backward(*tensors)
        found = loop.gradients(tensors[count:], tensors[:count], has)
        return tuple(y for y, x in zip(found, tensors[count:], strict=True) if x.requires_grad)

    @staticmethod
    def backward(ctx: Any, *h: Tensor) -> Any:
        _core.give_up_trace("it differentiates a while_loop twice, which a program cannot; scan can be")
        tensors = list(ctx.saved_tensors)
        with enable_grad():
            # A carry may be a tensor that the loop reads as well. Their gradients are told apart.
            for i in range(ctx.count + len(ctx.loop.step.outputs)):
                if tensors[i].requires_grad:
                    tensors[i] = tensors[i] * 1
            with _core.Live(_core.batches(tensors)):
                found = ctx.loop.recorded(tensors[ctx.count :], only_where(ctx.has, tensors[: ctx.count]))
        step, seeds = ctx.loop.step, [edge_of(x) for x in tensors[: ctx.count] if x.requires_grad]
        carry = tensors[ctx.count : ctx.count + len(step.outputs)]
        grads = ctx.loop.arrived(found, h, seeds, carry, _core.is_grad_enabled())
        first = len(grads) - len(tracked_kinds(step))
        of_constants = for_constants(step, grads[first:])
        others = tensors[: len(tensors) - len(step.constants)]
        return (
            None,
            None,
            *placed(grads[:first], others, is_tracked),
            *placed(of_constants, step.found, is_tracked),
        )
