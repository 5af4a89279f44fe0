"""The recorded graph as PNG or PDF: its SVG picture drawn by Matplotlib, or its dot file drawn by Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from ferrograd._graph.drawing import LEAF, NODE
from ferrograd._graph.nodes import Snapshot

#: Points of paper for a pixel of the picture.
_POINT = 0.75
#: The fill and the line of a shape, by the classes of its group that say it.
_COLOURS = {"fg-leaf": LEAF, "fg-block": ("#fdf3dd", "#b98a2e"), "fg-stub": ("#ffffff", "#8a94a1"), "fg-node": NODE}
#: The colour and the size of a text, by its class.
_TEXTS = {"fg-at": ("#66717f", 11), "fg-nth": ("#66717f", 9)}
_GREY, _DARK = "#8a94a1", "#1d2733"


def write(graph: Snapshot, path: str, limit: int | None) -> None:
    """Writes a PNG or PDF.

    Raises:
        ImportError: neither Matplotlib nor Graphviz is installed.
    """
    if find_spec("matplotlib") is not None:
        from ferrograd._graph.picture import svg

        return _drawn(svg(graph, limit), path)
    program = shutil.which("dot")
    if program is None:
        raise ImportError("save: PNG and PDF need Matplotlib (pip install matplotlib) or Graphviz; .svg needs neither")
    from ferrograd._graph.drawing import dot

    kind = path.rpartition(".")[2].lower()
    subprocess.run([program, f"-T{kind}", "-o", path], input=dot(graph, limit), text=True, check=True)
    return None


def _drawn(text: str, path: str) -> None:
    """Draws the shapes of a picture: boxes, curves, circles and texts."""
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(text)
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    figure = Figure(figsize=(width * _POINT / 72, height * _POINT / 72))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _draw(root, [], axes)
    figure.savefig(path, dpi=144)


def _draw(element: Any, classes: list[str], axes: Any) -> None:
    """Draws the elements of a group. The classes given are its own and those of the groups around it."""
    for part in element:
        tag = part.tag.rpartition("}")[2]
        own = [*classes, *part.get("class", "").split()]
        if tag in ("g", "a"):
            _draw(part, own, axes)
        elif tag in _SHAPES and (tag != "rect" or classes):
            _SHAPES[tag](part, own, axes)


def _rect(part: Any, classes: list[str], axes: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, w, h = (float(part.get(name)) for name in ("x", "y", "width", "height"))
    fill, line = next(colours for kind, colours in _COLOURS.items() if kind in classes)
    round_by = min(float(part.get("rx", 0)), h / 2)
    shift = 4 if part.get("transform") else 0
    style = f"round,pad=0,rounding_size={round_by}"
    thick = 2.5 if "fg-root" in classes else 1
    dashes = "--" if "fg-freed" in classes else "-"
    at = (x + shift, y + shift)
    axes.add_patch(
        FancyBboxPatch(at, w, h, style, fc=fill, ec=line, lw=thick * _POINT, ls=dashes, mutation_aspect=1, zorder=2)
    )


def _text(part: Any, classes: list[str], axes: Any) -> None:
    colour, size = next((_TEXTS[kind] for kind in classes if kind in _TEXTS), (_DARK, 11))
    weight = "bold" if "fg-op" in classes else "normal"
    side = "center" if "fg-nth" not in classes else "right" if "end" in part.get("style", "") else "left"
    # A dollar would begin a formula.
    words = (part.text or "").replace("$", r"\$")
    axes.text(
        float(part.get("x")),
        float(part.get("y")),
        words,
        color=colour,
        fontsize=size * _POINT,
        family="monospace",
        weight=weight,
        ha=side,
        va="baseline",
        zorder=3,
    )


def _circle(part: Any, classes: list[str], axes: Any) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((float(part.get("cx")), float(part.get("cy"))), float(part.get("r")), color="#b4bac2"))


def _path(part: Any, classes: list[str], axes: Any) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for letter, text in re.findall(r"([MVHCL])([^MVHCL]*)", part.get("d")):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", text)]
        if letter in "VH":
            x, y = points[-1]
            numbers = [x, numbers[0]] if letter == "V" else [numbers[0], y]
        points += zip(numbers[::2], numbers[1::2], strict=True)
        codes += [Path.MOVETO] if letter == "M" else [Path.CURVE4] * 3 if letter == "C" else [Path.LINETO]
    axes.add_patch(PathPatch(Path(points, codes), fc="none", ec=_GREY, lw=1.2 * _POINT, zorder=1))


_SHAPES = {"rect": _rect, "text": _text, "circle": _circle, "path": _path}
