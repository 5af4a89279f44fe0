"""Calls are compared by what the code reads: what lies beside it is not looked at, and no change of it is missed."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import math
import threading
import types
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import ferrograd as fg
import pytest
from ferrograd.torch import nn

X = [3.0, -1.0]
pytestmark = pytest.mark.filterwarnings("ignore:compile. .* has been traced 8 times")


class Poison:
    """Something that nobody may look at."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it is compared")

    def __hash__(self) -> int:
        raise AssertionError("it is hashed")

    def __iter__(self) -> Any:
        raise AssertionError("its items are read")

    def __len__(self) -> int:
        raise AssertionError("it is counted")


class Pair(NamedTuple):
    w: Any
    beside: Any


@dataclasses.dataclass
class Record:
    w: Any
    beside: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    beside: Any


@dataclasses.dataclass(slots=True)
class SlottedRecord:
    w: Any
    beside: Any


class Slotted:
    __slots__ = ("beside", "w")

    def __init__(self, w: Any, beside: Any) -> None:
        self.w, self.beside = w, beside


class Plain:
    def __init__(self, w: Any, beside: Any) -> None:
        self.w, self.beside = w, beside

    def weight(self) -> Any:
        return self.w

    def scaled(self, x: Any) -> Any:
        return x * self.weight()

    @property
    def doubled(self) -> Any:
        return self.w * 2


class Net(nn.Module):
    def __init__(self, w: Any, beside: Any) -> None:
        super().__init__()
        self.held = {"w": w, "beside": beside}

    def forward(self, x: Any) -> Any:
        return x * self.held["w"]


def by_key(kind: Callable[..., Any]) -> Callable[[Any, Any], tuple[Any, ...]]:
    def made(w: Any, beside: Any) -> tuple[Any, ...]:
        held = kind(w=w, beside=beside)

        def change(value: Any) -> None:
            held["w"] = value

        return (lambda x: x * held["w"]), change, lambda value: held.__setitem__("beside", value)

    return made


def by_attribute(kind: Callable[..., Any]) -> Callable[[Any, Any], tuple[Any, ...]]:
    def made(w: Any, beside: Any) -> tuple[Any, ...]:
        held = kind(w=w, beside=beside)

        def change(value: Any) -> None:
            held.w = value

        return (lambda x: x * held.w), change, lambda value: setattr(held, "beside", value)

    return made


def replaced(kind: Callable[..., Any], read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], tuple[Any, ...]]:
    """A container that cannot be changed: it is replaced."""

    def made(w: Any, beside: Any) -> tuple[Any, ...]:
        at = types.SimpleNamespace(held=kind(w, beside))

        def change(value: Any) -> None:
            at.held = kind(value, beside)

        return (lambda x: read(at, x)), change, None

    return made


def listed(w: Any, beside: Any) -> tuple[Any, ...]:
    held = [beside, w]

    def change(value: Any) -> None:
        held[1] = value

    return (lambda x: x * held[-1]), change, lambda value: held.__setitem__(0, value)


def nested(w: Any, beside: Any) -> tuple[Any, ...]:
    held = {"a": [beside, types.SimpleNamespace(b=(beside, {"w": w, "c": beside}), d=beside)], "e": beside}

    def change(value: Any) -> None:
        held["a"][1].b[1]["w"] = value

    return (lambda x: x * held["a"][1].b[1]["w"]), change, lambda value: held.__setitem__("e", value)


def a_module(w: Any, beside: Any) -> tuple[Any, ...]:
    module: Any = types.ModuleType("settings")
    module.w, module.beside = w, beside

    def change(value: Any) -> None:
        module.w = value

    return (lambda x: x * module.w), change, lambda value: setattr(module, "beside", value)


def a_class(w: Any, beside: Any) -> tuple[Any, ...]:
    kind: Any = type("Settings", (), {"w": w, "beside": beside})

    def change(value: Any) -> None:
        kind.w = value

    return (lambda x: x * kind.w), change, lambda value: setattr(kind, "beside", value)


