"""Times calls of compiled functions in surroundings that they do not read, beside the functions themselves.

``python benches/guards.py`` prints microseconds for each: the function as it is, its compiled form, and its first call.
``--only WORD`` chooses rows.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import gc
import os
import platform
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ferrograd as fg
from ferrograd.torch import nn

X = fg.ones(8)
W = fg.ones(8)
LONG = 100_000
GLOBAL = {"w": fg.ones(8), "table": {i: [float(i)] for i in range(20_000)}}


class Pair(NamedTuple):
    w: Any
    beside: Any


@dataclasses.dataclass
class Record:
    w: Any
    beside: Any


class Slotted:
    __slots__ = ("beside", "w")

    def __init__(self, w: Any, beside: Any) -> None:
        self.w, self.beside = w, beside


class Trainer:
    def __init__(self, beside: Any) -> None:
        self.state = {"w": fg.ones(8), "beside": beside}
        self.scale = 2.0

    def weight(self) -> Any:
        return self.state["w"]

    def step(self, x: Any) -> Any:
        return x * self.weight() * self.scale


class Layer(nn.Module):
    def __init__(self, beside: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(fg.ones(8))
        self.history = beside
        self.options = {"k": 2.0, "beside": beside}

    def forward(self, x: Any) -> Any:
        return x * self.weight * self.options["k"]


def floats() -> list[float]:
    return [0.0] * LONG


def dicts() -> list[dict[str, int]]:
    return [{"a": i} for i in range(20_000)]


def pairs() -> list[tuple[int, int]]:
    return [(i, i) for i in range(30_000)]


def item(beside: Any) -> Callable[[Any], Any]:
    state = {"w": W, "beside": beside}
    return lambda x: x * state["w"]


def attribute(held: Any) -> Callable[[Any], Any]:
    return lambda x: x * held.w


def first_item(beside: Any) -> Callable[[Any], Any]:
    held = [W, *beside]
    return lambda x: x * held[0]


def default(beside: Any) -> Callable[[Any], Any]:
    def f(x: Any, state: Any = {"w": W, "beside": beside}) -> Any:  # noqa: B006 - the row is about it
        return x * state["w"]

    return f


def passed(beside: Any) -> Callable[[Any], Any]:
    state = {"w": W, "beside": beside}

    def helper(x: Any, state: Any) -> Any:
        return x * state["w"]

    return lambda x: helper(x, state)


def functions(beside: Any) -> Callable[[Any], Any]:
    table = {"double": lambda x: x * 2, "beside": beside}
    return lambda x: table["double"](x)


def named(beside: Any) -> Callable[[Any], Any]:
    state, names = {"u": W, "w": W, "beside": beside}, ["u", "w"]

    def f(x: Any) -> Any:
        for name in names:
            x = x * state[name]
        return x

    return f


def iterated(beside: Any) -> Callable[[Any], Any]:
    layers = [Record(fg.ones(8), beside) for _ in range(5)]

    def f(x: Any) -> Any:
        for layer in layers:
            x = x * layer.w
        return x

    return f


def a_module(beside: Any) -> Callable[[Any], Any]:
    module: Any = types.ModuleType("settings")
    module.w, module.beside = W, beside
    return lambda x: x * module.w


def counted(beside: Any) -> Callable[[Any], Any]:
    return lambda x: x * W if len(beside) > 1 else x


def appended(beside: Any) -> Callable[[Any], Any]:
    log = list(beside)

    def f(x: Any) -> Any:
        log.append(0.0)
        return x * W

    return f


def summed(beside: Any) -> Callable[[Any], Any]:
    return lambda x: x * sum(beside)


def counts() -> Iterator[int]:
    yield 1


ROWS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "nothing": lambda: lambda x: x * W,
    "a dict with a list of 100 000 floats": lambda: item(floats()),
    "a dict with 20 000 dicts": lambda: item(dicts()),
    "a dict of a module with 20 000 lists": lambda: lambda x: x * GLOBAL["w"],
    "a dict with a deque of dicts": lambda: item(collections.deque(dicts())),
    "a dict with a lock and an open file": lambda: item([threading.Lock(), open(os.devnull)]),  # noqa: SIM115
    "a dict with a generator": lambda: item(counts()),
    "a dict with a module of Python": lambda: item(argparse),
    "an ordered dict": lambda: (lambda state: lambda x: x * state["w"])(collections.OrderedDict(w=W, beside=floats())),
    "a list whose first item is read": lambda: first_item(floats()),
    "a named tuple": lambda: attribute(Pair(W, floats())),
    "a dataclass with 30 000 pairs": lambda: attribute(Record(W, pairs())),
    "an object with slots": lambda: attribute(Slotted(W, dicts())),
    "a namespace": lambda: attribute(types.SimpleNamespace(w=W, beside=dicts())),
    "options of the command line": lambda: attribute(argparse.Namespace(w=W, beside=dicts())),
    "a module": lambda: a_module(dicts()),
    "a class": lambda: attribute(type("Settings", (), {"w": W, "beside": dicts()})),
    "a default argument": lambda: default(floats()),
    "an argument of a function": lambda: passed(floats()),
    "a table of functions": lambda: functions(floats()),
    "keys in a list": lambda: named(floats()),
    "a loop over dataclasses": lambda: iterated(floats()),
    "a method of a trainer": lambda: Trainer(floats()).step,
    "a layer": lambda: Layer(floats()),
    "the length of a list": lambda: counted(floats()),
    "a list of 1000 floats that is summed": lambda: summed([0.0] * 1000),
    "a list of 100 000 floats that is summed": lambda: summed(floats()),
    "a list of 100 000 floats that grows": lambda: appended(floats()),
}


def microseconds(f: Callable[[Any], Any], seconds: float = 0.02) -> float:
    """The best of several times of a call."""
    best, n = float("inf"), 1
    end = time.perf_counter() + 5 * seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(n):
            f(X)
        took = time.perf_counter() - start
        best = min(best, took / n)
        n = max(1, min(10_000, int(seconds / 4 / best)))
    return best * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, Python {platform.python_version()}; microseconds, best of several\n")
    print(f"{'beside what is read':45} {'eager':>9} {'compiled':>9} {'first':>9}")
    for name, make in ROWS.items():
        if options.only not in name:
            continue
        f = make()
        with fg.no_grad():
            eager = microseconds(f)
            firsts = []
            for _ in range(3):
                compiled = fg.compile(f)
                gc.collect()
                start = time.perf_counter()
                compiled(X)
                firsts.append((time.perf_counter() - start) * 1e6)
            for _ in range(4):
                compiled(X)
            print(f"{name:45} {eager:9.2f} {microseconds(compiled):9.2f} {min(firsts):9.0f}", flush=True)


if __name__ == "__main__":
    main()
