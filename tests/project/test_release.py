"""What a release consists of: the source archive, the version, the changelog and the tags."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.project.release import faults

ROOT = Path(__file__).parents[2]
CARGO = (
    '[workspace.package]\nversion = "0.2.0"\n[workspace.dependencies]\n'
    'ferrograd-macros = { version = "0.2.0" }\nlibm = { version = "0.2" }\n'
)
CHANGES = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-31\n\n* New.\n"


def test_the_source_archive_has_tests_and_documentation(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("the archive is made with cargo")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = [
        ROOT / name for name in ("Makefile", "CONTRIBUTING.md", "about.toml", "docs/conf.py", "docs/static/site.css")
    ]
    for folder, pattern in (("tests", "*.py"), ("tests", "*.rs"), ("docs/recipes", "*.md"), ("docs/sitegen", "*.*")):
        wanted += (ROOT / folder).rglob(pattern)
    wanted += [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.*"), *(ROOT / "benches").glob("*.*")]
    wanted += [*(ROOT / "tests/documents").glob("*.*t"), ROOT / "include/ferrograd.h"]
    assert not {path.relative_to(ROOT).as_posix() for path in wanted} - names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc", ".png"))]


def test_a_release_that_fits() -> None:
    assert faults(CARGO, CHANGES, ["v0.1.0"]) == []


@pytest.mark.parametrize(
    ("cargo", "changes", "tags", "fault"),
    [
        (
            CARGO.replace('{ version = "0.2.0"', '{ version = "0.1.0"'),
            CHANGES,
            [],
            "another version of ferrograd-macros",
        ),
        (CARGO, CHANGES.replace("[0.2.0]", "[0.1.0]"), [], "no section"),
        (CARGO, CHANGES.replace(" - 2026-01-31", ""), [], "no date"),
        (CARGO, CHANGES.replace("[Unreleased]", "[Unreleased]\n\n* More."), [], "entries below"),
        (CARGO, CHANGES, ["v0.2.0"], "is there already"),
    ],
)
def test_a_release_that_does_not_fit(cargo: str, changes: str, tags: list[str], fault: str) -> None:
    (found,) = faults(cargo, changes, tags)
    assert fault in found
