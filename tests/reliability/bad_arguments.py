"""Wrong arguments by kind, and the worker process that passes them to every function of the registry.

``python -m tests.reliability.bad_arguments BLACKBOX SHARE NAME...`` walks the named entries and prints one line of JSON
for every call that neither returned nor raised as the library promises. The file BLACKBOX holds the call that is
running, for the parent to read when the process dies. A parameter gets one of SHARE of the wrong values, and the next
parameter those that come after them.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import _core

from tests.cases import Case, all_cases
from tests.reliability import limit

#: The exceptions that the library may raise: its own classes except the one for internal errors, and Python's for a
#: call that does not fit the signature and for a lack of memory.
PROMISED = (_core.FerrogradError, TypeError, MemoryError)

#: No call of this table should allocate this much.
MEMORY = 2 << 30

OBJECTS: list[Any] = [None, "text", {}, {"a": 1}, object(), [], [[1, 2], [3]], b"\1", 1j, int, lambda: 0, {1, 2}, "é\0"]
INTS: list[Any] = [2**31, 2**62, 2**63, -(2**63), 2**64, 10**13, 10**30, -1, -2, -7, 0, 1, 7, 1.5, True, np.int64(3)]
FLOATS: list[Any] = [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, np.float32(2.5)]
LISTS: list[Any] = [
    [0, 0], [7], [-9], [0, -7], [2**62], [2**31] * 3, [2**62, 0], [-1, -1], [-2, 3], [10**13], [1.5], ["a"], [None],
    [True, False], [[0]], [2**63], tuple(range(12)), (0,) * 20, (1,) * 70, [3, 2, 1, 0], range(3), np.arange(2), [2, 3],
]  # fmt: skip
DTYPES: list[Any] = ["nonsense", "complex64", "bfloat16", "object", "int8", "bool", "uint64", np.void, float, 5, "<f8"]
INDEXES: list[Any] = [
    slice(None, None, 0), slice(2**62, -(2**62), -1), slice(None, None, 2**62), slice("a"), slice(1.5), (0,) * 40,
    (..., ...), (None,) * 70, [0, 9], [True], [[0], [1]], (slice(None), [2**62]), ([0], [0, 1, 2]), np.array([1.5]),
    np.zeros((9, 9), bool), np.array([], np.int64), (None, ..., 0), -(2**63),
]  # fmt: skip


def tensors() -> list[Any]:
    """Tensors of unusual shapes, dtypes and layouts."""
    square = np.arange(12.0).reshape(3, 4)
    arrays: list[Any] = [
        np.zeros(0), np.zeros((2, 0)), np.zeros((0, 3)), np.float64(2), np.ones(7), np.ones((5, 3)), np.ones((1,) * 8),
        square.T, square[::-1, ::2], np.broadcast_to(np.float64(1), (3, 4)), np.full((2, 3), np.nan), np.ones((3, 3)),
        np.array([[np.inf, -np.inf], [np.nan, 0]]), np.ones((2, 3), np.float32), np.ones((2, 3), np.int64),
        np.full((2, 3), 200, np.uint8), np.array([[True, False]]), np.array([2**62, -(2**63)]), np.zeros((2, 2, 2)),
        np.ones((3, 3), np.float16),
    ]  # fmt: skip
    made = [fg.tensor(a) for a in arrays]
    return [fg.tensor(a, requires_grad=a.dtype.kind == "f") for a in map(np.asarray, arrays)] + made[:4] + [np.ones(3)]


def wrong(kind: str) -> Iterator[Any]:
    """Values for a parameter of a kind: most are wrong, some are only unusual."""
    yield from OBJECTS
    yield from INTS
    yield from FLOATS
    loose = tensors()
    yield from loose
    if kind in ("Ints", "IntsOrStr", "Pairs", "Int", "Index", "Tensors", "Rest", "Operand", "Tensor"):
        yield from LISTS
    if kind in ("Tensors", "Rest"):
        for t in loose:
            yield [t]
            yield [t, loose[5]]
        yield from ([loose[4], "x"], [loose[4], None], (loose[4],) * 100, [loose[13], loose[14]], [2.0, 1])
    if kind == "Pairs":
        yield from ([0, 1], [[0, 1], [1, 0]], ([-1], [-1]), [[0], [0, 1]], [[0, 0], [0, 0]], [[2**62], [0]], [[0], "x"])
    if kind == "DType":
        yield from DTYPES
    if kind == "Index":
        yield from INDEXES
    if kind in ("Str", "IntsOrStr", "Choice", "Order"):
        yield from ("", "nonsense", "é" * 1000, "ij,jk->ik", "...", "i->ii", "ii->", "->", "none", "sum")


def brief(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, fg.Tensor | np.ndarray):
        return f"{type(value).__name__}{tuple(value.shape)}:{value.dtype}"
    if isinstance(value, list | tuple) and len(value) > 6:
        return f"[{brief(value[0])}] * {len(value)}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(brief, value)) + "]"
    return repr(value)[:40]


def base(case: Case) -> dict[int | str, Any]:
    """The row's positional and keyword arguments, tracked where possible."""

    def one(a: Any) -> Any:
        if isinstance(a, list):
            return [one(part) for part in a]
        a = np.asarray(a)
        return fg.tensor(a, requires_grad=bool(case.order) and a.dtype.kind == "f")

    args: dict[int | str, Any] = dict(enumerate([*case.lead, *map(one, case.inputs)]))
    args.update(case.kw)
    return args


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [t for part in value for t in leaves(part)]
    return [value] if isinstance(value, fg.Tensor) else []


