"""Gradients, retained graphs and locks after a backward pass that raises."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import pytest


class Unlucky(fg.Function):
    """Doubles its argument; backward raises while ``fails`` is set."""

    fails = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if Unlucky.fails:
            raise KeyError("unlucky")
        return 2 * g


@pytest.fixture(autouse=True)
def unlucky(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unlucky, "fails", True)


def graph() -> tuple[Any, Any, Any]:
    """Two leaves and a result; the pass reaches leaf `b` before it fails on the way to `a`."""
    a = fg.tensor([1.0, 2.0], requires_grad=True)
    b = fg.tensor([3.0, 4.0], requires_grad=True)
    return a, b, (fg.sin(b) * b + Unlucky.apply(fg.exp(a))).sum()


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_stay_as_they_were(threads: int) -> None:
    before = fg.get_num_threads()
    fg.set_num_threads(threads)
    try:
        a, b, y = graph()
        b.grad = fg.tensor([7.0, 7.0])
        with pytest.raises(KeyError, match="unlucky"):
            y.backward()
        assert a.grad is None
        assert b.grad.tolist() == [7.0, 7.0]
    finally:
        fg.set_num_threads(before)


def test_a_retained_graph_can_be_tried_again() -> None:
    a, b, y = graph()
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    Unlucky.fails = False
    y.backward()
    assert a.grad.tolist() == pytest.approx((2 * fg.exp(a)).tolist())
    assert b.grad.tolist() == pytest.approx((fg.cos(b) * b + fg.sin(b)).tolist())


def test_a_graph_that_was_not_retained_is_freed() -> None:
    a, b, y = graph()
    with pytest.raises(KeyError):
        y.backward()
    Unlucky.fails = False
    with pytest.raises(fg.FreedGraphError):
        y.backward()
    assert a.grad is None
    assert b.grad is None


def test_grad_and_higher_orders_leave_nothing_locked() -> None:
    a, b, y = graph()
    with pytest.raises(KeyError):
        fg.grad(y, [a, b], create_graph=True)
    Unlucky.fails = False
    da, db = fg.grad(y, [a, b], create_graph=True)
    assert fg.grad((da * da).sum() + db.sum(), a).tolist() == pytest.approx((8 * fg.exp(2 * a)).tolist())
