"""Nodes know the modules whose calls recorded them, and pictures fold them by module."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import pytest
from ferrograd import func
from ferrograd._graph.folding import MOST, Block, Item, fold, nodes_of
from ferrograd.torch import nn

from tests.engine.test_threads import script
from tests.project.browser import chromium
from tests.waiting import LONG


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * 0.5


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.halves = nn.ModuleList([Half(), Half()])
        self.sequence = nn.Sequential(Half(), nn.Sequential(Half()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for half in self.halves:
            x = half(x) + 1
        return self.sequence(x)


def leaf() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def called(y: Any, op: str = "tanh") -> list[tuple[str, ...]]:
    """The modules of each node of an op."""
    return [node.modules for node in fg.graph(y).filter(op=op)]


OF_NET = [
    ("Net", "halves.0 (Half)"),
    ("Net", "halves.1 (Half)"),
    ("Net", "sequence (Sequential)", "sequence.0 (Half)"),
    ("Net", "sequence (Sequential)", "sequence.1 (Sequential)", "sequence.1.0 (Half)"),
]


def test_modules_have_the_names_of_named_modules_of_the_outermost() -> None:
    net = Net()
    y = net(leaf())
    assert called(y) == OF_NET
    assert called(y, "add") == [("Net",)] * 2
    names = dict(net.named_modules())
    assert all(name.rpartition(" (")[0] in names for modules in called(y) for name in modules[1:])
    # A module that is called by itself is the outermost one.
    assert called(net.sequence(leaf())) == [("Sequential", "0 (Half)"), ("Sequential", "1 (Sequential)", "1.0 (Half)")]
    assert called(torch.tanh(leaf())) == [()]


def test_layers_of_paddle() -> None:
    net = paddle.nn.Sequential(paddle.nn.Tanh(), paddle.nn.Sequential(paddle.nn.Tanh()))
    y = net(paddle.to_tensor([1.0], stop_gradient=False))
    assert called(y) == [("Sequential", "0 (Tanh)"), ("Sequential", "1 (Sequential)", "1.0 (Tanh)")]


def test_an_exception_leaves_the_module() -> None:
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner: nn.Module = Half()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.inner(x)
            raise ValueError("no")

    net = nn.Sequential(Fails())
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            net(leaf())
        assert called(torch.tanh(leaf())) == [()]


def test_hooks_run_inside_the_module() -> None:
    half = Half()
    half.register_forward_hook(lambda module, args, result: torch.tanh(result))
    assert called(nn.Sequential(half)(leaf())) == [("Sequential", "0 (Half)")] * 2


def test_each_thread_has_its_own_modules() -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.set()
            assert go_on.wait(LONG)
            return torch.tanh(x)

    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(Waits(), leaf())
        assert inside.wait(LONG)
        assert called(Half()(leaf())) == [("Half",)]
        go_on.set()
        assert called(waiting.result(LONG)) == [("Waits",)]
        # Many calls at a time do not take each other's names.
        nets = [Net() for _ in range(8)]
        assert all(called(y) == OF_NET for _ in range(20) for y in pool.map(lambda net: net(leaf()), nets))


def test_a_generator_runs_in_the_module_that_asks_it() -> None:
    class Steps(nn.Module):
        def forward(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
            while True:
                x = torch.tanh(x)
                yield x

    class Asks(nn.Module):
        def forward(self, steps: Iterator[torch.Tensor]) -> torch.Tensor:
            return next(steps)

    steps = Steps()(leaf())
    assert called(next(steps)) == [()]
    assert called(Asks()(steps)) == [(), ("Asks",)]
    assert called(torch.tanh(leaf())) == [()]


def test_a_module_that_calls_itself() -> None:
    class Tree(nn.Module):
        def forward(self, x: torch.Tensor, depth: int) -> torch.Tensor:
            return torch.tanh(self(x, depth - 1) if depth else x)

    assert called(Tree()(leaf(), 3)) == [("Tree",)] * 4


def test_a_module_that_is_no_part_of_the_one_that_calls_it() -> None:
    class Borrows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [nn.Sequential(Half())]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.hidden[0](x)

    net = nn.Sequential(Borrows())
    for _ in range(3):
        expected = ("Sequential", "0 (Borrows)", "0.<Sequential> (Sequential)", "0.<Sequential>.0 (Half)")
        assert called(net(leaf())) == [expected]


def test_names_follow_changes_of_the_tree() -> None:
    net = Net()
    assert called(net(leaf())) == OF_NET
    # The second of the halves is now the first, and the other comes after it.
    net.halves = nn.ModuleList([net.halves[1], net.halves[0]])
    assert called(net(leaf())) == OF_NET
    del net.halves[0]
    assert called(net(leaf())) == [OF_NET[0], *OF_NET[2:]]

    class Other(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x)

    net.sequence[0].__class__ = Other
    assert called(net(leaf()))[1] == ("Net", "sequence (Sequential)", "sequence.0 (Other)")


def test_a_module_at_the_address_of_an_old_one_has_its_own_name() -> None:
    for i in range(50):
        halves = [Half() for _ in range(3)]
        net = nn.Sequential(*[nn.Identity()] * (i % 3), *halves)
        names = [f"{i % 3 + k} (Half)" for k in range(3)]
        assert called(net(leaf())) == [("Sequential", name) for name in names]


def test_lazy_modules_are_shown_by_the_class_they_become() -> None:
    net = nn.Sequential(nn.LazyLinear(3))
    net(torch.ones(2, 4))
    assert called(net(torch.ones(2, 4)), "matmul") == [("Sequential", "0 (Linear)")]


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_names_of_their_own(again: Callable[[Any], Any]) -> None:
    net = Net()
    net(leaf())
    twin = again(net)
    assert called(twin(leaf())) == OF_NET
    assert called(net(leaf())) == OF_NET
    both = nn.Sequential(net, twin)
    assert [modules[1] for modules in called(both(leaf()))] == ["0 (Net)"] * 4 + ["1 (Net)"] * 4
    assert pickle.dumps(Half()) == pickle.dumps(Half())


def test_a_checkpoint_computes_again_in_the_module() -> None:
    class Checked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner: nn.Module = Half()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return fg.checkpoint(self.inner, x)

    seen: list[tuple[str, ...]] = []

    class Looks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(x)
            seen.extend(called(y))
            return y

    net = Checked()
    net.inner = Looks()
    y = net(leaf())
    assert seen == [("Checked", "inner (Looks)")]
    y.sum().backward()
    assert seen == [("Checked", "inner (Looks)")] * 2
    assert called(torch.tanh(leaf())) == [()]


def test_transforms_and_gradients() -> None:
    net = Net()
    assert called(func.vmap(net)(torch.ones(3, 2, requires_grad=True))) == OF_NET
    x = leaf()
    y = net(x)
    # What a gradient records is recorded where the gradient is asked for.
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    forward = set(called(y)) | set(called(y, "multiply"))
    recorded = [node.modules for node in fg.graph(g) if node.op == "multiply"]
    assert () in recorded
    assert set(recorded) <= {(), *forward}

    class Slope(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            (g,) = torch.autograd.grad(torch.tanh(x).sum(), x, create_graph=True)
            return g

    assert {node.modules for node in fg.graph(Slope()(leaf())) if node.op != "leaf"} == {("Slope",)}


def test_a_compiled_program_has_the_modules_of_its_trace() -> None:
    net = Net()
    compiled = fg.compile(lambda x: net(x))
    x = torch.ones(2)
    assert (compiled(x) == net(x)).all()
    assert [node.modules for node in compiled.graph().filter(op="tanh")] == OF_NET


def test_the_garbage_collector_takes_called_modules() -> None:
    net = Net()
    y = net(leaf())
    seen = [weakref.ref(module) for module in net.modules()]
    del net
    gc.collect()
    assert not any(reference() for reference in seen)
    assert called(y) == OF_NET


def blocks(items: list[Item]) -> list[tuple[str, int]]:
    return [(item.name, item.times) for item in items if isinstance(item, Block)]


def opened(items: list[Item], name: str) -> list[Item]:
    (found,) = (item for item in items if isinstance(item, Block) and item.name == name)
    return found.items


def test_layers_of_a_transformer_are_one_block_with_the_modules_inside() -> None:
    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(50, 8)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 6)
            self.head = nn.Linear(8, 50)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return self.head(self.encoder(self.embed(words)))

    graph = fg.graph(Translator()(torch.arange(6).reshape(2, 3)).sum())
    found = fold(graph, list(graph))
    layers = "encoder.layers.0–5 (TransformerEncoderLayer)"
    assert blocks(found) == [("embed (Embedding)", 1), (layers, 6), ("head (Linear)", 1)]
    each = opened(found, layers)
    assert blocks(each) == [(f"encoder.layers.{i} (TransformerEncoderLayer)", 1) for i in range(6)]
    inside = opened(each, "encoder.layers.3 (TransformerEncoderLayer)")
    assert ("encoder.layers.3.self_attn (MultiheadAttention)", 1) in blocks(inside)
    attention = opened(inside, "encoder.layers.3.self_attn (MultiheadAttention)")
    assert {node.modules[-1] for node in nodes_of(attention[0])} == {"encoder.layers.3.self_attn (MultiheadAttention)"}
    assert all(len(view) <= MOST for view in (found, each, inside, attention))
    # Each op stands in one block.
    ops = [node.id for item in found for node in nodes_of(item)]
    assert sorted(ops) == [node.id for node in graph if not node.is_leaf]


def test_a_residual_network() -> None:
    class Basic(nn.Module):
        def __init__(self, into: int, out: int) -> None:
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(into, out, 3, padding=1), nn.BatchNorm2d(out)
            self.conv2, self.norm2 = nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out)
            self.down = nn.Conv2d(into, out, 1) if into != out else nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(self.norm2(self.conv2(y)) + self.down(x))

    stages = [nn.Sequential(Basic(3, 4), Basic(4, 4), Basic(4, 4)), nn.Sequential(Basic(4, 8), Basic(8, 8))]
    graph = fg.graph(nn.Sequential(*stages)(torch.ones(1, 3, 4, 4)).sum())
    found = fold(graph, list(graph))
    assert blocks(found) == [("0.0–2 (Basic)", 3), ("1 (Sequential)", 1)]
    assert blocks(opened(found, "1 (Sequential)")) == [("1.0 (Basic)", 1), ("1.1 (Basic)", 1)]


@pytest.mark.parametrize("tracked", [False, True])
def test_steps_of_a_recurrent_layer_and_of_cells(tracked: bool) -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(3, 4)
            self.cell = nn.GRUCell(4, 4)
            self.head = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(x)
            h = torch.zeros(2, 4)
            for state in states:
                h = self.cell(state, h)
            return self.head(h)

    graph = fg.graph(Tagger()(torch.ones(20, 2, 3, requires_grad=tracked)).sum())
    found = fold(graph, list(graph))
    names = [item.name for item in found if isinstance(item, Block)]
    assert "gru (GRU)" in names
    assert "head (Linear)" in names
    assert max(item.times for item in opened(found, "gru (GRU)") if isinstance(item, Block)) >= 18
    assert len(found) <= MOST


def test_modules_of_one_class_in_turn() -> None:
    layers = [layer for _ in range(20) for layer in (nn.Linear(4, 4), nn.Tanh())]
    graph = fg.graph(nn.Sequential(*layers)(torch.ones(2, 4)).sum())
    assert blocks(fold(graph, list(graph))) == [("0–38 (Linear)", 20)]


def test_names_with_any_letters() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in ("a b", "(1)", "<&>", "7"):
                self.add_module(name, nn.Sequential(*[nn.Linear(2, 2) for _ in range(4)]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for module in self.children():
                x = module(x)
            return x

    graph = fg.graph(Odd()(torch.ones(1, 2)).sum())
    found = fold(graph, list(graph))
    assert [name for name, _ in blocks(found)] == [f"{name}.0–3 (Linear)" for name in ("a b", "(1)", "<&>", "7")]
    ElementTree.fromstring(graph.to_svg())


def test_a_page_opens_modules(tmp_path: Path) -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 6)
    fg.graph(net(torch.ones(1, 3, 8)).sum()).save(tmp_path / "graph.html")
    with chromium() as browser:
        window = browser.new_page()
        window.goto((tmp_path / "graph.html").as_uri())
        for name in ("layers.0–5 (Trans", "layers.0 (", "layers.0.self_attn"):
            window.click(f".fg-open .fg-block:has-text('{name}') text >> nth=0")
        assert window.inner_text(".fg-trail").count("›") == 3
        assert window.inner_text(".fg-trail").endswith("layers.0.self_attn (MultiheadAtte…")


MANY = """
import ferrograd.torch as torch
from ferrograd.torch import nn

class Calls(nn.Module):
    def forward(self, x, name):
        self._modules.clear()
        self.add_module(name, nn.Tanh())
        return self._modules[name](x)

def names(name):
    y = calls(torch.ones(1, requires_grad=True), name)
    return fg.graph(y)[-1].modules

calls = Calls()
for i in range(70_000):
    calls(torch.ones(1), f"m{i}")
assert names("m0") == ("Calls", "m0 (Tanh)")
# There is no number for a new name, so the call counts for the module around it.
assert names("new") == ("Calls",)
"""


def test_names_have_a_limit() -> None:
    script(MANY)
