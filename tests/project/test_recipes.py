"""Every recipe runs as a script, without a notebook, and its assertions hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs/recipes"
RECIPES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")


@pytest.mark.parametrize("page", RECIPES, ids=lambda p: p.stem)
def test_recipe(page: Path, tmp_path: Path) -> None:
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", page.read_text("utf8"), re.DOTALL)
    code = "\n".join(cells)
    assert "assert" in code or ".check(" in code, "a recipe says what must come out"
    script = tmp_path / f"{page.stem}.py"
    script.write_text(code, "utf8")
    environment = {**os.environ, "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_the_index_names_every_recipe() -> None:
    listed = re.findall(r"^[a-z-]+$", (FOLDER / "index.md").read_text("utf8"), re.MULTILINE)
    assert sorted(listed) == [page.stem for page in RECIPES]
