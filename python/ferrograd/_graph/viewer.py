"""The controls of a graph's page: zoom, moving, search, and colours by memory and time."""

from __future__ import annotations

STYLE = (
    ".fg-bar{display:flex;flex-wrap:wrap;gap:.5em;align-items:center;margin:.6em 0}"
    ".fg-bar input,.fg-bar button,.fg-bar select{font:inherit;padding:.2em .6em}"
    ".fg-picture{overflow:hidden;height:75vh;border:1px solid #d5dae0;cursor:grab;touch-action:none}"
    ".fg-picture svg{width:100%;height:100%}"
    ".fg-picture .fg-found rect{stroke:#d9480f;stroke-width:3}"
)

#: The parts of a page. A colour by time is offered where a backward pass was measured.
BAR = (
    '<div class="fg-bar"><input type="search" placeholder="op, name, line, #7" aria-label="search">'
    '<span class="fg-count"></span>'
    '<button data-do="fit">whole graph</button><button data-do="width">fit to width</button>'
    '<button data-do="in">+</button><button data-do="out">−</button>'
    '<select aria-label="colours"><option value="">colours: kinds</option>'
    '<option value="kept">colours: memory</option>{time}</select></div>'
)
TIME = '<option value="us">colours: time</option>'

SCRIPT = """
const box = document.querySelector('.fg-picture'), svg = box.querySelector('svg');
const all = svg.viewBox.baseVal, whole = {x: all.x, y: all.y, w: all.width, h: all.height};
const nodes = [...svg.querySelectorAll('.fg-node')];
let view = {...whole};
svg.removeAttribute('width'); svg.removeAttribute('height');

function show(to) {
  view = to;
  svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
}
function at(event) {  // the point of the picture below the pointer
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [p.x, p.y];
}
function zoom(by, x = view.x + view.w / 2, y = view.y + view.h / 2) {
  show({x: x + (view.x - x) * by, y: y + (view.y - y) * by, w: view.w * by, h: view.h * by});
}
function fitWidth() {  // a picture that is narrower than the window keeps its size
  const w = Math.max(whole.w, box.clientWidth);
  show({x: whole.x + (whole.w - w) / 2, y: whole.y, w, h: w * box.clientHeight / box.clientWidth});
}
box.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY / 500), ...at(event));
}, {passive: false});

let held = null, moved = false;
box.addEventListener('pointerdown', event => { held = at(event); moved = false; });
addEventListener('pointermove', event => {
  if (!held) return;
  const [x, y] = at(event), dx = held[0] - x, dy = held[1] - y;
  moved ||= Math.hypot(dx, dy) > 3 * view.w / box.clientWidth;
  if (moved) show({...view, x: view.x + dx, y: view.y + dy});
});
addEventListener('pointerup', () => { held = null; });
box.addEventListener('click', event => { if (moved) event.preventDefault(); }, true);
box.addEventListener('dragstart', event => event.preventDefault());

const field = document.querySelector('.fg-bar input'), count = document.querySelector('.fg-count');
let found = [], next = 0;
function search() {
  const text = field.value.trim().toLowerCase();
  found = nodes.filter(node => {
    const words = [...node.querySelectorAll('text')].map(line => line.textContent).join(' ');
    return text && (text === `#${node.dataset.id}` || words.toLowerCase().includes(text));
  });
  nodes.forEach(node => node.classList.toggle('fg-found', found.includes(node)));
  count.textContent = text ? `${found.length} found` : '';
  next = 0;
}
function visit() {
  if (!found.length) return;
  const frame = found[next++ % found.length].querySelector('rect');
  const [x, y, w, h] = ['x', 'y', 'width', 'height'].map(name => frame[name].baseVal.value);
  const wide = box.clientWidth, tall = box.clientHeight;
  show({x: x + w / 2 - wide / 2, y: y + h / 2 - tall / 2, w: wide, h: tall});
}
field.addEventListener('input', search);
field.addEventListener('keydown', event => { if (event.key === 'Enter') visit(); });

document.querySelector('.fg-bar select').addEventListener('change', event => {
  const key = event.target.value, values = nodes.map(node => Number(node.dataset[key] || 0));
  const top = Math.max(...values, 1e-300);
  nodes.forEach((node, i) => {
    const part = Math.sqrt(values[i] / top);
    node.querySelector('rect').style.fill = key ? `hsl(20 90% ${97 - 45 * part}%)` : '';
  });
});
const deeds = {fit: () => show({...whole}), width: fitWidth, in: () => zoom(0.7), out: () => zoom(1 / 0.7)};
for (const button of document.querySelectorAll('.fg-bar button'))
  button.addEventListener('click', deeds[button.dataset.do]);
if (whole.h / whole.w > box.clientHeight / box.clientWidth) fitWidth();
"""
