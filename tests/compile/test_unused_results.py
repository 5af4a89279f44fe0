"""Gradients of compiled functions of whose results only some are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest

from tests.compile.test_closed_door import bits
from tests.compile.test_programs import array


def both(f: Callable[..., Any], use: Callable[..., Any]) -> Any:
    """The gradients of what ``use`` makes of the results, several times, of ``f`` and of it compiled."""
    compiled = torch.compile(f, fullgraph=True)
    for i in range(4):
        found = []
        for g in (f, compiled):
            x = torch.tensor(abs(array(3, seed=i)), requires_grad=True)
            w = torch.tensor(array(3, seed=i + 9), requires_grad=True)
            with torch.no_grad():
                x[0] = 0.0
            use(*g(x, w)).backward()
            found.append([None if p.grad is None else bits(p.grad) for p in (x, w)])
        assert found[0] == found[1]
    return compiled


RESULTS: dict[str, Callable[..., Any]] = {
    "an infinite derivative": lambda x, w: (x * 2 * w, torch.sqrt(x)),
    "a tensor that only the other one depends on": lambda x, w: (x * 2, w * 3),
    "three": lambda x, w: (torch.tanh(x * w), torch.sqrt(x) * w, torch.log(x) + torch.tanh(x * w)),
}
USES: dict[str, Callable[..., Any]] = {
    "first": lambda y, *_: y.sum(),
    "last": lambda *y: (y[-1] * y[-1])[1:].sum(),
    "first of each": lambda *y: sum(part[1] for part in y),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("f", RESULTS.values(), ids=RESULTS)
def test_results_without_gradient_add_nothing(f: Callable[..., Any], use: Callable[..., Any]) -> None:
    assert both(f, use).cache_info().hits == 3


def test_the_gradients_of_some_results_are_a_program_too() -> None:
    compiled: Any = torch.compile(lambda x, k: (x.mul(k).sum(), torch.sqrt(x)), fullgraph=True)
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    for k in (2.0, 3.0, 4.0, 5.0):
        (g,) = torch.autograd.grad(compiled(x, k)[0], x)
        assert g.tolist() == [k, k]
    last = compiled._last("test")
    assert list(last.partial) == [(True, False)]
    assert last.partial[True, False] is not None


def test_gradients_of_some_results_of_a_function_that_writes() -> None:
    mean = torch.zeros(2)

    def f(x: Any) -> Any:
        mean.mul_(0.5).add_(x.detach(), alpha=0.5)
        return (x * x).sum(), torch.sqrt(x - 1)

    found = []
    for g in (f, torch.compile(f, fullgraph=True)):
        mean.zero_()
        for i in range(3):
            x = torch.tensor([1.0, 2.0 + i], requires_grad=True)
            g(x)[0].backward()
            found.append(bits([x.grad, mean]))
    assert found[:3] == found[3:]


def test_gradients_of_some_results_after_autocast_has_ended() -> None:
    w = torch.tensor(array(4, 4).astype("float32"), requires_grad=True)

    def f(x: Any) -> Any:
        y = x @ w
        return y.float().sum(), torch.sqrt(x)

    compiled = torch.compile(f, fullgraph=True)
    for i in range(3):
        found = []
        for g in (f, compiled):
            x = torch.tensor(abs(array(4, 4, seed=i)).astype("float32"), requires_grad=True)
            with torch.autocast("cpu"):
                y, _ = g(x)
            found.append(bits(torch.autograd.grad(y, [x, w])))
        assert found[0] == found[1]


def test_second_gradients_of_some_results() -> None:
    def f(x: Any) -> Any:
        return (x * x * x).sum(), fg.sqrt(x)

    x = fg.tensor([0.0, 2.0]).requires_grad_()
    for g in (f, fg.compile(f)):
        (first,) = fg.grad(g(x)[0], [x], create_graph=True)
        assert fg.grad(first.sum(), [x])[0].tolist() == [0, 12]


def test_the_trace_for_some_results_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        fg.debug_print("x is {}", x)
        return x * 2, fg.sqrt(x)

    for g in (f, fg.compile(f)):
        for k in range(3):
            x = fg.tensor([0.0, float(k)]).requires_grad_()
            fg.grad(g(x)[0].sum(), [x])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines[:3] == lines[3:]
