"""Docstrings, which mix Markdown's and Sphinx's marks, as reStructuredText; and the types that stubs give to ops."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import ferrograd
from docutils import nodes
from ferrograd import _core
from sphinx import addnodes

#: What stands in backquotes, single or double, or after a role of Sphinx.
CODE = re.compile(r":[a-z]+:`[^`]+`|``.+?``|`[^`]+`", re.DOTALL)
HEADING = re.compile(r"^(Raises|Args|Returns|Yields|Attributes):$")


def prose(text: str) -> str:
    """Text whose only marks are those of code; every other character that Sphinx would read as a mark is escaped."""
    parts, end = [], 0
    for match in CODE.finditer(text):
        parts.append(re.sub(r"([*|\\_])", r"\\\1", text[end : match.start()]))
        given = match[0]
        parts.append("``" + given.strip("`").split("`")[-1].strip() + "``")
        end = match.end()
        if text[end : end + 1].isalnum():
            parts.append("\\ ")
    parts.append(re.sub(r"([*|\\_])", r"\\\1", text[end:]))
    return re.sub(r"(?m)^(\s*)\\\* ", r"\1* ", "".join(parts))


def paragraphs(lines: list[str]) -> list[list[str]]:
    """The lines between empty lines; an example reaches to the next empty line, and a fenced block to its end."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in lines:
        fence = line.strip().startswith("```")
        starts = line.strip().startswith(">>>") and not (found[-1] and found[-1][0].strip().startswith(">>>"))
        if (not line.strip() and not fenced) or (starts and not fenced) or (fence and not fenced):
            found.append([])
        if line.strip() or fenced:
            found[-1].append(line)
        fenced ^= fence
    return [p for p in found if p]


def block(lines: list[str]) -> list[str]:
    """One paragraph as reStructuredText."""
    if lines[0].strip().startswith(">>>"):
        return lines
    if lines[0].strip().startswith("```"):
        return [".. code-block:: python", "", *("    " + line for line in lines[1:] if line.strip() != "```")]
    if HEADING.match(lines[0].strip()):
        return [lines[0], *prose("\n".join(lines[1:])).split("\n")]
    # A line that ends in a colon and what is indented below it are a literal block.
    first = len(lines[0]) - len(lines[0].lstrip())
    for i, line in enumerate(lines[1:], 1):
        if len(line) - len(line.lstrip()) > first and not lines[0].lstrip().startswith(("* ", "- ")):
            return [*prose("\n".join(lines[:i])).split("\n"), "", "::", "", *("    " + rest for rest in lines[i:])]
    return prose("\n".join(lines)).split("\n")


def to_rst(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText. Lines that are indented as a whole stay a part of the section above them."""
    found: list[str] = []
    for lines_of_one in paragraphs(lines):
        found += [*block(lines_of_one), ""]
    return found


@cache
def examples() -> dict[str, list[str]]:
    """The lines of the examples in ``examples.md``, by the name that they are of."""
    text = (Path(__file__).parent / "examples.md").read_text("utf8")
    found = re.findall(r"^## (ferrograd\.(\w+)\S*)\n\n```python\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    return {name: [f">>> import ferrograd.{short} as {short}", *code.splitlines()] for name, short, code in found}


def convert(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The handler of ``autodoc-process-docstring``."""
    more = [] if any(">>>" in line for line in lines) else examples().get(name, [])
    lines[:] = to_rst([*lines, "", *more])


@cache
def stubs() -> dict[str, tuple[str, str]]:
    """The parameters and result of each op and each method of ``Tensor``, by the name that users write."""
    folder = Path(_core.__file__).parent / "_core"
    if not folder.exists():
        folder = Path(ferrograd.__path__[0]) / "_core"
    found: dict[str, tuple[str, str]] = {}

    def add(node: ast.AST, path: str) -> None:
        if isinstance(node, ast.FunctionDef):
            result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            found[f"{path}.{node.name}"] = (tidy(f"({ast.unparse(node.args)})"), tidy(result).removeprefix(" -> "))
        elif isinstance(node, ast.ClassDef) and node.name == "Tensor":
            for inner in node.body:
                add(inner, f"{path}.Tensor")

    for file in sorted((folder / "native").glob("*.pyi")):
        for node in ast.parse(file.read_text("utf8")).body:
            add(node, "ferrograd" if file.stem == "__init__" else f"ferrograd.{file.stem}")
    for node in ast.parse((folder / "__init__.pyi").read_text("utf8")).body:
        if isinstance(node, ast.ClassDef):
            add(node, "ferrograd")
    return found


#: The stubs' own abbreviations, in words.
WORDS = {
    "_Operand": "Tensor | ndarray | number",
    "_Number": "number",
    "_Array": "Tensor | ndarray",
    "_Ints": "int | Sequence[int]",
    "SupportsIndex": "int",
    "builtins.": "",
    "np.ndarray[Any, Any]": "ndarray",
    "DTypeLike": "dtype",
}


def tidy(text: str) -> str:
    """A signature with words for the abbreviations."""
    for short, long in WORDS.items():
        text = text.replace(short, long)
    return text


def link_types(app: Any, doctree: nodes.document) -> None:
    """The handler of ``doctree-read``: in signatures, only the library's own types are links."""
    for reference in list(doctree.findall(addnodes.pending_xref)):
        if reference.get("refdomain") == "py" and reference.get("reftype") in ("class", "obj"):
            if reference["reftarget"] == "Tensor":
                reference["reftarget"] = "ferrograd.Tensor"
            if not reference["reftarget"].startswith("ferrograd."):
                reference.replace_self(reference.children)


def signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str, result: str) -> Any:
    """The handler of ``autodoc-process-signature``: ops have the types of their stubs."""
    if getattr(obj, "__text_signature__", None) is not None and name in stubs():
        return stubs()[name]
    return given, (result or "").replace("_Any", "Any") or None
