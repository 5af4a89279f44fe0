"""Writes to leaves that Paddle allows, and draws whose gradient is zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.paddle as _paddle
import pytest

paddle: Any = _paddle


def leaf(data: Any, dtype: str = "float32") -> Any:
    return paddle.to_tensor(data, dtype=dtype, stop_gradient=False)


@pytest.mark.parametrize("increment", [paddle.increment, lambda x: x.increment()])
def test_increment_keeps_a_leaf(increment: Callable[[Any], Any]) -> None:
    x = leaf([1.5])
    before = x * x
    y = increment(x)
    assert y is x
    assert x.is_leaf
    assert x.tolist() == [2.5]
    (before + y * y).sum().backward()
    assert x.grad.tolist() == [3.0 + 5.0]
    assert paddle.increment(x * 2, 3.0).tolist() == [8.0]


def test_increment_of_a_result_is_recorded() -> None:
    x = leaf([[2.0]])
    y = x * x
    paddle.increment(y, 1.0)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[2 * 5 * 4.0]]


def test_copy_keeps_a_leaf() -> None:
    x, z = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    assert x.copy_(z, True) is x
    assert x.is_leaf
    assert not x.stop_gradient
    (x * x).sum().backward()
    assert x.grad.tolist() == [10, 12]
    assert z.grad is None


def test_copy_over_other_tensors_is_recorded() -> None:
    x, z = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    y = x * 2
    y.copy_(z, blocking=False)
    (y * y).sum().backward()
    assert (x.grad.tolist(), z.grad.tolist()) == ([0, 0], [10, 12])
    plain = paddle.zeros([2])
    plain.copy_(z)
    assert not plain.stop_gradient


def test_poisson_has_a_gradient_of_zeros() -> None:
    x = leaf([0.5, 4.0], "float64")
    paddle.seed(3)
    y = paddle.poisson(x)
    paddle.seed(3)
    assert y.tolist() == paddle.poisson(x.detach()).tolist()
    assert type(y) is paddle.Tensor
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]
