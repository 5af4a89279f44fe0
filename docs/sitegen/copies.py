"""The pages that are files of the repository: the changelog, how to contribute, the map of the code."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/project"
SOURCE = "https://github.com/ferrograd/ferrograd/blob/main/"
#: The files by the name of their page.
FILES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "src/README.md": "architecture",
    "src/program/README.md": "optimizer",
}


def target(link: str, source: str) -> str:
    """A relative link of a file as a link of its page: to another page, or to the repository."""
    if re.match(r"[a-z]+:|#", link):
        return link
    path, _, anchor = link.partition("#")
    parts: list[str] = []
    for part in (PurePosixPath(source).parent / path).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    name = "/".join(parts)
    if not (ROOT / name).exists():
        raise FileNotFoundError(f"{source} links to {link}, which is not there")
    if name in FILES:
        name = f"{FILES[name]}.md"
    elif name.startswith("docs/") and name.endswith(".md"):
        name = "../" + name.removeprefix("docs/")
    else:
        name = SOURCE + name
    return f"{name}#{anchor}" if anchor else name


def write() -> None:
    """Writes the copies that have changed."""
    FOLDER.mkdir(exist_ok=True)
    for source, page in FILES.items():
        text = (ROOT / source).read_text("utf8")
        for link in set(re.findall(r"\]\(([^)\s]+)\)", text)):
            text = text.replace(f"]({link})", f"]({target(link, source)})")
        file = FOLDER / f"{page}.md"
        if not file.exists() or file.read_text("utf8") != text:
            file.write_text(text, "utf8")
