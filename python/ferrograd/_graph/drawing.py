"""Pictures of the recorded graph: dot, Mermaid, SVG and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ferrograd._graph import viewer
from ferrograd._graph.layered_layout import layout
from ferrograd._graph.nodes import Node, Snapshot, format_bytes, plural

# Sizes in a picture, in pixels: the width of a letter; the heights of a line, a node and the space between rows; the
# margin.
_LETTER, _LINE, _HEIGHT, _SPACE, _MARGIN = 6.9, 15, 54, 46, 16
# Letters of the longest label.
_LONGEST = 34

# The fill and the line of nodes and of leaves.
_NODE, _LEAF = ("#eef3fb", "#5b7db1"), ("#e9f5ea", "#4f9a58")

_STYLE = (
    f".fg-node rect{{fill:{_NODE[0]};stroke:{_NODE[1]}}}"
    f".fg-leaf rect{{fill:{_LEAF[0]};stroke:{_LEAF[1]}}}"
    ".fg-root rect{stroke-width:2.5}"
    ".fg-freed rect{stroke-dasharray:4 3}"
    ".fg-node text,.fg-more{font:11px Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1d2733;text-anchor:middle}"
    ".fg-node .fg-op{font-weight:bold}"
    ".fg-node .fg-at{fill:#66717f}"
    ".fg-edge{fill:none;stroke:#8a94a1;stroke-width:1.2}"
)


def edges_among(nodes: list[Node]) -> Iterator[tuple[Node, int, Node, int]]:
    """The edges between these nodes as (start node, output number, end node, argument number)."""
    shown = {node.id for node in nodes}
    for node in nodes:
        for at, edge in enumerate(node.edges):
            if edge is not None and edge[0].id in shown:
                yield edge[0], edge[1], node, at


def value_at(node: Node, out: int) -> str:
    """The label of an edge: the output, with its number if the node has several."""
    return f"{out}: {node.outputs[out]}" if len(node.outputs) > 1 else str(node.outputs[out])


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
    fill, line = _LEAF if leaf else _NODE
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
    for name, (fill, line) in (("default", _NODE), ("leaf", _LEAF)):
        lines.append(f"  classDef {name} fill:{fill},stroke:{line}")
    return "\n".join([*lines, ""])


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def svg(graph: Snapshot, limit: int | None, links: bool = False) -> str:
    """The graph as an SVG picture. With ``links`` each node is a link to its row in the table, and has its costs."""
    nodes = graph.nearest(limit)
    index = {node.id: i for i, node in enumerate(nodes)}
    roots = {node.id for node in graph.roots}
    texts = [[_short(text) for text in labels(node)] for node in nodes]
    widths = [max(64.0, 18 + _LETTER * max(map(len, lines))) for lines in texts]
    edges = list(edges_among(nodes))
    found = layout(widths, [(index[s.id], index[e.id]) for s, _, e, _ in edges])
    rest = more(graph, nodes)
    top = _MARGIN + (2 * _LINE if rest else 0)

    def y(row: int) -> float:
        return top + row * (_HEIGHT + _SPACE)

    def spread(i: int, at: int, n: int) -> float:
        """The x coordinate of edge ``at`` of ``n`` along the side of node ``i``."""
        step = min(14.0, widths[i] * 0.7 / n)
        return _MARGIN + found.x[i] + (at - (n - 1) / 2) * step

    width = max(found.width, _LETTER * len(rest)) + 2 * _MARGIN
    height = y(found.rows) - _SPACE + _MARGIN
    size_of = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size_of} role="img">',
        f"<title>{escape(graph.summary())}</title><style>{_STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
    ]
    if rest:
        parts.append(f'<text class="fg-more" x="{width / 2:.1f}" y="{_MARGIN + 11}">{escape(rest)}</text>')
    # Edges end at a node ordered by where they come from, left to right, so that they do not cross.
    into: dict[int, list[tuple[float, int]]] = {}
    for start, _, end, at in edges:
        bends = found.bends[index[start.id], index[end.id]]
        into.setdefault(end.id, []).append((bends[-1][0] if bends else found.x[index[start.id]], at))
    place = {(end, at): k for end, ways in into.items() for k, (_, at) in enumerate(sorted(ways))}
    for start, out, end, at in edges:
        i, j = index[start.id], index[end.id]
        points = [(spread(i, out, len(start.outputs)), y(found.row[i]) + _HEIGHT)]
        for x, row in found.bends[i, j]:
            points += [(_MARGIN + x, y(row)), (_MARGIN + x, y(row) + _HEIGHT)]
        points.append((spread(j, place[end.id, at], len(into[end.id])), y(found.row[j])))
        label = f"#{start.id} to #{end.id}: {value_at(start, out)}"
        parts.append(f'<path class="fg-edge" d="{_curve(points)}"><title>{escape(label)}</title></path>')
    for i, node in enumerate(nodes):
        x, kind = _MARGIN + found.x[i], ["fg-node"]
        kind += ["fg-leaf"] * node.is_leaf + ["fg-root"] * (node.id in roots) + ["fg-freed"] * (node.holding == "freed")
        title = f"{node}\n{node.site or ''}\n{node.source}".rstrip()
        costs = f' data-kept="{node.kept}"' if links else ""
        costs += f' data-us="{node.seconds * 1e6:.1f}"' if links and node.seconds is not None else ""
        parts.append(f'<g class="{" ".join(kind)}" data-id="{node.id}"{costs}>' + (f'<a href="#n{node.id}">' * links))
        parts.append(f"<title>{escape(title)}</title>")
        corner = 14 if node.is_leaf else 3
        box = f'x="{x - widths[i] / 2:.1f}" y="{y(found.row[i]):.1f}" width="{widths[i]:.1f}" height="{_HEIGHT}"'
        parts.append(f'<rect {box} rx="{corner}"/>')
        for line, (name, text) in enumerate(zip(("fg-op", "fg-value", "fg-at"), texts[i], strict=True)):
            down = y(found.row[i]) + 16 + line * _LINE
            parts.append(f'<text class="{name}" x="{x:.1f}" y="{down:.1f}">{escape(text)}</text>')
        parts.append("</a>" * links + "</g>")
    return "\n".join([*parts, "</svg>", ""])


def _curve(points: list[tuple[float, float]]) -> str:
    """An SVG path through the points, vertical at each, with an arrowhead at the end."""
    (x, y), *others = points
    path = f"M{x:.1f},{y:.1f}"
    for to_x, to_y in others:
        if abs(to_x - x) < 0.05:
            path += f"V{to_y:.1f}"
        else:
            middle = (y + to_y) / 2
            path += f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        x, y = to_x, to_y
    return path + f"M{x - 3:.1f},{y - 6:.1f}L{x:.1f},{y:.1f}L{x + 3:.1f},{y - 6:.1f}"


def _table(graph: Snapshot, nodes: list[Node], targets: bool) -> str:
    """An HTML table with a row for each node, the roots first."""
    timed = bool(graph.seconds)
    head = ["node", "op", "name", "outputs", "inputs", "keeps", *(["us"] * timed), "recorded at", "line"]
    rows = []
    for node in reversed(nodes):
        inputs = ", ".join(f"#{edge[0].id}" for edge in node.edges if edge is not None)
        kept = format_bytes(node.kept) if node.holding == "live" else f"{format_bytes(node.kept)}, {node.holding}"
        time = "" if node.seconds is None else f"{node.seconds * 1e6:.1f}"
        values = "; ".join(map(str, node.outputs))
        cells = [f"#{node.id}", node.op, node.name or "", values, inputs, kept, *([time] * timed)]
        text = "".join(f"<td>{escape(cell)}</td>" for cell in [*cells, node.place])
        name = f' id="n{node.id}"' if targets else ""
        code = f'<td title="{escape(node.site or "")}"><code>{escape(node.source)}</code></td>'
        rows.append(f"<tr{name}>{text}{code}</tr>")
    heads = "".join(f"<th>{one}</th>" for one in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def fragment(graph: Snapshot, limit: int | None) -> str:
    """The picture and the table as HTML for a notebook."""
    picture, table = svg(graph, limit), _table(graph, graph.nearest(limit), False)
    return (
        f'<div style="max-height:40em;overflow:auto">{picture}</div>'
        f"<details><summary>{escape(graph.summary())}</summary>{table}</details>"
    )


_PAGE = (
    "body{font:14px system-ui,sans-serif;margin:1.5em;color:#1d2733;background:#fff}"
    "table{border-collapse:collapse;margin-top:1.5em}"
    "th,td{text-align:left;padding:.25em .8em;border-bottom:1px solid #e3e7eb;vertical-align:top}"
    "tr:target{background:#fff3c4}"
)


def page(graph: Snapshot, limit: int | None) -> str:
    """The picture, which can be zoomed, moved, searched and coloured, and the table, as an HTML page of one file."""
    summary, nodes = escape(graph.summary()), graph.nearest(limit)
    rest = more(graph, nodes)
    left = f"<p>{escape(rest)} not shown.</p>" if rest else ""
    bar = viewer.BAR.format(time=viewer.TIME if graph.seconds else "")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{summary}</title>'
        f"<style>{_PAGE}{viewer.STYLE}</style></head><body>\n<h1>{summary}</h1>\n{left}{bar}"
        f'<div class="fg-picture">{svg(graph, limit, links=True)}</div>\n{_table(graph, nodes, True)}\n'
        f"<script>{viewer.SCRIPT}</script>\n</body></html>\n"
    )
