"""Names, operands, values and cotangents in pictures of graphs, and pictures as PNG and PDF."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd._graph import pixels
from ferrograd._graph.picture import svg

from tests.dialects import ALL, Dialect


def small() -> tuple[Any, dict[str, Any]]:
    """A function of one leaf, and its tensors by name."""
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    v1 = x * 2
    v2 = fg.sin(v1)
    y = (v2 * x - v1).sum()
    return y, {"x": x, "v1": v1, "v2": v2, "n": 3}


def test_names_that_a_caller_gives() -> None:
    y, named = small()
    graph = fg.graph(y, names=named)
    assert {node.name: node.op for node in graph if node.name} == {"x": "leaf", "v1": "multiply", "v2": "sin"}
    for text in (graph.to_text(), graph.to_dot(), graph.to_mermaid(), graph.to_svg(), graph.to_html()):
        assert "v2" in text
    assert fg.graph(y, names=[("v1", named["v1"])]).filter(op="multiply")[0].name == "v1"
    with pytest.raises(fg.ArgumentError, match="dict of tensors, pairs or a module, not int"):
        fg.graph(y, names=3)


def test_the_name_of_the_second_output() -> None:
    x = fg.tensor(np.eye(2), requires_grad=True)
    _, s, _ = fg.linalg.svd(x)
    assert fg.graph(s.sum(), names={"s": s}).filter(op="linalg.svd")[0].name == "s"


def test_parameters_have_the_names_of_their_modules() -> None:
    from ferrograd import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts: Any = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: Any) -> Any:
            return self.parts(x) * self.scale

    net = Net()
    x: Any = torch.ones(3, 2)
    names = {leaf.name for leaf in fg.graph(net(x).sum()).leaves}
    assert names == {"parts.0.weight", "parts.0.bias", "scale"}
    net.scale.name = "mine"
    assert "mine" in {leaf.name for leaf in fg.graph(net(x).sum()).leaves}
    assert {leaf.name for leaf in fg.graph(net(x).sum(), names=net).leaves} >= {"scale"}


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_values_and_cotangents(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = (x.sin() * x - x).sum()
    graph = fg.graph(y, values=True)
    numbers: dict[str, Any] = {node.op: (node.value, node.cotangent) for node in graph}
    at = np.array([1.0, 2.0])
    for op, wanted in {
        "leaf": (at, np.cos(at) * at + np.sin(at) - 1),
        "sin": (np.sin(at), at),
        "multiply": (np.sin(at) * at, np.ones(2)),
        "subtract": (np.sin(at) * at - at, np.ones(2)),
        "sum": ((np.sin(at) * at - at).sum(), np.ones(())),
    }.items():
        for found, right in zip(numbers[op], wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-5)
    # The pass kept what the graph has saved.
    assert d.grad([y], [x])[0] is not None


def test_values_that_are_not_known() -> None:
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = fg.cumsum(x, 0) + 1
    graph = fg.graph(y.sum(), values=True)
    unknown = graph.filter(op="add")[0]
    assert unknown.value is None
    assert "value" not in str(unknown)
    assert "cotangent [1. 1. 1.]" in str(unknown)
    assert graph.filter(op="leaf")[0].value is not None
    assert fg.graph(y)[0].value is None
    long = fg.tensor(np.arange(100.0), requires_grad=True)
    assert "value [0. 1. ... 98. 99.]" in fg.graph(long * 1, values=True).to_text()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_values_of_other_dtypes(dtype: str) -> None:
    x = fg.tensor(np.ones(2)).astype(dtype).detach().requires_grad_()
    text = fg.graph(abs(x * x).sum(), values=True).to_text()
    assert "leaf" in text
    assert "value" in text
    empty = fg.tensor(np.ones((0, 2)), requires_grad=True)
    assert "value []" in fg.graph(empty * 2, values=True).to_text()


def test_operands_keep_their_order() -> None:
    x, z = (fg.tensor([1.0], requires_grad=True) for _ in range(2))
    graph = fg.graph(fg.exp(z) - fg.sin(x), names={"x": x, "z": z})
    first, second = (f"node_{node.id}" for node in graph[-1].inputs)
    end = f"node_{graph[-1].id}"
    assert f'{first} -> {end} [headlabel="1st"]' in graph.to_dot()
    assert f'{second} -> {end} [headlabel="2nd"]' in graph.to_dot()
    assert "-->|2nd| n" in graph.to_mermaid()
    picture = graph.to_svg()
    places = {n: float(x) for x, n in re.findall(r'class="fg-nth" x="([\d.]+)"[^>]*>(\w+)<', picture)}
    assert places["1st"] < places["2nd"]


def test_bytes_are_said_to_be_kept() -> None:
    graph = fg.graph(small()[0])
    for text in (graph.to_dot(), graph.to_mermaid(), graph.to_svg()):
        assert "keeps 8 B" in text


def test_a_page_is_whole_without_its_script() -> None:
    page = fg.graph(small()[0], values=True).to_html()
    before, _, _ = page.partition("@media screen")
    assert "overflow:hidden" not in before
    assert "cotangent</th>" in page


def _written(path: Path) -> bytes:
    fg.graph(small()[0], values=True).save(path)
    return path.read_bytes()


@pytest.mark.parametrize(("ending", "head"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
@pytest.mark.filterwarnings("ignore")
def test_pictures_by_matplotlib(ending: str, head: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert _written(tmp_path / f"graph.{ending}").startswith(head)
    # Blocks, dots, stubs and freed nodes.
    x = fg.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(40):
        y = fg.sin(y) * 2 + x
    y.sum().backward()
    fg.graph(y.sum()).save(tmp_path / f"loop.{ending}")


def test_pictures_by_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of Graphviz gets the dot file."""
    program = tmp_path / "dot"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nopen(sys.argv[3], 'w').write(sys.argv[1] + sys.stdin.read())\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(pixels, "find_spec", lambda name: None)
    which: Callable[..., Any] = lambda name: str(program)  # noqa: E731
    monkeypatch.setattr(shutil, "which", which)
    assert _written(tmp_path / "graph.png").startswith(b"-Tpngdigraph G {")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ImportError, match=r"Matplotlib .* or Graphviz"):
        _written(tmp_path / "graph.pdf")


def test_all_shapes_of_a_picture_are_drawn() -> None:
    """Each element of a picture is one that the renderer knows."""
    shapes = set(re.findall(r"<(\w+)", svg(fg.graph(small()[0], values=True), None)))
    assert shapes <= {"svg", "title", "style", "g", "a", *pixels._SHAPES}
