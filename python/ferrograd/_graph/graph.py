"""``ferrograd.graph``: a snapshot of the recorded graph that can be printed, drawn and written to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from ferrograd._core import ArgumentError, GradientEdge, Tensor
from ferrograd._graph import drawing, picture, viewer
from ferrograd._graph.nodes import Snapshot


class Graph(Snapshot):
    """The recorded graph below one or several tensors, as it was when :func:`graph` was called.

    It is a sequence of nodes, the inputs of an op before the op. It keeps no tensor alive. Node numbers depend on the
    graph alone.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> graph = fg.graph(fg.sum(fg.sin(x)))
    >>> [node.op for node in graph]
    ['leaf', 'sin', 'sum']
    """

    def to_dot(self, limit: int | None = 10_000) -> str:
        """The graph in the dot language of Graphviz. Arrows point from inputs to results."""
        return drawing.dot(self, limit)

    def to_mermaid(self, limit: int | None = 250) -> str:
        """The graph as a Mermaid flowchart, for Markdown pages."""
        return drawing.mermaid(self, limit)

    def to_svg(self, limit: int | None = 5_000) -> str:
        """The graph as an SVG picture, leaves at the top. The pointer over a node shows its details.

        More than 24 ops are folded into blocks: the ops of a module, the rounds of a loop, the ops of a line, the lines
        of a function.
        """
        return picture.svg(self, limit)

    def to_html(self, limit: int | None = 5_000) -> str:
        """A self-contained page: the picture, and a table of the nodes with the lines that recorded them.

        A click on a block shows what is in it. The page is searched, zoomed, and coloured by memory, and by time where
        :meth:`timed` measured it.
        """
        return viewer.page(self, limit)

    def save(self, path: str | os.PathLike[str], limit: int | EllipsisType | None = ...) -> None:
        """Writes a file in the format of its ending: ``.txt``, ``.dot``, ``.mmd``, ``.svg``, ``.html``, and pictures.

        These are ``.png`` and ``.pdf``, and need Matplotlib or Graphviz. The default of ``limit``, the number of nodes
        shown, is that of the format's method; pictures have that of ``to_svg``.

        Raises:
            ArgumentError: another ending.
            ImportError: neither Matplotlib nor Graphviz is installed.
        """
        forms = {
            ".txt": self.to_text,
            ".dot": self.to_dot,
            ".mmd": self.to_mermaid,
            ".svg": self.to_svg,
            ".html": self.to_html,
        }
        name = os.fspath(path)
        ending = os.path.splitext(name)[1].lower()
        if ending in (".png", ".pdf"):
            from ferrograd._graph.pixels import write

            return write(self, name, 5_000 if isinstance(limit, EllipsisType) else limit)
        form = forms.get(ending)
        if form is None:
            raise ArgumentError(f"save: the name must end in one of {', '.join([*forms, '.png', '.pdf'])}: {name!r}")
        text = form() if isinstance(limit, EllipsisType) else form(limit)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else text + "\n")

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return viewer.fragment(self, 5_000, 100)


def graph(
    outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], *, names: Any = (), values: bool = False
) -> Graph:
    """A snapshot of the graph that ``backward`` would walk: a :class:`Graph`, to be printed, drawn or searched.

    Each node has its op, the bytes it saved and the line that recorded it. The nodes of a graph that a backward pass
    has freed have the state ``"freed"``.

    Args:
        outputs: a tensor or several.
        names: tensors by name, such as ``locals()``, or a module. Leaves and outputs have the names in their attribute
            ``name``, and parameters those in their module, without it.
        values: whether nodes have their ``value``, where it is known, and their ``cotangent``. Known are the values of
            leaves, of outputs, of tensors with ``names`` and those that gradient rules keep. For the cotangents a
            backward pass of the sum of the outputs runs, which frees nothing and calls the hooks of tensors.

    Raises:
        ArgumentError: an output does not require a gradient or is not a tensor.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> g = fg.graph(fg.exp(x).sum())
    >>> [node.op for node in g], g.kept
    (['leaf', 'exp', 'sum'], 8)
    >>> square = x * x
    >>> print(fg.graph(square.sum(), names={"square": square}, values=True)[1])
    #1 multiply 'square' float32[2], keeps 8 B, value [1. 4.], cotangent [1. 1.], ...
    """
    many = [outputs] if isinstance(outputs, (Tensor, GradientEdge)) else outputs
    if not isinstance(many, Sequence) or isinstance(many, str):
        raise ArgumentError(f"graph: a tensor or a sequence of tensors is asked for, not {type(outputs).__name__}")
    if not many:
        raise ArgumentError("graph: no tensor was given")
    for one in many:
        if not isinstance(one, (Tensor, GradientEdge)):
            raise ArgumentError(f"graph: outputs must be tensors, not {type(one).__name__}")
    return Graph(many, names=names, values=values)
