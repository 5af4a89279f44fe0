"""The recorded graph in the languages of other programs: dot and Mermaid."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ferrograd._graph.nodes import Node, Snapshot, format_bytes, plural

# The fill and the line of nodes and of leaves.
NODE, LEAF = ("#eef3fb", "#5b7db1"), ("#e9f5ea", "#4f9a58")


def edges_among(nodes: list[Node]) -> Iterator[tuple[Node, int, Node, int]]:
    """The edges between these nodes as (start node, output number, end node, argument number)."""
    shown = {node.id for node in nodes}
    for node in nodes:
        for at, edge in enumerate(node.edges):
            if edge is not None and edge[0].id in shown:
                yield edge[0], edge[1], node, at


def labels(node: Node) -> tuple[str, str, str]:
    """The three lines of a node: op and name, outputs, and ``file:line`` with the saved bytes."""
    values = ", ".join(map(str, node.outputs))
    parts = [node.place, format_bytes(node.kept) if node.kept else ""]
    return f"{node.op} {node.name}" if node.name else node.op, values, "  ".join(filter(None, parts))


def more(graph: Snapshot, nodes: list[Node]) -> str:
    """``"5 more nodes"`` if ``nodes`` lacks 5 of the graph; empty if it lacks none."""
    return f"{plural(len(graph) - len(nodes), 'more node')}" if len(nodes) < len(graph) else ""


def dot_colours(leaf: bool) -> str:
    """The attributes of a node, or a leaf, in the dot language."""
    fill, line = LEAF if leaf else NODE
    return f'style="{"rounded," * leaf}filled", fillcolor="{fill}", color="{line}"'


def dot(graph: Snapshot, limit: int | None) -> str:
    """The graph in the dot language."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    nodes = graph.nearest(limit)
    lines = ["digraph G {", '  node [shape=box, fontname="monospace", fontsize=10];']
    for node in nodes:
        label = quoted("\n".join(filter(None, labels(node))))
        style = dot_colours(node.is_leaf)
        lines.append(f"  node_{node.id} [label={label}, tooltip={quoted(node.source or node.op)}, {style}];")
        for at in (at for at, edge in enumerate(node.edges) if edge is None):
            lines.append(f'  constant_{node.id}_{at} [shape=point, color="#b4bac2"];')
            lines.append(f'  constant_{node.id}_{at} -> node_{node.id} [color="#b4bac2"];')
    for start, out, end, _ in edges_among(nodes):
        label = f" [label={quoted(str(out))}]" if len(start.outputs) > 1 else ""
        lines.append(f"  node_{start.id} -> node_{end.id}{label};")
    if rest := more(graph, nodes):
        lines.append(f"  more [label={quoted(rest)}, shape=plaintext];")
    return "\n".join([*lines, "}", ""])


def mermaid(graph: Snapshot, limit: int | None) -> str:
    """The graph as a Mermaid flowchart."""

    def quoted(text: str) -> str:
        return '"' + escape(text).replace("&", "#").replace("##", "#").replace("\n", "<br/>") + '"'

    nodes = graph.nearest(limit)
    lines = ["flowchart TD"]
    for node in nodes:
        left, right = ("([", "])") if node.is_leaf else ("[", "]")
        mark = ":::leaf" * node.is_leaf
        lines.append(f"  n{node.id}{left}{quoted(chr(10).join(filter(None, labels(node))))}{right}{mark}")
    for start, out, end, _ in edges_among(nodes):
        label = f"|{out}|" if len(start.outputs) > 1 else ""
        lines.append(f"  n{start.id} -->{label} n{end.id}")
    if rest := more(graph, nodes):
        lines.append(f"  more[{quoted(rest)}]")
    for name, (fill, line) in (("default", NODE), ("leaf", LEAF)):
        lines.append(f"  classDef {name} fill:{fill},stroke:{line}")
    return "\n".join([*lines, ""])
