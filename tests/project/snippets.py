"""Writes the code of the pages, one program a page, for type checkers: ``python -m tests.project.snippets FOLDER``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROMPTS = (">>> ", "... ")


def program(page: str) -> str:
    """The code of a page without prompts, results and the lines that are for notebooks only."""
    lines = []
    for block in re.findall(r"```(?:python|\{code-cell\}[^\n]*)\n(.*?)```", page, re.DOTALL):
        given = block.splitlines()
        if ">>>" in block:
            lines += [line[4:] for line in given if f"{line} ".startswith(PROMPTS)]
        else:
            lines += [line for line in given if not line.startswith(("%", ":"))]
    return "\n".join([*lines, ""])


def main(folder: str) -> None:
    """Writes the programs of all pages into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for page in (
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/recipes").glob("*.md"),
        *(ROOT / "docs/gallery").glob("*.md"),
    ):
        name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
        Path(folder, f"{name}.py").write_text(program(page.read_text("utf8")), encoding="utf8")


if __name__ == "__main__":
    main(*sys.argv[1:])
