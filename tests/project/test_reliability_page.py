"""The rows of docs/reliability.md are complete, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.reliability import page
from tests.reliability.faults import PROGRAMS

ROOT = Path(__file__).parents[2]


def test_every_row_is_there_and_has_a_place() -> None:
    assert list(page.ROWS) == [f"R{i}" for i in range(1, 53)]
    assert all(row.promise.endswith(".") and row.held for row in page.ROWS.values())
    assert page.HEADINGS.keys() == PROGRAMS.keys()


def test_what_the_rows_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for row in page.ROWS.values():
        for where in row.held:
            if where.startswith("make "):
                assert re.search(rf"^{where[5:]}:", makefile, re.MULTILINE), where
            elif where.startswith("python -m "):
                module = where.split()[2]
                assert (ROOT / (module.replace(".", "/") + ".py")).exists(), where
            else:
                assert (ROOT / where.removeprefix("python ")).exists(), where


def test_all_unsafe_code_has_a_test() -> None:
    table = page.unsafe()
    named = set(re.findall(r"`([^`]+)`", table))
    assert all(part in named and (ROOT / test).exists() for part, test in page.UNSAFE.items()), table


def test_the_page_has_every_promise_and_library() -> None:
    text = (ROOT / "docs/reliability.md").read_text("utf8")
    for row in page.ROWS.values():
        assert f"| {row.promise} |" in text, row.promise
        assert page.held(row) in text
    for heading in page.HEADINGS.values():
        assert f"| {heading} |" in text
    for name in ("torch", "paddlepaddle", "jax"):
        assert name in text.partition("## Promises")[0]
