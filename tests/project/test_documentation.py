"""The examples in docstrings, in modules and in the README run and print what they show."""

from __future__ import annotations

import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [
    "ferrograd",
    *(m.name for m in pkgutil.walk_packages(fg.__path__, "ferrograd.") if m.name != "ferrograd._core"),
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(autouse=True)
def _own_names() -> Iterator[None]:
    """Gives the dialects their names back, where an example has installed one as its library."""
    yield
    for name in ("ferrograd.autograd", "ferrograd.paddle", "ferrograd.torch"):
        if name in sys.modules:
            sys.modules[name].__name__ = name


def run(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)


def examples(text: str, name: str, scope: dict[str, Any]) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(text, scope, name, None, 0)


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str) -> None:
    module = importlib.import_module(name)
    # Names of dtypes such as `bool` do not stand for Python's in examples, which are those of a user.
    scope = {key: value for key, value in vars(module).items() if not hasattr(builtins, key)}
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs={**scope, "fg": fg, "np": np}):
        run(test)


#: The public functions and classes of the native interface.
PUBLIC = {
    f"{place}.{name}": value
    for place in (
        "ferrograd",
        "ferrograd.distributed",
        "ferrograd.fft",
        "ferrograd.func",
        "ferrograd.linalg",
        "ferrograd.testing",
    )
    for name in importlib.import_module(place).__all__
    if callable(value := getattr(importlib.import_module(place), name))
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name(name: str) -> None:
    """A public name has documentation with an example that runs; an error has a section on the page of errors."""
    value, short = PUBLIC[name], name.split(".")[-1]
    text = inspect.getdoc(value)
    assert text, f"{name} has no documentation"
    if isinstance(value, type) and issubclass(value, Exception):
        assert f"\n## {short}\n" in (ROOT / "docs/errors.md").read_text("utf8")
        return
    test = examples(text, name, {"fg": fg, "np": np})
    assert test.examples, f"{name}: its documentation has no example"
    run(test)


EXAMPLES = {
    name: (f">>> import ferrograd.{short} as {short}\n", code)
    for name, short, code in re.findall(
        r"^## (ferrograd\.(\w+)\S*)\n\n```python\n(.*?)```",
        (ROOT / "docs/sitegen/examples.md").read_text("utf8"),
        re.MULTILINE | re.DOTALL,
    )
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_a_dialect(name: str) -> None:
    """An example that only the reference shows runs, and belongs to a name without an example of its own."""
    module, _, short = name.rpartition(".")
    text = inspect.getdoc(getattr(importlib.import_module(module), short)) or ""
    assert ">>>" not in text
    test = examples("".join(EXAMPLES[name]), name, {"fg": fg, "np": np})
    assert len(test.examples) > 1
    run(test)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page: Path) -> None:
    """Runs the Python blocks of a page in one scope, and compares the output of those with prompts."""
    scope: dict[str, Any] = {}
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf8"), re.DOTALL)):
        if ">>>" in block:
            test = examples(block, f"{page.name}[{i}]", scope)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            scope = test.globs
            assert not report, "".join(report)
        else:
            exec(compile(block, f"{page.name}[{i}]", "exec"), scope)


def rows(page: Path) -> list[tuple[str, str]]:
    """The code of each row's last column in the tables of a page, which is what one writes here; and the row."""
    found = []
    for line in page.read_text("utf8").splitlines():
        cells = line.strip().strip("|").split(" | ")
        if line.startswith("| `"):
            assert len(cells) == 2, f"{page.name}: {line} has not two columns"
            found += [(code, line) for code in re.findall(r"`([^`]+)`", cells[1])[:1]]
    return found


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("from-*.md")), ids=lambda p: p.name)
def test_what_one_writes_here(page: Path) -> None:
    """Runs the last column of the tables of a page, row by row, in the scope of its first block."""
    setup, *_ = re.findall(r"```python\n(.*?)```", page.read_text("utf8"), re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(setup, page.name, "exec"), scope)
    found = rows(page)
    assert len(found) >= 8
    for code, row in found:
        if "install_as" in code:
            # It would replace the module for all tests.
            assert code.endswith(('install_as("torch")', 'install_as("paddle")', 'install_as("autograd")'))
            continue
        exec(compile(code, row, "exec"), scope)
