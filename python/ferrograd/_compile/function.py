"""``compile``: the ops of a function, traced once and run again without Python."""

from __future__ import annotations

import functools
import os
import threading
import time
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import P, R
from ferrograd._compile.costs import costs_of
from ferrograd._compile.dependencies import Names, Refused
from ferrograd._compile.files import write
from ferrograd._compile.floats import Watch
from ferrograd._compile.patience import Patience
from ferrograd._compile.patterns import Patterns
from ferrograd._compile.program import PATIENCE, TRACING, Program, kind_of, leaves_of, with_tensors
from ferrograd._compile.reader import Reader
from ferrograd._compile.stores import containers, give_back
from ferrograd._compile.trace import Cause, Outcome, Trace
from ferrograd._core import ArgumentError, Tensor
from ferrograd._graph.places import in_cells
from ferrograd._kit.tree import rebuilt
from ferrograd._kit.warning import warn

__all__ = ["CacheInfo", "CompileError", "CompiledFunction", "compile", "forget"]

if TYPE_CHECKING:
    from ferrograd._graph.graph import Graph

#: Functions are traced unless the environment says ``FERROGRAD_COMPILE=0``.
_ENABLED = os.environ.get("FERROGRAD_COMPILE", "1") != "0"
#: A function with this many programs warns.
_MANY = 8
#: A function whose sizes are meant to vary keeps programs for this many shapes.
_SHAPES = 16
#: Calls without Python remember this many programs for other shapes of the same arguments.
_FEW = 3
#: A function remembers this many places at which it looks values up, and then forgets those of old calls.
_PLACES = 1000


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
        self._programs: OrderedDict[tuple[Any, ...], list[Program]] = OrderedDict()
        self._patience = Patience(maxsize)
        self._eager = self._patience.reasons
        self._names = Names()
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
        args, kwargs = with_tensors(args, arrays), with_tensors(kwargs, arrays)
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
        if self._patience.never is not None:
            return self._without(self._patience.never, args, kwargs)
        if self._names.is_lost:
            self._start_over()
        if not (self._programs or self._eager):
            return self._first(args, kwargs, modes)
        reader = Reader(modes, self._names, self._floats)
        try:
            key = reader.read_all(args, kwargs)
        except Refused as refusal:
            return self._refused(refusal, args, kwargs)
        programs = self._programs.get(key)
        if programs is not None:
            for program in programs:
                called = program.call(functools.partial(self._function, *args, **kwargs), reader.tensors)
                if called is not None:
                    self._counts[0] += 1
                    self._expect(args, kwargs, program, reader)
                    return called[0]
        if (kind := kind_of(key, reader.tensors)) in self._eager:
            self._expect(args, kwargs, None, reader, kind)
            self._counts[2] += 1
            return self._function(*args, **kwargs)
        return self._first(args, kwargs, modes)

    def _expect(
        self, args: Any, kwargs: Any, program: Program | None, reader: Reader, kind: tuple[Any, ...] = ()
    ) -> None:
        """Lets later calls like this one run without Python, where what they depend on can be compared there.

        Without a program the function runs as it is, for tensors of this ``kind``.
        """
        if self._names.is_lost:
            return
        patterns = Patterns(self._names, reader.numbers)

        def part(name: Any, value: Any) -> tuple[str, Any]:
            if name not in reader.floats:
                return patterns.of(value, self._names.use_of_argument(name))
            return "float", patterns.tensor(reader.tensors[reader.floats[name]])

        try:
            arguments = [part(i, x) for i, x in enumerate(args)]
            keywords = ("dict", (dict, [(name, part(name, x)) for name, x in kwargs.items()])) if kwargs else None
            others = patterns.lookups(reader)
        except Refused:
            return
        function, counts, all_alike = self._function, self._counts, self._programs.get(tuple(reader.key), ())
        if program is not None and program.itself is not None:
            self._remember(function, arguments, keywords, others, None, reader.tensors)
            return
        if program is None:

            def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
                if kind_of(kind[0], tensors) != kind:
                    return None
                # The core counts this call as a run of a program.
                counts[0], counts[2] = counts[0] - 1, counts[2] + 1
                return (function(*args, **(kwargs or {})),)

        elif len(all_alike) > _FEW:
            by_kind: dict[Any, Program] = {}

            def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
                call = functools.partial(function, *args, **(kwargs or {}))
                kind = kind_of(None, tensors)
                for one in [by_kind[kind], *all_alike] if kind in by_kind else list(all_alike):
                    if (found := one.call(call, tensors)) is not None:
                        by_kind[kind] = one
                        return found
                return None

        elif (
            program.shape is not None
            and program.ways is None
            and not (program.tracked or program.stores or program.linked)
        ):
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

    def _last(self, what: str) -> Program:
        """The program that was traced last."""
        programs = [program for programs in self._programs.values() for program in programs]
        if not programs:
            raise CompileError(f"{what}: {self._name} has no program yet: call it first")
        return max(programs, key=lambda program: program.number)

    def _traced(self, *args: Any, **kwargs: Any) -> Program:
        """A program for these arguments. What the function wrote to is put back."""
        args, kwargs = _in_c_order(with_tensors(args)), _in_c_order(with_tensors(kwargs))
        modes = _core.program_modes()
        if modes is None:
            raise CompileError(
                "save: a function is traced outside of vmap and other traces, and while ops are not watched"
            )
        if self._names.is_lost:
            self._start_over()
        self._names.meet_call(self._function, args, kwargs)
        reader = Reader(modes, self._names, whole_arguments=True)
        try:
            reader.read_all(args, kwargs)
        except Refused as refusal:
            raise CompileError(f"save: {self._name} cannot be traced: {refusal}") from None
        for _ in range(2):
            # The first call of many functions makes state that later calls find.
            outcome = self._trace(args, kwargs, reader, modes)
            if outcome.cause is not Cause.KEEPS:
                break
        if outcome.program is None:
            raise CompileError(f"save: {self._name} cannot be traced: {outcome.reason}")
        return outcome.program

    def cache_info(self) -> CacheInfo:
        """How often programs ran, and how many there are."""
        hits, misses, eager = self._counts
        return CacheInfo(hits + self._runs, misses, eager, self._maxsize, sum(map(len, self._programs.values())))

    def cache_clear(self) -> None:
        """Forgets all programs."""
        self._forget()
        self._programs.clear()
        self._patience.forget()

    def explain(self) -> str:
        """The programs so far, and why calls ran without one.

        Of each program: how many ops the trace recorded, how many of them are no views, no repetitions and no
        constants, and how many a result needs; the passes over memory, with what each op computes, the line that
        applied it, the bytes that the pass reads and writes, and the microseconds that this machine takes at least to
        move as many, or to compute the products of matrices; the most memory that values take at a time; and lists,
        dicts and sets of many items that each call is compared by, because code that is not known reads them.

        The machine is measured for this, which takes some milliseconds for each size.
        """
        lines = []
        for program in (program for programs in self._programs.values() for program in programs):
            parts, described = program.core.parts(), program.core.passes()
            read, written = program.core.captured
            total = sum(needed for (_, _, needed), _, _ in parts)
            lines.append(f"a program of {total} ops, which reads {read} tensors from outside and writes {written}")
            for name, ((recorded, distinct, needed), count, peak), passes in zip(
                ("forward", "gradients"), parts, described, strict=False
            ):
                lines.append(
                    f"  {name}: {recorded} ops recorded, {distinct} without views, repetitions and constants, {needed} "
                    f"needed; {count} passes over memory; at most {peak:,} bytes of values"
                )
                for i, (ops, of_read, of_written, least) in enumerate(passes, 1):
                    bound = f"at least {1e6 * least:,.{1 if least > 1e-6 else 3}f} us"
                    moved = f"  (reads {of_read:,} bytes, writes {of_written:,}; {bound})"
                    for op, text, site in ops:
                        lines.append("  ".join((f"  {i:4}", op, text, *filter(None, [site]))) + moved)
                        moved = ""
            lines += [f"  each call compares {what}" for what in program.watched_whole]
            if program.costs is not None:
                choice = "a call runs the function itself" if program.itself else "a call runs the program"
                lines.append(f"  {choice}: {program.costs}, besides the work on numbers")
        never = self._patience.never
        reasons = [*self._eager.values(), *([] if never is None else [never])]
        lines.extend(f"not compiled: {reason}" for reason in dict.fromkeys(reasons))
        return in_cells("\n".join(lines))

    def _without(self, reason: str, args: Any, kwargs: Any) -> Any:
        """Calls the function as it is."""
        self._refuse(reason)
        self._counts[2] += 1
        if self._patience.never is not None:
            self._expect_nothing(args, kwargs)
        return self._function(*args, **kwargs)

    def _with_other_shapes(self, args: Any, kwargs: Any) -> Any:
        """Calls the function as it is, because there are enough programs for other shapes."""
        reason = f"it has programs for {_SHAPES} shapes, and sizes go on to vary"
        if (None, reason) not in self._eager:
            # No arguments have this key.
            self._eager[None, reason] = reason
            warn(
                f"compile: {self._name} has programs for {_SHAPES} shapes, the most with dynamic=True; calls with "
                "others run uncompiled. Pad sizes to some that come again, so that their programs run"
            )
        self._counts[2] += 1
        return self._function(*args, **kwargs)

    def _refused(self, refusal: Refused, args: Any, kwargs: Any) -> Any:
        """Calls the function as it is, because what it reads cannot be compared."""
        self._patience.refused(str(refusal), self._fullgraph)
        return self._without(str(refusal), args, kwargs)

    def _expect_nothing(self, args: Any, kwargs: Any) -> None:
        """Lets later calls with tensors run as they are, without asking why."""
        function, counts = self._function, self._counts
        if kwargs or not all(isinstance(x, Tensor) for x in args):
            return

        def run(tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
            # The core counts this call as a run of a program.
            counts[0], counts[2] = counts[0] - 1, counts[2] + 1
            return (function(*args),)

        self._forget()
        self._remember(run, [("kind", type(x)) for x in args], None, [], None)

    def _refuse(self, reason: str) -> None:
        """Warns that the function runs uncompiled, or raises where that is an error."""
        if self._fullgraph:
            raise CompileError(f"compile: {self._name} cannot be traced: {reason}")
        self._warn(self._name, reason)

    def _warn(self, name: str, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(in_cells(f"compile: {name} runs uncompiled: {reason}"))

    def _first(self, args: Any, kwargs: Any, modes: Any) -> Any:
        """Calls the function where there is no program yet."""
        __tracebackhide__ = True
        if len(self._names.places) > _PLACES:
            # Each call comes with functions of its own, whose variables would be kept for ever.
            self._start_over()
        self._names.meet_call(self._function, args, kwargs)
        for name, value in (*enumerate(args), *kwargs.items()):
            is_new = type(value) is float and name not in self._pinned
            if is_new and self._last_floats.setdefault(name, value).hex() != value.hex():
                self._floats.add(name)
        reader = Reader(modes, self._names, self._floats)
        try:
            key = reader.read_all(args, kwargs)
        except Refused as refusal:
            return self._refused(refusal, args, kwargs)
        shapes = kind_of(key, reader.tensors)
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
        if self._dynamic and not self._fullgraph and len(self._programs.get(key, ())) >= _SHAPES:
            return self._with_other_shapes(args, kwargs)
        if not TRACING.acquire(blocking=False):
            # The other thread may trace this function.
            if not TRACING.acquire(timeout=PATIENCE):
                self._counts[2] += 1
                return self._function(*args, **kwargs)
            try:
                return self._first(args, kwargs, modes)
            finally:
                TRACING.release()
        try:
            return self._trace_and_run(args, kwargs, key, shapes, reader, modes)
        finally:
            TRACING.release()

    def _start_over(self) -> None:
        """Forgets what calls are compared by, and with it all programs."""
        self._names = Names()
        self._programs.clear()
        self._forget()

    def _trace_and_run(self, args: Any, kwargs: Any, key: Any, shapes: Any, reader: Reader, modes: Any) -> Any:
        """Calls the function as it is traced, and runs its program if there is one."""
        __tracebackhide__ = True
        call = functools.partial(self._function, *args, **kwargs)
        self._counts[1] += 1
        contracted = _core.contract_products(self._fast)
        try:
            outcome = self._trace(args, kwargs, reader, modes, keeps_all=True)
        finally:
            _core.contract_products(contracted)
        if (made := outcome.program) is not None:
            self._patience.made()
            called = made.call(call, reader.tensors)
            for _ in range(1000):
                if called is not None or threading.active_count() == 1:
                    break
                # Another thread runs a program that writes to the same tensors.
                time.sleep(0.001)
                called = made.call(call, reader.tensors)
            if called is None:
                raise _core.InternalError("compile: a program does not take the arguments of its own trace")
            made.watched_whole = reader.watched_whole()
            self._choose(made, reader)
            if not self._names.is_lost:
                self._keep(key, made, reader)
            self._expect(args, kwargs, made, reader)
            return called[0]
        self._counts[2] += 1
        if self._patience.gave_up(shapes, outcome, bool(self._programs)):
            self._refuse(outcome.reason)
        return outcome.result

    def _trace(self, args: Any, kwargs: Any, reader: Reader, modes: Any, keeps_all: bool = False) -> Outcome:
        """Calls the function while its ops are traced.

        With ``keeps_all`` there is no program if the function changes what calls are compared by.
        """
        __tracebackhide__ = True
        outcome = Trace(self._function, self._names, reader, modes, Watch()).run(args, kwargs, keeps_all)
        # These floats among the arguments are compared by value from now on.
        self._pinned |= outcome.pinned
        self._floats -= outcome.pinned
        return outcome

    def _choose(self, program: Program, reader: Reader) -> None:
        """Has calls run the function itself where a program gains nothing, if the function does nothing but compute."""
        costs = costs_of(program.core, len(reader.tensors), len(reader.key) // 2, bool(program.tracked))
        program.costs = costs
        # A number that the function looks up and that varies is told of by the traces that it takes.
        has_values = bool(reader.floats or reader.has_values or reader.numbers)
        is_plain = program.is_pure() and not (self._fast or self._fullgraph or has_values)
        if costs.is_even and is_plain and program.only_computes:
            program.stands_aside_for(reader.tensors)

    def _keep(self, key: tuple[Any, ...], program: Program, reader: Reader) -> None:
        last = next(reversed(self._programs), None)
        varies = (last and reader.difference(last)) or "the shape, dtype or memory of a tensor"
        has_other_numbers = last is not None and reader.has_other_numbers(last)
        if self._patience.kept(self._counts[0] + self._runs, has_other_numbers, varies, self._fullgraph):
            self._programs.clear()
            self._forget()
            self._warn(self._name, self._patience.never or "")
            return
        programs = self._programs.setdefault(key, [])
        programs.insert(0, program)
        self._programs.move_to_end(key)
        size = sum(map(len, self._programs.values()))
        if size == _MANY and last is not None and (reader.difference(last) is not None or not self._dynamic):
            warn(
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


#: All compiled functions.
_ALL: weakref.WeakSet[CompiledFunction[..., Any]] = weakref.WeakSet()


def forget() -> None:
    """Forgets the programs of all compiled functions."""
    for function in list(_ALL):
        function.cache_clear()


def _in_c_order(tree: Any) -> Any:
    """The arguments with tensors whose elements lie in C order."""
    return rebuilt(tree, (x.contiguous() if isinstance(x, Tensor) else x for x in leaves_of(tree)))


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
        dynamic: sizes are meant to vary. The first 16 shapes are traced, without the warning that this happens often.
            Then calls with other shapes run uncompiled, and a warning says so once. With ``fullgraph`` each shape is
            traced.
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
