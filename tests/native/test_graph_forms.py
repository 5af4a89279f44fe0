"""The recorded graph as text, DOT, Mermaid, SVG and HTML."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import ferrograd as fg
import pytest
from ferrograd._graph.layered_layout import layout
from ferrograd._graph.places import short

from tests.native.graphs import SVG, chain, edges, leaf, network
from tests.project.browser import chromium


def test_names_of_outputs() -> None:
    y = fg.sin(leaf(1.0))
    y.name = "the output"
    assert fg.graph(y)[-1].name == "the output"


def test_text_is_a_tree_that_shows_each_node_once() -> None:
    loss, _ = network()
    text = re.sub(r", graphs\.py:\d+", "", str(fg.graph(loss)))
    assert text.splitlines() == [
        "graph of 8 nodes, 2 leaves, 168 B kept",
        "#7 sum float64[]",
        "#6 multiply float64[1, 3], keeps 48 B",
        "  - #5 add float64[1, 3]",
        "      - #4 matmul float64[1, 3], keeps 96 B",
        "          - #3 tanh float64[1, 3], keeps 24 B",
        "            #2 matmul float64[1, 3], keeps 96 B",
        "              - #0 leaf float64[1, 3]",
        "              - #1 leaf 'w' float64[3, 3]",
        "          - #1 leaf, above",
        "      - #0 leaf, above",
        "  - #3 tanh, above",
    ]


def test_text_is_the_same_in_every_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import ferrograd as fg\n"
        "x = fg.ones((4, 4)); x.requires_grad = True\n"
        "u, s, v = fg.linalg.svd(x @ x + fg.eye(4))\n"
        "g = fg.grad((u.sum() + s.sum()), x, create_graph=True)\n"
        "for form in ('text', 'dot', 'mermaid', 'svg', 'html'):\n"
        "    print(getattr(fg.graph([g, u]), 'to_' + form)())\n"
    )
    runs = {subprocess.run([sys.executable, program], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1
    assert b"program.py:3" in runs.pop()


def test_text_stops_at_the_limit_and_says_how_many_nodes_are_left() -> None:
    graph = fg.graph(chain(100_000))
    assert len(str(graph)) < 20_000
    assert graph.to_text(limit=3).splitlines()[1:] == [
        *(f"#{100_000 - i} negative float64[], {graph[5].place}" for i in range(3)),
        "... and 99,998 more nodes",
    ]
    assert len(graph.to_text(limit=None).splitlines()) == 100_002


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_chain_of_a_million_nodes(n: int) -> None:
    graph = fg.graph(chain(n))
    assert len(graph) == n + 1
    assert graph[-1].inputs[0].users == (graph[-1],)
    for text in (str(graph), graph.to_dot(), graph.to_mermaid(), graph.to_svg(), graph.to_html()):
        assert "more nodes" in text
        assert len(text) < 5_000_000


def test_dot_has_every_node_and_edge_once() -> None:
    loss, w = network()
    graph = fg.graph(loss)
    assert w.name == "w"
    text = graph.to_dot()
    assert sorted(map(int, re.findall(r"^  node_(\d+) \[", text, re.M))) == list(range(len(graph)))
    drawn = sorted((int(a), int(b)) for a, b in re.findall(r"node_(\d+) -> node_(\d+)", text))
    assert drawn == sorted(edges(graph))
    assert 'label="leaf w\\nfloat64[3, 3]\\ngraphs.py:' in text


def test_names_are_quoted_in_every_form() -> None:
    x = leaf([1.0])
    x.name = '<"a" & \\b>'
    graph = fg.graph(fg.sin(x))
    assert '\\"a\\" & \\\\b>' in graph.to_dot()
    assert "leaf #lt;#quot;a#quot; #amp; \\b#gt;" in graph.to_mermaid()
    assert any(t.text == 'leaf <"a" & \\b>' for t in ElementTree.fromstring(graph.to_svg()).iter(SVG + "text"))
    assert "<td>&lt;&quot;a&quot; &amp; \\b&gt;</td>" in graph.to_html()


def test_mermaid_has_every_node_and_edge_once() -> None:
    graph = fg.graph(network()[0])
    lines = graph.to_mermaid().splitlines()
    assert lines[0] == "flowchart TD"
    assert sum("-->" in line for line in lines) == len(edges(graph))
    assert sum(bool(re.match(r'  n\d+\(?\["', line)) for line in lines) == len(graph)


def test_svg_has_every_node_and_edge_once() -> None:
    graph = fg.graph(network()[0])
    root = ElementTree.fromstring(graph.to_svg())
    groups = [g for g in root.iter(SVG + "g") if "fg-node" in g.attrib["class"]]
    assert sorted(int(g.attrib["data-id"]) for g in groups) == list(range(len(graph)))
    titles = [path.findtext(SVG + "title") or "" for path in root.iter(SVG + "path")]
    drawn = [tuple(map(int, re.findall(r"#(\d+)", title))) for title in titles]
    assert sorted(drawn) == sorted(edges(graph))
    assert sum("fg-leaf" in g.attrib["class"] for g in groups) == 2
    assert sum("fg-root" in g.attrib["class"] for g in groups) == 1
    title = next(g.findtext(SVG + "title") for g in groups if g.attrib["data-id"] == "7")
    assert title is not None
    assert "return ((hidden @ w + x) * hidden).sum(), w" in title
    # No boxes overlap, and all are inside the picture.
    boxes = [
        tuple(float(b.attrib[k]) for k in ("x", "y", "width", "height")) for g in groups for b in g.iter(SVG + "rect")
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + w <= float(root.attrib["width"])
        assert y + h <= float(root.attrib["height"])
        assert all(x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y for x2, y2, w2, h2 in boxes[:i])


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects the addresses that a page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.rows = 0
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.rows += tag == "tr"
        self.loads += [v or "" for k, v in attrs if k in ("src", "href", "data") and not (v or "").startswith("#")]
        self.loads += [tag] * (tag in ("link", "iframe", "img"))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_complete_and_loads_nothing() -> None:
    graph = fg.graph(network()[0])
    page = Page(graph.to_html())
    assert page.loads == []
    assert page.rows == len(graph) + 1
    assert "@import" not in graph.to_html()
    assert "hidden = fg.tanh(x @ w)" in graph.to_html()
    Page(graph._repr_html_())
    ElementTree.fromstring(graph._repr_svg_())


def test_several_pages_live_in_one_document() -> None:
    graphs = [fg.graph(network()[0]), fg.graph(fg.sum(fg.tensor([1.0], requires_grad=True) * 2))]
    pages = [graph.to_html() for graph in graphs]
    for page in pages:
        style = page.partition("<style>")[2].partition("</style>")[0]
        rules = re.findall(r"([^{}]+)\{[^{}]*\}", style)
        assert rules
        assert all(part.strip().startswith(".fg-") for rule in rules for part in re.split(r",(?![^(]*\))", rule))
        # The names of a script are those of a function, so a second one may have them too.
        script = page.partition("<script>")[2].partition("</script>")[0]
        assert re.findall(r"^(?:const|let|var|function|class)\b", script.partition("(page => {")[0], re.M) == []
        assert "document.querySelector(" not in script
        # Without its script a page shows the whole graph.
        assert page.count('class="fg-view fg-open"') == 1
        ids, links = (set(re.findall(form, page)) for form in (r' id="([^"]*)"', r' href="#([^"]*)"'))
        assert links <= ids
    first, second = (set(re.findall(r' id="([^"]*)"', page)) for page in pages)
    assert not first & second


def test_the_lines_of_a_notebook_are_those_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        class compile:
            @staticmethod
            def format_code_name(name: str) -> tuple[str, str] | None:
                return ("Cell", "In[2]") if name == "/tmp/ipykernel_7/123.py" else None

    notebook: Any = ModuleType("IPython")
    notebook.get_ipython = Shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert short("/tmp/ipykernel_7/123.py:4") == "In[2]:4"
    assert short("/home/me/program.py:4") == "program.py:4"
    assert str(fg.ShapeError("add: at /tmp/ipykernel_7/123.py:4 and a.py:2")) == "add: at In[2]:4 and a.py:2"
    notebook.get_ipython = lambda: None
    assert short("/tmp/ipykernel_7/123.py:4") == "123.py:4"


def test_the_page_is_searched_zoomed_and_moved(tmp_path: Path) -> None:
    graph = fg.graph(network()[0])
    graph.save(tmp_path / "graph.html")
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 900, "height": 700})
        errors: list[str] = []
        window.on("pageerror", lambda error: errors.append(str(error)))
        window.goto((tmp_path / "graph.html").as_uri())

        def view() -> list[float]:
            return [float(part) for part in window.locator("svg").get_attribute("viewBox").split()]

        window.fill(".fg-bar input", "matmul")
        assert window.inner_text(".fg-count") == "2 found"
        assert window.locator(".fg-found").count() == 2
        window.press(".fg-bar input", "Enter")
        before = view()
        window.mouse.move(400, 300)
        window.mouse.wheel(0, -300)
        window.wait_for_function(f"document.querySelector('svg').viewBox.baseVal.width < {before[2] - 1}")
        near = view()
        window.mouse.down()
        window.mouse.move(500, 340, steps=4)
        window.mouse.up()
        assert view()[0] < near[0]
        assert view()[2] == near[2]
        window.select_option(".fg-bar select", "kept")
        assert window.locator(".fg-node rect[style*=fill]").count() == len(graph)
        window.click("text=whole graph")
        assert window.evaluate(
            "[...document.querySelectorAll('.fg-node')].every(n => n.getBoundingClientRect().top > 0)"
        )
        assert not errors


@pytest.mark.parametrize("form", ["text", "dot", "mermaid", "svg", "html"])
def test_limits(form: str) -> None:
    graph = fg.graph(chain(20))
    assert "more nodes" not in getattr(graph, f"to_{form}")()
    assert "more nodes" not in getattr(graph, f"to_{form}")(limit=None)
    assert "more nodes" in getattr(graph, f"to_{form}")(limit=4)
    for bad in (0, -1, 2.0, "all", True):
        with pytest.raises(fg.ArgumentError, match="limit must be a positive integer or None"):
            getattr(graph, f"to_{form}")(limit=bad)


def test_save(tmp_path: Path) -> None:
    graph = fg.graph(network()[0])
    for name, begin in {
        "a.txt": "graph of 8 nodes",
        "a.dot": "digraph G {",
        "a.mmd": "flowchart TD",
        "a.svg": "<svg ",
        "A.HTML": "<!DOCTYPE html>",
    }.items():
        graph.save(tmp_path / name)
        assert (tmp_path / name).read_text("utf8").startswith(begin)
    graph.save(str(tmp_path / "b.txt"), limit=2)
    assert "... and 6 more nodes" in (tmp_path / "b.txt").read_text("utf8")
    with pytest.raises(
        fg.ArgumentError, match=r"must end in one of \.txt, \.dot, \.mmd, \.svg, \.html, \.png, \.pdf: '.*a\.jpg'"
    ):
        graph.save(tmp_path / "a.jpg")
    assert not (tmp_path / "a.jpg").exists()
    with pytest.raises(fg.ArgumentError, match="limit must be"):
        graph.save(tmp_path / "a.svg", limit=-1)


def test_rows_of_a_layout() -> None:
    # A long edge passes through the rows between; an item without inputs is placed in the row before its first user.
    found = layout([10.0] * 5, [(0, 1), (1, 2), (0, 2), (3, 2), (2, 4), (2, 4)])
    assert found.row == [0, 1, 2, 1, 3]
    assert found.rows == 4
    assert [row for _, row in found.bends[0, 2]] == [1]
    assert found.bends[0, 1] == []


def test_a_layout_without_crossings_is_found() -> None:
    # Two chains in an order in which they cross.
    found = layout([10.0] * 6, [(0, 3), (1, 2), (2, 5), (3, 4)])
    assert (found.x[0] < found.x[1]) == (found.x[3] < found.x[2]) == (found.x[4] < found.x[5])
    assert layout([], []).width == 0.0
