"""The instructions of this version of Python are known: few functions are taken as ones that read everything."""

from __future__ import annotations

import ast
import collections
import importlib.util
import pathlib
import types
from collections.abc import Iterator
from typing import Any

import pytest
from ferrograd._compile import bytecode
from ferrograd._compile.uses import Use

#: Instructions of generators, coroutines, classes and patterns. A function with one may read everything.
UNKNOWN = {
    "ASYNC_GEN_WRAP",
    "BEFORE_ASYNC_WITH",
    "END_ASYNC_FOR",
    "GET_AITER",
    "GET_ANEXT",
    "GET_AWAITABLE",
    "GET_YIELD_FROM_ITER",
    "LOAD_BUILD_CLASS",
    "MATCH_CLASS",
    "MATCH_KEYS",
    "MATCH_MAPPING",
    "MATCH_SEQUENCE",
    "SEND",
}
MODULES = "argparse ast bisect calendar copy csv dataclasses datetime difflib fractions heapq inspect random shutil"


class Anywhere:
    """Surroundings of a function that is not called."""

    def attribute(self, name: str) -> Use:
        return Use(True)

    def global_variable(self, name: str) -> bytecode.Variable:
        return bytecode.Variable(name, (0, name), Use())

    cell = global_variable

    def call(self, *_: Any) -> None: ...

    subscript = probe = call

    def may_read_any_attribute(self) -> None: ...


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of all functions in the code of a module, but not of generators."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_flags & 2 and not inner.co_flags & 0x2A0:
                yield inner
            yield from functions(inner)


def test_functions_of_the_standard_library_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown: collections.Counter[str] = collections.Counter()
    step = bytecode._Run._step

    def counted(self: Any, instruction: Any) -> None:
        try:
            step(self, instruction)
        except bytecode._Unknown:
            unknown[instruction.name] += 1
            raise

    monkeypatch.setattr(bytecode._Run, "_step", counted)
    every = failed = 0
    for name in MODULES.split():
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        source = pathlib.Path(spec.origin).read_text(encoding="utf-8")
        for code in functions(compile(ast.parse(source), name, "exec")):
            every += 1
            try:
                bytecode._Run(bytecode.Frame(code), Anywhere()).run()
            except (bytecode._Unknown, KeyError):
                failed += 1
    assert every > 500
    assert set(unknown) <= UNKNOWN
    assert failed <= every // 100, unknown


SNIPPETS = {
    "an item": ("state['a'] + state['b']", {"a", "b"}),
    "items of an item": ("state['a']['c'][0]", {"a"}),
    "get": ("state.get('a', 0)", {"a"}),
    "in": ("'a' in state and state['b']", {"a", "b"}),
    "a comprehension": ("[state['a'] for _ in range(3)]", {"a"}),
    "a dict of them": ("{k: state['a'] for k in 'xy'}", {"a"}),
    "a function": ("(lambda: state['a'])()", {"a"}),
    "keywords": ("dict(x=state['a'], y=state['b'])", {"a", "b"}),
    "more arguments": ("max(*[1, 2], state['a'])", {"a"}),
    "a text": ("f\"{state['a']!r:>3}\"", {"a"}),
    "a chain": ("0 < state['a'] < state['b']", {"a", "b"}),
    "a choice": ("state['a'] if x else state['b']", {"a", "b"}),
    "a name in it": ("(y := state['a']) + y", {"a"}),
    "a slice": ("state['a'][1:2]", {"a"}),
    "a method": ("state['a'].bit_length()", {"a"}),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_what_is_read_is_the_same_in_all_versions(name: str) -> None:
    text, keys = SNIPPETS[name]
    code: Any = compile(f"lambda state, x: {text}", name, "eval").co_consts[0]
    frame = bytecode.Frame(code)
    bytecode._Run(frame, Anywhere()).run()
    use = frame.local("state").root()
    assert not use.is_whole
    assert set(use.items()) == keys


STATEMENTS = {
    "for": "for k in state['a']:\n  x = x + k\nelse:\n  x = state['b']",
    "while": "while x:\n  x = state['a']\nx = state['b']",
    "try": "try:\n  x = state['a']\nexcept KeyError:\n  x = state['b']\nfinally:\n  x = 1",
    "with": "with x:\n  y = state['a']\ny = state['b']",
    "unpacked": "y, z = state['a'], state['b']\nx = y + z",
    "swapped": "y, z = state['a'], state['b']\ny, z = z, y",
    "deleted": "y = state['a']\ndel y\nz = state['b']",
    "asserted": "assert state['a'], state['b']",
    "a loop in a loop": "for i in x:\n  for j in i:\n    if j:\n      continue\n    x = state['a']\n  x = state['b']",
    "imported": "import math\nx = math.pi * state['a'] + state['b']",
    "a generator": "x = sum(state['a'] for _ in range(2))\ny = state['b']",
    "all": "x = all(y == state['a'] for y in (1, 2))\ny = state['b']",
    "raised": "if state['a']:\n  raise ValueError(state['b'])",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_statements_read_is_the_same_in_all_versions(name: str) -> None:
    lines = STATEMENTS[name].replace("\n", "\n  ")
    space: dict[str, Any] = {}
    exec(f"def f(state, x):\n  {lines}", space)
    frame = bytecode.Frame(space["f"].__code__)
    bytecode._Run(frame, Anywhere()).run()
    use = frame.local("state").root()
    assert not use.is_whole
    assert set(use.items()) == {"a", "b"}