def a_default(w: Any, beside: Any) -> tuple[Any, ...]:
    held = {"w": w, "beside": beside}

    def f(x: Any, state: Any = held) -> Any:
        return x * state["w"]

    def change(value: Any) -> None:
        held["w"] = value

    return f, change, lambda value: held.__setitem__("beside", value)


def a_function_that_gets_it(w: Any, beside: Any) -> tuple[Any, ...]:
    held = {"w": w, "beside": beside}

    def helper(x: Any, state: Any) -> Any:
        return x * state["w"]

    def change(value: Any) -> None:
        held["w"] = value

    return (lambda x: helper(x, state=held)), change, lambda value: held.__setitem__("beside", value)


def a_method(w: Any, beside: Any) -> tuple[Any, ...]:
    held = Plain(w, beside)

    def change(value: Any) -> None:
        held.w = value

    return held.scaled, change, lambda value: setattr(held, "beside", value)


def a_property(w: Any, beside: Any) -> tuple[Any, ...]:
    held = Plain(w, beside)

    def change(value: Any) -> None:
        held.w = value

    return (lambda x: x * held.doubled), change, lambda value: setattr(held, "beside", value)


def a_layer(w: Any, beside: Any) -> tuple[Any, ...]:
    net = Net(w, beside)

    def change(value: Any) -> None:
        net.held["w"] = value

    return net, change, lambda value: net.held.__setitem__("beside", value)


def a_watched_key(w: Any, beside: Any) -> tuple[Any, ...]:
    held, names = {"w": w, "beside": beside}, ("w",)

    def f(x: Any) -> Any:
        for name in names:
            x = x * held[name]
        return x

    def change(value: Any) -> None:
        held["w"] = value

    return f, change, lambda value: held.__setitem__("beside", value)


def a_table_of_functions(w: Any, beside: Any) -> tuple[Any, ...]:
    held = {"w": w}
    table = {"scaled": lambda x: x * held["w"], "beside": beside}

    def change(value: Any) -> None:
        held["w"] = value

    return (lambda x: table["scaled"](x)), change, lambda value: table.__setitem__("beside", value)


SURROUNDINGS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "dict": by_key(dict),
    "ordered dict": by_key(collections.OrderedDict),
    "default dict": by_key(lambda **items: collections.defaultdict(float, items)),
    "get": lambda w, beside: (
        lambda held: (
            lambda x: x * held.get("w", 1.0),
            lambda value: held.__setitem__("w", value),
            lambda value: held.__setitem__("beside", value),
        )
    )({"w": w, "beside": beside}),
    "list": listed,
    "tuple": replaced(lambda w, beside: (w, beside), lambda at, x: x * at.held[0]),
    "named tuple": replaced(Pair, lambda at, x: x * at.held.w),
    "frozen dataclass": replaced(Frozen, lambda at, x: x * at.held.w),
    "dataclass": by_attribute(Record),
    "dataclass with slots": by_attribute(SlottedRecord),
    "slots": by_attribute(Slotted),
    "object": by_attribute(Plain),
    "namespace": by_attribute(types.SimpleNamespace),
    "options": by_attribute(argparse.Namespace),
    "nested": nested,
    "module": a_module,
    "class": a_class,
    "default": a_default,
    "parameter": a_function_that_gets_it,
    "method": a_method,
    "property": a_property,
    "layer": a_layer,
    "watched key": a_watched_key,
    "table of functions": a_table_of_functions,
}


def _opened() -> Any:
    return open(__file__)


