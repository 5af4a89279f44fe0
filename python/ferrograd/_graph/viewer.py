"""The recorded graph as HTML: a page with pictures that are opened, zoomed, searched and coloured, and a table."""

from __future__ import annotations

import zlib
from html import escape

from ferrograd._graph.drawing import more
from ferrograd._graph.nodes import Node, Snapshot, format_bytes, short_text
from ferrograd._graph.picture import STYLE as VIEW, svg, views

STYLE = (
    ".fg-bar{display:flex;flex-wrap:wrap;gap:.5em;align-items:center;margin:.6em 0}"
    ".fg-bar input,.fg-bar button,.fg-bar select{font:inherit;padding:.2em .6em}"
    ".fg-trail button{border:0;background:none;color:#0b5cad;padding:.2em;text-decoration:underline}"
    # Without its script, and on paper, a page shows its pictures whole.
    ".fg-picture{overflow:auto;border:1px solid #d5dae0}"
    "@media screen{"
    ".fg-page[data-runs] .fg-picture{overflow:hidden;height:75vh;cursor:grab;touch-action:none}"
    ".fg-page[data-runs] .fg-picture svg{width:100%;height:100%}"
    ".fg-page[data-runs] .fg-view:not(.fg-open){display:none}}"
    "@media print{.fg-bar{display:none}.fg-picture{overflow:visible}.fg-picture svg{max-width:100%;height:auto}}"
    ".fg-block{cursor:pointer}"
    ".fg-picture .fg-found rect{stroke:#d9480f;stroke-width:3}"
)

#: The parts of a page. A colour by time is offered where a backward pass was measured.
BAR = (
    '<div class="fg-bar"><input type="search" placeholder="op, name, line, #7" aria-label="search">'
    '<span class="fg-count"></span>'
    '<button data-do="fit">whole graph</button><button data-do="width">fit to width</button>'
    '<button data-do="in">+</button><button data-do="out">−</button>'
    '<select aria-label="colours"><option value="">colours: kinds</option>'
    '<option value="kept">colours: memory</option>{time}</select></div><nav class="fg-bar fg-trail"></nav>'
)
TIME = '<option value="us">colours: time</option>'

