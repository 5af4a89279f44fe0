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


def labels(node: Node) -> list[str]:
    """The lines of a node: op and name, outputs, ``file:line`` with the saved bytes, and the numbers that are known."""
    values = ", ".join(map(str, node.outputs))
    parts = [node.place, keeps(node.kept)]
    name = f"{node.op} {node.name}" if node.name else node.op
    return [name, values, "  ".join(filter(None, parts)), *node.numbers]


def keeps(kept: int) -> str:
    """How many bytes are kept; empty for none."""
    return f"keeps {format_bytes(kept)}" if kept else ""


def ordinal(argument: int, node: Node) -> str:
    """Which operand of a node an argument is: ``"1st"`` for argument 0; empty where there is one."""
    if len(node.edges) < 2:
        return ""
    n = argument + 1
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


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
    lines = ["digraph G {", '  node [shape=box, fontname="monospace", fontsize=10, ordering=in];']
    lines.append('  edge [fontname="monospace", fontsize=8];')
    for node in nodes:
        label = quoted("\n".join(filter(None, labels(node))))
        style = dot_colours(node.is_leaf)
        lines.append(f"  node_{node.id} [label={label}, tooltip={quoted(node.source or node.op)}, {style}];")
        for at in (at for at, edge in enumerate(node.edges) if edge is None):
            lines.append(f'  constant_{node.id}_{at} [shape=point, color="#b4bac2"];')
            nth = ordinal(at, node)
            label = f', headlabel="{nth}"' if nth else ""
            lines.append(f'  constant_{node.id}_{at} -> node_{node.id} [color="#b4bac2"{label}];')
    for start, out, end, at in edges_among(nodes):
        about = [f"label={quoted(str(out))}"] if len(start.outputs) > 1 else []
        about += [f'headlabel="{nth}"'] if (nth := ordinal(at, end)) else []
        lines.append(f"  node_{start.id} -> node_{end.id}{f' [{chr(44).join(about)}]' if about else ''};")
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
    for start, out, end, at in edges_among(nodes):
        about = " to ".join(filter(None, [str(out) * (len(start.outputs) > 1), ordinal(at, end)]))
        label = f"|{about}|" if about else ""
        lines.append(f"  n{start.id} -->{label} n{end.id}")
    if rest := more(graph, nodes):
        lines.append(f"  more[{quoted(rest)}]")
    for name, (fill, line) in (("default", NODE), ("leaf", LEAF)):
        lines.append(f"  classDef {name} fill:{fill},stroke:{line}")
    return "\n".join([*lines, ""])
