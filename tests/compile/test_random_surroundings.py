"""Random programs over random objects: the compiled function sees each change that the function itself sees."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import ferrograd as fg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

#: A way from an object to a part of it: by an attribute, a key or a number.
Step = tuple[str, Any]
NAMES = ("a", "b")
LEAVES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1, True, 2, 2.5, float("nan")]),
    st.builds(lambda k: fg.tensor([k, 1.0]), st.sampled_from([1.0, 2.0])),
)


class Slotted:
    __slots__ = NAMES

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Node:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def part(self) -> Any:
        return self.a

    @property
    def other(self) -> Any:
        return self.b


class Pair(NamedTuple):
    a: Any
    b: Any


KINDS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: {"a": a, "b": b},
    lambda a, b: collections.OrderedDict(a=a, b=b),
    lambda a, b: [a, b],
    lambda a, b: (a, b),
    Pair,
    Node,
    Slotted,
    lambda a, b: types.SimpleNamespace(a=a, b=b),
]
VALUES = st.recursive(
    LEAVES, lambda part: st.builds(lambda k, a, b: k(a, b), st.sampled_from(KINDS), part, part), max_leaves=8
)


def numbers(x: Any, depth: int = 0) -> Any:
    """The sum of all numbers in a value, as far as its parts are known."""
    if isinstance(x, (int, float, fg.Tensor)):
        return x
    if isinstance(x, dict):
        return sum((numbers(part) for part in x.values()), 0.0)
    if isinstance(x, (list, tuple)):
        return sum((numbers(part) for part in x), 0.0)
    return numbers(x.a) + numbers(x.b)


#: Expressions of a value ``v``: what a program reads on its way.
READS = [
    "v['a'] if type(v) in (dict, OrderedDict) else v",
    "v.get('b', 2.0) if isinstance(v, dict) else v",
    "v[0] if isinstance(v, (list, tuple)) else v",
    "v[-1] if isinstance(v, (list, tuple)) else v",
    "getattr(v, 'a', v)",
    "v.part() if isinstance(v, Node) else v",
    "v.other if isinstance(v, Node) else v",
    "v.b if hasattr(v, 'b') else v",
    "[*v][0] if isinstance(v, tuple) else v",
    "[part for part in v][-1] if isinstance(v, list) and v else v",
    "v[key] if isinstance(v, dict) and key in v else v",
    "same(v)",
]
ENDS = [
    "x * numbers(v)",
    "x * len(v) if isinstance(v, (list, tuple, dict)) else x",
    "x * 3 if isinstance(v, (list, dict)) and v else x * 2",
    "x * sum(v) if isinstance(v, list) and all(isinstance(k, float) for k in v) else x",
    "x * 2 if v is root else x * 3",
    "x * 2 if v == 1 and not isinstance(v, Tensor) else x",
    "x * (2 if isinstance(v, dict) and 'a' in v else 5)",
]


def program(reads: list[str], end: str, root: Any, key: str) -> tuple[Any, dict[str, Any]]:
    lines = ["def f(x):", "    v = root", *(f"    v = {read}" for read in reads), f"    return {end}"]
    lines += ["def same(v):", "    return v"]
    scope = {"root": root, "key": key, "numbers": numbers, "Node": Node, "Tensor": fg.Tensor}
    scope["OrderedDict"] = collections.OrderedDict
    exec("\n".join(lines), scope)
    return scope["f"], scope


def holders(x: Any, found: list[Any]) -> list[Any]:
    """All containers and objects in a value."""
    if isinstance(x, (int, float, fg.Tensor)):
        return found
    found.append(x)
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else (x.a, x.b)
    for part in list(parts):
        holders(part, found)
    return found


def change(scope: dict[str, Any], number: int, what: int, value: Any) -> None:
    """One of the changes that somebody may make between two calls."""
    found = holders(scope["root"], [])
    if not found:
        scope["root"] = value
        return
    x = found[number % len(found)]
    if isinstance(x, dict):
        if what == 0:
            x["a"] = value
        elif what == 1:
            x["b"] = value
        elif what == 2:
            x.setdefault("c", value)
        else:
            x["a"] = x.pop("a", value)
    elif isinstance(x, list):
        if what == 0:
            x[0] = value
        elif what == 1:
            x[-1] = value
        elif what == 2:
            x.append(value)
        else:
            x.reverse()
    elif isinstance(x, tuple):
        scope["root"] = value
    elif what % 2 == 0:
        x.a = value
    else:
        x.b = value


def result(f: Any, x: Any) -> str:
    try:
        return repr(f(x).tolist())
    except Exception as error:
        return type(error).__name__


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    root=VALUES,
    reads=st.lists(st.sampled_from(READS), max_size=4),
    end=st.sampled_from(ENDS),
    key=st.sampled_from(NAMES),
    changes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), VALUES), max_size=5),
)
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_function_sees_what_the_function_sees(
    root: Any, reads: list[str], end: str, key: str, changes: list[Any]
) -> None:
    f, scope = program(reads, end, root, key)
    compiled, x = fg.compile(f), fg.tensor([3.0, -1.0])
    with fg.no_grad():
        for step in [None, *changes]:
            if step is not None:
                change(scope, *step)
            for _ in range(2):
                assert result(compiled, x) == result(f, x)
