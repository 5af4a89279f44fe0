"""``ferrograd.graph``: a snapshot of the recorded graph that can be printed, drawn and written to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import EllipsisType

from ferrograd._core import ArgumentError, GradientEdge, Tensor
from ferrograd._graph import drawing
from ferrograd._graph.nodes import Snapshot


class Graph(Snapshot):
    """The recorded graph below one or several tensors, as it was when :func:`graph` was called.

    It is a sequence of nodes, the inputs of an op before the op. It keeps no tensor alive. Node numbers depend on the
    graph alone.
    """

    def to_dot(self, limit: int | None = 10_000) -> str:
        """The graph in the dot language of Graphviz: values flow along the arrows."""
        return drawing.dot(self, limit)

    def to_mermaid(self, limit: int | None = 250) -> str:
        """The graph as a Mermaid flowchart, which Markdown pages show."""
        return drawing.mermaid(self, limit)

    def to_svg(self, limit: int | None = 250) -> str:
        """The graph as a picture: leaves at the top, outputs at the bottom. Hovering shows a node's details."""
        return drawing.svg(self, limit)

    def to_html(self, limit: int | None = 250) -> str:
        """A page that needs no other file: the picture, and a table of the nodes with the lines that made them."""
        return drawing.page(self, limit)

    def save(self, path: str | os.PathLike[str], limit: int | EllipsisType | None = ...) -> None:
        """Writes the form that the name's end asks for: ``.txt``, ``.dot``, ``.mmd``, ``.svg`` or ``.html``.

        ``limit`` is that of the form, unless it is given.

        Raises:
            ArgumentError: another ending.
        """
        forms = {
            ".txt": self.to_text,
            ".dot": self.to_dot,
            ".mmd": self.to_mermaid,
            ".svg": self.to_svg,
            ".html": self.to_html,
        }
        name = os.fspath(path)
        form = forms.get(os.path.splitext(name)[1].lower())
        if form is None:
            raise ArgumentError(f"save: the name must end in one of {', '.join(forms)}: {name!r}")
        text = form() if isinstance(limit, EllipsisType) else form(limit)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else text + "\n")

    def _repr_svg_(self) -> str:
        return self.to_svg(100)

    def _repr_html_(self) -> str:
        return drawing.fragment(self, 100)


def graph(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge]) -> Graph:
    """The record below a tensor, or several: a :class:`Graph` of plain data, to be printed, drawn or walked.

    It is what ``backward`` would walk, with what each node keeps for it, and the line that recorded it. A graph that a
    backward pass has freed can be looked at too: its nodes say that they are ``"freed"``.

    Raises:
        ArgumentError: an output that does not require grad, or is no tensor.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> g = fg.graph(fg.exp(x).sum())
    >>> [node.op for node in g], g.kept
    (['leaf', 'exp', 'sum'], 8)
    """
    many = [outputs] if isinstance(outputs, (Tensor, GradientEdge)) else outputs
    if not isinstance(many, Sequence) or isinstance(many, str):
        raise ArgumentError(f"graph: a tensor or a sequence of tensors is asked for, not {type(outputs).__name__}")
    if not many:
        raise ArgumentError("graph: no tensor was given")
    for one in many:
        if not isinstance(one, (Tensor, GradientEdge)):
            raise ArgumentError(f"graph: outputs must be tensors, not {type(one).__name__}")
    return Graph(many)