BESIDE: dict[str, Callable[[], Any]] = {
    "a long list": lambda: [0.0] * 100_000,
    "dicts": lambda: collections.deque({"a": i} for i in range(5000)),
    "a lock": threading.Lock,
    "an open file": _opened,
    "a generator": lambda: (i for i in range(3)),
    "an object that nobody may look at": Poison,
    "a list of such objects": lambda: [Poison()],
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_what_is_read_is_compared_and_nothing_beside_it(surroundings: Any) -> None:
    for make in BESIDE.values():
        with_it = make()
        f, change, change_beside = surroundings(2.0, with_it)
        compiled = fg.compile(f, fullgraph=True)
        x = fg.tensor(X)
        values = (2.0, 5.0, -0.0, 0.0, math.nan, 5.0, 2, True, fg.tensor([4.0, 1.0]), fg.tensor([7.0, 1.0]))
        with fg.no_grad():
            for value in values:
                change(value)
                for _ in range(2):
                    assert repr(compiled(x).tolist()) == repr(f(x).tolist())
            misses, runs = compiled.cache_info().misses, compiled._runs
            for other in ([], [1], None) if change_beside is not None else ():
                change_beside(other)
                compiled(x)
            assert compiled.cache_info().misses == misses
            for i in range(3):
                # A new tensor is an input.
                change(fg.tensor([float(i), 1.0]))
                assert compiled(x).tolist() == f(x).tolist()
        assert compiled.cache_info().misses == misses
        assert compiled._runs > runs
        if hasattr(with_it, "close"):
            with_it.close()


def same(f: Callable[..., Any], *changes: Callable[[], Any], fullgraph: bool = True) -> Any:
    """Compares a function with its compiled form, before and after each change."""
    compiled, x = fg.compile(f, fullgraph=fullgraph), fg.tensor(X)

    def result(function: Any) -> str:
        try:
            return repr(function(x).tolist())
        except Exception as error:
            return repr(error)

    with fg.no_grad():
        for change in (lambda: None, *changes):
            change()
            for _ in range(3):
                assert result(compiled) == result(f)
    return compiled


READS: dict[str, Callable[[Any, Any], Any]] = {
    "an item": lambda held, x: x * held[0],
    "the last item": lambda held, x: x * held[-1],
    "iteration": lambda held, x: functools.reduce(lambda y, k: y * k, list(held), x),
    "a loop": lambda held, x: [y for y in [x * k for k in held]][-1] + len(held),
    "length": lambda held, x: x * len(held),
    "truth": lambda held, x: x * (2 if held else 3),
    "sum": lambda held, x: x * sum(held),
    "sorted": lambda held, x: x * sorted(held)[0],
    "equality": lambda held, x: x * (held == [1.0, 2.0]),
    "membership": lambda held, x: x * (2.0 in held),
    "slices": lambda held, x: x * held[1:][0],
    "unpacking": lambda held, x: x * [*held][-1],
    "stars": lambda held, x: x * max(*held, 0.0),
    "enumeration": lambda held, x: x + sum(i * k for i, k in enumerate(held)),
    "pairs": lambda held, x: x + sum(i * k for i, k in zip(held, held, strict=True)),
    "a variable": lambda held, x: x * held[len(held) - 1],
    "representation": lambda held, x: x * len(repr(held)),
    "index": lambda held, x: x * held.index(2.0),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_all_kinds_of_reads_of_a_list(read: Callable[[Any, Any], Any]) -> None:
    held = [1.0, 2.0]

    def f(x: Any) -> Any:
        return read(held, x)

    same(
        f,
        lambda: held.append(4.0),
        lambda: held.__setitem__(0, 9.0),
        held.reverse,
        lambda: held.__setitem__(slice(None), [2.0, 3.0]),
        held.pop,
        lambda: held.__setitem__(0, 2),
        held.clear,
        lambda: held.extend([5.0, 2.0]),
    )


DICT_READS: dict[str, Callable[[Any, Any], Any]] = {
    "an item": lambda held, x: x * held["a"],
    "get": lambda held, x: x * held.get("b", 3.0),
    "in": lambda held, x: x * (2 if "b" in held else 3),
    "keys": lambda held, x: x * len("".join(held)) if list(held)[:1] == ["a"] else -x,
    "loop over values": lambda held, x: [x := x * k for k in held.values()][-1],
    "loop over items": lambda held, x: [x := x * k + len(name) for name, k in held.items()][-1],
    "length": lambda held, x: x * len(held),
    "truth": lambda held, x: x if held else -x,
    "stars": lambda held, x: x * sum(dict(**held).values()),
    "equality": lambda held, x: x * (held == {"a": 1.0}),
    "by a name that varies": lambda held, x: x * held[min(held)],
    "pop of a copy": lambda held, x: x * held.copy().pop("a"),
}


@pytest.mark.parametrize("read", DICT_READS.values(), ids=DICT_READS)
def test_all_kinds_of_reads_of_a_dict(read: Callable[[Any, Any], Any]) -> None:
    held = {"a": 1.0}

    def f(x: Any) -> Any:
        return read(held, x)

    same(
        f,
        lambda: held.update(b=4.0),
        lambda: held.update(a=5.0),
        lambda: held.update(cc=2.0),
        lambda: held.update(a=held.pop("a")),
        lambda: held.pop("b"),
        held.clear,
        lambda: held.update(b=2.0, a=3.0),
    )


class Base:
    pass


def test_attributes_that_are_not_there() -> None:
    class Meta(type):
        pass

    class Own(Base, metaclass=Meta):
        pass

    held, module = Own(), types.ModuleType("settings")

    def f(x: Any) -> Any:
        y = x * getattr(held, "k", 2.0) + getattr(module, "k", 3.0)
        return y * 2 if hasattr(Own, "m") else y

    same(
        f,
        lambda: setattr(held, "k", 3.0),
        lambda: delattr(held, "k"),
        lambda: setattr(Own, "k", 4.0),
        lambda: delattr(Own, "k"),
        lambda: setattr(Base, "k", 5.0),
        lambda: delattr(Base, "k"),
        lambda: setattr(module, "k", 6.0),
        lambda: setattr(Meta, "m", 6.0),
        lambda: delattr(Meta, "m"),
    )


def test_a_global_that_hides_a_builtin_function() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x):\n    return x * max(2.0, 3.0)", scope)
    same(scope["f"], lambda: scope.update(max=min), lambda: scope.pop("max"), lambda: scope.update(max=lambda *a: 7.0))


def test_identities_of_containers() -> None:
    a, b = [1.0], [1.0]
    held = {"a": a, "b": b}

    def f(x: Any) -> Any:
        return x * 2 if held["a"] is held["b"] else x * 3

    same(f, lambda: held.update(b=a), lambda: held.update(b=[1.0]), lambda: held.update(b=a))


def test_functions_that_take_the_place_of_others() -> None:
    first, second = [2.0], [3.0]
    table = types.SimpleNamespace(f=lambda x: x * first[0], held={"g": lambda x: x + first[0]})

    def helper(x: Any) -> Any:
        return x * first[0]

    def other(x: Any) -> Any:
        return x * second[0]

    at = helper

    def f(x: Any) -> Any:
        return at(x) + table.f(x) + table.held["g"](x)

    def swap() -> None:
        nonlocal at
        at = other
        table.f = lambda x: x - second[0]
        table.held["g"] = other

    same(f, lambda: first.__setitem__(0, 4.0), swap, lambda: second.__setitem__(0, 5.0), lambda: second.append(1.0))


def test_attributes_that_are_computed() -> None:
    class Lazy:
        def __init__(self) -> None:
            self.held = {"k": 2.0}
            self.rest = [0.0] * 10

        @functools.cached_property
        def cached(self) -> float:
            return self.held["k"] * 3

        @property
        def own(self) -> Any:
            return self.held

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self.held["k"] + len(name)

    lazy = Lazy()

    def f(x: Any) -> Any:
        return x * lazy.cached + lazy.own["k"] + lazy.another

    same(f, lambda: lazy.held.update(k=5.0), lambda: vars(lazy).pop("cached"), lambda: setattr(lazy, "another", 1.0))


def test_a_key_that_a_default_dict_makes() -> None:
    held: Any = collections.defaultdict(list, {"w": 2.0})
    same(lambda x: x * held["w"] + len(held["made"]), lambda: held["made"].append(1), lambda: held.pop("made"))


def test_a_read_after_a_write_of_its_own() -> None:
    held: dict[str, Any] = {"n": 1, "beside": [0.0] * 10}

    def f(x: Any) -> Any:
        held["n"] = 3
        return x * held["n"]

    compiled = fg.compile(f)
    for n in (1, 3, 5, 3):
        held["n"] = n
        assert compiled(fg.ones(1)).item() == 3
        assert held["n"] == 3


WRITES: dict[str, Callable[[Any], Any]] = {
    "append": lambda held: held["log"].append(1),
    "extend": lambda held: held["log"].extend([1]),
    "insert": lambda held: held["log"].insert(0, 1),
    "in place": lambda held: held["log"].__iadd__([1]),
    "an item": lambda held: held.__setitem__("n", held["n"] + 1),
    "update": lambda held: held.update(n=held["n"] + 1),
    "an item that is made": lambda held: held.__setitem__(f"key {len(held)}", 1),
    "a heap": lambda held: __import__("heapq").heappush(held["log"], 1),
    "an attribute": lambda held: setattr(held["object"], "n", held["object"].n + 1),
    "a deque": lambda held: held["deque"].append(1),
    "a set": lambda held: held["set"].add(len(held["set"])),
    "a counter": lambda held: held["counter"].update("a"),
    "deep down": lambda held: held["deep"][0]["b"].append(1),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.filterwarnings("ignore:compile")
def test_writes_are_done_once_in_each_call(write: Callable[[Any], Any]) -> None:
    def made() -> dict[str, Any]:
        return {
            "w": fg.tensor([2.0, 3.0]),
            "log": [],
            "n": 0,
            "object": types.SimpleNamespace(n=0),
            "deque": collections.deque(),
            "set": set(),
            "counter": collections.Counter(),
            "deep": [{"b": []}],
        }

    def shown(held: dict[str, Any]) -> str:
        return repr({name: value for name, value in held.items() if name != "w"})

    held, plain = made(), made()

    def f(x: Any) -> Any:
        write(held)
        return x * held["w"]

    compiled = fg.compile(f)
    for _ in range(6):
        assert compiled(fg.tensor(X)).tolist() == [6.0, -3.0]
        write(plain)
        assert shown(held) == shown(plain)


def test_statements_that_write() -> None:
    held: Any = {"log": [], "n": 0, "rows": [[0]], "object": types.SimpleNamespace(log=[])}

    def f(x: Any) -> Any:
        held["log"] += [1]
        held["rows"][0][0] += 1
        held["object"].log.append(len(held["log"]))
        return x * 2

    compiled = fg.compile(f)

    def call(i: int) -> None:
        compiled(fg.tensor(X))
        assert held["log"] == [1] * i
        assert held["rows"] == [[i]]
        assert held["object"].log == list(range(1, i + 1))

    call(1)
    call(2)
    with pytest.warns(UserWarning, match="runs uncompiled: it changes"):
        call(3)
    for i in range(4, 7):
        call(i)


@pytest.mark.filterwarnings("ignore:compile")
def test_a_write_that_changes_nothing_is_not_dropped() -> None:
    """The call finds the list as it leaves it, until somebody else changes it."""
    log: list[int] = []

    def f(x: Any) -> Any:
        log.clear()
        return x * 2

    compiled = fg.compile(f)
    for i in range(6):
        if i > 2:
            log.append(i)
        compiled(fg.tensor(X))
        assert log == []


def test_what_takes_long_to_compare_ends_the_trace() -> None:
    held: dict[str, Any] = {"w": 2.0, "history": [0.0] * 10_000}
    compiled = fg.compile(lambda x: x * held["w"] * sum(held["history"], 1.0))
    with pytest.warns(UserWarning, match="reads a list of 10000 items as a whole"):
        compiled(fg.tensor(X))
    for k in (2.0, 3.0, 4.0, 5.0, 6.0):
        held["w"] = k
        assert compiled(fg.tensor(X)).tolist() == [3.0 * k, -k]
    assert "10000 items" in compiled.explain()


def test_explain_tells_what_is_compared_as_a_whole() -> None:
    rates = [0.5] * 200
    compiled = fg.compile(lambda x: x * sum(rates), fullgraph=True)
    compiled(fg.tensor(X))
    assert "compares a variable of a closure as a whole: a list of 200 items" in compiled.explain()


def test_an_object_that_is_given_is_read_in_part() -> None:
    held = Plain(2.0, Poison())
    compiled = fg.compile(lambda x, o: o.scaled(x) * o.w, fullgraph=True)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        held.w = k
        assert compiled(fg.tensor(X), held).tolist() == [3.0 * k * k, -k * k]
    assert compiled.cache_info().misses == 2


def test_results_of_methods_of_classes_and_static_methods() -> None:
    class Model:
        held: ClassVar[Any] = {"w": 2.0, "beside": Poison()}

        @classmethod
        def state(cls) -> Any:
            return cls.held

        @staticmethod
        def scaled(x: Any, state: Any) -> Any:
            return x * state["w"]

        def own(self) -> Any:
            return self.state()

    class Derived(Model):
        def own(self) -> Any:
            return super().own()

    model = Derived()
    compiled = same(
        lambda x: model.scaled(x, {"w": model.own()["w"]}) + Model.state()["w"],
        lambda: Model.held.update(w=5.0),
        lambda: setattr(Derived, "own", lambda self: {"w": 1.0}),
        lambda: setattr(model, "own", lambda: Model.held),
        lambda: Model.held.update(w=6.0),
    )
    assert compiled.cache_info().misses < 7


def test_objects_of_which_methods_run_that_python_calls() -> None:
    class Settings:
        def __init__(self) -> None:
            self.held = [2.0, 3.0]
            self.k = 4.0

        def __getitem__(self, i: int) -> float:
            return self.held[i] * self.k

        def __len__(self) -> int:
            return len(self.held)

        def __iter__(self) -> Any:
            yield from self.held

        def __contains__(self, k: float) -> bool:
            return k == self.k

        def __enter__(self) -> float:
            return self.held[0]

        def __exit__(self, *error: object) -> None:
            pass

        def __mul__(self, x: Any) -> Any:
            return x * self.held[-1]

        def __bool__(self) -> bool:
            return self.k > 3

        def get(self, name: str, default: Any = None) -> Any:
            return default["k"] if name == "k" else self.held

    a, default = Settings(), {"k": 1.5}

    def f(x: Any) -> Any:
        with a as k:
            x = x * k
        for k in a:
            x = x + k
        x = x * len(a) + a[1] + a * x
        x = x + a.get("k", default) + a.get("held")[0]
        return x if a and 4.0 in a else -x

    same(
        f,
        lambda: a.held.__setitem__(0, 5.0),
        lambda: a.held.append(7.0),
        lambda: setattr(a, "k", 2.0),
        lambda: default.update(k=2.5),
        lambda: a.held.__setitem__(1, -5.0),
    )


def test_containers_that_functions_give_and_take() -> None:
    state: dict[str, Any] = {"a": {"w": 2.0}, "b": [1.0, 2.0], "beside": Poison()}
    other = {"w": 3.0}

    def chosen(flag: bool, default: Any = other) -> Any:
        part = state["a"] if flag else default
        return part

    def pairs() -> Any:
        for k in state["b"]:
            yield k, state["a"]

    def first(rows: Any, *rest: Any, **named: Any) -> Any:
        return rows[0] + sum(rest) + named["k"]["w"]

    def f(x: Any) -> Any:
        a, b = chosen(True), chosen(False)
        x = x * a["w"] + b["w"]
        for k, part in pairs():
            x = x + k * part["w"]

        def inner(rows: Any, named: Any = a) -> Any:
            return first(rows, *rows, k=named)

        try:
            x = x * inner(state["b"])
        except ZeroDivisionError:
            x = x * state["beside"]
        rows = [state["a"], *[other for _ in range(2)]]
        (p, _), *_ = [(rows[0], 1)]
        return x * p["w"] + {"q": rows}["q"][1]["w"]

    same(
        f,
        lambda: state["a"].update(w=4.0),
        lambda: other.update(w=5.0),
        lambda: state["b"].append(3.0),
        lambda: state.update(a={"w": 7.0}),
        lambda: state["b"].__setitem__(0, -1.0),
    )


def test_a_method_that_is_passed_on() -> None:
    held, k = Plain(2.0, Poison()), {"k": 3.0}

    def twice(f: Any, x: Any) -> Any:
        return f(f(x))

    method = held.scaled
    part = functools.partial(lambda k, x: x * k["k"], k)
    same(
        lambda x: twice(method, x) + twice(held.scaled, x) + part(x) + next(map(part, [x])),
        lambda: setattr(held, "w", 4.0),
        lambda: k.update(k=5.0),
        lambda: setattr(held, "w", fg.tensor([1.0, 2.0])),
    )


def test_variables_that_a_function_sets() -> None:
    n, log = 0, [0]

    def f(x: Any) -> Any:
        nonlocal n
        n = n + 1
        return x * n * len(log)

    compiled = fg.compile(f)
    with pytest.warns(UserWarning, match="it changes"):
        assert [compiled(fg.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]


class Scaling(NamedTuple):
    k: float

    def scaled(self, x: Any) -> Any:
        return x * self.k * FACTORS[0]


class Table(dict[str, float]):
    def scaled(self, x: Any) -> Any:
        return x * self["k"] * FACTORS[0]


@dataclasses.dataclass
class Rates:
    k: float
    common: ClassVar[float] = 2.0

    def scaled(self, x: Any) -> Any:
        return x * self.k * FACTORS[0]


FACTORS = [2.0]


def test_methods_of_containers() -> None:
    a, b, c = Scaling(2.0), Table(k=3.0), Rates(4.0)

    def f(x: Any) -> Any:
        return a.scaled(x) + b.scaled(x) + c.scaled(x) * c.common * getattr(c, "more", 1.0)

    same(
        f,
        lambda: FACTORS.__setitem__(0, 3.0),
        lambda: b.update(k=5.0),
        lambda: setattr(c, "k", 6.0),
        lambda: setattr(c, "common", 7.0),
        lambda: setattr(c, "more", 8.0),
        lambda: setattr(Rates, "common", 9.0),
        lambda: delattr(c, "common"),
        lambda: setattr(Scaling, "scaled", lambda self, x: x - self.k),
        lambda: setattr(Rates, "scaled", lambda self, x: x - self.k),
    )


def test_attributes_of_the_classes_of_objects() -> None:
    class Options:
        rate = 2.0

    options = Options()
    same(
        lambda x: x * type(options).rate + options.__class__.rate,
        lambda: setattr(Options, "rate", 3.0),
        lambda: setattr(options, "rate", 5.0),
    )


@pytest.mark.filterwarnings("ignore:compile")
def test_a_variable_that_an_inner_function_sets() -> None:
    n = [0.0]

    def f(x: Any) -> Any:
        def inner() -> Any:
            def innermost() -> None:
                nonlocal n
                n = [1.0, 2.0]

            innermost()
            return x * 2

        return inner()

    compiled = fg.compile(f)
    for _ in range(6):
        compiled(fg.ones(1))
        assert n == [1.0, 2.0]
        n = [5.0]


class Doubled:
    """A descriptor."""

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return owner.inner["k"] * 2


def test_descriptors() -> None:
    class Settings:
        k = Doubled()

        def __init__(self) -> None:
            self.inner = {"k": 2.0}

    settings = Settings()
    same(lambda x: x * settings.k, lambda: settings.inner.update(k=3.0), lambda: setattr(settings, "inner", {"k": 4.0}))


def test_what_is_missing_where_exceptions_are_caught() -> None:
    class Own(Base):
        pass

    held, items, rows = Own(), {"a": 2.0}, [1.0]

    def f(x: Any) -> Any:
        try:
            return x * held.k  # type: ignore[attr-defined]
        except AttributeError:
            x = x * 3
        try:
            return x * items["k"]
        except KeyError:
            x = x * items["a"]
        try:
            return x * rows[2]
        except IndexError:
            return -x

    same(
        f,
        lambda: items.update(a=5.0),
        lambda: rows.extend([1.0, 7.0]),
        lambda: items.update(k=2.5),
        lambda: setattr(Base, "k", 1.5),
        lambda: setattr(Own, "k", 2.5),
        lambda: setattr(held, "k", 3.5),
        lambda: delattr(held, "k"),
        lambda: delattr(Own, "k"),
        lambda: delattr(Base, "k"),
    )


@dataclasses.dataclass
class Settings:
    w: Any
    beside: Any


def arguments() -> dict[str, tuple[Callable[..., Any], Any, Callable[[Any], Any], Callable[[Any], Any]]]:
    """By kind of an argument: a function of it, the argument, a change beside what is read, and one of what is read."""

    def dicts(state: Any, x: Any) -> Any:
        return x * state["w"] * state["deep"]["k"]

    def lists(state: Any, x: Any) -> Any:
        return x * state[0] * state[1]

    def records(state: Any, x: Any) -> Any:
        return x * state.w

    def helped(state: Any, x: Any) -> Any:
        return dicts(state, x)

    long = [0.0] * 50_000
    return {
        "a dict": (
            dicts,
            {"w": fg.ones(2), "deep": {"k": 2.0, "more": [1]}, "beside": long},
            lambda s: (s["beside"].append(1.0), s["deep"]["more"].append(2), s.__setitem__("new", Poison())),
            lambda s: s["deep"].__setitem__("k", 3.0),
        ),
        "a list": (
            lists,
            [fg.ones(2), 2.0, *long],
            lambda s: (s.append(Poison()), s.__setitem__(5, "a")),
            lambda s: s.__setitem__(1, 3.0),
        ),
        "a dataclass": (
            records,
            Settings(fg.ones(2), long),
            lambda s: s.beside.append(Poison()),
            lambda s: setattr(s, "w", fg.ones(1)),
        ),
        "an argument that is passed on": (
            helped,
            {"w": fg.ones(2), "deep": {"k": 2.0}, "beside": long},
            lambda s: s.pop("beside"),
            lambda s: s["deep"].__setitem__("k", 3.0),
        ),
    }


@pytest.mark.parametrize("kind", arguments())
def test_of_arguments_what_is_read_is_compared(kind: str) -> None:
    f, state, beside, read = arguments()[kind]
    x = fg.tensor(X)
    compiled = fg.compile(f, fullgraph=True)
    for change in (None, beside, None):
        if change is not None:
            change(state)
        assert compiled(state, x).tolist() == f(state, x).tolist()
    assert compiled.cache_info()[:2] == (2, 1)
    read(state)
    assert compiled(state, x).tolist() == f(state, x).tolist()
    assert compiled.cache_info().misses == 2


def test_a_file_has_all_tensors_of_the_arguments(tmp_path: Any) -> None:
    f = fg.compile(lambda state, x: x * state["w"])
    state = {"w": fg.ones(2) * 2, "unread": fg.ones(3)}
    f(state, fg.tensor(X))
    with pytest.raises(fg.ArgumentError, match="does not read all tensors in its arguments"):
        f.save(tmp_path / "f")
    f.save(tmp_path / "f", state, fg.tensor(X))
    assert fg.load_compiled(tmp_path / "f")(state, fg.tensor(X)).tolist() == [6.0, -2.0]
