"""One call of a function while its ops are traced, and what comes of it."""

from __future__ import annotations

import enum
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._compile.aliases import Way, parted
from ferrograd._compile.dependencies import SCALARS, Names, Refused
from ferrograd._compile.effects import calls_generator, only_computes
from ferrograd._compile.files import described, numbered
from ferrograd._compile.floats import Number, Watch, with_numbers
from ferrograd._compile.holders import held_by_loops
from ferrograd._compile.program import HOLE, Link, Program, leaves_of, replaced
from ferrograd._compile.reader import Reader, why_untraced
from ferrograd._compile.stores import Store, containers, found_stores, give_back
from ferrograd._core import ArgumentError, FreedGraphError, Tensor
from ferrograd._kit import parts
from ferrograd._kit.dialect import NATIVE
from ferrograd._kit.tree import rebuilt

#: How the reason of a trace begins that may be gone at the second call.
_KEPT = "a tensor that it computes is kept"
#: How the reason of a trace ends that has changed what calls are compared by.
_CHANGES = ", which it reads itself"


class Cause(enum.Enum):
    """What kind of reason there is for a trace without a program."""

    #: The next trace may come to a program: it is for the value of a float, or compared by what hooks read, too.
    LEARNT = "learnt"
    #: The function changes what calls are compared by.
    CHANGES = "changes"
    #: It keeps a tensor that it computes.
    KEEPS = "keeps"
    #: There is none for calls like this one.
    OTHER = "other"


class Outcome(NamedTuple):
    """The result of a traced call, and its program; or without one the reason, and of what kind that is.

    ``pinned`` are the arguments whose value as a float was needed.
    """

    result: Any
    program: Program | None = None
    reason: str = ""
    cause: Cause = Cause.OTHER
    pinned: frozenset[Any] = frozenset()


