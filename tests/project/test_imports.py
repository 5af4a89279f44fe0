"""The modules of the package import each other in one direction."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/ferrograd"


def modules() -> dict[str, Path]:
    """The modules of the package by dotted name; the extension and its stubs are left out."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports at any depth: in functions and for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports name their module in full"
            for alias in node.names:
                part = f"{node.module}.{alias.name}"
                # `from ferrograd import _core` runs nothing of `ferrograd` that is not running already.
                found.add(part if part in known or part == "ferrograd._core" else str(node.module))
    return found & known.keys()


def test_no_cycle_among_the_modules() -> None:
    known = modules()
    graph = {name: imports(file, known) - {name} for name, file in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError("these modules import each other: " + " <- ".join(error.args[1])) from None
