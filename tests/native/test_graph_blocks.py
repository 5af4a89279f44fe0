"""Large graphs are drawn as blocks of loops, lines and functions. Repeated leaves are stubs, and constants are dots."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func
from ferrograd._graph.folding import MOST, Block, Item, fold, nodes_of

from tests.native.graphs import SVG, chain, leaf
from tests.project.browser import chromium


class Cell:
    def __init__(self, n: int) -> None:
        self.w, self.u = leaf(np.eye(n) / 2), leaf(np.eye(n) / 3)

    def step(self, x: fg.Tensor, h: fg.Tensor) -> fg.Tensor:
        mixed = x @ self.w + h @ self.u
        return fg.tanh(mixed)


def recurrent(steps: int, x: fg.Tensor | None = None) -> fg.Tensor:
    """A recurrent network, by default of an input without a gradient."""
    cell, h = Cell(3), fg.zeros((2, 3), dtype="float64")
    x = fg.ones((steps, 2, 3), dtype="float64") if x is None else x
    for t in range(steps):
        h = cell.step(x[t], h)
    return h.sum()


def branches() -> fg.Tensor:
    """Three branches of one input, each of its own lines, that are joined again and again."""
    x = leaf(np.ones(3))
    for _ in range(5):
        a = fg.sin(fg.cos(fg.tanh(x)))
        b = fg.exp(fg.sqrt(fg.abs(x)))
        x = a * b + x
        x = x / fg.sum(x)
    return x.sum()


def views(items: list[Item]) -> list[list[Item]]:
    """What each picture shows: these items, and the inside of each block."""
    inner = [views(item.items) for item in items if isinstance(item, Block)]
    return [items, *(view for several in inner for view in several)]


@pytest.mark.parametrize(
    ("x", "name"),
    [(None, "Cell.step"), (leaf(np.ones((120, 2, 3))), "Cell.step, recurrent")],
    ids=["untracked", "tracked"],
)
def test_a_loop_is_one_block_with_its_rounds(x: fg.Tensor | None, name: str) -> None:
    graph = fg.graph(recurrent(120, x))
    loop, last = fold(graph, list(graph))
    assert isinstance(loop, Block)
    assert (loop.kind, loop.name, loop.times) == ("loop", name, 120)
    assert nodes_of(last)[0].op == "sum"
    rounds = [block for view in views([loop]) for block in view if isinstance(block, Block) and block.kind == "round"]
    bodies = [Counter(node.op for node in one.nodes) for one in rounds]
    assert len(bodies) == 120
    assert all(body == bodies[0] for body in bodies)
    assert f">{name} ×120<" in graph.to_svg()


@pytest.mark.parametrize("stacked", [False, True])
def test_rounds_of_layers_are_the_steps(stacked: bool) -> None:
    """The first step has its ops in another order, because less of it is differentiated."""
    cell = torch.nn.RNNCell(3, 4)
    h, states = torch.zeros(2, 4), []
    for x in torch.ones(120, 2, 3):
        h = cell(x, h)
        states.append(h)
    graph = fg.graph((torch.stack(states) if stacked else h).sum())
    loop, *rest = fold(graph, list(graph))
    assert isinstance(loop, Block)
    assert (loop.name, loop.times) == ("h = cell(x, h)", 120)
    assert [nodes_of(one)[0].op for one in rest] == ["stack"] * stacked + ["sum"]
    rounds = [block for view in views([loop]) for block in view if isinstance(block, Block) and block.kind == "round"]
    assert {one.nodes[-1].op for one in rounds} == {"tanh"}
    page = graph._repr_html_()
    assert "×120" in page
    assert page.count("<tr") == 101


def test_a_loop_has_the_name_of_its_statement() -> None:
    x = y = leaf(np.ones(3))
    for i in range(9):
        y = fg.sin(y) * i
        y = y * fg.cos(x)
    graph = fg.graph(y)
    (loop,) = fold(graph, list(graph))
    assert isinstance(loop, Block)
    assert (loop.name, loop.times) == ("for i in range(9):", 9)


def test_a_line_of_many_ops_is_shown_in_parts_beside_its_loops() -> None:
    half = (fg.cos, fg.tanh, fg.exp, fg.sqrt, fg.abs, fg.sinh, fg.sigmoid, fg.log, fg.square, fg.erf, fg.tan, fg.log1p)
    functions = [*half, *half[::-1]]
    w, y = leaf(np.ones(3)), fg.ones(3, dtype="float64")
    # In the first round the sine is not recorded, since its input needs no gradient.
    for _ in range(6):
        y = functools.reduce(lambda y, f: f(y), functions, y * w) * fg.sin(y)
    graph = fg.graph(y)
    *parts, loop = fold(graph, list(graph))
    assert [item.name for item in parts if isinstance(item, Block)] == ["ops 1–13", "ops 14–26"]
    assert isinstance(loop, Block)
    assert (loop.kind, loop.times) == ("loop", 5)


def gradients() -> fg.Tensor:
    x = leaf(np.ones(3))
    (g,) = fg.grad(fg.sum(fg.exp(fg.sin(x) * x)), [x], create_graph=True)
    for _ in range(4):
        (g,) = fg.grad(fg.sum(g), [x], create_graph=True)
    return g


@pytest.mark.parametrize("make", [lambda: recurrent(50), branches, gradients, lambda: chain(3000)])
def test_blocks_are_small_and_have_every_node_once(make: Callable[[], fg.Tensor]) -> None:
    graph = fg.graph(make())
    shown = views(fold(graph, list(graph)))
    assert all(1 <= len(view) <= MOST for view in shown)
    drawn = [item.id for view in shown for item in view if not isinstance(item, Block)]
    assert sorted(drawn) == [node.id for node in graph if not node.is_leaf]
    ElementTree.fromstring(graph.to_svg())


def test_a_round_does_not_begin_in_the_middle_of_a_line() -> None:
    graph = fg.graph(branches())
    loop = fold(graph, list(graph))[0]
    assert isinstance(loop, Block)
    lines = [[node.line or 0 for node in nodes_of(one)] for one in loop.items]
    assert loop.times == 5
    assert all(one[-1] == max(one) for one in lines)


def test_lines_and_functions_are_blocks() -> None:
    x = leaf(np.ones(3))
    for function in (fg.sin, fg.cos, fg.tanh, fg.exp, fg.sqrt, fg.abs, fg.sinh, fg.sigmoid, fg.log, fg.square) * 2:
        x = fg.erf(function(x))
    y = fg.sin(fg.cos(fg.tanh(fg.exp(x))))
    z = Cell(3).step(y.reshape((1, 3)), y.reshape((1, 3)))
    graph = fg.graph(z)
    blocks = [item for item in fold(graph, list(graph)) if isinstance(item, Block)]
    assert ("line", "x = fg.erf(function(x))") in [(block.kind, block.name) for block in blocks]
    assert ("line", "y = fg.sin(fg.cos(fg.tanh(fg.exp(x))))") in [(block.kind, block.name) for block in blocks]


def test_constants_are_dots_and_shared_leaves_are_stubs() -> None:
    w = leaf(np.eye(2))
    w.name = "w"
    y = (w @ fg.ones((2, 2), dtype="float64") + w) * 2.0
    root = ElementTree.fromstring(fg.graph(y).to_svg())
    dots = [dot.findtext(SVG + "title") for dot in root.iter(SVG + "circle")]
    assert dots == ["2nd operand needs no gradient"] * 2
    stubs = [g for g in root.iter(SVG + "g") if "fg-stub" in g.attrib["class"]]
    assert [stub.findtext(SVG + "text") for stub in stubs] == ["2nd w"]
    assert [stub.findtext(SVG + "title") for stub in stubs] == ["#0 to #2: float64[2, 2]"]
    assert len(re.findall("constant_\\d+_1 -> ", fg.graph(y).to_dot())) == 2


def test_ops_on_leaves_stand_beside_their_users() -> None:
    x, h = leaf(np.ones((5, 3))), leaf(np.ones(3))
    for t in range(5):
        h = fg.tanh(h * x[t])
    root = ElementTree.fromstring(fg.graph(h).to_svg())
    y = {g.findtext(SVG + "title"): float(next(g.iter(SVG + "rect")).attrib["y"]) for g in root.iter(SVG + "g")}
    rows = sorted(at for title, at in y.items() if title and "getitem" in title)
    users = sorted(at for title, at in y.items() if title and "multiply" in title)
    assert len(rows) == 5
    assert all(user - row == users[0] - rows[0] > 0 for row, user in zip(rows, users, strict=True))


def test_a_leaf_alone_is_drawn() -> None:
    graph = fg.graph([fg.sin(leaf(1.0)), leaf([1.0, 2.0])])
    root = ElementTree.fromstring(graph.to_svg())
    assert sum("fg-leaf" in g.attrib["class"] for g in root.iter(SVG + "g")) == 2


def test_internal_ops_are_not_shown() -> None:
    x = leaf(np.ones((3, 4)))
    graph = fg.graph(func.vmap(lambda row: fg.sin(row).sum())(x))
    assert [node.op for node in graph] == ["leaf", "sin", "sum"]
    assert [node.id for node in graph[1].inputs] == [0]
    assert graph.roots == [graph[2]]
    y = func.vmap(lambda row: row)(x)
    y.name = "y"
    assert [(node.op, node.name) for node in fg.graph(y)] == [("leaf", "y")]


def test_the_time_of_a_backward_pass() -> None:
    y = fg.sin(leaf(1.0))
    graph = fg.graph(y)
    assert "colours: time" not in graph.to_html()
    with graph.timed():
        fg.backward(y)
    assert (graph[1].seconds or 0.0) > 0
    assert "colours: time" in graph.to_html()
    assert ", 1 leaf" in graph.summary()


def test_blocks_are_opened_by_a_click(tmp_path: Path) -> None:
    y = recurrent(120)
    graph = fg.graph(y)
    with graph.timed():
        fg.backward(y)
    graph.save(tmp_path / "graph.html")
    with chromium() as browser:
        for size in ({"width": 390, "height": 844}, {"width": 1366, "height": 768}):
            window = browser.new_page(viewport=size)
            errors: list[str] = []
            window.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            window.goto((tmp_path / "graph.html").as_uri())
            assert window.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert window.locator(".fg-open .fg-node").count() == 2
            window.click(".fg-open .fg-block text")
            assert window.locator(".fg-open .fg-block .fg-op").first.text_content() == "rounds 1–24"
            window.click(".fg-open .fg-block text >> nth=0")
            assert window.locator(".fg-open .fg-block").count() == 24
            window.keyboard.press("Escape")
            window.click(".fg-trail button >> nth=0")
            # The search opens the block of what it finds. A leaf, which stands in all rounds, is found once.
            window.fill(".fg-bar input", "#0")
            assert window.inner_text(".fg-count") == "1 found"
            window.press(".fg-bar input", "Enter")
            assert window.locator(".fg-open .fg-found[data-id='0']").count() == 1
            assert window.inner_text(".fg-trail").count("›") == 3
            window.select_option(".fg-bar select", "us")
            assert window.locator(".fg-open .fg-node rect[style*=fill]").count() > 3
            assert not errors
            window.close()
