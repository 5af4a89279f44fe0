"""The recorded graph as something to look at: nodes and edges, text, pictures and pages."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch
from ferrograd._layers import layout

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


def test_nodes_say_what_they_are() -> None:
    x = leaf([1.0, 2.0])
    y = fg.sin(x) * x
    graph = fg.graph(y)
    assert [node.op for node in graph] == ["leaf", "sin", "multiply"]
    assert [node.id for node in graph] == [0, 1, 2]
    last = graph[-1]
    assert last.shape == (2,)
    assert last.dtype == np.float64
    assert last.kept == 32
    assert graph.kept == 32
    assert last.holding == "live"
    assert last.file == __file__
    assert last.source == "y = fg.sin(x) * x"
    assert last.line is not None
    assert last.site == f"{__file__}:{last.line}"
    assert last.place == f"test_graph.py:{last.line}"
    assert [node.id for node in last.inputs] == [1, 0]
    assert [node.id for node in graph[0].users] == [1, 2]
    assert last.users == ()
    assert graph.roots == [last]
    assert graph.leaves == [graph[0]]
    assert graph[0].is_leaf
    assert not last.is_leaf
    assert last.edges == ((graph[1], 0), (graph[0], 0))
    assert len({graph[0], graph[0], last}) == 2
    assert last != fg.graph(y)[-1]
    assert repr(last) == f"<#2 multiply float64[2], keeps 32 B, test_graph.py:{last.line}>"
    assert repr(graph) == "<graph of 3 nodes, 1 leaf, 32 B kept>"


def test_arguments_without_a_gradient_have_no_edge() -> None:
    x = leaf([1.0])
    (node,) = fg.graph(fg.tensor([2.0], dtype=fg.float64) * x).filter(op="multiply")
    assert node.edges[0] is None
    assert [n.op for n in node.inputs] == ["leaf"]


def test_filter() -> None:
    graph = fg.graph(network()[0])
    assert [node.op for node in graph.filter(op="matmul")] == ["matmul", "matmul"]
    assert [node.op for node in graph.filter(lambda node: node.shape == (3, 3))] == ["leaf"]
    assert graph.filter(lambda node: node.is_leaf, op="sum") == []
    with pytest.raises(fg.ArgumentError, match="predicate must be callable"):
        graph.filter("sum")  # type: ignore[arg-type]


def test_it_is_a_sequence() -> None:
    graph = fg.graph(network()[0])
    assert len(graph) == len(list(graph))
    assert graph[1:3] == [graph[1], graph[2]]
    assert graph[2] in graph
    with pytest.raises(IndexError):
        graph[len(graph)]
    with pytest.raises(TypeError):
        graph["sum"]


def test_inputs_stand_before_their_users_and_every_edge_has_both_ends() -> None:
    graph = fg.graph(network()[0])
    assert all(start < end for start, end in edges(graph))
    assert {(s, e) for s, e in edges(graph)} == {(n.id, u.id) for n in graph for u in n.users}


def test_several_tensors_share_one_graph() -> None:
    x = leaf([1.0])
    a = fg.sin(x)
    graph = fg.graph([fg.exp(a), a, fg.cos(a)])
    assert [node.op for node in graph.roots] == ["exp", "sin", "cos"]
    assert len(graph) == 4


def test_a_leaf_is_a_graph() -> None:
    x = leaf([1.0])
    x.name = "x"
    assert re.fullmatch(r"#0 leaf 'x' float64\[1\], test_graph\.py:\d+", str(fg.graph(x)[0]))


def test_names_of_outputs() -> None:
    y = fg.sin(leaf(1.0))
    y.name = "the output"
    assert fg.graph(y)[-1].name == "the output"


def test_text_is_a_tree_that_shows_each_node_once() -> None:
    loss, _ = network()
    text = re.sub(r", test_graph\.py:\d+", "", str(fg.graph(loss)))
    assert text.splitlines() == [
        "graph of 8 nodes, 2 leaves, 168 B kept",
        "#7 sum float64[]",
        "  #6 multiply float64[1, 3], keeps 48 B",
        "    #5 add float64[1, 3]",
        "      #4 matmul float64[1, 3], keeps 96 B",
        "        #3 tanh float64[1, 3], keeps 24 B",
        "          #2 matmul float64[1, 3], keeps 96 B",
        "            #0 leaf float64[1, 3]",
        "            #1 leaf 'w' float64[3, 3]",
        "        #1 leaf, above",
        "      #0 leaf, above",
        "    #3 tanh, above",
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


def test_text_stops_at_the_limit_and_says_how_much_is_left() -> None:
    graph = fg.graph(chain(100_000))
    assert len(str(graph)) < 20_000
    assert graph.to_text(limit=3).splitlines()[1:] == [
        *(f"{'  ' * i}#{100_000 - i} negative float64[], {graph[5].place}" for i in range(3)),
        "... and 99,998 more nodes",
    ]
    assert len(graph.to_text(limit=None).splitlines()) == 100_002


def test_a_chain_of_a_million_nodes() -> None:
    graph = fg.graph(chain(1_000_000))
    assert len(graph) == 1_000_001
    assert graph[-1].inputs[0].users == (graph[-1],)
    for text in (str(graph), graph.to_dot(), graph.to_mermaid(), graph.to_svg(), graph.to_html()):
        assert "more nodes" in text
        assert len(text) < 3_000_000


def test_dot_has_every_node_and_edge_once() -> None:
    loss, w = network()
    graph = fg.graph(loss)
    assert w.name == "w"
    text = graph.to_dot()
    assert sorted(map(int, re.findall(r"^  node_(\d+) \[", text, re.M))) == list(range(len(graph)))
    drawn = sorted((int(a), int(b)) for a, b in re.findall(r"node_(\d+) -> node_(\d+)", text))
    assert drawn == sorted(edges(graph))
    assert 'label="leaf w\\nfloat64[3, 3]\\ntest_graph.py:' in text


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
    # No boxes overlap, and all lie inside.
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
    """Checks that tags are closed in order, and keeps what would be loaded."""

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
        self.loads += [tag] * (tag in ("script", "link", "iframe", "img"))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole_and_loads_nothing() -> None:
    graph = fg.graph(network()[0])
    page = Page(graph.to_html())
    assert page.loads == []
    assert page.rows == len(graph) + 1
    assert "@import" not in graph.to_html()
    assert "hidden = fg.tanh(x @ w)" in graph.to_html()
    Page(graph._repr_html_())
    ElementTree.fromstring(graph._repr_svg_())


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
    with pytest.raises(fg.ArgumentError, match=r"must end in one of \.txt, \.dot, \.mmd, \.svg, \.html: '.*a\.png'"):
        graph.save(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
    with pytest.raises(fg.ArgumentError, match="limit must be"):
        graph.save(tmp_path / "a.svg", limit=-1)


def test_what_is_no_graph() -> None:
    with pytest.raises(fg.ArgumentError, match="output 1 does not require grad"):
        fg.graph([leaf([1.0]), fg.tensor([1.0])])
    with pytest.raises(fg.ArgumentError, match="outputs must be tensors, not int"):
        fg.graph([1])  # type: ignore[list-item]
    with pytest.raises(fg.ArgumentError, match="a tensor or a sequence of tensors is asked for, not float"):
        fg.graph(1.0)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError, match="no tensor was given"):
        fg.graph([])


def test_a_freed_graph_says_so() -> None:
    x = leaf([1.0, 2.0])
    y = fg.sin(x).sum()
    before = fg.graph(y)
    fg.backward(y)
    graph = fg.graph(y)
    assert [node.holding for node in graph] == ["live", "freed", "live"]
    assert [node.kept for node in graph] == [0, 0, 0]
    assert "#1 sin float64[2], freed" in str(graph)
    assert "freed by a backward pass" in str(graph)
    assert before[1].holding == "live"
    assert 'class="fg-node fg-freed"' in graph.to_svg()


def test_packed_saved_tensors_count_as_what_they_were() -> None:
    with fg.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = fg.sin(leaf([1.0, 2.0]))
    node = fg.graph(y)[-1]
    assert (node.kept, node.holding) == (16, "packed")


def test_memory_kept_twice_counts_once_and_broadcasts_take_none() -> None:
    x = leaf(np.ones(1000))
    graph = fg.graph(fg.sin(x) + fg.cos(x))
    assert [node.kept for node in graph.filter(lambda n: n.kept)] == [8000, 8000]
    assert graph.kept == 8000
    wide = fg.broadcast_to(leaf(2.0), (1000,))
    assert fg.graph(fg.sin(wide))[-1].kept == 8


def test_a_graph_keeps_nothing_alive() -> None:
    before = fg._core.live_nodes()
    y = chain(100)
    graph = fg.graph(y)
    node = graph[5]
    del y
    assert fg._core.live_nodes() == before
    assert node.op == "negative"


def test_second_order() -> None:
    x = leaf([1.0, 2.0])
    g = fg.grad((x**3).sum(), x, create_graph=True)
    graph = fg.graph(g)
    assert len(graph.leaves) == 1
    assert all(start < end for start, end in edges(graph))
    ElementTree.fromstring(graph.to_svg())


def test_views_and_writes() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 2.0
    row = y[0]
    row *= 3.0
    graph = fg.graph(y.sum())
    assert "multiply" in [node.op for node in graph]
    assert len(graph.filter(op="multiply")) == 2
    assert len(graph.leaves) == 1
    assert fg.graph(row)[-1].shape == (2,)


def test_several_outputs() -> None:
    x = leaf(np.diag([3.0, 2.0, 1.0]))
    u, s, _ = fg.linalg.svd(x)
    graph = fg.graph([s.sum(), (u @ u).sum()])
    (svd,) = graph.filter(op="linalg.svd")
    assert [value.shape for value in svd.outputs] == [(3, 3), (3,), (3, 3)]
    assert "(float64[3, 3], float64[3], float64[3, 3])" in str(svd)
    (total,) = [node for node in graph.filter(op="sum") if node.inputs == (svd,)]
    assert total.edges == ((svd, 1),)
    assert "output 1 of #" in str(graph)
    assert re.search(r"node_1 -> node_\d+ \[label=\"1\"\]", graph.to_dot())
    assert re.search(r"n1 -->\|1\| n\d+", graph.to_mermaid())
    assert "1: float64[3]" in graph.to_svg()


def test_functions() -> None:
    class Twice(fg.Function):
        @staticmethod
        def forward(ctx: object, x: fg.Tensor) -> fg.Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: object, g: fg.Tensor) -> fg.Tensor:
            return g * 2.0

    graph = fg.graph(Twice.apply(leaf([1.0])))
    assert [node.op for node in graph] == ["leaf", "Twice"]


def test_the_same_value_twice_has_two_edges() -> None:
    x = leaf([3.0])
    graph = fg.graph(x * x)
    assert edges(graph) == [(0, 1), (0, 1)]
    paths = [p.attrib["d"] for p in ElementTree.fromstring(graph.to_svg()).iter(SVG + "path")]
    assert len(set(paths)) == 2
    assert graph[0].users == (graph[1],)


def test_lanes() -> None:
    seen: list[str] = []

    def f(x: fg.Tensor) -> fg.Tensor:
        seen.append(str(fg.graph(fg.sin(x))[-1].outputs[0]))
        return x

    fg.func.vmap(f)(leaf(np.ones((3, 2))))
    assert seen == ["float64[2] in 3 lanes"]


def test_tensors_of_every_dialect() -> None:
    a = paddle.to_tensor([1.0], stop_gradient=False)
    b = torch.tensor([1.0], requires_grad=True)
    assert [node.op for node in fg.graph([a * 2.0, b * 3.0])] == ["leaf", "multiply", "leaf", "multiply"]
    assert [node.title for node in fg.graph(b * 3.0)] == ["torch::autograd::AccumulateGrad", "MulBackward0"]
    assert [node.title for node in fg.graph(a * 2.0)] == ["GradNodeAccumulation", "MultiplyGradNode"]
    a.name = "weights"
    assert fg.graph(a)[0].name == "weights"


def test_gradient_edges() -> None:
    y = fg.sin(leaf([1.0]))
    assert [node.op for node in fg.graph(fg.get_gradient_edge(y))] == ["leaf", "sin"]


def test_rows_of_a_layout() -> None:
    # A long edge passes the rows between; an item that nothing leads to stands just above what it leads to.
    found = layout([10.0] * 5, [(0, 1), (1, 2), (0, 2), (3, 2), (2, 4), (2, 4)])
    assert found.row == [0, 1, 2, 1, 3]
    assert found.rows == 4
    assert [row for _, row in found.bends[0, 2]] == [1]
    assert found.bends[0, 1] == []


def test_a_layout_without_crossings_is_found() -> None:
    # Two chains, given such that they cross.
    found = layout([10.0] * 6, [(0, 3), (1, 2), (2, 5), (3, 4)])
    assert (found.x[0] < found.x[1]) == (found.x[3] < found.x[2]) == (found.x[4] < found.x[5])
    assert layout([], []).width == 0.0
