"""Branches as single nodes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._autograd.modes import enable_grad
from ferrograd._compile.holders import Holder, note
from ferrograd._core import Tensor
from ferrograd.func._loops.batches import have_batches, in_batches
from ferrograd.func._loops.gradients import for_constants, step_back
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


class Branches(Holder):
    """Two branches: functions of the same tensors with outputs of the same kinds. One of them is taken."""

    def __init__(self, yes: Part, no: Part) -> None:
        note(self)
        self.parts = yes, no
        #: By which outputs have gradients: the branches that compute the gradients of the operands and constants, and
        #: which of these get one.
        self._back: dict[Any, tuple[Branches, list[bool]]] = {}

    def run(self, holds: Tensor, given: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of the branch that is taken."""
        if (batches := _core.batches(given)) and not _core.batches([holds]):
            whole = [*map(is_inexact, given)]
            parts = [in_batches(part, given, batches, whole=whole) for part in self.parts]
            if parts[0] is not None and parts[1] is not None:
                outs = Branches(parts[0].part, parts[1].part).run(holds, parts[0].left(given))
                return parts[0].entered(outs)
        yes, no = self.parts
        return list(_Cond.apply(self, holds, *given, *yes.constants, *no.constants))

    def _backward(self, examples: Sequence[Tensor], has: tuple[bool, ...]) -> tuple[Branches, list[bool]]:
        yes, no = self.parts
        given = list(map(Kind.of, examples))
        key = has, yes.live()
        if key in self._back:
            return self._back[key]
        of_yes, of_no = tracked_kinds(yes), tracked_kinds(no)
        count = len(inexact_kinds(given))

        def back(step: Part, before: list[Kind], after: list[Kind]) -> tuple[Part, list[bool]]:
            of_step, reached = step_back(step, (True,) * len(given), has)

            def run(*x: Tensor) -> list[Tensor]:
                grads = of_step(*x)
                others = [[kind.zeros() for kind in kinds] for kinds in (before, after)]
                return [*grads[:count], *others[0], *grads[count:], *others[1]]

            traced = step.derivative(run, [*inexact_kinds(yes.outputs), *given], examples)
            none = [False] * len(before), [False] * len(after)
            is_read = [x is not None for x in reached]
            return traced, [*is_read[:count], *none[0], *is_read[count:], *none[1]]

        (first, of_first), (second, of_second) = back(yes, [], of_no), back(no, of_yes, [])
        self._back[key] = found = Branches(first, second), list(map(operator.or_, of_first, of_second))
        return found

    def gradients(self, holds: Tensor, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """The gradients of the operands and of the constants of both branches."""
        yes, no = self.parts
        try:
            back, reached = self._backward(given, are_there(g, yes.outputs))
        except NoDerivative as reason:
            _core.give_up_trace(str(reason))
            return self._recorded(holds, given, g)
        found = only_where(reached, back.run(holds, [*filled(g, yes.outputs), *given]))
        count = len([x for x in given if is_inexact(x)])
        of_no = count + len(tracked_kinds(yes))
        of_constants = [*for_constants(yes, found[count:of_no]), *for_constants(no, found[of_no:])]
        return [*placed(found[:count], given), *placed(of_constants, [*yes.found, *no.found], is_tracked)]

    def tangents(
        self, holds: Tensor, given: Sequence[Tensor], moved: Sequence[Tensor | None]
    ) -> list[Tensor | None] | None:
        """The tangents of the outputs, from those of the operands and of the constants of both branches. None where no
        program computes them.
        """
        count, (yes, no) = len(given), self.parts
        own = [left(t, yes.live_shared(i)) for i, t in enumerate(moved[:count]) if t is not None]
        others = [t for t in moved[count:] if t is not None]
        arguments = [*given, *own, *others]
        batches = [batch for batch in _core.batches([*own, *others]) if batch not in yes.batches]
        whole = [bool(batches) and is_one for is_one in have_batches(arguments)]
        reached = [False] * len(inexact_kinds(yes.outputs))
        of_yes = moved[count : count + len(yes.constants)]
        of_no = moved[count + len(yes.constants) :]
        traced = []
        after = count + len(own)
        for part, of_constants in ((yes, of_yes), (no, of_no)):
            step = self._forward(part, moved[:count], of_constants, after, reached)
            traced.append(in_batches(step, arguments, batches, whole=whole))
            after += len([t for t in of_constants if t is not None])
        first, second = traced
        if first is None or second is None:
            return None
        outs = first.entered(Branches(first.part, second.part).run(holds, first.left(arguments)))
        return placed(only_where(reached, outs), yes.outputs)

    def _forward(
        self,
        part: Part,
        of_given: Sequence[Tensor | None],
        of_constants: Sequence[Tensor | None],
        at: int,
        reached: list[bool],
    ) -> Part:
        """The branch that computes the tangents of the outputs, zeros for those that it does not reach.

        Its arguments are the operands and the tangents that there are: first those of the operands, and from ``at`` on
        those of the constants.
        """
        count, kinds = len(of_given), inexact_kinds(part.outputs)
        own = [(i, part.live_shared(i)) for i, t in enumerate(of_given) if t is not None]
        constants = [x for x, t in zip(part.found, of_constants, strict=True) if t is not None]
        ends = [(edge_of(x), _core.batches([x])) for x in constants]

        def forward(*x: Tensor) -> list[Tensor]:
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = with_edges(x[:count])
                outs = [y for y in part.function(*inner) if is_inexact(y)]
            pairs = [(inner[i], entered(t, those)) for (i, those), t in zip(own, x[count:], strict=False)]
            pairs += [(edge, entered(t, those)) for (edge, those), t in zip(ends, x[at:], strict=False)]
            pushed = _core.push(outs, [v for v, _ in pairs], [t for _, t in pairs], creates)
            reached[:] = [before or t is not None for before, t in zip(reached, pushed, strict=True)]
            return filled(pushed, kinds)

        step = part.like(forward)
        step.shared = part.shared
        return step

    def _recorded(self, holds: Tensor, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """What :meth:`gradients` returns, by the branch that is taken, which runs again."""
        taken = self.parts[0 if bool(holds) else 1]
        of_taken, reached = step_back(taken, (True,) * len(given), are_there(g, taken.outputs))
        # An operand may be a tensor that the branch reads as well. Their gradients are told apart.
        with enable_grad():
            own = [x * 1 if x.requires_grad else x for x in given]
        found = of_taken(*filled(g, taken.outputs), *own)
        grads = only_where([x is not None for x in reached], found)
        count = len([x for x in given if is_inexact(x)])
        of_constants = placed(for_constants(taken, grads[count:]), taken.found, is_tracked)
        sides = (of_constants if part is taken else [None] * len(part.found) for part in self.parts)
        return [*placed(grads[:count], given), *itertools.chain(*sides)]


class _Cond(Function):
    """A branch that is taken, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, branches: Branches, *tensors: Tensor) -> Any:
        refuse_batch(tensors)
        yes, no = branches.parts
        ctx.branches, ctx.count = branches, len(tensors) - len(yes.constants) - len(no.constants)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(_core.cond(yes.program, no.program, tensors))

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *moved: Tensor | None) -> Any:
        holds, *given = ctx.saved_tensors[: ctx.count]
        found = ctx.branches.tangents(holds, given, moved)
        return tuple(ctx._transposed_tangents((None, *moved)) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        holds, *given = ctx.saved_tensors[: ctx.count]
        return (None, None, *ctx.branches.gradients(holds, given, g))