#: What runs for each page of a document, which may be a notebook with several. Its names are those of a function.
SCRIPT = """
const box = page.querySelector('.fg-picture'), pictures = [...box.querySelectorAll('.fg-view')];
const sizes = pictures.map(svg => ({w: svg.viewBox.baseVal.width, h: svg.viewBox.baseVal.height}));
const nodes = [...box.querySelectorAll('.fg-node[data-id]')], trail = page.querySelector('.fg-trail');
const colours = page.querySelector('.fg-bar select');
let number = 0, svg = pictures[0], view = null;

function show(to) {
  view = to;
  svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
}
function fit(tall, most = Infinity) {  // a picture that is smaller than the window keeps its size
  const {w, h} = sizes[number], wide = box.clientWidth, high = box.clientHeight;
  const scale = Math.min(most, Math.max(1, w / wide, tall ? h / high : 0));
  show({x: (w - wide * scale) / 2, y: Math.min(0, (h - high * scale) / 2), w: wide * scale, h: high * scale});
}
function paint() {
  const key = colours.value, own = [...svg.querySelectorAll('.fg-node')];
  const values = own.map(node => Number(node.dataset[key] || 0)), top = Math.max(...values, 1e-300);
  own.forEach((node, i) => {
    const part = Math.sqrt(values[i] / top);
    for (const rect of node.querySelectorAll('rect')) rect.style.fill = key ? `hsl(20 90% ${97 - 32 * part}%)` : '';
  });
}
function open(to) {
  number = to;
  pictures.forEach((one, i) => one.classList.toggle('fg-open', i === to));
  svg = pictures[to];
  const ways = [];
  for (let at = to; at !== undefined; at = pictures[at].dataset.up) {
    const button = document.createElement('button'), there = Number(at);
    button.textContent = pictures[at].dataset.title;
    button.addEventListener('click', () => open(there));
    ways.unshift(button);
  }
  trail.replaceChildren(...(ways.length > 1 ? ways.flatMap((way, i) => i ? [' › ', way] : [way]) : []));
  paint();
  fit(false, 1.8);
}
function at(x, y) {  // the point of the picture at a point of the window
  const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
  return [p.x, p.y];
}
function zoom(by, x = view.x + view.w / 2, y = view.y + view.h / 2) {
  show({x: x + (view.x - x) * by, y: y + (view.y - y) * by, w: view.w * by, h: view.h * by});
}
box.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY / 500), ...at(event.clientX, event.clientY));
}, {passive: false});

const fingers = new Map();
let moved = false;
box.addEventListener('pointerdown', event => {
  if (!fingers.size) moved = false;
  fingers.set(event.pointerId, event);
});
addEventListener('pointermove', event => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const other = [...fingers.values()].find(one => one !== before);
  const way = Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
  if (!moved && !other && way < 4) return;
  moved = true;
  if (other) {
    const apart = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    zoom(apart(before) / Math.max(1, apart(event)), ...at(other.clientX, other.clientY));
  } else {
    const [x, y] = at(before.clientX, before.clientY), [to, down] = at(event.clientX, event.clientY);
    show({...view, x: view.x + x - to, y: view.y + y - down});
  }
  fingers.set(event.pointerId, event);
});
for (const name of ['pointerup', 'pointercancel'])
  addEventListener(name, event => fingers.delete(event.pointerId));
box.addEventListener('click', event => {
  if (moved) return event.preventDefault();
  const block = event.target.closest('.fg-block');
  if (block) open(Number(block.dataset.open));
}, true);
box.addEventListener('keydown', event => {
  const block = event.target.closest('.fg-block');
  if (block && event.key === 'Enter') open(Number(block.dataset.open));
});
addEventListener('keydown', event => {
  if (event.key === 'Escape' && pictures[number].dataset.up) open(Number(pictures[number].dataset.up));
});
box.addEventListener('dragstart', event => event.preventDefault());

const field = page.querySelector('.fg-bar input'), count = page.querySelector('.fg-count');
const texts = node => [...node.querySelectorAll('text')].map(line => line.textContent).join(' ').toLowerCase();
const words = nodes.map(texts);
const place = node => pictures.indexOf(node.closest('.fg-view'));
const doors = new Map([...box.querySelectorAll('.fg-block')].map(block => [Number(block.dataset.open), block]));
let found = [], next = 0;
function search() {
  const text = field.value.trim().toLowerCase();
  found = nodes.filter((node, i) => text && (text === `#${node.dataset.id}` || words[i].includes(text)));
  // A leaf stands in several pictures, and is found once.
  found = [...new Map(found.map(node => [node.dataset.id, node])).values()];
  for (const node of box.querySelectorAll('.fg-found')) node.classList.remove('fg-found');
  for (const node of found) {
    node.classList.add('fg-found');
    for (let door = doors.get(place(node)); door; door = doors.get(place(door))) {
      if (door.classList.contains('fg-found')) break;
      door.classList.add('fg-found');
    }
  }
  count.textContent = text ? `${found.length} found` : '';
  next = 0;
}
function visit() {
  if (!found.length) return;
  const node = found[next++ % found.length];
  open(place(node));
  const frame = node.querySelector('rect');
  const [x, y, w, h] = ['x', 'y', 'width', 'height'].map(name => frame[name].baseVal.value);
  const wide = box.clientWidth, tall = box.clientHeight;
  show({x: x + w / 2 - wide / 2, y: y + h / 2 - tall / 2, w: wide, h: tall});
}
field.addEventListener('input', search);
field.addEventListener('keydown', event => { if (event.key === 'Enter') visit(); });
colours.addEventListener('change', paint);
const deeds = {fit: () => fit(true), width: () => fit(false), in: () => zoom(0.7), out: () => zoom(1 / 0.7)};
for (const button of page.querySelectorAll('button[data-do]'))
  button.addEventListener('click', deeds[button.dataset.do]);
open(0);
"""


