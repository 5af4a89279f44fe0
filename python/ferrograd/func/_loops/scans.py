"""Scans as single nodes."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._autograd.modes import enable_grad
from ferrograd._compile.holders import Holder, note
from ferrograd._core import Tensor, native
from ferrograd.func._loops.batches import InBatches, have_batches, in_batches
from ferrograd.func._loops.gradients import for_constants, reached_gradients, step_back
from ferrograd.func._loops.parts import NoDerivative, Part, tracked_kinds
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


class Loop(Holder):
    """The steps of a scan: ``step(*carry, *row)`` returns the next carry and a row of each result."""

    def __init__(self, step: Part, carries: int, length: int, reverse: bool) -> None:
        note(self)
        self.step = step
        self.carries = carries
        self.length = length
        self.reverse = reverse
        #: The steps back: see :meth:`_back_step`.
        self._back: dict[Any, tuple[Part, list[bool | None]]] = {}

    def run(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The last carry and the results, of the first carry and the columns."""
        if (batches := _core.batches(given)) and (found := self._in_batches(given, batches)) is not None:
            return found
        if _core.is_grad_enabled() and any(x.requires_grad for x in [*given, *self.step.constants]):
            # Traced now, because the variables that the function reads may change before the gradient is asked for.
            wants = self._wants([x.requires_grad for x in given])
            turns = self._turns([Kind.of(x) for x in given], wants, (True,) * len(inexact_kinds(self.step.outputs)), ())
            with contextlib.suppress(NoDerivative):  # The gradient runs the steps again then.
                any(is_last for *_, is_last in itertools.islice(turns, self.carries + 1))
        return list(_Scan.apply(self, *given, *self.step.constants)[: len(self.step.outputs)])

    def _in_batches(self, given: Sequence[Tensor], batches: Sequence[_core.Batch]) -> list[Tensor] | None:
        """What :meth:`run` returns, by a loop over whole batches; None where there is no such loop."""
        n = self.carries
        arguments = [*given[:n], *_first_rows(given[n:], self.reverse)]
        # The derivatives that a loop carries have the batch, or soon get it.
        whole = [*map(is_inexact, given[:n]), *have_batches(given[n:])]
        if (found := in_batches(self.step, arguments, batches, n, whole)) is None:
            return None
        return Loop(found.part, n, self.length, self.reverse).applied(found, given)

    def _wants(self, needs: Sequence[bool]) -> tuple[bool, ...]:
        """For each argument whether the steps back compute its gradient: for a carry, and a column that needs one."""
        return (*(True for _ in needs[: self.carries]), *needs[self.carries :])

    def _back_step(
        self, given: Sequence[Kind], wants: tuple[bool, ...], has: tuple[bool, ...], more: tuple[bool, ...]
    ) -> tuple[Part, list[bool | None]]:
        """The step of the loop that computes the gradients, for a first carry and columns of these kinds.

        It carries the gradient of the carry and those of the constants. Its columns are the carries before each step,
        the columns, and the gradients of the results and, if there are ``more``, of the carries before each step.
        ``has`` says which of the next carry and of the results have a gradient: zeros in the place of the others would
        be gradients too, and where a derivative is infinite they would be NaN. The list says which of the carry, the
        rows that want one and the constants get one.
        """
        key = wants, has, more, self.step.live()
        if key in self._back:
            return self._back[key]
        carry = list(given[: self.carries])
        rows = [Kind(x.shape[1:], x.dtype, x.dialect) for x in given[self.carries :]]
        seeds, constants, carried = inexact_kinds(self.step.outputs), tracked_kinds(self.step), inexact_kinds(carry)
        sums, count = len(carried), len(given)
        of_step, reached = step_back(self.step, wants, has)
        sizes = (sums, len(constants), count, len(seeds) - sums, len(more))

        def back(*x: Tensor) -> list[Tensor]:
            places = itertools.accumulate(sizes, initial=0)
            g, totals, arguments, of_results, added = (x[a:b] for a, b in itertools.pairwise(places))
            grads = of_step(*g, *of_results, *arguments)
            before, of_rows = grads[:sums], grads[sums : len(grads) - len(constants)]
            parts = grads[len(grads) - len(constants) :]
            for i, is_there in enumerate(more):
                if is_there:
                    before[i] = before[i] + added[i] if reached[i] else added[i]
            return [*before, *(a + b for a, b in zip(totals, parts, strict=True)), *of_rows]

        arguments = [*carried, *constants, *carry, *rows, *seeds[sums:], *(carried if more else ())]
        self._back[key] = found = self.step.derivative(back, arguments), reached
        found[0].shared = {sums + len(constants) + i: batches for i, batches in self.step.shared.items()}
        return found

    def _turns(
        self, given: Sequence[Kind], wants: tuple[bool, ...], has: tuple[bool, ...], more: tuple[bool, ...]
    ) -> Iterator[tuple[Part, list[bool | None], tuple[bool, ...], bool]]:
        """The steps back from the last step on: each with what gets a gradient, which of the carries that it begins
        with do, and whether it is the one for all steps that are left.
        """
        sums = len(inexact_kinds(self.step.outputs[: self.carries]))
        now, of_results = has[:sums], has[sums:]
        while any((*now, *of_results, *more)):
            step, reached = self._back_step(given, wants, (*now, *of_results), more)
            then = tuple(map(operator.or_, map(bool, reached[:sums]), more or (False,) * sums))
            yield step, reached, then, then == now
            now = then

    def gradients(
        self, given: Sequence[Tensor], needs: Sequence[bool], before: Sequence[Tensor], g: Sequence[Tensor | None]
    ) -> list[Any]:
        """The gradients of the carry, of the columns that need one, and of the constants."""
        n, outputs, kinds = self.carries, self.step.outputs, [Kind.of(x) for x in given]
        g, of_before = g[: len(outputs)], g[len(outputs) :]
        if not any(h is not None for h in of_before):
            of_before = []
        constants = tracked_kinds(self.step)
        carry = [*filled(g[:n], outputs[:n]), *(kind.zeros() for kind in constants)]
        columns = [*before, *given[n:], *filled(g[n:], outputs[n:], self.length)]
        columns += filled(of_before, outputs[: len(of_before)], self.length)
        wants = self._wants(needs)
        wanted = [i for i, kind in enumerate(kinds) if i >= n and wants[i] and kind.is_inexact]
        rows, shared = [kinds[i] for i in wanted], [self.step.live_shared(i) for i in wanted]
        parts: list[list[Tensor]] = []
        has_rows, has_constants = [False] * len(rows), [False] * len(constants)
        has_carry: tuple[bool, ...] = ()
        is_hidden = False
        left = self.length
        for step, reached, has_carry, is_last in self._turns(
            kinds, wants, are_there(g, outputs), are_there(of_before, outputs[: len(of_before)])
        ):
            size = left if is_last else 1
            cut = self._cut(columns, left, size, not self.reverse)
            found = Loop(step, len(carry), size, not self.reverse).run([*carry, *cut])
            carry = found[: len(carry)]
            parts.append([entered(x, batches, 1) for x, batches in zip(found[len(carry) :], shared, strict=True)])
            places = len(has_carry), len(reached) - len(constants)
            is_read = [x is not None for x in reached]
            is_hidden = is_hidden or False in reached
            has_rows = list(map(operator.or_, has_rows, is_read[slice(*places)]))
            has_constants = list(map(operator.or_, has_constants, is_read[places[1] :]))
            left -= size
            if not left:
                break
        if is_hidden:
            # A derivative that is all zero hides what else it would reach, so every input gets zeros.
            has_carry, has_rows = (True,) * len(has_carry), [True for _ in rows]
            has_constants = [True for _ in constants]
        if left:
            parts.append(
                [_core.make(native.zeros([left, *x.shape[1:]], dtype=x.dtype), None, False, x.dialect) for x in rows]
            )
        of_rows = _concatenated(parts, not self.reverse)
        return [
            *placed(only_where(has_carry, carry[: len(has_carry)]), given[:n]),
            *placed(only_where(has_rows, of_rows), range(n, len(given)), wanted.__contains__),
            *placed(
                for_constants(self.step, only_where(has_constants, carry[len(has_carry) :])),
                self.step.found,
                is_tracked,
            ),
        ]

    def recorded(self, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """What :meth:`gradients` returns, by steps that run again and are recorded one by one."""
        n, creates = self.carries, _core.is_grad_enabled()
        made: dict[int, list[Tensor]] = {}
        with enable_grad():
            # A carry or a column may be a tensor that the steps read as well. Their gradients are told apart.
            own = with_edges([x * 1 if x.requires_grad else x for x in given])
            carry = own[:n]
            for t in reversed(range(self.length)) if self.reverse else range(self.length):
                outs = self.step.function(*carry, *(x[t] for x in own[n:]))
                made[t], carry = [*outs[n:], *carry], outs[:n]
            rows = zip(*(made[t] for t in range(self.length)), strict=True)
            ends = [*carry, *(native.stack(list(row)) for row in rows)]
        pairs = [(y, h) for y, h in zip(ends, g, strict=False) if is_inexact(y)]
        constants = [x for x in self.step.found if x.requires_grad]
        wanted = [*(x for x in own if is_inexact(x)), *map(edge_of, constants)]
        grads, _ = reached_gradients([y for y, _ in pairs], [h for _, h in pairs], wanted, creates)
        first = len(wanted) - len(constants)
        of_constants = [
            None if h is None else left(h, self.step.axes(x)[::-1])
            for x, h in zip(constants, grads[first:], strict=True)
        ]
        of_constants = for_constants(self.step, of_constants)
        return [*placed(grads[:first], given), *placed(of_constants, self.step.found, is_tracked)]

    def _forward_step(self, has: Sequence[bool], moved: Sequence[Tensor | None]) -> tuple[Part, list[bool]]:
        """The step of the loop that computes the tangents.

        It carries the tangents of the inexact carries, of which only those count that there are (``has``). Its columns
        are the carries before each step, the columns, and those tangents of columns that there are in ``moved``, which
        has the tangents of the columns and of the constants. Its results are the tangents of the results, and those of
        the carries before each step. The list says, once it is traced, which of the next carry and of the results have
        a tangent; zeros stand for the others.
        """
        outputs, count = inexact_kinds(self.step.outputs), len(self.step.outputs[: self.carries])
        columns = len(moved) - len(self.step.constants)
        sums, of_columns = len(has), moved[:columns]
        shared = [self.step.live_shared(count + i) for i in range(columns)]
        constants = [
            # A copy, as a program reads no two tensors that share memory, and t may be the constant itself.
            (edge_of(x), entered(native.clone(t), _core.batches([x])))
            for x, t in zip(self.step.found, moved[columns:], strict=True)
            if t is not None and x.requires_grad
        ]
        reached: list[bool] = []

        def forward(*x: Tensor) -> list[Tensor]:
            t, values, rest = x[:sums], x[sums : sums + count + columns], iter(x[sums + count + columns :])
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = with_edges(values)
                ends = [y for y in self.step.function(*inner) if is_inexact(y)]
            carried = [v for v in inner[:count] if is_inexact(v)]
            pairs = [(v, d) for v, d, is_there in zip(carried, t, has, strict=True) if is_there]
            own = zip(inner[count:], of_columns, shared, strict=True)
            pairs += [(v, entered(next(rest), those)) for v, d, those in own if d is not None]
            pairs += constants
            pushed = _core.push(ends, [v for v, _ in pairs], [d for _, d in pairs], creates)
            reached[:] = [d is not None for d in pushed]
            return [*filled(pushed, outputs), *t]

        step = self.step.like(forward)
        step.shared = {sums + i: batches for i, batches in self.step.shared.items()}
        return step, reached

    def tangents(
        self, given: Sequence[Tensor], before: Sequence[Tensor], moved: Sequence[Tensor | None]
    ) -> list[Tensor | None] | None:
        """The tangents of the last carry, of the results and of the carries before each step, from those of the first
        carry, of the columns and of the constants. None where no program computes them.
        """
        n, outputs, kinds = self.carries, self.step.outputs, [Kind.of(x) for x in given]
        has, carry = are_there(moved[:n], kinds[:n]), filled(moved[:n], kinds[:n])
        of_columns = enumerate(moved[n : len(given)], n)
        shared = [left(t, self.step.live_shared(i), 1) for i, t in of_columns if t is not None]
        columns, count = [*before, *given[n:], *shared], len(carry)
        found = _core.batches([t for t in moved if t is not None])
        batches = [batch for batch in found if batch not in self.step.batches]
        reached_at_all = [False] * len(inexact_kinds(outputs))
        parts: list[list[Tensor]] = []
        steps = self.length
        while steps:
            step, reached = self._forward_step(has, moved[n:])
            arguments = [*carry, *_first_rows(columns, self.reverse)]
            whole = [bool(batches) and (i < count or is_one) for i, is_one in enumerate(have_batches(arguments))]
            if (traced := in_batches(step, arguments, batches, count, whole)) is None:
                return None
            # The tangents that a step begins with are those that the step before it has reached.
            size = steps if (then := tuple(reached[:count])) == has else 1
            loop = Loop(traced.part, count, size, self.reverse)
            outs = loop.applied(traced, [*carry, *self._cut(columns, steps, size, self.reverse)])
            carry = outs[:count]
            parts.append(outs[count:])
            # The results of a step, and the carries that it begins with.
            reached_at_all = list(map(operator.or_, reached_at_all, [*reached[count:], *has]))
            has, steps = then, steps - size
        of_rows = only_where(reached_at_all, _concatenated(parts, self.reverse))
        return placed([*only_where(has, carry), *of_rows], [*outputs, *outputs[:n]])

    def applied(self, step: InBatches, given: Sequence[Tensor]) -> list[Tensor]:
        """The results of the loop for a carry and columns with batches: one node, whose step takes whole batches."""
        n = self.carries
        outs = _Scan.apply(self, *step.left(given, n), *self.step.constants)
        return step.entered(outs[: len(self.step.outputs)], n)

    def _cut(self, columns: Sequence[Tensor], left: int, size: int, from_end: bool) -> Sequence[Tensor]:
        """The rows of the next steps, where this many are left."""
        first = left - size if from_end else self.length - left
        return columns if size == self.length else [x[first : first + size] for x in columns]


def _concatenated(parts: list[list[Tensor]], reverse: bool) -> list[Tensor]:
    """The results of the parts of a loop as one. With ``reverse`` the first part made the last rows."""
    parts = parts[::-1] if reverse else parts
    return [x[0] if len(x) == 1 else native.concat(list(x)) for x in zip(*parts, strict=True)]


def _first_rows(columns: Sequence[Tensor], reverse: bool) -> list[Tensor]:
    """The rows of the first step of a loop along columns."""
    return [x[-1 if reverse else 0] for x in columns]


class _Scan(Function):
    """A scan as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Loop, *tensors: Tensor) -> Any:
        refuse_batch(tensors)
        keeps = any(ctx.needs_input_grad)
        outs = _core.scan(loop.step.program, tensors, loop.carries, loop.length, loop.reverse, keeps)
        ctx.loop, ctx.count = loop, len(tensors)
        if keeps:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*tensors, *outs[len(loop.step.outputs) :])
        return tuple(outs)

    @staticmethod
    def jvp(ctx: Any, _: None, *moved: Tensor | None) -> Any:
        saved = ctx.saved_tensors
        given = saved[: ctx.count - len(ctx.loop.step.constants)]
        found = ctx.loop.tangents(given, saved[ctx.count :], moved)
        return tuple(ctx._transposed_tangents(moved) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        saved = ctx.saved_tensors
        loop, tensors, before = ctx.loop, saved[: ctx.count], saved[ctx.count :]
        given = tensors[: ctx.count - len(loop.step.constants)]
        try:
            return (None, *loop.gradients(given, ctx.needs_input_grad[1 : 1 + len(given)], before, g))
        except NoDerivative as reason:
            _core.give_up_trace(str(reason))
            return (None, *loop.recorded(given, g))
