"""The modules of the package import each other in one direction: a room uses the rooms of lower floors only."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/ferrograd"

#: The rooms by floor, the lowest first. Rooms of one floor do not use each other.
FLOORS = [
    {"_core"},
    {"_kit"},
    {"_graph"},
    {"_tensor", "_data", "_autograd", "fft"},
    {"_functions", "_optim", "_files", "linalg", "distributed", "testing"},
    {"_layers", "_distributions", "_numpy"},
    {"_compile"},
    {"func"},
    {"autograd", "paddle", "torch"},
    {"optim"},
    {"_native"},
]
#: What looks up when it is asked for: the check of a user's own function, numbers and names in a picture of a graph,
#: and the functions of the whole namespace that answer for NumPy's.
EXCEPT = {
    ("ferrograd._autograd.function", "ferrograd.testing"),
    ("ferrograd._graph.names", "ferrograd._layers.module"),
    ("ferrograd._graph.values", "ferrograd._autograd.gradients"),
    ("ferrograd._graph.values", "ferrograd._autograd.modes"),
    ("ferrograd._numpy.protocol", "ferrograd"),
}
LEVEL = {room: level for level, floor in enumerate(FLOORS) for room in floor}


@cache
def modules() -> dict[str, Path]:
    """The modules of the package by dotted name; the extension and its stubs are left out."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def room(module: str) -> str:
    """The room of a module: its first folder below the package. The package itself is in ``_native``, and programs."""
    return "_native" if module.endswith(".__main__") else [*module.split("."), "_native"][1]


def imported(tree: ast.Module, file: str = "") -> set[str]:
    """The modules, or parts of them, that imports name at any depth: in functions and for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports name their module in full"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def written(tree: ast.Module) -> set[str]:
    """The modules of the package that strings are paths of, such as those for ``import_module`` and ``sys.modules``.

    Of a formatted string its beginning counts: ``ferrograd.torch`` of ``f"ferrograd.torch.{name}"``.
    """
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text.rstrip(".") for text in texts if re.fullmatch(r"ferrograd(\.\w+)+\.?", text)}


@cache
def named(file: Path) -> tuple[set[str], set[str]]:
    """What the imports of a file name, and what its strings name."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return imported(tree, str(file)), written(tree)


def known(name: str, all_modules: dict[str, Path]) -> str | None:
    """The module that a dotted name is, or the one that it is a part of."""
    while name and name not in all_modules and not name.startswith("ferrograd._core"):
        name = name.rpartition(".")[0]
    return name or None


def graph(by_name: bool) -> dict[str, set[str]]:
    """The modules that each module of the package uses, on request with those that its strings name."""
    all_modules = modules()
    found = {}
    for module, file in all_modules.items():
        by_import, by_string = named(file)
        names = by_import | by_string if by_name else by_import
        # `from ferrograd import _core` runs nothing of `ferrograd` that is not running already.
        found[module] = {part for name in names if (part := known(name, all_modules)) and part != module}
    return found


def test_no_cycle_among_the_modules() -> None:
    try:
        TopologicalSorter({name: used & modules().keys() for name, used in graph(by_name=False).items()}).prepare()
    except CycleError as error:
        raise AssertionError("these modules import each other: " + " <- ".join(error.args[1])) from None


def test_each_room_has_a_floor() -> None:
    assert {room(module) for module in modules()} | {"_core"} == LEVEL.keys()


def test_a_room_uses_lower_floors_only() -> None:
    wrong = [
        f"{module} -> {used}"
        for module, uses in graph(by_name=True).items()
        for used in uses
        if (module, used) not in EXCEPT and room(module) != room(used) and LEVEL[room(used)] >= LEVEL[room(module)]
    ]
    assert not sorted(wrong)


def test_imports_in_functions_and_paths_in_strings_count() -> None:
    tree = ast.parse(
        "def f():\n    from ferrograd.torch import nn\n"
        "def g(name):\n    return sys.modules.get('ferrograd.paddle.nn') or import_module(f'ferrograd.func.{name}')"
    )
    assert imported(tree) == {"ferrograd.torch.nn"}
    assert written(tree) == {"ferrograd.paddle.nn", "ferrograd.func"}


def test_the_map_has_all_rooms() -> None:
    text = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    assert not [name for name in LEVEL if f"`{name}/`" not in text]
