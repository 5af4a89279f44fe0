"""The API reference: one page for each public module, and one for each family of ops."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import ferrograd

import tests.cases
from sitegen.docstrings import prose, to_rst
from sitegen.names import Module, entries, modules, op_of

FOLDER = Path(__file__).parents[1] / "reference"
DIALECTS = {"ferrograd.torch": "PyTorch's names", "ferrograd.paddle": "Paddle's names"}
#: The members of these are the library's own; those of other classes that a class inherits have entries elsewhere.
TENSOR = ferrograd.Tensor


def heading(text: str, mark: str) -> str:
    """A title, underlined."""
    return f"{text}\n{mark * len(text)}\n\n"


def first_sentence(value: Any) -> str:
    """The first sentence of a docstring."""
    text = (inspect.getdoc(value) or "").split("\n\n")[0].split("\n>>>")[0]
    return re.split(r"(?<=[a-z0-9)`\]])\. (?=[A-Z`])", " ".join(text.split()))[0].rstrip(".:")


def link(path: str, text: str | None = None) -> str:
    """A link to the entry of an object."""
    return f":py:obj:`{text or path} <{path}>`"


def table(rows: list[tuple[str, str]], widths: str = "30 70") -> str:
    """A table of two columns without a head."""
    if not rows:
        return ""
    lines = [".. list-table::", f"   :widths: {widths}", "   :class: names", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines) + "\n\n"


def listed(names: list[tuple[str, str]]) -> str:
    """One paragraph of names, each a link to the entry at a path. An entry of another name stands behind it."""
    known = [link(path, name) + ("" if name == path.rpartition(".")[2] else f" (``{path}``)") for name, path in names]
    return ", ".join(known) + ".\n\n" if known else ""


def entry(path: str, value: Any) -> str:
    """The directive that shows one object."""
    if isinstance(value, type):
        lines = [f".. autoclass:: {path}"]
        if issubclass(value, BaseException):
            lines.append("   :show-inheritance:")
        elif value is not TENSOR:
            lines.append("   :members:")
        return "\n".join(lines) + "\n\n"
    return f".. autofunction:: {path}\n\n" if inspect.isroutine(value) else f".. autodata:: {path}\n   :no-value:\n\n"


def about(module: Any) -> str:
    """The documentation of a module."""
    return "\n".join(to_rst((inspect.getdoc(module) or "").splitlines())) + "\n\n"


def declared(name: str) -> str:
    """The directive that says which module a page is about. A function of the same name is the one that is listed."""
    above, _, last = name.rpartition(".")
    taken = above in modules() and not inspect.ismodule(getattr(modules()[above].module, last))
    return f".. py:module:: {name}\n" + "   :no-index:\n" * taken + "\n"


def of_module(page: Module, title: str | None = None) -> str:
    """The page of one module."""
    text = heading(title or page.name, "=") + declared(page.name) + about(page.module)
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for key, value in page.own.items():
        if key != "Tensor":
            kind = (
                "Functions" if not isinstance(value, type) else "Errors" if issubclass(value, Exception) else "Classes"
            )
            kinds[kind].append(key)
    summary = [(link(f"{page.name}.{k}", k), prose(first_sentence(page.own[k]))) for ks in kinds.values() for k in ks]
    text += table(summary)
    for kind, keys in kinds.items():
        if keys:
            text += heading(kind, "-") + "".join(entry(f"{page.name}.{k}", page.own[k]) for k in keys)
    if page.elsewhere and page.name != "ferrograd":
        text += heading("The same as elsewhere", "-")
        text += "These names stand for what another page documents.\n\n"
        text += listed(list(page.elsewhere.items()))
    if page.constants:
        text += heading("Constants", "-")
        shown = {k: re.sub(r" at 0x[0-9a-f]+", "", repr(v)) for k, v in page.constants.items()}
        text += table([(f"``{k}``", f"``{v[:80].replace(chr(10), ' ')}``") for k, v in shown.items() if v])
    return text


def families() -> dict[str, tuple[str, list[str]]]:
    """The ops by family, which is the module of the table of cases that has an op's first row: title and names."""
    found: dict[str, tuple[str, list[str]]] = {}
    placed: set[str] = set()
    for info in pkgutil.iter_modules(tests.cases.__path__):
        module = importlib.import_module(f"tests.cases.{info.name}")
        title = (module.__doc__ or info.name).split("\n")[0].split(". ")[0].rstrip(".").split(": ")[0]
        ops = {entries()[case.op][0] for case in module.CASES if case.op in entries()} - placed
        # A function of the standard that is written in Python stands where its module is.
        ops = {op for op in ops if op_of(getattr_path(op)) == op}
        placed |= ops
        if ops:
            found[info.name] = (title.replace("``", ""), sorted(ops))
    return found


