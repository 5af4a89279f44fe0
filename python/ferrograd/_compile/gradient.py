"""The gradients of calls of programs where the core has no program for them that is ready."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, cast

from ferrograd import _core
from ferrograd._autograd.autocast import Autocast
from ferrograd._autograd.context import Context
from ferrograd._autograd.function import Function
from ferrograd._autograd.modes import enable_grad
from ferrograd._compile.aliases import parted
from ferrograd._compile.floats import Watch, with_numbers
from ferrograd._compile.holders import held_by_loops
from ferrograd._compile.program import PATIENCE, TRACING, Call, Program, leaves_of, replaced
from ferrograd._compile.stores import as_before
from ferrograd._core import Tensor
from ferrograd._kit.dialect import NATIVE


def context(
    call: Call, recorded: _core.FunctionCall, needs: list[bool], versions: list[int], counts: tuple[int, int]
) -> Context:
    """The context of the :class:`Gradient` of a call. The core asks for it by the role of this function."""
    ctx: Any = Context.of_call(Gradient, recorded, needs, *counts)
    ctx.call, ctx.leaves, ctx.versions = call, call.leaves, versions
    return cast(Context, ctx)


class Gradient(Function):
    """The gradients of a call where its program has none that is ready: they are recorded, or some outputs have none.

    Where some outputs have no gradient, that is another program: zeros in their place would be gradients too, and where
    a derivative is infinite they would be NaN.
    """

    @staticmethod
    def backward(ctx: Any, *seeds: Tensor) -> Any:
        core = ctx.call.program.core
        records = _core.is_grad_enabled()
        has = [seed is not None for seed in seeds]
        seeds = tuple(seed for seed in seeds if seed is not None)
        if not records:
            gradients = core if all(has) else _gradients_of_some(ctx.call, ctx.leaves, has)
            grads = None if gradients is None else gradients.gradients(ctx.saved_tensors, seeds)
            if grads is not None:
                return tuple(grads)
        is_written = core.captured[1] or [x._version for x in ctx.leaves] != ctx.versions
        if is_written or core.becomes_leaf or core.stops_tracking:
            raise RuntimeError(
                "the gradient of a compiled function can itself be differentiated only if neither the function nor "
                "anybody after it wrote to the tensors it reads, or changed whether they require gradients: compile "
                "the function that computes the whole gradient"
            )
        with _modes_of(ctx.call.program):
            outs = _outputs(ctx.call, ctx.call.function, ctx.call.tensors)
        ends = [outs[i] for i, seeded in zip(ctx.call.program.tracked, has, strict=True) if seeded]
        return tuple(_core.grad(ends, ctx.leaves, seeds, NATIVE, create_graph=records, stops=True))


def _outputs(call: Call, function: Callable[[], Any], used: list[Tensor]) -> list[Tensor]:
    """What the program of a call would make, made by the function itself. What it sets is put back."""
    stores = call.program.stores
    with as_before(stores, call.tensors):
        result = function()
        leaves = leaves_of((result, [store.value for store in stores]))
    return parted([x for x in leaves if isinstance(x, Tensor)], used)[0]


@contextlib.contextmanager
def _modes_of(program: Program) -> Iterator[None]:
    """Records ops, with the autocast that the program was traced with."""
    dtype = _core.autocast_dtype() if program.traced_with is None else program.traced_with[0][2]
    with Autocast(dtype), enable_grad():
        yield


def _gradients_of_some(call: Call, leaves: list[Tensor], has: list[bool]) -> Any:
    """The program of the gradients where some outputs have none. None if there is no such program.

    The function is traced again for it. What the function writes to is put back.
    """
    program = call.program
    if tuple(has) in program.partial:
        return program.partial[tuple(has)]
    if program.traced_with is None:
        return None
    modes, floats = program.traced_with
    function: Any = call.function
    with _modes_of(program):
        if _core.program_modes() != modes:
            return None
        # An argument that the function makes a leaf is none before.
        given = [x.detach() if i in program.core.becomes_leaf else x for i, x in enumerate(call.tensors)]
        tracer = _core.Tracer(given, again=True, constants=True, decisions=program.decisions)
        watch = Watch()
        core = None
        if not TRACING.acquire(timeout=PATIENCE):
            return None
        try:
            used = tracer.arguments()
            by = {id(x): y for x, y in zip(call.tensors, used, strict=True)}
            args, kwargs = replaced(function.args, by), replaced(function.keywords, by)
            if floats:
                args, kwargs = with_numbers(args, kwargs, floats, used, watch)
            outs = _outputs(call, lambda: function.func(*args, **kwargs), used)
            ends = [outs[i] for i in program.tracked]
            inputs = tracer.leaves()
            if [id(x) for x in inputs] == [id(by.get(id(x), x)) for x in leaves]:
                some = [x for x, seeded in zip(ends, has, strict=True) if seeded]
                grads = [
                    _core.grad(x, inputs, tracer.seeds(x), NATIVE, retain_graph=True, stops=True) for x in (ends, some)
                ]
                core = tracer.finish(outs, *grads, excused=held_by_loops(tracer.alive()))
        finally:
            watch.close()
            if core is None:
                tracer.cancel(True)
            TRACING.release()
    program.partial[tuple(has)] = core
    return core
