"""Pictures of the recorded graph in SVG: one of the whole graph, and one of the inside of each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from ferrograd._graph.drawing import LEAF, NODE, keeps, labels, more, ordinal
from ferrograd._graph.folding import Block, Item, fold, nodes_of
from ferrograd._graph.layered_layout import layout
from ferrograd._graph.nodes import Node, Snapshot, plural

# Sizes in pixels: the width of a letter; the heights of a line, a box and the space between rows; the margin.
_LETTER, _LINE, _HEIGHT, _SPACE, _MARGIN = 6.9, 15, 54, 46, 16
# Letters of the longest label of a box and of a stub; stubs and dots beside a box; the height of a stub.
_LONGEST, _STUB, _PINS, _PIN = 60, 40, 3, 15
# Lines of the longest tooltip of an edge.
_LINES = 8

STYLE = (
    f".fg-node rect{{fill:{NODE[0]};stroke:{NODE[1]}}}"
    f".fg-leaf rect{{fill:{LEAF[0]};stroke:{LEAF[1]}}}"
    ".fg-block rect{fill:#fdf3dd;stroke:#b98a2e}"
    ".fg-stub:not(.fg-leaf) rect{fill:#fff;stroke:#8a94a1}"
    ".fg-root rect{stroke-width:2.5}"
    ".fg-freed rect{stroke-dasharray:4 3}"
    ".fg-view text{font:11px Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1d2733;text-anchor:middle}"
    ".fg-view .fg-op{font-weight:bold}"
    ".fg-view .fg-at{fill:#66717f}"
    ".fg-view .fg-nth{fill:#66717f;font-size:9px;text-anchor:start}"
    ".fg-edge{fill:none;stroke:#8a94a1;stroke-width:1.2}"
    ".fg-constant{fill:#b4bac2}"
)


class _Pin(NamedTuple):
    """What a box takes from elsewhere: a stub with a text, or a grey dot without one."""

    text: str
    title: str
    leaf: bool = False

    @property
    def width(self) -> float:
        return 8 + _LETTER * len(self.text) if self.text else 8.0


class _Edge(NamedTuple):
    """A value between two boxes: the output's number, the argument's, and the tooltip."""

    out: int
    argument: int
    title: str
    nth: str = ""


def svg(graph: Snapshot, limit: int | None) -> str:
    """The graph as an SVG picture. A graph of many nodes is folded into blocks."""
    nodes = graph.nearest(limit)
    return _svg(graph, fold(graph, nodes), {node.id for node in nodes}, more(graph, nodes))


def views(graph: Snapshot, limit: int | None, anchor: str) -> list[str]:
    """The pictures of a page: the whole graph, which is open, then the inside of each block.

    They have links to each other, and to the rows of the table, whose ids are ``anchor`` and the node's number.
    """
    nodes = graph.nearest(limit)
    shown, rest = {node.id for node in nodes}, more(graph, nodes)
    blocks: list[tuple[Sequence[Item], str]] = [(fold(graph, nodes), 'data-title="graph"')]
    pictures = []
    for number, (items, about) in enumerate(blocks):

        def opened(block: Block, up: int = number) -> int:
            blocks.append((block.items, f'data-title="{escape(_short(_title(block)))}" data-up="{up}"'))
            return len(blocks) - 1

        pictures.append(_svg(graph, items, shown, "" if number else rest, opened, about, anchor))
    pictures[0] = pictures[0].replace('class="fg-view"', 'class="fg-view fg-open"', 1)
    return pictures


def _svg(
    graph: Snapshot,
    items: Sequence[Item],
    shown: set[int],
    rest: str,
    opened: Callable[[Block], int] | None = None,
    about: str = "",
    anchor: str = "",
) -> str:
    """One picture of these items.

    With ``opened``, which numbers the picture of a block, nodes are links to their rows in the table.
    """
    boxes, at, owner = _boxes(items, shown)
    edges, pins, away = _connections(boxes, at, owner, shown)
    texts = [_labels(box) for box in boxes]
    widths = [max(64.0, 18 + _LETTER * max(map(len, lines))) for lines in texts]
    beside = [10 + max(pin.width for pin in some) if some else 0.0 for some in pins]
    found = layout([w + 2 * side for w, side in zip(widths, beside, strict=True)], list(edges))
    top = _MARGIN + (2 * _LINE if rest else 0)
    roots = {root.id for root in graph.roots}
    tall = _HEIGHT + _LINE * max((len(lines) - 3 for lines in texts), default=0)

    def y(row: int) -> float:
        return top + row * (tall + _SPACE)

    def spread(i: int, k: int, n: int) -> float:
        """The x coordinate of edge ``k`` of ``n`` along the side of box ``i``."""
        return _MARGIN + found.x[i] + (k - (n - 1) / 2) * min(14.0, widths[i] * 0.7 / n)

    width = max(found.width, _LETTER * len(rest)) + 2 * _MARGIN
    height = y(found.rows) - _SPACE + _MARGIN + 10 * any(away)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    # A picture whose nodes are links is a group of them; one without is an image.
    role = f'role="group" aria-label="{escape(graph.summary())}"' if opened else 'role="img"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fg-view" {size} {role} {about}>',
        "" if opened else f"<title>{escape(graph.summary())}</title><style>{STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
    ]
    if rest:
        parts.append(f'<text x="{width / 2:.1f}" y="{_MARGIN + 11}">{escape(rest)}</text>')
    # Edges end at an op in the order of its operands, and at a block by where they come from, so that they do not
    # cross.
    into: dict[int, list[tuple[float, int, int]]] = {}
    for (i, j), several in edges.items():
        bends = found.bends[i, j]
        come = bends[-1][0] if bends else found.x[i]
        into.setdefault(j, []).extend((0.0 if edge.nth else come, edge.argument, i) for edge in several)
    place = {(i, j, k): n for j, ways in into.items() for n, (_, k, i) in enumerate(sorted(ways))}
    for (i, j), several in edges.items():
        start = boxes[i]
        outs = len(start.outputs) if isinstance(start, Node) else 1
        for edge in several:
            points = [(spread(i, edge.out, outs), y(found.row[i]) + tall)]
            for x, row in found.bends[i, j]:
                points += [(_MARGIN + x, y(row)), (_MARGIN + x, y(row) + tall)]
            points.append((spread(j, place[i, j, edge.argument], len(into[j])), y(found.row[j])))
            parts.append(_edge(_curve(points), edge.title))
            if edge.nth:
                x, down = points[-1]
                # The first stands left of its arrow, the others right of theirs.
                anchor_at = ' style="text-anchor:end"' if place[i, j, edge.argument] == 0 else ""
                beside_by = -5 if anchor_at else 5
                parts.append(
                    f'<text class="fg-nth" x="{x + beside_by:.1f}" y="{down - 7:.1f}"{anchor_at}>{edge.nth}</text>'
                )
    for i, box in enumerate(boxes):
        left, down = _MARGIN + found.x[i] - widths[i] / 2, y(found.row[i])
        if away[i]:
            x, bottom = _MARGIN + found.x[i], down + tall
            parts.append(_edge(_curve([(x, bottom), (x, bottom + 16)]), _some(away[i])))
        parts.extend(_pins(pins[i], left, down, tall))
        parts.append(_box(box, texts[i], left, down, widths[i], tall, roots, opened, anchor))
    return "\n".join([*parts, "</svg>", ""])


def _boxes(items: Sequence[Item], shown: set[int]) -> tuple[list[Item], dict[int, int], dict[int, int]]:
    """The items with the leaves among them; for each node its box; for each leaf the box that it stands above.

    A leaf stands above the first op that uses it. Stubs stand for it elsewhere.
    """
    boxes: list[Item] = []
    at: dict[int, int] = {}
    owner: dict[int, int] = {}
    for item in items:
        leaves = [leaf for leaf in item.inputs if leaf.is_leaf and leaf.id in shown] if isinstance(item, Node) else []
        new = [leaf for leaf in dict.fromkeys(leaves) if leaf.id not in at]
        for box in [*new, item]:
            at.update((node.id, len(boxes)) for node in nodes_of(box))
            boxes.append(box)
        owner.update((leaf.id, len(boxes) - 1) for leaf in new)
    return boxes, at, owner


def _connections(
    boxes: Sequence[Item], at: dict[int, int], owner: dict[int, int], shown: set[int]
) -> tuple[dict[tuple[int, int], list[_Edge]], list[list[_Pin]], list[list[str]]]:
    """The edges between boxes; for each box its stubs and dots; for each box the values that leave the picture."""
    edges: dict[tuple[int, int], list[_Edge]] = {}
    pins: list[list[_Pin]] = []
    away: list[list[str]] = []
    for j, box in enumerate(boxes):
        whole = isinstance(box, Node)
        own: dict[object, _Pin] = {}
        for node in nodes_of(box):
            for k, edge in enumerate(node.edges):
                if edge is None:
                    if whole:
                        own[k] = _Pin("", f"{ordinal(k, node) or 'the'} operand needs no gradient")
                    continue
                start, out = edge
                i = at.get(start.id)
                value = f"{out}: {start.outputs[out]}" if len(start.outputs) > 1 else str(start.outputs[out])
                title = f"#{start.id} to #{node.id}: {value}"
                if i is None or owner.get(start.id, j) != j:
                    text = start.name or (f"#{start.id}" if start.is_leaf else f"#{start.id} {start.op}")
                    nth = f"{ordinal(k, node)} ".lstrip() if whole else ""
                    own[k if whole else (0, start.id)] = _Pin(nth + _short(text, _STUB), title, start.is_leaf)
                elif i != j:
                    edges.setdefault((i, j), []).append(_Edge(out, k, title, ordinal(k, node) if whole else ""))
        listed = list(own.values())
        if len(listed) > _PINS:
            rest = listed[_PINS - 1 :]
            listed[_PINS - 1 :] = [_Pin(f"+{len(rest)}", _some([pin.title for pin in rest]))]
        pins.append(listed)
        users = {user.id: user for node in nodes_of(box) if not node.is_leaf for user in node.users}
        outside = [user for user in users.values() if user.id in shown and user.id not in at]
        away.append([f"to #{user.id} {user.op}" for user in outside])
    for (i, j), several in edges.items():
        if isinstance(boxes[i], Block) or isinstance(boxes[j], Block):
            several[:] = [_Edge(0, 0, _some([edge.title for edge in several]))]
    return edges, pins, away


def _pins(pins: Sequence[_Pin], left: float, down: float, tall: float) -> list[str]:
    """The stubs and dots on the left of a box."""
    parts = []
    for n, pin in enumerate(pins):
        y = down + tall / 2 + (n - (len(pins) - 1) / 2) * (_PIN + 2)
        end = left - 8
        parts.append(_edge(f"M{end:.1f},{y:.1f}H{left:.1f}", pin.title))
        title = f"<title>{escape(pin.title)}</title>"
        if not pin.text:
            parts.append(f'<circle class="fg-constant" cx="{end - 4:.1f}" cy="{y:.1f}" r="4">{title}</circle>')
            continue
        x, w = end - pin.width, pin.width
        box = f'x="{x:.1f}" y="{y - _PIN / 2:.1f}" width="{w:.1f}" height="{_PIN}" rx="7"'
        text = f'<text x="{x + w / 2:.1f}" y="{y + 4:.1f}">{escape(pin.text)}</text>'
        kind = "fg-stub fg-leaf" if pin.leaf else "fg-stub"
        parts.append(f'<g class="{kind}">{title}<rect {box}/>{text}</g>')
    return parts


def _box(
    box: Item,
    lines: Sequence[str],
    left: float,
    down: float,
    width: float,
    tall: float,
    roots: set[int],
    opened: Callable[[Block], int] | None,
    anchor: str,
) -> str:
    """A box with its texts and its tooltip, and for a page with its number and costs."""
    nodes = nodes_of(box)
    kind, data, link, corner = ["fg-node"], "", "", 3
    size = f'x="{left:.1f}" y="{down:.1f}" width="{width:.1f}" height="{tall}"'
    back = ""
    if opened:
        data = f' data-kept="{sum(node.kept for node in nodes)}"'
        times = [node.seconds for node in nodes if node.seconds is not None]
        data += f' data-us="{sum(times) * 1e6:.1f}"' if times else ""
    if isinstance(box, Node):
        kind += ["fg-leaf"] * box.is_leaf + ["fg-freed"] * (box.holding == "freed")
        module = box.modules[-1] if box.modules else ""
        title = "\n".join(filter(None, [str(box), module, box.site, box.source]))
        corner = 14 if box.is_leaf else 3
        data = f' data-id="{box.id}"{data}'
        link = f'<a href="#{anchor}{box.id}">' * bool(opened)
    else:
        kind.append("fg-block")
        ops = ", ".join(f"{count} {op}" for op, count in Counter(node.op for node in nodes).most_common(12))
        title = f"{_title(box)}\n{plural(len(nodes), 'node')}: {ops}"
        # A second box behind the first says that there is more inside.
        back = f'<rect {size} rx="3" transform="translate(4 4)"/>'
        data += f' data-open="{opened(box)}" tabindex="0" role="button"' if opened else ""
    kind += ["fg-root"] * any(node.id in roots for node in nodes)
    text = "".join(
        f'<text class="{name}" x="{left + width / 2:.1f}" y="{down + 16 + n * _LINE:.1f}">{escape(line)}</text>'
        for n, (name, line) in enumerate(
            zip(("fg-op", "fg-value", "fg-at", "fg-number", "fg-number"), lines, strict=False)
        )
    )
    inside = f'<title>{escape(title)}</title>{back}<rect {size} rx="{corner}"/>{text}'
    return f'<g class="{" ".join(kind)}"{data}>{link}{inside}{"</a>" * bool(link)}</g>'


def _title(block: Block) -> str:
    return f"{block.name} ×{block.times}" if block.times > 1 else block.name


def _labels(box: Item) -> list[str]:
    """The three lines of a box."""
    if isinstance(box, Node):
        return [_short(text) for text in labels(box)]
    times = f" ×{box.times}" if box.times > 1 else ""
    kept = sum(node.kept for node in box.nodes)
    sites = {node.site: (node.file, node.line, node.place) for node in box.nodes if node.site}
    lines = sorted((line, place) for _, line, place in sites.values())
    if len({file for file, _, _ in sites.values()}) == 1:
        place = lines[0][1] + (f"–{lines[-1][0]}" if len(lines) > 1 else "")
    else:
        place = plural(len(lines), "line") if lines else ""
    last = "  ".join(filter(None, [place, keeps(kept)]))
    return [_short(box.name, _LONGEST - len(times)) + times, plural(len(box.nodes), "node"), _short(last)]


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _some(lines: Sequence[str]) -> str:
    """The first of these lines, and how many more there are."""
    rest = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"and {rest} more"] if rest > 0 else [])])


def _edge(path: str, title: str) -> str:
    return f'<path class="fg-edge" d="{path}"><title>{escape(title)}</title></path>'


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
