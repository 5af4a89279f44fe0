"""What runs in the place of a function: a program, its calls, and their gradients."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._compile.aliases import Way, joined
from ferrograd._compile.files import described, restored, text_of
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit.dialect import NATIVE
from ferrograd._kit.forks import Lock
from ferrograd._kit.tree import children, rebuilt

if TYPE_CHECKING:
    from ferrograd._compile.costs import Costs
    from ferrograd._compile.stores import Store

_NUMBERS = itertools.count()
#: Held while a function is traced: what it reads and writes is then in the hands of this thread.
TRACING = Lock()
#: For how many seconds a thread waits for the trace of another one, before it calls its function as it is.
PATIENCE = 10.0


def kind_of(key: Any, tensors: list[Tensor]) -> tuple[Any, ...]:
    """The kind of a call: its key, and what its tensors are."""
    return (key, *((tuple(x.shape), x.dtype, x.requires_grad) for x in tensors))


class Link(NamedTuple):
    """A result that is a part of another tensor."""

    #: The number of the result.
    part: int
    #: The number of the other tensor among the results and the arguments after them, or a weak reference.
    base: int | weakref.ref[Tensor]
    take: Callable[[Any], Any]
    join: Callable[[Any, Any], Any]


class Program:
    """What runs in the place of a function for one kind of arguments."""

    def __init__(self, core: Any, result: Any, ways: list[Way] | None, leaves: list[Any], tracked: list[int]) -> None:
        self.core = core
        self._result = result
        #: How the results are made of what the program makes, where they are something else.
        self.ways = ways
        #: The tracked tensors that the outputs depend on: the number of an argument, or a weak reference.
        self._leaves = leaves
        self.tracked = tracked
        #: Where some outputs have no gradient: the program of the gradients, or None, by which of the outputs have one.
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
        #: The results that are parts of something else, which a write to them reaches.
        self.linked: list[Link] = []
        #: The larger containers that calls are compared by as a whole.
        self.watched_whole: list[str] = []
        #: Whether its function can have no effects except on tensors.
        self.only_computes = False
        #: What a call costs, and of what kind its tensors are where the function itself runs, because it costs no more.
        self.costs: Costs | None = None
        self.itself: tuple[Any, ...] | None = None
        #: How the outputs make up the result, if it consists of tuples, lists, dicts, numbers and strings.
        self.shape = _core.ResultShape.of(result, HOLE)

    def is_pure(self) -> bool:
        """Whether it changes nothing: no tensors, no variables, and not what requires gradients."""
        core = self.core
        is_changed = core.captured[1] or core.becomes_leaf or core.stops_tracking
        return not (is_changed or self.stores or self.decisions)

    def stands_aside_for(self, tensors: list[Tensor]) -> None:
        """Has calls with tensors like these run the function itself."""
        self.itself = kind_of(None, tensors)

    def call(self, function: Callable[[], Any], tensors: list[Tensor]) -> tuple[Any, ...] | None:
        """The result in a tuple; None where the program is not for these tensors."""
        if self.itself is not None:
            return (function(),) if kind_of(None, tensors) == self.itself else None
        if not self.tracked:
            run = self.core.run(tensors)
            if not run:
                self.shapes_depend_on_numbers |= run is False
                return None
            return (self._result_of(joined(self.ways, run[0], tensors), tensors),)
        leaves = [tensors[x] if isinstance(x, int) else x() for x in self._leaves]
        if any(x is None for x in leaves):
            return None
        call = Call(self, function, tensors, leaves)
        run = self.core.run_recorded(tensors, leaves, self.tracked, call, self.traced_with is None)
        if not run:
            self.shapes_depend_on_numbers |= run is False
            return None
        return (self._result_of(joined(self.ways, run[0], tensors), tensors),)

    def arguments(self, tensor: Callable[[list[int], str], Any]) -> list[Any]:
        """Arguments like those that the program takes, with tensors that are made of a shape and a dtype.

        Raises:
            ArgumentError: a file cannot hold them, or some have names.
        """
        if isinstance(self.signature, ArgumentError):
            raise self.signature
        arguments, keywords, _ = self.signature
        parameters = self.core.parameters()

        def made(i: int) -> Any:
            dtype, shape, *_ = parameters[i]
            return tensor(shape, dtype)

        if restored(keywords, lambda x: x, made):
            raise ArgumentError("save: the arguments had names; give arguments to save, in order")
        return list(restored(arguments, lambda x: x, made))

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
            return ["tensor", next(outs)] if x is HOLE else None

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
        return bytes(self.core.save(count, found, leaves, self.tracked, text_of(about)))

    def _result_of(self, outs: list[Any], tensors: list[Tensor]) -> Any:
        """The result, from all that the program gives. Sets what the function sets."""
        for link in self.linked:
            # Programs from files have no links, and do without this module.
            from ferrograd._kit.parts import part_of

            base = [*outs, *tensors][link.base] if isinstance(link.base, int) else link.base()
            if base is not None and base.requires_grad:
                part_of(base, outs[link.part], link.take, link.join)
            elif base is not None:
                # Without gradients the two share memory.
                outs[link.part] = link.take(base)
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
        return rebuilt(self._result, (next(values) if x is HOLE else x for x in leaves_of(self._result)))


class Call:
    """A call of a program that is recorded as one node."""

    __slots__ = ("function", "leaves", "program", "tensors")

    def __init__(
        self, program: Program, function: Callable[[], Any], tensors: list[Tensor], leaves: list[Tensor]
    ) -> None:
        self.program = program
        self.function = function
        self.tensors = tensors
        self.leaves = leaves


#: Stands for a tensor of a result. It is a float of its own, because fields of dataclasses that hold one are leaves.
HOLE = type("_Hole", (float,), {})()


def leaves_of(tree: Any) -> list[Any]:
    parts = children(tree)
    return [tree] if parts is None else [leaf for _, part in parts for leaf in leaves_of(part)]


def replaced(tree: Any, by: Mapping[int, Tensor]) -> Any:
    return rebuilt(tree, (by.get(id(x), x) for x in leaves_of(tree))) if by else tree


def with_tensors(tree: Any, arrays: list[tuple[np.ndarray, Tensor]] | None = None) -> Any:
    """The arguments with tensors in place of NumPy arrays. Each array is added to ``arrays`` with its tensor."""
    if not any(isinstance(x, np.ndarray) for x in leaves_of(tree)):
        return tree

    def made(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        y = _core.make(x, None, False, NATIVE)
        if arrays is not None:
            arrays.append((x, y))
        return y

    return rebuilt(tree, map(made, leaves_of(tree)))
