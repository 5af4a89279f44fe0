"""Variables and attributes that a compiled function sets to tensors, and lists and dicts that it changes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd.torch import nn

from tests.compile.test_closed_door import bits
from tests.compile.test_programs import Scene, array, plays


def batches(*shape: int, n: int = 6) -> list[tuple[Any, ...]]:
    return [(torch.tensor(array(*shape, seed=i)),) for i in range(n)]


class Recurrent(nn.Module):
    """Keeps its state as an attribute, a buffer, an item of a dict, and a part of a tuple in a list."""

    mean: Any

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 3)
        self.h = torch.zeros(2, 3)
        self.register_buffer("mean", torch.zeros(3))
        self.held: dict[str, Any] = {"last": torch.zeros(2, 3), "pairs": [(torch.zeros(2, 3), torch.zeros(3)), 1.0]}

    def forward(self, x: Any) -> Any:
        h = torch.tanh(self.layer(x) + self.h)
        self.h = h.detach()
        self.mean = 0.9 * self.mean + 0.1 * self.h.mean(0)
        self.held["last"] = self.h * 2
        self.held["pairs"][0] = (self.held["last"], h.detach()[1])
        return h, (h**2).sum() + self.mean.sum()

    def state(self) -> list[Any]:
        return [self.h, self.mean, self.held["last"], *self.held["pairs"][0]]


def attributes() -> Scene:
    net = Recurrent()
    return net, batches(2, 3), net.state


def variable_of_a_closure() -> Scene:
    h = torch.zeros(3)

    def f(x: Any) -> Any:
        nonlocal h
        h = h * 0.5 + x
        return h

    return f, batches(3), lambda: [h]


def argument_that_is_kept() -> Scene:
    kept: dict[str, Any] = {"last": torch.zeros(3)}

    def f(x: Any) -> Any:
        y = x - kept["last"]
        kept["last"] = x
        return y

    return f, batches(3), lambda: [kept["last"]]


class Slotted:
    __slots__ = ("before", "last")
    before: Any
    last: Any


def tensors_that_move_along() -> Scene:
    s = Slotted()
    s.last, s.before = torch.ones(3), torch.zeros(3)

    def f(x: Any) -> Any:
        s.last, s.before = s.last + s.before + x, s.last
        return s.last * 2

    return f, batches(3), lambda: [s.last, s.before]


def result_that_is_a_view() -> Scene:
    """The first call is made a second time, because the argument is a part of a larger tensor."""
    h = torch.zeros(3)

    def f(x: Any) -> Any:
        nonlocal h
        h = h * 0.5 + x
        return x[1:], h

    return f, [(torch.tensor(array(9, seed=i))[2:5],) for i in range(6)], lambda: [h]


def hook_that_keeps() -> Scene:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    seen: dict[str, Any] = {}
    for p in net.parameters():
        nn.init.constant_(p, 0.1)
    net[0].register_forward_hook(lambda _, args, out: seen.update(out=out.detach()))
    return net, batches(2, 3), lambda: list(seen.values())


SCENES = {
    f.__name__: f
    for f in (attributes, variable_of_a_closure, argument_that_is_kept, tensors_that_move_along, hook_that_keeps)
}


def test_a_call_that_is_made_a_second_time_sets_once() -> None:
    plays(result_that_is_a_view)


@pytest.mark.parametrize("make", SCENES.values(), ids=SCENES)
def test_what_a_function_sets_is_set_in_each_call(make: Callable[[], Scene]) -> None:
    assert plays(make).cache_info().hits >= 4


def test_gradients_of_a_function_that_sets_attributes() -> None:
    plain, net = Recurrent(), Recurrent()
    compiled = fg.compile(net)
    for i in range(9):
        found = []
        for module, f in ((plain, plain), (net, compiled)):
            module.zero_grad()
            h, loss = f(torch.tensor(array(2, 3, seed=i)))
            if i % 3 == 0:
                loss.backward()
            elif i % 3 == 1:
                (loss + h.sum()).backward()
            else:
                grads = torch.autograd.grad(loss, list(module.parameters()), create_graph=True)
                torch.stack([(g**2).sum() for g in grads]).sum().backward()
            found.append(bits([*module.state(), *(p.grad for p in module.parameters())]))
        assert found[0] == found[1]
    assert compiled.cache_info().hits >= 7


def test_an_error_sets_nothing() -> None:
    kept = {"last": fg.tensor([1.0])}

    def f(x: Any) -> Any:
        kept["last"] = kept["last"] + x
        return fg.linalg.cholesky(x.reshape(1, 1))

    compiled = fg.compile(f, fullgraph=True)
    compiled(fg.tensor([4.0]))
    compiled(fg.tensor([4.0]))
    with pytest.raises(fg.LinAlgError):
        compiled(fg.tensor([-4.0]))
    assert kept["last"].tolist() == [9.0]
    assert compiled.cache_info().hits == 1
    with pytest.raises(fg.ArgumentError, match="sets variables"):
        compiled.save("nowhere")


def test_tensors_with_a_graph_and_lists_that_grow_are_not_set() -> None:
    kept: dict[str, Any] = {"h": fg.zeros(2), "all": []}

    def keeps_a_graph(x: Any) -> Any:
        kept["h"] = kept["h"].detach() * x
        return x * 2

    def grows(x: Any) -> Any:
        kept["all"].append(x * 2)
        return x * 3

    x = fg.tensor([1.0, 2.0], requires_grad=True)
    for f in (keeps_a_graph, grows):
        compiled = fg.compile(f)
        with pytest.warns(UserWarning, match="is kept after it has returned"):
            assert [compiled(x).tolist() for _ in range(4)] == [f(x).tolist()] * 4
        assert compiled.cache_info().currsize == 0
    assert len(kept["all"]) == 5


@dataclasses.dataclass
class State:
    x: Any
    steps: int = 0


LARGER = torch.arange(9.0)


@pytest.mark.parametrize("make", [lambda: torch.ones(3), lambda: LARGER[2:5], lambda: np.ones(3, np.float32)])
def test_lists_dicts_and_objects_that_are_given(make: Callable[[], Any]) -> None:
    def f(named: Any, listed: Any, state: State) -> Any:
        named["y"] = named.pop("x") * 2
        listed[0]["z"] = listed
        listed.append(named["y"] + 1)
        state.x, state.steps = state.x + 1, state.steps + 1
        return named["y"].sum()

    compiled = fg.compile(f)
    text = "it changes argument 0, which it reads itself"
    for i in range(5):
        with pytest.warns(UserWarning, match=text) if i == 2 else contextlib.nullcontext():
            named, listed, state = {"x": make()}, [{}, make()], State(make())
            compiled(named, listed, state)
        assert list(named) == ["y"]
        assert named["y"].tolist() == [2 * v for v in make().tolist()]
        assert listed[0]["z"] is listed
        assert listed[2].tolist() == [2 * v + 1 for v in make().tolist()]
        assert type(listed[1]) is type(make())
        assert (state.steps, state.x.tolist()) == (1, [v + 1 for v in make().tolist()])
    assert compiled.explain() == f"not compiled: {text}"