def getattr_path(path: str) -> Any:
    """The object at a path below the package."""
    value: Any = ferrograd
    for part in path.split("."):
        value = getattr(value, part)
    return value


def of_family(title: str, ops: list[str]) -> str:
    """The page of a family of ops."""
    text = heading(title, "=")
    text += table([(link(f"ferrograd.{op}", op), prose(first_sentence(getattr_path(op)))) for op in ops])
    for op in ops:
        others = [f"ferrograd.{name}" for name in entries()[op] if name != op]
        text += f".. autofunction:: ferrograd.{op}\n\n"
        if others:
            text += "   Other names: " + ", ".join(f"``{name}``" for name in others) + ".\n\n"
    return text


def of_tensor() -> str:
    """The page of the class of tensors: what is its own, and the methods that are ops."""
    reg = {n for names in entries().values() for n in names}
    text = heading("Tensor", "=") + ".. py:currentmodule:: ferrograd\n\n"
    own: list[tuple[str, str]] = []
    ops: list[tuple[str, str]] = []
    for key in sorted(vars(TENSOR)):
        if key.startswith("_"):
            continue
        name = key if key in reg else key.removesuffix("_")
        (ops if name in reg else own).append((key, name))
    text += ".. autoclass:: ferrograd.Tensor\n\n"
    for key, _ in own:
        value = vars(TENSOR)[key]
        kind = "method" if callable(value) or isinstance(value, classmethod | staticmethod) else "attribute"
        text += f"   .. auto{kind}:: ferrograd.Tensor.{key}\n\n"
    text += heading("Methods that apply a function", "-")
    text += "The tensor is the first argument. A method whose name ends in ``_`` writes the result into the tensor.\n\n"
    text += listed([(key, f"ferrograd.{entries()[name][0]}") for key, name in ops])
    return text


def toctree(pages: list[str], depth: int = 1) -> str:
    """A list of pages."""
    return f".. toctree::\n   :maxdepth: {depth}\n\n" + "".join(f"   {page}\n" for page in pages) + "\n"


def pages() -> dict[str, str]:
    """All pages of the reference by their path without the ending."""
    text: dict[str, str] = {"tensor": of_tensor()}
    for name, (title, ops) in families().items():
        text[f"ops/{name}"] = of_family(title, ops)
    found = modules()
    native = [n for n in found if not n.startswith(tuple(DIALECTS))]
    for name in native:
        text[name] = of_module(found[name], "ferrograd: gradients, modes, errors" if name == "ferrograd" else None)
    family_pages = [p.removeprefix("ops/") for p in text if p.startswith("ops/")]
    text["ops"] = heading("Ops by family", "=") + toctree([f"ops/{page}" for page in family_pages])
    for dialect, title in DIALECTS.items():
        short = dialect.split(".")[1]
        inner = [n for n in found if n.startswith(f"{dialect}.") and found[n].own]
        text[f"{short}/{dialect}"] = of_module(found[dialect])
        text[f"{short}/tensor"] = heading(f"{dialect}.Tensor", "=") + entry(
            f"{dialect}.Tensor", found[dialect].module.Tensor
        )
        for name in inner:
            text[f"{short}/{name}"] = of_module(found[name])
        same = [n for n in found if n.startswith(f"{dialect}.") and not found[n].own]
        text[f"{short}/same"] = of_modules_without_own(same)
        text[f"{short}/index"] = heading(f"{dialect}: {title}", "=") + toctree([dialect, "tensor", *inner, "same"])
    text["index"] = (
        heading("Reference", "=")
        + "Every public name has one entry. :ref:`genindex` lists them all.\n\n"
        + toctree(
            [
                "ferrograd",
                "tensor",
                "ops-index",
                "ops",
                *(n for n in native if n != "ferrograd"),
                "torch/index",
                "paddle/index",
            ],
            2,
        )
    )
    return text


def of_modules_without_own(names: list[str]) -> str:
    """The modules that only repeat names of others."""
    text = heading("Modules that repeat names", "=")
    text += "Programs import from these modules too. Everything in them is documented elsewhere.\n\n"
    for name in names:
        page = modules()[name]
        text += heading(name, "-") + declared(name) + about(page.module)
        text += listed(list(page.elsewhere.items()))
        if page.constants:
            text += "Constants: " + ", ".join(f"``{key}``" for key in page.constants) + ".\n\n"
    return text


def write() -> None:
    """Writes the pages whose text has changed, and removes those that are no longer made."""
    made = {FOLDER / f"{path}.rst": text for path, text in pages().items()}
    for old in set(FOLDER.rglob("*.rst")) - made.keys() - {FOLDER / "ops-index.rst"}:
        old.unlink()
    for file, text in made.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text("utf8") != text:
            file.write_text(text, "utf8")
