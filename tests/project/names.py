"""The public names of the last release: ``python -m tests.project.names [--write]``.

Without ``--write`` it compares the names of today with those of ``names.txt``, and prints what is new or gone.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import textwrap
from pathlib import Path

import ferrograd as fg

LISTING = Path(__file__).with_name("names.txt")
#: The classes whose methods are listed too.
CLASSES = ("ferrograd.Tensor", "ferrograd.torch.Tensor", "ferrograd.paddle.Tensor")


def namespaces() -> list[str]:
    """The public modules. The one name of ``tensorboard`` is that of another package, which need not be installed."""
    names = ["ferrograd", *(module.name for module in pkgutil.walk_packages(fg.__path__, "ferrograd."))]
    return [name for name in names if not re.search(r"\._|tensorboard$", name)]


def today() -> dict[str, set[str]]:
    """The public names of every module, and of the classes of tensors."""
    found = {name: set(importlib.import_module(name).__all__) for name in namespaces()}
    for path in CLASSES:
        module, _, name = path.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        found[path] = {key for key in dir(value) if not key.startswith("_")}
    return found


def listed() -> dict[str, set[str]]:
    """The names of the last release."""
    found: dict[str, set[str]] = {}
    for entry in re.split(r"\n(?! )", LISTING.read_text("utf8").strip()):
        place, _, names = entry.partition(":")
        found[place] = set(names.split())
    return found


def write() -> None:
    """Writes the names of today."""
    lines = []
    for place, names in sorted(today().items()):
        text = f"{place}: {' '.join(sorted(names))}"
        lines.append(textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    LISTING.write_text("\n".join(lines) + "\n", "utf8")


def differences() -> list[str]:
    """What is new, with a plus, and what is gone, with a minus."""
    now, then = today(), listed()
    found = []
    for place in sorted(now.keys() | then.keys()):
        new, old = now.get(place, set()), then.get(place, set())
        found += [f"+ {place}.{name}" for name in sorted(new - old)] + [
            f"- {place}.{name}" for name in sorted(old - new)
        ]
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        found = differences()
        print("\n".join(found) or "the names are those of names.txt")
        sys.exit(bool(found))
