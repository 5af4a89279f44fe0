"""Integers beside index arrays: PyTorch and Paddle apply them first, NumPy counts them as index arrays."""

from __future__ import annotations

import itertools
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest

ROWS = np.array([1, 0, 1])
PARTS: list[Any] = [0, slice(None), slice(0, 2), ROWS, np.array([[1], [0]]), None]
KEYS = [
    key
    for n in (2, 3, 4)
    for key in itertools.product(range(len(PARTS)), repeat=n)
    if {3, 4} & {*key} and sum(k != 5 for k in key) <= 4
]


def of_dialect(key: tuple[int, ...], tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor(PARTS[k]) if isinstance(PARTS[k], np.ndarray) else PARTS[k] for k in key)


def integers_first(key: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The key without its index arrays, and then these alone."""
    parts = [PARTS[k] for k in key]
    view = tuple(slice(None) if isinstance(p, np.ndarray) else p for p in parts)
    return view, tuple(p if isinstance(p, np.ndarray) else slice(None) for p in parts if not isinstance(p, int))


@pytest.mark.parametrize("dialect", [torch, paddle])
def test_integers_are_applied_before_index_arrays(dialect: Any) -> None:
    tensor = torch.tensor if dialect is torch else paddle.to_tensor
    a = np.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    x = tensor(a)
    for key in KEYS:
        view, arrays = integers_first(key)
        wanted = a[view][arrays]
        found = x[of_dialect(key, tensor)]
        assert np.array_equal(found.numpy(), wanted), key
        written, expected = tensor(a.copy()), a.copy()
        written[of_dialect(key, tensor)] = -1.0
        expected[view][arrays] = -1.0
        assert np.array_equal(written.numpy(), expected), key


def test_the_native_index_is_numpys() -> None:
    a = np.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    for key in KEYS:
        wanted = a[tuple(PARTS[k] for k in key)]
        assert np.array_equal(fg.tensor(a)[of_dialect(key, fg.tensor)], wanted), key


def test_the_gradient_goes_to_the_elements_that_were_read() -> None:
    x = torch.zeros(2, 3, 4, requires_grad=True)
    y = x[0, :, torch.tensor([1, 1, 3])]
    assert y.shape == (3, 3)
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g[0, 0].tolist() == [0.0, 2.0, 0.0, 1.0]
    assert g[1].abs().sum() == 0
