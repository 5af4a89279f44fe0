"""The recorded graph as plain data: nodes, edges, and the memory it holds."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch

from tests.native.graphs import SVG, chain, edges, leaf, network


def test_attributes_of_nodes() -> None:
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


def test_a_graph_is_a_sequence() -> None:
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
    assert re.fullmatch(r"#0 leaf 'x' float64\[1\], graphs\.py:\d+", str(fg.graph(x)[0]))


def test_arguments_that_have_no_graph() -> None:
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


def test_packed_saved_tensors_count_with_their_original_size() -> None:
    with fg.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = fg.sin(leaf([1.0, 2.0]))
    node = fg.graph(y)[-1]
    assert (node.kept, node.holding) == (16, "packed")


def test_memory_saved_twice_counts_once_and_broadcasts_count_nothing() -> None:
    x = leaf(np.ones(1000))
    graph = fg.graph(fg.sin(x) + fg.cos(x))
    assert [node.kept for node in graph.filter(lambda n: n.kept)] == [8000, 8000]
    assert graph.kept == 8000
    wide = fg.broadcast_to(leaf(2.0), (1000,))
    assert fg.graph(fg.sin(wide))[-1].kept == 8


def test_a_graph_keeps_no_tensor_alive() -> None:
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


def test_tensors_under_vmap() -> None:
    seen: list[str] = []

    def f(x: fg.Tensor) -> fg.Tensor:
        seen.append(str(fg.graph(fg.sin(x))[-1].outputs[0]))
        return x

    fg.func.vmap(f)(leaf(np.ones((3, 2))))
    assert seen == ["float64[2] in a batch of 3"]


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
