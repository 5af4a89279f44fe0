"""What ``numpy()`` and ``gradient()`` give, which are copies that can be written to, as in Paddle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle


@pytest.mark.parametrize("make", [lambda x: x.numpy(), np.array])
@pytest.mark.parametrize("tracked", [True, False])
def test_an_array_is_a_copy(make: Callable[[Any], Any], tracked: bool) -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=not tracked)
    a = make(x)
    a += 5
    assert x.tolist() == [1, 2]
    with paddle.no_grad():
        x[0] = 3.0
    assert a.tolist() == [6, 7]


def test_a_copy_lies_as_the_tensor() -> None:
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.T.numpy().flags.f_contiguous
    assert paddle.to_tensor(2.0).numpy().shape == ()
    assert x.numpy().flags.owndata


def test_a_gradient_is_a_copy() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = (x * x).sum()
    y.backward()
    x.gradient()[:] = 0
    x.grad.numpy()[:] = 0
    assert x.grad.tolist() == [2, 4]


def test_asarray_is_a_view() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    a = np.asarray(x)
    assert not a.flags.writeable
    assert np.shares_memory(a, np.asarray(x))


def test_natively_an_array_is_a_view() -> None:
    assert not fg.ones(2).numpy().flags.writeable