class Trace:
    """A call of a function while its ops are traced."""

    def __init__(self, function: Callable[..., Any], names: Names, reader: Reader, modes: Any, watch: Watch) -> None:
        self._function, self._names, self._reader, self._modes, self._watch = function, names, reader, modes, watch
        self._tracer = _core.Tracer(reader.tensors, constants=reader.sees_all())
        #: The tensors that the function gets in the place of the given ones. By the id of either, the other one.
        self._used: list[Tensor] = []
        self._lent: dict[int, Tensor] = {}
        self._given: dict[int, Tensor] = {}
        self._only_computes = only_computes(names)
        #: The states of other generators, where the function may draw from them.
        self._draws: list[Any] | None = None
        #: What the function has set to tensors, which each call sets.
        self._stores: list[Store] = []
        #: The argument that the function has changed.
        self._changed: Any = None

    def run(self, args: Any, kwargs: Any, keeps_all: bool) -> Outcome:
        """Calls the function.

        With ``keeps_all`` there is no program if the function changes what calls are compared by.
        """
        __tracebackhide__ = True
        try:
            return self._run(args, kwargs, keeps_all)
        except BaseException as error:
            self._watch.close()
            self._set_again()
            if self._reader.floats and isinstance(error, Exception):
                # A function that was called may take floats only.
                self._tracer.cancel(True)
                return self._learnt(self._function(*args, **kwargs), pinned=self._reader.floats)
            self._tracer.cancel()
            raise
        finally:
            parts.taken()

    def _run(self, args: Any, kwargs: Any, keeps_all: bool) -> Outcome:
        __tracebackhide__ = True
        result = self._call(args, kwargs)
        self._watch.close()
        decisions = self._tracer.decisions()
        if (outcome := self._unfinished(result, args, kwargs)) is not None:
            return outcome
        leaves = leaves_of(result)
        reason = _obstacle(leaves, self._draws, self._modes)
        if keeps_all and reason is None and self._tracer.given_up is None and self._finds_stores():
            self._tracer.cancel()
            return self._learnt(self._own(result))
        whole = (result, [store.now for store in self._stores]) if self._stores else result
        leaves = leaves_of(whole) if self._stores else leaves
        outs = [x for x in leaves if isinstance(x, Tensor)]
        made, ways = parted(outs, self._used)
        linked = self._linked(outs)
        reason = reason or self._reason_of(outs)
        cause = Cause.OTHER
        if keeps_all and reason is None and self._tracer.given_up is None:
            change = self._change(args, kwargs)
            if change is not None and not self._tracer.keeps_others(outs, held_by_loops(self._tracer.alive())):
                reason, cause = f"it changes {change}{_CHANGES}", Cause.CHANGES
        is_traced = reason is None and self._tracer.given_up is None
        program = self._finished(whole, leaves, outs, made, ways) if is_traced else None
        if program is None:
            return self._given_up(result, reason, cause)
        program.decisions = decisions
        program.linked = linked
        program.only_computes = self._only_computes
        self._describe(program, args, kwargs)
        return Outcome(result, program)

    # -- the steps

    def _call(self, args: Any, kwargs: Any) -> Any:
        """Calls the function with tensors that the trace knows in the place of those that are given."""
        __tracebackhide__ = True
        pairs = self._lend(args, kwargs)
        positional = tuple(pairs[i][1] for i in range(len(args)))
        named = {name: pairs[name][1] for name in kwargs}
        got = {name: containers(*pair) for name, pair in pairs.items()}
        del pairs
        try:
            return self._function(*positional, **named)
        finally:
            self._changed = give_back(got, self._given)

    def _lend(self, args: Any, kwargs: Any) -> dict[Any, tuple[Any, Any]]:
        """By number or name of an argument: what was given, and what the function gets."""
        reader, tensors = self._reader, self._reader.tensors
        self._used = used = self._tracer.arguments(sorted(reader.elsewhere))
        self._lent = {id(x): y for x, y in zip(tensors, used, strict=True) if x is not y}
        self._given = {id(y): x for x, y in zip(tensors, used, strict=True) if x is not y}
        self._draws = None if self._only_computes and not calls_generator(self._names) else _drawing()
        lent_args, lent_kwargs = replaced(args, self._lent), replaced(kwargs, self._lent) if kwargs else {}
        if reader.floats:
            lent_args, lent_kwargs = with_numbers(lent_args, lent_kwargs, reader.floats, used, self._watch)
        pairs: dict[Any, Any] = dict(enumerate(zip(args, lent_args, strict=True)))
        return pairs | {name: (x, lent_kwargs[name]) for name, x in kwargs.items()}

    def _unfinished(self, result: Any, args: Any, kwargs: Any) -> Outcome | None:
        """What comes of a trace that ends before it is asked for its program."""
        tracer = self._tracer
        if self._changed is not None:
            tracer.cancel()
            reason = f"it changes argument {self._changed}{_CHANGES}"
            return Outcome(_without_numbers(self._own(result)), None, reason, Cause.CHANGES)
        if self._watch.pinned:
            # The call stands: nothing else than the value was used.
            tracer.cancel()
            return self._learnt(_without_numbers(self._own(result)), pinned=self._watch.pinned)
        if self._names.meet(*tracer.hooks()):
            # The next call is compared by what hooks read, too.
            tracer.cancel()
            return self._learnt(self._own(result))
        if self._given and tracer.returns_part([x for x in leaves_of(result) if isinstance(x, Tensor)]):
            for store in self._found_stores():
                store.put_back(self._reader.tensors)
            tracer.cancel(True)
            return Outcome(self._function(*args, **kwargs), None, "it returns a view of a part of a tensor")
        return None

    def _finds_stores(self) -> bool:
        """Puts back what the function has set. Returns whether the next call reads the tensors in tables as it reads
        others.
        """
        self._stores = self._found_stores()
        tables = [table for table in self._reader.by_identity if any(store.is_in(table) for store in self._stores)]
        if tables:
            self._names.rebound.update((id(table), table) for table in tables)
            return True
        for store in self._stores:
            store.put_back(self._reader.tensors)
        return False

    def _reason_of(self, outs: list[Tensor]) -> str | None:
        """Why there can be no program with these outputs, if there is a reason."""
        own = set(map(id, self._used))
        is_recorded = any(x.grad_fn is not None and id(x) not in own for x in outs)
        if is_recorded and not _core.is_grad_enabled():
            return "it returns a tensor with a graph where ops are not recorded"
        leaves = [x for x in outs if x.requires_grad and x.grad_fn is None and id(x) not in own]
        if leaves and not set(map(id, leaves)) <= set(map(id, self._tracer.leaves())):
            # Each call would make another one, which gradients of other results reach.
            return (
                "it returns a tensor that it has made and that requires grad: return the values and make a leaf of them"
            )
        return None

    def _linked(self, outs: list[Tensor]) -> list[Link]:
        """The parts among the results: what else of the results, the arguments or outside a write to one reaches."""
        taken = parts.taken()
        if not taken:
            return []
        results = {id(x): i for i, x in enumerate(outs)}
        known = {id(x): i for i, x in enumerate(self._used, len(outs))} | results
        made = set(map(id, self._tracer.alive()))
        found = []
        for part, base, take, join in taken:
            if id(part) not in results:
                continue
            if id(base) in made and id(base) not in known:
                # Nobody has what the trace computed on the way.
                parts.parted(part)
            else:
                found.append(Link(results[id(part)], known.get(id(base), weakref.ref(base)), take, join))
        return found

    def _finished(
        self, whole: Any, leaves: list[Any], outs: list[Tensor], made: list[Tensor], ways: list[Way] | None
    ) -> Program | None:
        """The program that makes these outputs, and their gradients if they have some."""
        tracer, used = self._tracer, self._used
        own = set(map(id, used))
        tracked, inputs, grads = [], [], None
        if _core.is_grad_enabled():
            tracked = [i for i, x in enumerate(made) if x.requires_grad and id(x) not in own]
        if tracked:
            inputs = tracer.leaves()
            ends = [made[i] for i in tracked]
            try:
                grads = _core.grad(ends, inputs, tracer.seeds(ends), NATIVE, retain_graph=True, stops=True)
            except FreedGraphError:
                # The function has used the graph up; only values leave it.
                tracked, inputs = [], []
        excused = held_by_loops(tracer.alive())
        core = tracer.finish(made, grads, views=outs if ways is not None else [], excused=excused)
        if core is None:
            return None
        at = {id(x): i for i, x in enumerate(used)}
        kept = [at[id(x)] if id(x) in at else weakref.ref(x) for x in inputs]
        marks = iter([HOLE if isinstance(x, Tensor) else x for x in leaves])
        program = Program(core, rebuilt(whole, marks), ways, kept, tracked)
        program.stores = self._stores
        return program

    def _given_up(self, result: Any, reason: str | None, cause: Cause) -> Outcome:
        """What comes of a trace without a program."""
        self._tracer.cancel()
        self._set_again()
        if reason is None:
            reason, site = self._tracer.given_up or ("a result or a write is not one that a program can make", None)
            if reason.endswith(_CHANGES):
                return Outcome(self._own(result), None, reason, Cause.CHANGES)
            cause = Cause.KEEPS if reason.startswith(_KEPT) else Cause.OTHER
            reason = f"{reason} at {site}" if site else reason
        return Outcome(self._own(result), None, reason, cause)

    def _describe(self, program: Program, args: Any, kwargs: Any) -> None:
        """Notes what a program needs to be traced again, and to be written to a file."""
        reader = self._reader
        if not program.core.stops_tracking and reader.elsewhere.isdisjoint(program.core.becomes_leaf):
            # Another call would make new leaves, of which the graph of the first one knows nothing.
            program.traced_with = self._modes, reader.floats
        program.signature = _signature(args, kwargs)
        if reader.floats:
            program.signature = ArgumentError(
                "save: this program takes floats that vary from call to call. Give save the arguments: the file has a "
                "program for these floats then"
            )
        mine = {id(x): x for x in leaves_of((args, kwargs)) if isinstance(x, Tensor)}
        if not mine.keys() <= set(map(id, reader.tensors)):
            program.signature = ArgumentError(
                "save: this program does not read all tensors in its arguments. Give save the arguments: the file has "
                "a program for all of them then"
            )
        program.outside = [weakref.ref(x) for x in reader.tensors if id(x) not in mine]

    # -- what the steps ask

    def _own(self, result: Any) -> Any:
        """A result with the tensors that were given."""
        return replaced(result, self._given)

    @staticmethod
    def _learnt(result: Any, pinned: Iterable[Any] = ()) -> Outcome:
        reason = "it needs the value of an argument" if pinned else "hooks are called that may read other variables"
        return Outcome(result, None, reason, Cause.LEARNT, frozenset(pinned))

    def _found_stores(self) -> list[Store]:
        own = {id(x) for i, x in enumerate(self._used) if i not in self._reader.elsewhere}
        return found_stores(self._reader, own | set(map(id, self._tracer.alive())))

    def _set_again(self) -> None:
        """Sets what the function has set, which was put back."""
        for store in self._stores:
            store.value = store.now

    def _change(self, args: Any, kwargs: Any) -> str | None:
        """The name of what the function reads and has changed, if there is such a thing."""
        before = self._reader
        after = Reader(self._modes, self._names, before.floats)
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


