"""``compile``: the ops of a function, traced once and run again without Python."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import sys
import threading
import time
import types
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, cast, overload

import numpy as np

from ferrograd import _core
from ferrograd._autograd.autocast import Autocast
from ferrograd._autograd.context import Context
from ferrograd._autograd.function import Function
from ferrograd._autograd.modes import P, R, enable_grad
from ferrograd._compile.aliases import Way, joined, parted
from ferrograd._compile.dependencies import PLAIN, Names, Reader, Refused, lookups, pattern
from ferrograd._compile.files import described, numbered, write
from ferrograd._compile.floats import Number, Watch
from ferrograd._compile.holders import held_by_loops
from ferrograd._compile.stores import Store, as_before, containers, found_stores, give_back
from ferrograd._core import ArgumentError, FreedGraphError, Tensor
from ferrograd._dialects.numbers import NATIVE
from ferrograd._graph.places import in_cells
from ferrograd._tree import children, rebuilt

__all__ = ["CacheInfo", "CompileError", "CompiledFunction", "compile", "forget"]

if TYPE_CHECKING:
    from ferrograd._graph.graph import Graph

#: Functions are traced unless the environment says ``FERROGRAD_COMPILE=0``.
_ENABLED = os.environ.get("FERROGRAD_COMPILE", "1") != "0"
#: So many programs of one function call for a warning.
_MANY = 8
#: So many programs for other shapes of the same arguments are remembered one by one for calls without Python.
_FEW = 3
#: How the reason of a trace begins that may be gone at the second call.
_KEPT = "a tensor that it computes is kept"
#: How the reason of a trace ends that has changed what calls are compared by.
_CHANGES = ", which it reads itself"
#: Why there is no program of a call that needed the value of a float: the next one is traced for its value.
_PINNED = "it needs the value of an argument"
#: Why there is no program of a call that met hooks for the first time.
_HOOKED = "hooks are called that may read other variables"
#: A function may look values up at so many places, before those that calls of long ago led to are forgotten.
_PLACES = 1000
#: After so many traces in a row that did not run again, or kinds of calls without a program, it is traced no more.
_HOPELESS = 64
#: After so many traces in a row that change what the function reads, it is not traced any more.
_RESTLESS = 3
_NUMBERS = itertools.count()


class CompileError(_core.FerrogradError, RuntimeError):
    """A function that ``compile(..., fullgraph=True)`` was given cannot be traced.

    >>> f = fg.compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)
    >>> try:
    ...     f(fg.ones(2))
    ... except fg.CompileError as e:
    ...     print("its numbers are read" in str(e))
    True
    """

    __module__ = "ferrograd"


class CacheInfo(NamedTuple):
    """How often a compiled function ran a program, traced, and ran as it is; and its programs, at most ``maxsize``."""

    hits: int
    misses: int
    eager: int
    maxsize: int
    currsize: int


class _Program:
    """What runs in the place of a function for one kind of arguments."""

    def __init__(self, core: Any, result: Any, ways: list[Way] | None, leaves: list[Any], tracked: list[int]) -> None:
        self.core = core
        self._result = result
        #: How the results are made of what the program makes, where they are something else.
        self.ways = ways
        #: The tracked tensors that the outputs depend on: the number of an argument, or a weak reference.
        self._leaves = leaves
        self.tracked = tracked
        #: By which of the outputs have gradients, where some have none: the program of the gradients then, or none.
        self.partial: dict[tuple[bool, ...], Any] = {}
        #: What it was traced with: the modes, and the numbers of the tensors that stand for floats. None if the
        #: function cannot be traced again.
        self.traced_with: tuple[Any, Mapping[Any, int]] | None = None
        self.shapes_depend_on_numbers = False
        #: Later programs have larger numbers.
        self.number = next(_NUMBERS)
        #: The numbers that ops gave in the trace and by which the function went on.
        self.decisions: list[int] = []
        #: What the arguments and keywords consist of and how many tensors they have, or why a file cannot say that; and
        #: the tensors that the function found elsewhere.
        self.signature: tuple[Any, Any, int] | ArgumentError = [], [], 0
        self.outside: list[weakref.ref[Tensor]] = []
        #: What each call sets, to the last outputs.
        self.stores: list[Store] = []
        #: How the outputs make up the result, if it consists of tuples, lists, dicts, numbers and strings.
        self.shape = _core.ResultShape.of(result, _HOLE)

    def call(self, function: Callable[[], Any], tensors: list[Tensor]) -> tuple[Any, ...] | None:
        """The result in a tuple; None where the program is not for these tensors."""
        if not self.tracked:
            run = self.core.run(tensors)
            if not run:
                self.shapes_depend_on_numbers |= run is False
                return None
            return (self._result_of(joined(self.ways, run[0], tensors)),)
        leaves = [tensors[x] if isinstance(x, int) else x() for x in self._leaves]
        if any(x is None for x in leaves):
            return None
        call = _Call(self, function, tensors, leaves)
        run = self.core.run_recorded(tensors, leaves, self.tracked, call, self.traced_with is None)
        if not run:
            self.shapes_depend_on_numbers |= run is False
            return None
        return (self._result_of(joined(self.ways, run[0], tensors)),)

    def data(self, name: str) -> bytes:
        """The program as the bytes of a file.

        Raises:
            ArgumentError: a file cannot hold it.
        """
        if isinstance(self.signature, ArgumentError):
            raise self.signature
        if self.stores:
            raise ArgumentError("save: the function sets variables to tensors that it computes; return them instead")
        if self.ways is not None:
            raise ArgumentError("save: tensors with gradients that the function returns share memory; copy them first")
        arguments, keywords, count = self.signature
        outs = itertools.count()

        def hole(x: Any) -> Any:
            return ["tensor", next(outs)] if x is _HOLE else None

        about = {
            "name": name,
            "arguments": arguments,
            "keywords": keywords,
            "result": described(self._result, hole, "the result"),
        }
        found = [x() for x in self.outside]
        leaves = [x if isinstance(x, int) else x() for x in self._leaves]
        if any(x is None for x in (*found, *leaves)):
            raise ArgumentError("save: a tensor that the program reads from outside exists no more")
        return bytes(self.core.save(count, found, leaves, self.tracked, json.dumps(about)))

    def _result_of(self, outs: list[Any]) -> Any:
        """The result, from all that the program gives. Sets what the function sets."""
        if not self.stores:
            return self._built(outs)
        result, values = self._built(outs)
        for store, value in zip(self.stores, values, strict=True):
            store.value = value
        return result

    def _built(self, outs: list[Any]) -> Any:
        if self.shape is not None:
            return self.shape.filled(outs)
        values = iter(outs)
        return rebuilt(self._result, (next(values) if x is _HOLE else x for x in _leaves(self._result)))


class _Call:
    """A call of a program that is recorded as one node."""

    __slots__ = ("function", "leaves", "program", "tensors")

    def __init__(
        self, program: _Program, function: Callable[[], Any], tensors: list[Tensor], leaves: list[Tensor]
    ) -> None:
        self.program = program
        self.function = function
        self.tensors = tensors
        self.leaves = leaves

    def context(
        self, recorded: _core.FunctionCall, needs: list[bool], versions: list[int], counts: tuple[int, int]
    ) -> Context:
        """The context of a :class:`_Gradient`. Called by the core, for what the program of the gradients cannot do."""
        ctx: Any = Context.of_call(_Gradient, recorded, needs, *counts)
        ctx.call, ctx.leaves, ctx.versions = self, self.leaves, versions
        return cast(Context, ctx)


class _Gradient(Function):
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


def _outputs(call: _Call, function: Callable[[], Any], used: list[Tensor]) -> list[Tensor]:
    """What the program of a call would make, made by the function itself. What it sets is put back."""
    stores = call.program.stores
    with as_before(stores, call.tensors):
        result = function()
        leaves = _leaves((result, [store.value for store in stores]))
    return parted([x for x in leaves if isinstance(x, Tensor)], used)[0]


@contextlib.contextmanager
def _modes_of(program: _Program) -> Iterator[None]:
    """Records ops, with the autocast that the program was traced with."""
    dtype = _core.autocast_dtype() if program.traced_with is None else program.traced_with[0][2]
    with Autocast(dtype), enable_grad():
        yield


def _gradients_of_some(call: _Call, leaves: list[Tensor], has: list[bool]) -> Any:
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
        if not _TRACING.acquire(timeout=_PATIENCE):
            return None
        try:
            used = tracer.arguments()
            by = {id(x): y for x, y in zip(call.tensors, used, strict=True)}
            args, kwargs = _replaced(function.args, by), _replaced(function.keywords, by)
            if floats:
                args, kwargs = _with_numbers(args, kwargs, floats, used, watch)
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
            _TRACING.release()
    program.partial[tuple(has)] = core
    return core


#: Stands for a tensor of a result. It is a float of its own, because fields of dataclasses that hold one are leaves.
_HOLE = type("_Hole", (float,), {})()


def _leaves(tree: Any) -> list[Any]:
    parts = children(tree)
    return [tree] if parts is None else [leaf for _, part in parts for leaf in _leaves(part)]


def _kind(key: Any, tensors: list[Tensor]) -> tuple[Any, ...]:
    """The kind of a call: its key, and what its tensors are."""
    return (key, *((tuple(x.shape), x.dtype, x.requires_grad) for x in tensors))


class CompiledFunction(_core.CompiledCalls, Generic[P, R]):
    """A function that is traced at its first call and runs without Python afterwards: see :func:`compile`."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __init__(
        self,
        function: Callable[P, R],
        fullgraph: bool = False,
        maxsize: int = 64,
        dynamic: bool = False,
        fast: bool = False,
    ) -> None:
        if maxsize < 0:
            raise ArgumentError(f"compile: maxsize is a number of programs, not {maxsize}")
        self._function: Callable[..., Any] = function
        self._fullgraph = fullgraph
        self._maxsize = maxsize
        self._dynamic = dynamic
        self._fast = fast
        self._programs: OrderedDict[tuple[Any, ...], list[_Program]] = OrderedDict()
        self._eager: dict[tuple[Any, ...], str] = {}
        self._names = Names()
        #: Why it is not traced any more, and how many traces in a row changed what it reads.
        self._never: str | None = None
        self._changes = 0
        #: How many traces in a row, without a run in between, were taken because an array of NumPy had other numbers,
        #: and how many runs there were before the last one.
        self._rewritten = 0
        self._runs_before = 0
        #: How many calls in a row took a trace that has not run again.
        self._fruitless = 0
        #: Kinds of arguments whose first trace was given up because the function kept a tensor.
        self._kept: set[tuple[Any, ...]] = set()
        #: By argument: the float of the last trace. Another float makes the argument a tensor, unless it was pinned.
        self._last_floats: dict[Any, float] = {}
        self._floats: set[Any] = set()
        self._pinned: set[Any] = set()
        self._counts = [0, 0, 0]
        self._has_warned = False
        self._name = getattr(function, "__name__", type(function).__name__)
        _ALL.add(self)
        functools.update_wrapper(self, function, updated=())

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        arrays: list[tuple[np.ndarray, Tensor]] = []
        given = args, kwargs
        args, kwargs = _with_tensors(args, arrays), _with_tensors(kwargs, arrays)
        copies = {"": containers(given, (args, kwargs))} if arrays else {}
        try:
            return self._call_with(args, kwargs)
        finally:
            give_back(copies, {id(x): array for array, x in arrays})
            for array, x in arrays:
                if x.inplace_version:
                    array[...] = x.numpy()

    def _call_with(self, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        modes = _core.program_modes() if _ENABLED else None
        if modes is None:
            return self._function(*args, **kwargs)
        if self._never is not None:
            return self._without(self._never, args, kwargs)
        reader = Reader(modes, self._names, self._floats)
        try:
            key = reader.read_all(args, kwargs)
        except Refused as refusal:
            return self._without(str(refusal), args, kwargs)
        programs = self._programs.get(key)
        if programs is not None:
            for program in programs:
                called = program.call(functools.partial(self._function, *args, **kwargs), reader.tensors)
                if called is not None:
                    self._counts[0] += 1
                    self._expect(args, kwargs, program, reader)
                    return called[0]
        if (kind := _kind(key, reader.tensors)) in self._eager:
            self._expect(args, kwargs, None, reader, kind)
            self._counts[2] += 1
            return self._function(*args, **kwargs)
        return self._first(args, kwargs, modes)

    def _expect(
        self, args: Any, kwargs: Any, program: _Program | None, reader: Reader, kind: tuple[Any, ...] = ()
    ) -> None:
        """Lets later calls like this one run without Python, where what they depend on can be compared there.

        Without a program the function runs as it is, for tensors of this ``kind``.
        """
        tensors: dict[int, int] = {}

        def part(name: Any, value: Any) -> tuple[str, Any]:
            if name not in reader.floats:
                return pattern(value, tensors, reader.numbers)
            return "float", tensors.setdefault(id(reader.tensors[reader.floats[name]]), len(tensors))

        try:
            arguments = [part(i, x) for i, x in enumerate(args)]
            keywords = ("dict", [(name, part(name, x)) for name, x in kwargs.items()]) if kwargs else None
            others = lookups(self._names, reader, tensors)
        except Refused:
            return
        function, counts, all_alike = self._function, self._counts, self._programs.get(tuple(reader.key), ())
        if program is None:

            def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
                if _kind(kind[0], tensors) != kind:
                    return None
                # The core counts this call as a run of a program.
                counts[0], counts[2] = counts[0] - 1, counts[2] + 1
                return (function(*args, **(kwargs or {})),)

        elif len(all_alike) > _FEW:
            by_kind: dict[Any, _Program] = {}

            def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
                call = functools.partial(function, *args, **(kwargs or {}))
                kind = _kind(None, tensors)
                for one in [by_kind[kind], *all_alike] if kind in by_kind else list(all_alike):
                    if (found := one.call(call, tensors)) is not None:
                        by_kind[kind] = one
                        return found
                return None

        elif program.shape is not None and not (program.tracked or program.stores) and program.ways is None:
            self._remember(program.core, arguments, keywords, others, program.shape)
            return
        else:

            def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
                return program.call(functools.partial(function, *args, **(kwargs or {})), tensors)

        self._remember(run, arguments, keywords, others, None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        return CompiledFunction, (self._function, self._fullgraph, self._maxsize, self._dynamic, self._fast)

    def __getattr__(self, name: str) -> Any:
        # A compiled module has the attributes of the module.
        if name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def save(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Writes a program to a file, of which :func:`~ferrograd.load_compiled` makes a function without this source.

        Without arguments it is the program that was traced last. With arguments it is one for arguments like these:
        the function is traced with them, and what it wrote to is put back.

        The file has the program, the values of the tensors that the function finds outside of its arguments, and what
        the arguments and the result consist of. It has no Python code: what runs Python in each call (functions with
        gradients of your own, communications, numbers of optimizers) cannot be saved. A file that exists is
        replaced when the new one is complete.

        Args:
            path: the file.
            args: arguments like those of later calls. Their numbers do not matter.
            kwargs: arguments with names.

        Raises:
            CompileError: there is no program: the function was not called yet, or cannot be traced.
            ArgumentError: a file cannot hold the program, or what the function takes or returns.
            OSError: the file cannot be written.
        """
        program = self._traced(*args, **kwargs) if args or kwargs else self._last("save")
        write(path, program.data(self._name))

    def graph(self, gradients: bool = False) -> Graph:
        """The program that was traced last, as a graph: what :func:`~ferrograd.graph` returns for a record.

        Its leaves are the tensors that the program reads. Views are left out: what reads a view is joined to what it is
        a view of.

        Args:
            gradients: take the program of the gradients instead.

        Raises:
            CompileError: there is no such program.

        >>> f = fg.compile(lambda x: fg.sin(x).sum())
        >>> f(fg.ones(3)).shape
        ()
        >>> [node.op for node in f.graph()]
        ['leaf', 'sin', 'sum']
        """
        from ferrograd._graph.graph import Graph

        columns = self._last("graph").core.record(gradients)
        if columns is None:
            raise CompileError(f"graph: the program of {self._name} has no gradients")
        return Graph.of_program(columns)

    def _last(self, what: str) -> _Program:
        """The program that was traced last."""
        programs = [program for programs in self._programs.values() for program in programs]
        if not programs:
            raise CompileError(f"{what}: {self._name} has no program yet: call it first")
        return max(programs, key=lambda program: program.number)

    def _traced(self, *args: Any, **kwargs: Any) -> _Program:
        """A program for these arguments. What the function wrote to is put back."""
        args, kwargs = _in_c_order(_with_tensors(args)), _in_c_order(_with_tensors(kwargs))
        modes = _core.program_modes()
        if modes is None:
            raise CompileError(
                "save: a function is traced outside of vmap and other traces, and while ops are not watched"
            )
        self._names.meet(self._function, args, kwargs)
        reader = Reader(modes, self._names)
        try:
            reader.read_all(args, kwargs)
        except Refused as refusal:
            raise CompileError(f"save: {self._name} cannot be traced: {refusal}") from None
        for _ in range(2):
            # The first call of many functions makes state that later calls find.
            _, made, reason = self._trace(args, kwargs, reader, modes)
            if made is not None or not reason.startswith(_KEPT):
                break
        if made is None:
            raise CompileError(f"save: {self._name} cannot be traced: {reason}")
        return made

    def cache_info(self) -> CacheInfo:
        """How often programs ran, and how many there are."""
        hits, misses, eager = self._counts
        return CacheInfo(hits + self._runs, misses, eager, self._maxsize, sum(map(len, self._programs.values())))

    def cache_clear(self) -> None:
        """Forgets all programs."""
        self._forget()
        self._programs.clear()
        self._eager.clear()
        self._never, self._changes, self._rewritten, self._fruitless = None, 0, 0, 0

    def explain(self) -> str:
        """The programs so far, and why calls ran without one.

        Of each program: how many ops the trace recorded, how many of them are no views, no repetitions and no
        constants, and how many a result needs; the passes over memory, with the line that applied each op; and the
        most memory that values take at a time.
        """
        lines = []
        for program in (program for programs in self._programs.values() for program in programs):
            parts = program.core.parts()
            read, written = program.core.captured
            total = sum(needed for (_, _, needed), _, _ in parts)
            lines.append(f"a program of {total} ops, which reads {read} tensors from outside and writes {written}")
            for name, ((recorded, distinct, needed), passes, peak) in zip(
                ("forward", "gradients"), parts, strict=False
            ):
                lines.append(
                    f"  {name}: {recorded} ops recorded, {distinct} without views, repetitions and constants, {needed} "
                    f"needed; {len(passes)} passes over memory; at most {peak:,} bytes of values"
                )
                for i, ops in enumerate(passes, 1):
                    lines.extend(f"  {i:4}  {op}{f'  {site}' if site else ''}" for op, site in ops)
        reasons = [*self._eager.values(), *([] if self._never is None else [self._never])]
        lines.extend(f"not compiled: {reason}" for reason in dict.fromkeys(reasons))
        return in_cells("\n".join(lines))

    def _without(self, reason: str, args: Any, kwargs: Any) -> Any:
        """Calls the function as it is."""
        # No arguments have this key.
        self._eager[None, reason] = reason
        self._refuse(reason)
        self._counts[2] += 1
        return self._function(*args, **kwargs)

    def _refuse(self, reason: str) -> None:
        """Warns that the function runs uncompiled, or raises where that is an error."""
        if self._fullgraph:
            raise CompileError(f"compile: {self._name} cannot be traced: {reason}")
        self._warn(self._name, reason)

    def _warn(self, name: str, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _warn_user(in_cells(f"compile: {name} runs uncompiled: {reason}"))

    def _first(self, args: Any, kwargs: Any, modes: Any) -> Any:
        """Calls the function where there is no program yet."""
        __tracebackhide__ = True
        if len(self._names.places) > _PLACES:
            # Each call comes with functions of its own, whose variables would be kept for ever.
            self._names = Names()
            self._programs.clear()
            self._forget()
        self._names.meet(self._function, args, kwargs)
        for name, value in (*enumerate(args), *kwargs.items()):
            is_new = type(value) is float and name not in self._pinned
            if is_new and self._last_floats.setdefault(name, value).hex() != value.hex():
                self._floats.add(name)
        reader = Reader(modes, self._names, self._floats)
        try:
            key = reader.read_all(args, kwargs)
        except Refused as refusal:
            return self._without(str(refusal), args, kwargs)
        shapes = _kind(key, reader.tensors)
        if any(program.shapes_depend_on_numbers for program in self._programs.get(key, ())):
            del self._programs[key]
            self._eager[shapes] = "the shape of a value depends on numbers"
            self._warn(self._name, self._eager[shapes])
        if shapes in self._eager:
            self._counts[2] += 1
            return self._function(*args, **kwargs)
        call = functools.partial(self._function, *args, **kwargs)
        for program in self._programs.get(key, ()):
            called = program.call(call, reader.tensors)
            if called is not None:
                self._counts[0] += 1
                self._expect(args, kwargs, program, reader)
                return called[0]
        if not _TRACING.acquire(blocking=False):
            # The other thread may trace this function.
            if not _TRACING.acquire(timeout=_PATIENCE):
                self._counts[2] += 1
                return self._function(*args, **kwargs)
            try:
                return self._first(args, kwargs, modes)
            finally:
                _TRACING.release()
        try:
            return self._trace_and_run(args, kwargs, key, shapes, reader, modes)
        finally:
            _TRACING.release()

    def _trace_and_run(self, args: Any, kwargs: Any, key: Any, shapes: Any, reader: Reader, modes: Any) -> Any:
        """Calls the function as it is traced, and runs its program if there is one."""
        __tracebackhide__ = True
        call = functools.partial(self._function, *args, **kwargs)
        self._counts[1] += 1
        contracted = _core.contract_products(self._fast)
        try:
            result, made, reason = self._trace(args, kwargs, reader, modes, keeps_all=True)
        finally:
            _core.contract_products(contracted)
        if made is not None:
            self._changes = 0
            called = made.call(call, reader.tensors)
            for _ in range(1000):
                if called is not None or threading.active_count() == 1:
                    break
                # Another thread runs a program that writes to the same tensors.
                time.sleep(0.001)
                called = made.call(call, reader.tensors)
            if called is None:
                raise _core.InternalError("compile: a program does not take the arguments of its own trace")
            self._keep(key, made, reader)
            self._expect(args, kwargs, made, reader)
            return called[0]
        self._counts[2] += 1
        if reason in (_PINNED, _HOOKED):
            return result
        if reason.endswith(_CHANGES):
            # The first call of many functions makes state that later calls find.
            self._changes += 1
            if self._changes == _RESTLESS:
                self._never = reason
                self._refuse(reason)
            return result
        if reason.startswith(_KEPT):
            self._changes += 1
            if shapes not in self._kept and self._changes < _RESTLESS:
                # The first call of many functions makes state that later calls find.
                self._kept.add(shapes)
                return result
            if self._changes >= _RESTLESS:
                self._never = reason
        if len(self._eager) >= max(_HOPELESS, self._maxsize):
            if not self._programs:
                self._never = reason
            self._eager.clear()
        self._eager[shapes] = reason
        self._refuse(reason)
        return result

    def _pin(self, names: Iterable[Any]) -> None:
        """Has floats among the arguments compared by value from now on."""
        self._pinned.update(names)
        self._floats.difference_update(names)

    def _change(self, args: Any, kwargs: Any, before: Reader, modes: Any) -> str | None:
        """The name of what the function reads and has changed, if there is such a thing."""
        after = Reader(modes, self._names, before.floats)
        try:
            after.read_all(args, kwargs)
        except Refused as refusal:
            return str(refusal)
        if (change := after.difference(tuple(before.key))) is not None:
            return change
        own = set(before.floats.values())
        pairs = enumerate(zip(after.tensors, before.tensors, strict=True))
        is_same = all(x is y or i in own for i, (x, y) in pairs)
        return None if is_same else "which tensors it reads"

    def _keep(self, key: tuple[Any, ...], program: _Program, reader: Reader) -> None:
        last = next(reversed(self._programs), None)
        runs = self._counts[0] + self._runs
        is_rewritten = last is not None and reader.has_other_numbers(last) and runs == self._runs_before
        self._fruitless = self._fruitless + 1 if runs == self._runs_before else 0
        self._rewritten, self._runs_before = self._rewritten + 1 if is_rewritten else 0, runs
        never = None
        varies = (last and reader.difference(last)) or "the shape, dtype or memory of a tensor"
        if self._rewritten == _RESTLESS:
            never = f"a NumPy array ({varies}) has other numbers in each call; make it an argument"
        elif self._fruitless == max(_HOPELESS, self._maxsize):
            never = f"each of its last {self._fruitless} calls took a trace, because {varies} is another one each time"
        if never is not None and not self._fullgraph:
            self._never = never
            self._programs.clear()
            self._forget()
            self._warn(self._name, never)
            return
        programs = self._programs.setdefault(key, [])
        programs.insert(0, program)
        self._programs.move_to_end(key)
        size = sum(map(len, self._programs.values()))
        if size == _MANY and last is not None and (reader.difference(last) is not None or not self._dynamic):
            _warn_user(
                f"compile: {self._name} has been traced {_MANY} times. The last two traces differ in {varies}. What is "
                "no tensor is compared by value, and each value takes a trace"
            )
        while size > self._maxsize:
            oldest = next(iter(self._programs))
            self._programs[oldest].pop()
            if not self._programs[oldest]:
                del self._programs[oldest]
            size -= 1
            self._forget()

    def _trace(
        self, args: Any, kwargs: Any, reader: Reader, modes: Any, keeps_all: bool = False
    ) -> tuple[Any, _Program | None, str]:
        """Calls the function while its ops are traced. Returns its result and the program, or why there is none.

        With ``keeps_all`` there is none if the function changes what calls are compared by.
        """
        __tracebackhide__ = True
        tensors = reader.tensors
        tracer = _core.Tracer(tensors, constants=reader.sees_all())
        watch = Watch()
        stores: list[Store] = []
        try:
            used = tracer.arguments(sorted(reader.elsewhere))
            replaced = {id(x): y for x, y in zip(tensors, used, strict=True) if x is not y}
            given = {id(y): x for x, y in zip(tensors, used, strict=True) if x is not y}
            draws = _drawing()
            given_args, given_kwargs = args, kwargs
            args, kwargs = _replaced(args, replaced), _replaced(kwargs, replaced)
            if reader.floats:
                args, kwargs = _with_numbers(args, kwargs, reader.floats, used, watch)
            named: dict[Any, Any] = dict(enumerate(zip(given_args, args, strict=True)))
            named |= {name: (x, kwargs[name]) for name, x in given_kwargs.items()}
            got = {name: containers(*pair) for name, pair in named.items()}
            try:
                result = self._function(*args, **kwargs)
            finally:
                changed = give_back(got, given)
                del args, kwargs, named, got
            watch.close()
            decisions = tracer.decisions()
            if changed is not None:
                tracer.cancel()
                return _without_numbers(_replaced(result, given)), None, f"it changes argument {changed}{_CHANGES}"
            if watch.pinned:
                # The call stands: nothing else than the value was used.
                tracer.cancel()
                self._pin(watch.pinned)
                return _without_numbers(_replaced(result, given)), None, _PINNED
            if self._names.meet(*tracer.hooks()):
                # The next call is compared by what hooks read, too.
                tracer.cancel()
                return _replaced(result, given), None, _HOOKED
            leaves = _leaves(result)
            outs = [x for x in leaves if isinstance(x, Tensor)]
            own_arguments = {id(x) for i, x in enumerate(used) if i not in reader.elsewhere}
            if given and tracer.returns_part(outs):
                for store in found_stores(reader, own_arguments | set(map(id, tracer.alive()))):
                    store.put_back(tensors)
                tracer.cancel(True)
                return self._function(*given_args, **given_kwargs), None, "it returns a view of a part of a tensor"
            tracked, inputs, grads, core = [], [], None, None
            reason = _obstacle(leaves, draws, modes)
            own = set(map(id, used))
            if keeps_all and reason is None and tracer.given_up is None:
                stores = found_stores(reader, own_arguments | set(map(id, tracer.alive())))
                tables = [table for table in reader.by_identity if any(store.is_in(table) for store in stores)]
                if tables:
                    # The next call reads the tensors in these tables as it reads others.
                    tracer.cancel()
                    self._names.rebound.update((id(table), table) for table in tables)
                    return _replaced(result, given), None, _HOOKED
                for store in stores:
                    store.put_back(tensors)
                if stores:
                    leaves = _leaves((result, [store.now for store in stores]))
                    outs = [x for x in leaves if isinstance(x, Tensor)]
            is_recorded = [x.grad_fn is not None and id(x) not in own for x in outs]
            if any(is_recorded) and not _core.is_grad_enabled():
                reason = "it returns a tensor with a graph where ops are not recorded"
            made, ways = parted(outs, used)
            if keeps_all and reason is None and tracer.given_up is None:
                change = self._change(given_args, given_kwargs, reader, modes)
                if change is not None and not tracer.keeps_others(outs, held_by_loops(tracer.alive())):
                    reason = f"it changes {change}{_CHANGES}"
            if reason is None and tracer.given_up is None:
                if _core.is_grad_enabled():
                    tracked = [i for i, x in enumerate(made) if x.requires_grad and id(x) not in own]
                if tracked:
                    inputs = tracer.leaves()
                    ends = [made[i] for i in tracked]
                    try:
                        grads = _core.grad(ends, inputs, tracer.seeds(ends), NATIVE, retain_graph=True, stops=True)
                    except FreedGraphError:
                        # The function has used the graph up; only values leave it.
                        tracked, inputs, grads = [], [], None
                core = tracer.finish(
                    made, grads, views=outs if ways is not None else [], excused=held_by_loops(tracer.alive())
                )
            else:
                tracer.cancel()
        except BaseException as error:
            watch.close()
            _set_again(stores)
            if reader.floats and isinstance(error, Exception):
                # A function that was called may take floats only.
                tracer.cancel(True)
                self._pin(reader.floats)
                return self._function(*given_args, **given_kwargs), None, _PINNED
            tracer.cancel()
            raise
        if core is None:
            _set_again(stores)
            if reason is None:
                reason, site = tracer.given_up or ("a result or a write is not one that a program can make", None)
                reason = f"{reason} at {site}" if site and not reason.endswith(_CHANGES) else reason
            return _replaced(result, given), None, reason
        at = {id(x): i for i, x in enumerate(used)}
        kept = [at[id(x)] if id(x) in at else weakref.ref(x) for x in inputs]
        marks = iter([_HOLE if isinstance(x, Tensor) else x for x in leaves])
        shape = rebuilt((result, [store.now for store in stores]) if stores else result, marks)
        program = _Program(core, shape, ways, kept, tracked)
        program.stores = stores
        if not core.stops_tracking and reader.elsewhere.isdisjoint(core.becomes_leaf):
            # Another call would make new leaves, of which the graph of the first one knows nothing.
            program.traced_with = modes, reader.floats
        program.decisions = decisions
        program.signature = _signature(given_args, given_kwargs)
        if reader.floats:
            program.signature = ArgumentError(
                "save: this program takes floats that vary from call to call. Give save the arguments: the file has a "
                "program for these floats then"
            )
        mine = {id(x) for x in _leaves((given_args, given_kwargs))}
        program.outside = [weakref.ref(x) for x in tensors if id(x) not in mine]
        return result, program, ""


def _set_again(stores: list[Store]) -> None:
    """Sets what a function has set, which was put back."""
    for store in stores:
        store.value = store.now


def _signature(args: Any, kwargs: Any) -> tuple[Any, Any, int] | ArgumentError:
    """What the arguments consist of, for a file."""
    tensors: list[Tensor] = []
    leaf = numbered(tensors)
    try:
        return described(args, leaf, "an argument"), described(kwargs, leaf, "an argument"), len(tensors)
    except ArgumentError as error:
        return error.with_traceback(None)


def _obstacle(leaves: list[Any], draws: list[Any], modes: Any) -> str | None:
    """Why there can be no program for a function that returned these leaves, if there is a reason."""
    others = [x for x in leaves if not isinstance(x, (Tensor, float, *PLAIN))]
    if others:
        return f"it returns a {type(others[0]).__name__}, which is no tensor"
    if _drawing() != draws:
        return "it draws numbers from the generators of Python or NumPy"
    return None if _core.program_modes(tracing=True) == modes else "it changes the modes that ops obey"


def _drawing() -> list[Any]:
    """The states of the generators of random numbers of Python and NumPy, as far as they are imported."""
    states = [module.getstate() for module in [sys.modules.get("random")] if module is not None]
    if (generator := sys.modules.get("numpy.random")) is not None:
        kind, keys, *rest = generator.get_state()
        states.append((kind, keys.tobytes(), rest))
    return states


#: Held while a function is traced: what it reads and writes is then in the hands of this thread.
_TRACING = threading.RLock()
#: For how many seconds a thread waits for the trace of another one, before it calls its function as it is.
_PATIENCE = 10.0
#: All compiled functions.
_ALL: weakref.WeakSet[CompiledFunction[..., Any]] = weakref.WeakSet()


def forget() -> None:
    """Forgets the programs of all compiled functions."""
    for function in list(_ALL):
        function.cache_clear()


def _warn_user(text: str) -> None:
    """Warns at the line of the user's program that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ferrograd":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def _with_tensors(tree: Any, arrays: list[tuple[np.ndarray, Tensor]] | None = None) -> Any:
    """The arguments with tensors in place of NumPy arrays. Each array is added to ``arrays`` with its tensor."""
    if not any(isinstance(x, np.ndarray) for x in _leaves(tree)):
        return tree

    def made(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        y = _core.make(x, None, False, NATIVE)
        if arrays is not None:
            arrays.append((x, y))
        return y

    return rebuilt(tree, map(made, _leaves(tree)))


def _in_c_order(tree: Any) -> Any:
    """The arguments with tensors whose elements lie in C order."""
    return rebuilt(tree, (x.contiguous() if isinstance(x, Tensor) else x for x in _leaves(tree)))


def _with_numbers(args: Any, kwargs: Any, floats: Mapping[Any, int], used: list[Tensor], watch: Watch) -> Any:
    """The arguments with numbers in place of floats."""

    def number(name: Any, value: Any) -> Any:
        return Number(value, used[floats[name]], frozenset([name]), watch) if name in floats else value

    return tuple(number(i, x) for i, x in enumerate(args)), {name: number(name, x) for name, x in kwargs.items()}


def _without_numbers(tree: Any) -> Any:
    """A result with floats in place of numbers."""
    if not any(type(x) is Number for x in _leaves(tree)):
        return tree
    return rebuilt(tree, (float(x) if type(x) is Number else x for x in _leaves(tree)))


def _replaced(tree: Any, by: Mapping[int, Tensor]) -> Any:
    return rebuilt(tree, (by.get(id(x), x) for x in _leaves(tree))) if by else tree


@overload
def compile(
    function: Callable[P, R], *, fullgraph: bool = ..., maxsize: int = ..., dynamic: bool = ..., fast: bool = ...
) -> CompiledFunction[P, R]: ...
@overload
def compile(
    *, fullgraph: bool = ..., maxsize: int = ..., dynamic: bool = ..., fast: bool = ...
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def compile(
    function: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    maxsize: int = 64,
    dynamic: bool = False,
    fast: bool = False,
) -> Any:
    """The function, traced at its first call and run without Python afterwards. Without a function, a decorator.

    A trace records the ops that the function applies, those of gradients of any order and of transforms included. Later
    calls with tensors of the same shapes and dtypes run the recorded ops, with the bits that the function itself would
    give. Parameters and other tensors that the function finds outside of its arguments are read anew in each call, and
    those that it writes to are written.

    NumPy arrays among the arguments become tensors, and floats that vary from call to call where the function only
    computes with them. Everything else is part of the trace. Numbers, strings and flags among the arguments, and in
    variables and attributes that the function or functions it calls look up by name, are compared by value, so another
    value takes another trace. Python code with side effects (``print``, appending to a
    list) runs only during the trace; a function that changes what it reads itself is not compiled.

    Where numbers of a traced value are asked for (``if x.sum() > 0``, ``item``, NumPy), the trace is given up, and
    calls with such arguments run as they are, with a warning that names the line.

    Args:
        function: a function or module.
        fullgraph: a function that cannot be traced is an error.
        maxsize: the most programs that are kept. The one that was made first is forgotten first.
        dynamic: sizes are meant to vary. Each size is traced, without the warning that this happens often.
        fast: a product and the sum or difference that alone reads it may be rounded once, as one instruction of the
            processor does. The sum is then that of the exact product, from which a rounded one is at most half a unit
            in its last place away.

    Raises:
        CompileError: the function cannot be traced, and ``fullgraph`` is set.
        ArgumentError: ``maxsize`` is negative.

    >>> import ferrograd as fg
    >>> f = fg.compile(lambda x: fg.func.grad(lambda x: (x**3).sum())(x))
    >>> f(fg.tensor([1.0, 2.0])).tolist(), f(fg.tensor([3.0, 4.0])).tolist()
    ([3.0, 12.0], [27.0, 48.0])
    >>> f.cache_info().hits
    1
    """
    if function is None:
        return functools.partial(compile, fullgraph=fullgraph, maxsize=maxsize, dynamic=dynamic, fast=fast)
    if not callable(function):
        raise TypeError(f"compile: a function is wanted, not {type(function).__name__}")
    return CompiledFunction(function, fullgraph, maxsize, dynamic, fast)
