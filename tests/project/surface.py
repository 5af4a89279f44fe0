"""The public names of the crate, with their signatures: ``python -m tests.project.surface FOLDER [--write]``.

``FOLDER`` has what rustdoc wrote as JSON. Without ``--write`` the names are compared with those of ``surface.txt``, so
that a name that becomes public, or is no longer, is seen when it happens.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LISTING = Path(__file__).with_name("surface.txt")
#: What users of `ferrograd` see of the crate below it.
SHARED = tuple(
    f"ferrograd_base::{name}" for name in ("array", "dtype", "error", "shape", "kernel::par", "memory::WithReserve")
)


def arguments(given: Any) -> str:
    """The arguments of a generic type."""
    if not given or "angle_bracketed" not in given:
        return ""
    found = [kind(a["type"]) if "type" in a else str(next(iter(a.values()))) for a in given["angle_bracketed"]["args"]]
    return f"<{', '.join(found)}>" if found else ""


def kind(type_: Any) -> str:
    """A type as text."""
    if not isinstance(type_, dict):
        return "_" if type_ is None else str(type_)
    ((form, inner),) = type_.items()
    match form:
        case "resolved_path":
            return inner["path"].rpartition("::")[2] + arguments(inner.get("args"))
        case "borrowed_ref":
            return f"&{'mut ' if inner['is_mutable'] else ''}{kind(inner['type'])}"
        case "raw_pointer":
            return f"*{'mut' if inner['is_mutable'] else 'const'} {kind(inner['type'])}"
        case "tuple":
            return f"({', '.join(map(kind, inner))})"
        case "slice":
            return f"[{kind(inner)}]"
        case "array":
            return f"[{kind(inner['type'])}; {inner['len']}]"
        case "impl_trait":
            return "impl " + " + ".join(bound(b) for b in inner)
        case "dyn_trait":
            return "dyn " + " + ".join(b["trait"]["path"] for b in inner["traits"])
        case "qualified_path":
            return f"{kind(inner['self_type'])}::{inner['name']}"
        case "function_pointer":
            return f"fn{signature(inner['sig'])}"
        case _:
            return inner if isinstance(inner, str) else form


def bound(b: Any) -> str:
    return b["trait_bound"]["trait"]["path"] if "trait_bound" in b else "_"


def signature(sig: Any) -> str:
    inputs = ", ".join(f"{name}: {kind(type_)}" for name, type_ in sig["inputs"])
    return f"({inputs})" + (f" -> {kind(sig['output'])}" if sig["output"] else "")


def members(index: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a module, a type or a trait has in it."""
    ((form, inner),) = item["inner"].items()
    ids = list(inner.get("items", [])) if form in ("module", "trait") else []
    ids += inner.get("variants", []) if form == "enum" else []
    if form == "struct" and isinstance(inner["kind"], dict) and "plain" in inner["kind"]:
        ids += inner["kind"]["plain"]["fields"]
    for impl in inner.get("impls", []):
        block = index.get(str(impl), {}).get("inner", {}).get("impl", {})
        ids += block.get("items", []) if block.get("trait") is None else []
    yield from (index[str(i)] for i in ids if str(i) in index)


def names(index: dict[str, Any], item: dict[str, Any], path: str, seen: frozenset[int]) -> Iterator[str]:
    """The lines of what is below an item."""
    for member in members(index, item):
        ((form, inner),) = member["inner"].items()
        if form == "use":
            target = index.get(str(inner["id"]))
            if inner["is_glob"] or target is None or target["id"] in seen:
                yield f"use {path}::{inner['name']} = {inner['source']}"
                continue
            member, ((form, inner),) = {**target, "name": inner["name"]}, target["inner"].items()
        if form in ("impl", "macro", "proc_macro") or member["visibility"] not in ("public", "default"):
            continue
        own = f"{path}::{member['name']}"
        text = signature(inner["sig"]) if form == "function" else ""
        text = f": {kind(inner)}" if form == "struct_field" else text
        yield f"{form} {own}{text}"
        yield from names(index, member, own, seen | {member["id"]})


def listing(folder: Path) -> str:
    """The names of all crates whose documentation is there, sorted."""
    lines = set()
    for file in sorted(folder.glob("ferrograd*.json")):
        crate = json.loads(file.read_text())
        root = crate["index"][str(crate["root"])]
        found = names(crate["index"], root, root["name"], frozenset({root["id"]}))
        lines |= {line for line in found if root["name"] != "ferrograd_base" or line.split(" ")[1].startswith(SHARED)}
    return "\n".join(sorted(lines)) + "\n"


def main() -> None:
    found = listing(Path(sys.argv[1]))
    if "--write" in sys.argv:
        LISTING.write_text(found)
        return
    known = LISTING.read_text()
    changes = difflib.unified_diff(known.splitlines(), found.splitlines(), "surface.txt", "now", n=0, lineterm="")
    print("\n".join(changes))
    sys.exit(found != known)


if __name__ == "__main__":
    main()