def _signature(args: Any, kwargs: Any) -> tuple[Any, Any, int] | ArgumentError:
    """What the arguments consist of, for a file."""
    tensors: list[Tensor] = []
    leaf = numbered(tensors)
    try:
        return described(args, leaf, "an argument"), described(kwargs, leaf, "an argument"), len(tensors)
    except ArgumentError as error:
        return error.with_traceback(None)


def _obstacle(leaves: list[Any], draws: list[Any] | None, modes: Any) -> str | None:
    """Why there can be no program for a function that returned these leaves, if there is a reason."""
    others = [x for x in leaves if not isinstance(x, (Tensor, *SCALARS))]
    if others:
        return f"it returns a {type(others[0]).__name__}, which is no tensor"
    if reason := next(filter(None, (why_untraced(x) for x in leaves if isinstance(x, Tensor))), None):
        return reason
    if draws and _drawing() != draws:
        return "it draws numbers from the generators of Python or NumPy"
    return None if _core.program_modes(tracing=True) == modes else "it changes the modes that ops obey"


def _drawing() -> list[Any]:
    """The states of the generators of random numbers of Python and NumPy, as far as they are imported."""
    states = [module.getstate() for module in [sys.modules.get("random")] if module is not None]
    if (generator := sys.modules.get("numpy.random")) is not None:
        kind, keys, *rest = generator.get_state()
        states.append((kind, keys.tobytes(), rest))
    return states


def _without_numbers(tree: Any) -> Any:
    """A result with floats in place of numbers."""
    if not any(type(x) is Number for x in leaves_of(tree)):
        return tree
    return rebuilt(tree, (float(x) if type(x) is Number else x for x in leaves_of(tree)))
