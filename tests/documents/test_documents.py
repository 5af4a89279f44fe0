"""The code blocks of the documents that the library implements run under the name ``paddle`` and print the same.

Each text file holds one block exactly as its page shows it. The tests remove prompts and printed lines, and restore
the indentation that the tutorial lost. The ``.out`` files hold the output of Paddle 3.3.1 (for the ``fluid`` pages,
whose functions it no longer has, the output that the pages show).
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BLOCKS = sorted(HERE.glob("*.txt"))

#: Lines of a notebook that are not Python.
NOTEBOOK = {"in[1]", "output[1]", "%matplotlib inline"}


def code(page: str) -> str:
    """The program of a block."""
    lines = textwrap.dedent(page).splitlines()
    if any(line.startswith(">>> ") for line in lines):
        return "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")) or line == "...")
    lines = [line for line in lines if line not in NOTEBOOK]
    if any(line.startswith("    ") for line in lines):
        return "\n".join(lines)
    whole, inside = [], False
    for line in lines:
        whole.append("    " + line if inside else line)
        inside = line.startswith("def ") or (inside and not line.startswith("return"))
    return "\n".join(whole)


@pytest.mark.parametrize("page", BLOCKS, ids=lambda page: page.stem)
def test_a_block_prints_what_its_page_shows(page: Path) -> None:
    program = "import ferrograd\nferrograd.install_as('paddle')\n" + code(page.read_text(encoding="utf-8"))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "agg"},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == page.with_suffix(".out").read_text(encoding="utf-8")


def test_every_page_with_code_is_here() -> None:
    assert {page.stem[:3] for page in BLOCKS} == {"000", "001", "002", "003"}
