"""Flags, modes and ``.grad`` of Paddle's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import paddle

from tests.dialects import values


def leaf(data: Any, dtype: Any = None) -> Any:
    return paddle.to_tensor(data, dtype, stop_gradient=False)


def test_defaults_of_the_flags() -> None:
    x = paddle.to_tensor([1.0])
    assert (x.stop_gradient, x.is_leaf, x.grad) == (True, True, None)
    y = x * x
    assert (y.stop_gradient, y.is_leaf) == (True, True)
    z = leaf([1.0]) * x
    assert (z.stop_gradient, z.is_leaf) == (False, False)


def test_a_tensor_stopped_before_its_use() -> None:
    w, v = leaf([2.0]), leaf([3.0])
    b = w * 2
    b.stop_gradient = True
    (b * v).backward()
    assert w.grad is None
    assert values(v.grad) == [4]


def test_a_stopped_root() -> None:
    w = leaf([2.0])
    out = w * 2
    out.stop_gradient = True
    out.backward()
    assert w.grad is None


def test_stop_gradient_changed_after_use() -> None:
    x = leaf(3.0)
    y = x * x
    x.stop_gradient = True
    y.backward()
    assert values(x.grad) == 6

    x = leaf(2.0)
    y = x * 2
    z = y * y * 0.75 * x
    y.stop_gradient = True
    z.backward()
    assert values(x.grad) == 36

    x = paddle.to_tensor(3.0)
    y = x * leaf(1.0)
    x.stop_gradient = False
    y.backward()
    assert x.grad is None


def test_stop_gradient_set_and_unset_before_grad() -> None:
    x = leaf(3.0)
    y = x * x
    x.stop_gradient = True
    x.stop_gradient = False
    assert values(paddle.grad(y, x)[0]) == 6


def test_an_inner_tensor_may_be_stopped() -> None:
    y = leaf(3.0) * 2
    y.stop_gradient = True
    assert y.stop_gradient


def test_integers_are_not_tracked() -> None:
    x = paddle.to_tensor([1, 2])
    with pytest.warns(UserWarning, match="floating point"):
        x.stop_gradient = False
    with pytest.warns(UserWarning, match="floating point"):
        y = paddle.to_tensor([1, 2], stop_gradient=False)
    assert x.stop_gradient
    assert y.stop_gradient


def test_gradient_is_a_numpy_array() -> None:
    x = leaf(3.0)
    assert x.gradient() is None
    (x * x).backward()
    assert isinstance(x.gradient(), np.ndarray)
    assert x.gradient().shape == ()


def test_augmented_assignment_rebinds() -> None:
    x = leaf([[1.0]])
    y = x
    y += 1
    assert y is not x
    assert values(y) == [[2]]
    assert values(x) == [[1]]


def test_set_value() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    x.set_value(np.array([5.0, 6.0]))
    assert values(x) == [5, 6]
    assert not x.stop_gradient
    y.backward()
    assert values(x.grad) == [2, 4]
    with pytest.raises(ValueError, match="shape"):
        x.set_value(np.ones(3))