#: Runs a script for the pages with a key that it has not run for.
RUN = """
for (const page of document.querySelectorAll('.fg-page[data-key="{key}"]:not([data-runs])')) {{
page.dataset.runs = '';
(page => {{{script}}})(page);
}}
"""


def _table(graph: Snapshot, nodes: list[Node], anchor: str | None) -> str:
    """An HTML table with a row for each node, the roots first. With ``anchor`` the rows have ids that begin with it."""
    timed = bool(graph.seconds)
    valued = bool(graph.record.numbers or graph.record.slopes)
    head = ["node", "op", "name", "outputs", "inputs", "keeps", *(["us"] * timed)]
    head += [*(["value", "cotangent"] * valued), "recorded at", "line"]
    rows = []
    for node in reversed(nodes):
        inputs = ", ".join(f"#{edge[0].id}" for edge in node.edges if edge is not None)
        kept = format_bytes(node.kept) if node.holding == "live" else f"{format_bytes(node.kept)}, {node.holding}"
        time = "" if node.seconds is None else f"{node.seconds * 1e6:.1f}"
        values = "; ".join(map(str, node.outputs))
        cells = [f"#{node.id}", node.op, node.name or "", values, inputs, kept, *([time] * timed)]
        if valued:
            cells += ["" if array is None else short_text(array) for array in (node.value, node.cotangent)]
        text = "".join(f"<td>{escape(cell)}</td>" for cell in [*cells, node.place])
        name = "" if anchor is None else f' id="{anchor}{node.id}"'
        code = f'<td title="{escape(node.site or "")}"><code>{escape(node.source)}</code></td>'
        rows.append(f"<tr{name}>{text}{code}</tr>")
    heads = "".join(f"<th>{one}</th>" for one in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def fragment(graph: Snapshot, limit: int, rows: int) -> str:
    """The picture of the ``limit`` nodes nearest to the outputs, and a table of the nearest, as HTML for a notebook."""
    picture, table = svg(graph, limit), _table(graph, graph.nearest(rows), None)
    return (
        f'<div style="max-height:60em;overflow:auto" tabindex="0">{picture}</div>'
        f"<details><summary>{escape(graph.summary())}</summary>{table}</details>"
    )


_PAGE = (
    ".fg-page{font:14px system-ui,sans-serif;padding:.5em;color:#1d2733;background:#fff}"
    ".fg-page h1{font-size:1.4em}"
    ".fg-page code{color:inherit;background:none;border:0}"
    ".fg-page svg a{text-decoration:none}"
    ".fg-table{overflow-x:auto}"
    ".fg-table table{border-collapse:collapse;margin-top:1.5em}"
    ".fg-table :is(th,td){text-align:left;padding:.25em .8em;border-bottom:1px solid #e3e7eb;vertical-align:top}"
    ".fg-table tr:target{background:#fff3c4}"
)


def page(graph: Snapshot, limit: int | None) -> str:
    """The picture, which can be zoomed, moved, searched and coloured, and the table, as an HTML page of one file.

    Its styles, ids and script concern itself alone, so a notebook may show several pages in one document.
    """
    summary, nodes = escape(graph.summary()), graph.nearest(limit)
    rest = more(graph, nodes)
    left = f"<p>{escape(rest)} not shown.</p>" if rest else ""
    bar = BAR.format(time=TIME if graph.seconds else "")
    key = f"{zlib.crc32(_table(graph, nodes, None).encode()):08x}"
    anchor = f"fg-{key}-"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{summary}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_PAGE}{VIEW}{STYLE}</style></head><body>\n'
        f'<div class="fg-page" data-key="{key}"><h1>{summary}</h1>\n{left}{bar}'
        f'<div class="fg-picture">{"".join(views(graph, limit, anchor))}</div>\n'
        f'<div class="fg-table" tabindex="0">{_table(graph, nodes, anchor)}</div></div>\n'
        f"<script>{RUN.format(key=key, script=SCRIPT)}</script>\n</body></html>\n"
    )
