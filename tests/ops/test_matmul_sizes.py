"""Matrix products at the edges of tiles and registers: values, and the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ferrograd as fg
import numpy as np
import pytest


@pytest.fixture
def threads() -> Iterator[None]:
    before = fg.get_num_threads()
    yield
    fg.set_num_threads(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [4, 7, 8, 31, 33, 34, 35, 65, 259])
@pytest.mark.parametrize(("rows", "inner"), [(1, 3), (1, 517), (2, 3), (5, 256), (67, 257), (300, 513)])
def test_products_at_the_edges(rows: int, inner: int, columns: int, dtype: Any, threads: None) -> None:
    generator = np.random.default_rng(rows * inner + columns)
    a = np.asarray(generator.normal(size=(rows, inner)), dtype)
    b = np.asarray(generator.normal(size=(inner, columns)), dtype)
    want = a.astype(np.longdouble) @ b
    # In each layout, since the kernel reads factors in place.
    for x in (fg.tensor(a), fg.tensor(a.T.copy()).T):
        for y in (fg.tensor(b), fg.tensor(b.T.copy()).T):
            found = []
            for n in (1, 2, 3, 7):
                fg.set_num_threads(n)
                found.append(np.asarray(x @ y))
            assert np.abs(found[0] - want).max() <= 4 * inner * np.finfo(dtype).eps
            assert all(z.tobytes() == found[0].tobytes() for z in found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_times_a_wide_matrix_is_split_over_threads(dtype: Any, threads: None) -> None:
    generator = np.random.default_rng(5)
    a = np.asarray(generator.normal(size=700), dtype)
    b = np.asarray(generator.normal(size=(700, 2503)), dtype)
    found = []
    for n in (1, 2, 5):
        fg.set_num_threads(n)
        found.append(np.asarray(fg.tensor(a) @ fg.tensor(b)))
    assert np.abs(found[0] - a.astype(np.float64) @ b).max() <= 700 * np.finfo(dtype).eps
    assert all(z.tobytes() == found[0].tobytes() for z in found)


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
@pytest.mark.parametrize("shift", [1, -2, 9])
def test_the_gradient_of_a_roll_rolls_back(axis: int | tuple[int, ...] | None, shift: int) -> None:
    x = fg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    shifts = (shift, shift) if isinstance(axis, tuple) else shift
    back = (-shift, -shift) if isinstance(axis, tuple) else -shift
    weights = np.arange(12.0).reshape(3, 4) ** 2
    rolled = fg.roll(x, shifts, axis)
    np.testing.assert_array_equal(np.asarray(rolled.detach()), np.roll(np.asarray(x.detach()), shifts, axis))
    (rolled * fg.tensor(weights)).sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.roll(weights, back, axis))
