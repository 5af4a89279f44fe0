"""Hooks with Paddle's conventions."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import paddle

from tests.dialects import values


def leaf(data: Any) -> Any:
    return paddle.to_tensor(data, stop_gradient=False)


def test_a_gradient_kept_before_a_hook() -> None:
    x, y, z = leaf([0.0, 1.0]), leaf([4.0, 5.0]), leaf([1.0, 2.0])
    w = x + y
    w.retain_grads()
    handle = w.register_hook(lambda g: g * 2)
    o = (z * w).sum()
    o.backward(retain_graph=True)
    assert [values(t.grad) for t in (z, w, x, y)] == [[4, 6], [1, 2], [2, 4], [2, 4]]
    assert handle.remove()
    for t in (w, x, y, z):
        t.clear_gradient()
    o.backward()
    assert [values(t.grad) for t in (w, x, y)] == [[1, 2], [1, 2], [1, 2]]


def test_a_gradient_is_kept_for_what_the_tensor_held() -> None:
    x = leaf([1.0, 2.0])
    for write, kept in ((lambda y: y.scale_(3.0), [3, 3]), (lambda y: y.fill_(7.0), [0, 0]), (first, [0, 1])):
        y = x * 2
        y.retain_grads()
        write(y)
        y.sum().backward()
        assert values(y.grad) == kept
    y = x * 2
    y.scale_(3.0)
    y.retain_grads()
    (y * 5).sum().backward()
    assert values(y.grad) == [5, 5]
    # torch's `retain_grad` follows the written value.
    y = x * 2
    y.retain_grad()
    y.fill_(7.0)
    y.sum().backward()
    assert values(y.grad) == [1, 1]


def first(y: Any) -> None:
    y[0] = 7.0


def test_a_hook_after_every_accumulation() -> None:
    x = leaf(5.0)
    x.stop_gradient = False
    calls = []
    x._register_backward_hook(lambda: calls.append(values(x.grad)))
    for _ in range(5):
        (x**4).backward()
    assert calls == [500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    text = "Only can register backward hook for leaf Tensor"
    with pytest.raises(ValueError, match=text):
        (x * 2)._register_backward_hook(print)
    with pytest.raises(ValueError, match="stop gradient"):
        paddle.to_tensor(1.0)._register_backward_hook(print)


def test_an_accumulation_hook_that_changes_the_gradient() -> None:
    x = leaf(2.0)

    def doubles() -> None:
        with paddle.no_grad():
            x.grad = x.grad * 2

    x._register_backward_hook(doubles)
    # Each pass adds 10 and doubles the sum: 10 (2 + 4 + … + 32).
    for _ in range(5):
        (x * 10).backward()
    assert values(x.grad) == 620


def test_gradients_in_hooks_are_paddle_tensors() -> None:
    x = leaf([1.0])
    seen: list[Any] = []
    x.register_hook(seen.append)
    (x * 2).backward()
    assert type(seen[0]) is paddle.Tensor
    assert seen[0].stop_gradient


def test_stop_gradient_set_and_unset_on_a_result() -> None:
    a = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = a * a
    y.stop_gradient = True
    assert (y * a).stop_gradient is False
    assert (y * 2).stop_gradient is True
    kept = y * a
    y.stop_gradient = False
    assert not y.is_leaf
    (y * a).backward()
    assert a.grad.numpy().tolist() == [3, 12], "through y again"
    a.clear_grad()
    kept.backward()
    assert a.grad.numpy().tolist() == [1, 4], "a result made while y was stopped does not reach y"
    # A value written while stopped has no history.
    z = a * a
    z.stop_gradient = True
    z.add_(paddle.ones([2]))
    z.stop_gradient = False
    assert z.is_leaf
    # The same for a view, twice.
    v = (a * a)[:1]
    for _ in range(2):
        v.stop_gradient = True
        v.stop_gradient = False
    a.clear_grad()
    v.backward()
    assert a.grad.numpy().tolist() == [2, 0]


def test_a_retained_gradient_is_zeros_beside_other_results() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    a, b, c = paddle.split(x * 2, [1, 2, 1])
    b.retain_grads()
    c.retain_grads()
    (a + c).backward(retain_graph=True)
    assert (values(b.grad), values(c.grad)) == ([0, 0], [1])
    assert values(x.grad) == [2, 0, 0, 2]
    b.sum().backward()
    assert values(b.grad) == [1, 1]


def test_what_no_gradient_comes_near_retains_none() -> None:
    x = leaf([1.0, 2.0])
    unused = x * 3
    unused.retain_grads()
    (x * 2).backward()
    assert unused.grad is None