def print_of(args: dict[int | str, Any]) -> list[Any]:
    """The bytes and flags of every tensor, which a failed call must not change."""
    return [(np.asarray(t).tobytes(), t.stop_gradient) for v in args.values() for t in leaves(v)]


def differentiate(result: Any, args: dict[int | str, Any]) -> None:
    """Differentiates a result twice: a rule must not raise for arguments that the op accepted."""
    inputs = [t for v in args.values() for t in leaves(v) if not t.stop_gradient]
    for order in range(2):
        outs = [t for t in leaves(result) if not t.stop_gradient]
        if not outs or not inputs or sum(math.prod(t.shape) for t in outs) > 10_000:
            return
        result = _core.grad(outs, inputs, None, 1, retain_graph=True, create_graph=order == 0)
        result = [g for g in result if g is not None]


class Walk:
    """Calls one function with wrong arguments and prints each problem."""

    share = 1
    turns = itertools.count()

    def __init__(self, names: list[str], function: Callable[..., Any], box: int) -> None:
        self.names, self.function, self.box = names, function, box
        self.warnings = {f"divide by zero encountered in {n}" for n in names}
        self.named = re.compile(r"\b(" + "|".join(re.escape(n.split(".")[-1]) for n in names) + r")\b")

    def values(self, kind: str) -> Iterator[Any]:
        """The wrong values of a kind, or this parameter's share of them."""
        first = next(Walk.turns) % Walk.share
        return itertools.islice(wrong(kind), first, None, Walk.share)

    def note(self, label: str, what: str) -> None:
        print(json.dumps({"call": label, "what": what}), flush=True)

    def call(self, args: dict[int | str, Any], extra: tuple[Any, ...] = ()) -> None:
        positional = [v for k, v in args.items() if isinstance(k, int)]
        keywords = {k: v for k, v in args.items() if isinstance(k, str)}
        shown = [*map(brief, [*positional, *extra]), *(f"{k}={brief(v)}" for k, v in keywords.items())]
        label = f"{self.names[0]}({', '.join(shown)})"
        os.pwrite(self.box, label.encode("utf8", "replace").ljust(2000)[:2000], 0)
        before = print_of(args)
        try:
            result = self.function(*positional, *extra, **keywords)
        except PROMISED as e:
            if isinstance(e, _core.InternalError):
                self.note(label, f"a defect: {e}")
            elif not self.named.search(str(e)):
                self.note(label, f"{type(e).__name__} does not name the function: {e}")
        except BaseException as e:
            # Divided by an integer zero, the functions of integers warn in NumPy's words.
            if not isinstance(e, RuntimeWarning) or str(e) not in self.warnings:
                self.note(label, f"{type(e).__name__} is not promised: {e}")
        else:
            try:
                differentiate(result, args)
            except (MemoryError, _core.NotDifferentiableError):
                pass
            except BaseException as e:
                # Warnings are errors here. Equal eigenvalues are told by one.
                if not isinstance(e, UserWarning) or "of which some are equal" not in str(e):
                    self.note(label, f"its derivative raised {type(e).__name__}: {e}")
        if print_of(args) != before:
            self.note(label, "the call changed its inputs")

    def walk(self, params: list[tuple[str, str, bool, str | None]], rows: list[Case]) -> None:
        self.call({})
        self.call({}, (object(),))
        self.call({}, (None,) * 30)
        for row in rows:
            self.call({**base(row), "no_such_parameter": 1})
            self.call(base(row), (object(),) * 12)
            for i, (name, kind, _optional, _default) in enumerate(params):
                for value in self.values(kind):
                    args = base(row)
                    args[i if i in args else name] = value
                    self.call(args)


def main() -> None:
    """Walks the entries named on the command line."""
    limit.memory(MEMORY)
    box = os.open(Path(sys.argv[1]), os.O_RDWR | os.O_CREAT)
    Walk.share = int(sys.argv[2])
    rows = all_cases()
    # The collection after each function skips what has been imported.
    gc.collect()
    gc.freeze()
    for names, params, _method in _core.registry():
        if names[0] in sys.argv[3:]:
            own = [r for r in rows if r.op in names or r.op.split(".")[-1] in names]
            Walk(names, operator.attrgetter(names[0])(_core.native), box).walk(params, [*own[:1], *own[1:][-1:]])
            gc.collect()


if __name__ == "__main__":
    main()
