"""Sparse Jacobians against dense ones, and the number of passes they take."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.func import jacrev, sparse_jacobian
from ferrograd.func._sparse import colours

from tests.func.tools import same, sample


@pytest.mark.parametrize(("m", "n"), [(5, 7), (7, 5), (1, 40), (40, 1), (60, 60), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_random_patterns(m: int, n: int, density: float) -> None:
    generator = np.random.default_rng(m * n)
    there = generator.random((m, n)) < density
    a, x = fg.tensor(generator.normal(size=(m, n)) * there), sample(n)

    def f(x: Any) -> Any:
        return fg.sin(a @ x)

    want = np.asarray(jacrev(f)(x))
    found = sparse_jacobian(f, x)
    assert np.array_equal(np.stack([found.rows, found.cols]), np.stack(np.nonzero(want)))
    same(found.dense(), want)
    for pattern in (there, np.nonzero(there), (found.rows, found.cols)):
        same(sparse_jacobian(f, x, pattern).dense(), want)


def test_a_band_takes_as_many_passes_as_it_is_wide() -> None:
    n = 500
    rows, cols = np.nonzero(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1)
    assert colours((rows, cols), n).max() + 1 == 3
    arrow = np.eye(n, dtype=bool)
    arrow[0] = True
    x = sample(n)
    found = sparse_jacobian(lambda x: fg.concat([(x * x).sum().reshape([1]), x[1:] ** 2]), x)
    arrow[0, 0] = True
    assert len(found.rows) == arrow.sum()
    assert colours((found.cols, found.rows), n).max() + 1 == 2


def test_shapes_are_counted_flat_and_values_are_tracked() -> None:
    w, x = sample(2, 3, track=True), sample(2, 3, seed=1)
    found = sparse_jacobian(lambda x: w * x**2, x)
    assert found.shape == (6, 6)
    same(found.values, 2 * np.asarray(w * x).ravel())
    same(fg.grad(found.values.sum(), w), 2 * np.asarray(x))
    same(fg.grad(sparse_jacobian(lambda x: w * x**2, x).dense().sum(), w), 2 * np.asarray(x))


def test_float32() -> None:
    found = sparse_jacobian(lambda x: x[1:] * x[:-1], fg.tensor([1.0, 2.0, 3.0]))
    assert found.values.dtype == fg.float32


def test_patterns_of_every_kind() -> None:
    from scipy import sparse

    x = sample(5)

    def f(x: Any) -> Any:
        return fg.sin(x[1:]) * x[:-1]

    want = sparse_jacobian(f, x)
    dense = np.asarray(want.dense()) != 0
    for pattern in (want, (want.rows, want.cols), dense, dense.tolist(), sparse.csr_matrix(dense)):
        got = sparse_jacobian(f, x * 2.0, pattern)
        same(got.dense(), sparse_jacobian(f, x * 2.0).dense())
    with pytest.raises(fg.ArgumentError, match="a pattern of shape"):
        sparse_jacobian(f, x, sparse.csr_matrix(dense.T))
    with pytest.raises(fg.ArgumentError, match="tensor"):
        sparse_jacobian(f, {"x": x})  # type: ignore[arg-type]


def test_wrong_arguments_raise() -> None:
    x = sample(3)
    with pytest.raises(fg.ArgumentError, match=r"a pattern of shape \(2, 2\) for a Jacobian of \(3, 3\)"):
        sparse_jacobian(fg.sin, x, np.ones((2, 2)))
    with pytest.raises(fg.ArgumentError, match="outside"):
        sparse_jacobian(fg.sin, x, ([0], [3]))
    with pytest.raises(fg.ArgumentError, match="two lists of ints"):
        sparse_jacobian(fg.sin, x, ([0.5], [1]))
    with pytest.raises(fg.ArgumentError, match="returns one tensor, not 2"):
        sparse_jacobian(lambda x: (x, x), x)
