"""Checks that version, changelog, public names and tags fit each other: ``python -m tests.project.release``."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.project import names

ROOT = Path(__file__).parents[2]


def faults(cargo: str, changelog: str, tags: list[str]) -> list[str]:
    """What is wrong with a release of the version in ``Cargo.toml``."""
    manifest = tomllib.loads(cargo)
    version = manifest["workspace"]["package"]["version"]
    found = []
    for name, crate in manifest["workspace"]["dependencies"].items():
        if name.startswith("ferrograd") and crate["version"] != version:
            found.append(f"Cargo.toml asks for another version of {name} than {version}")
    sections = re.findall(r"^## \[([^\]]+)\](.*)$", changelog, re.MULTILINE)
    names = [name for name, _ in sections]
    if names[:2] != ["Unreleased", version]:
        found.append(f"CHANGELOG.md has no section [{version}] below [Unreleased]")
    elif not re.fullmatch(r" - \d{4}-\d\d-\d\d", sections[1][1]):
        found.append(f"the section [{version}] of CHANGELOG.md has no date")
    unreleased = changelog.partition("## [Unreleased]")[2].partition("\n## [")[0]
    if names[:1] == ["Unreleased"] and unreleased.strip():
        found.append("CHANGELOG.md has entries below [Unreleased]")
    if f"v{version}" in tags:
        found.append(f"the tag v{version} is there already")
    return found


def main() -> None:
    """Prints the faults, and exits with 1 if there are any."""
    tags = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = faults((ROOT / "Cargo.toml").read_text("utf8"), (ROOT / "CHANGELOG.md").read_text("utf8"), tags)
    cited = re.findall(
        r"^(?:version|date-released): \"?([^\"\n]+)", (ROOT / "CITATION.cff").read_text("utf8"), re.MULTILINE
    )
    if f"## [{cited[0]}] - {cited[1]}\n" not in (ROOT / "CHANGELOG.md").read_text("utf8"):
        found.append("CITATION.cff has another version or date than CHANGELOG.md")
    if names.differences():
        found.append(
            "tests/project/names.txt has other names: python -m tests.project.names shows them, --write writes it"
        )
    print("\n".join(found) or "version, changelog, names and tags fit")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
