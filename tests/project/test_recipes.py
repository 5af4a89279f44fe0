"""Every recipe and every study of the gallery runs as a script, without a notebook, and its assertions hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = [DOCS / "recipes", DOCS / "gallery"]
PAGES = {folder: sorted(page for page in folder.glob("*.md") if page.stem != "index") for folder in FOLDERS}


def code_of(page: Path) -> str:
    return "\n".join(re.findall(r"```\{code-cell\} python\n(.*?)```", page.read_text("utf8"), re.DOTALL))


@pytest.mark.parametrize("page", [page for pages in PAGES.values() for page in pages], ids=lambda p: p.stem)
def test_recipe(page: Path, tmp_path: Path) -> None:
    code = code_of(page)
    assert "assert" in code or ".check(" in code, "a recipe says what must come out"
    script = tmp_path / f"{page.stem}.py"
    script.write_text(code, "utf8")
    environment = {**os.environ, "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_the_index_names_every_page(folder: Path) -> None:
    """The cards and the table of contents have the same pages, and each page gives itself as a notebook."""
    listed = re.findall(r"^[a-z-]+$", (folder / "index.md").read_text("utf8"), re.MULTILINE)
    names = [page.stem for page in PAGES[folder]]
    assert sorted(listed) == sorted(2 * names)
    assert not [
        page.stem for page in PAGES[folder] if f"{{nb-download}}`{page.stem}.ipynb`" not in page.read_text("utf8")
    ]


@pytest.mark.parametrize("page", PAGES[DOCS / "gallery"], ids=lambda p: p.stem)
def test_a_study_is_short_and_has_a_picture(page: Path) -> None:
    code = code_of(page)
    assert len([line for line in code.splitlines() if line.strip()]) < 60
    assert "plt.subplots(" in code
