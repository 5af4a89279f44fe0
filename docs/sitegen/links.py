"""Checks the built site: every link to a page, an anchor or a file of the site leads somewhere."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what an element links to and what it is called."""
        for name, value in attrs:
            if value is not None and name in ("id", "name"):
                self.anchors.add(value)
            elif value is not None and name in ("href", "src") and tag != "base":
                self.links.append(value)


@cache
def page(file: Path) -> Page:
    """A page, read once."""
    return Page(file)


def broken(site: Path) -> list[str]:
    """The links of a site that lead nowhere."""
    found = []
    # The theme keeps a template of its own among its files.
    for file in sorted(set(site.rglob("*.html")) - set((site / "_static").rglob("*"))):
        for link in dict.fromkeys(page(file).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            # Without a server a link to a folder shows no page.
            there = target.is_file() and (not anchor or target.suffix != ".html" or anchor in page(target).anchors)
            if not there and link != "#":
                found.append(f"{file.relative_to(site)}: {link}")
    return found


if __name__ == "__main__":
    lost = broken(Path(sys.argv[1]).resolve())
    print("\n".join(lost))
    sys.exit(f"{len(lost)} links lead nowhere" if lost else 0)
