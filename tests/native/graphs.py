"""Graphs for the tests of how graphs are shown."""

from __future__ import annotations

import ferrograd as fg
import numpy as np

#: The prefix of element names in XML.
SVG = "{http://www.w3.org/2000/svg}"


def leaf(values: object) -> fg.Tensor:
    return fg.tensor(np.asarray(values, dtype=np.float64), requires_grad=True)


def network() -> tuple[fg.Tensor, fg.Tensor]:
    x, w = leaf([[1.0, 2.0, 3.0]]), leaf(np.eye(3))
    w.name = "w"
    hidden = fg.tanh(x @ w)
    return ((hidden @ w + x) * hidden).sum(), w


def edges(graph: fg.Graph) -> list[tuple[int, int]]:
    return [(edge[0].id, node.id) for node in graph for edge in node.edges if edge is not None]


def chain(n: int) -> fg.Tensor:
    y = leaf(1.0)
    for _ in range(n):
        y = -y
    return y
