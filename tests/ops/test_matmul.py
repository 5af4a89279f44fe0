"""Matrix products: batches that share a factor, and diagonal factors."""

from __future__ import annotations

import itertools

import ferrograd as fg
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def check(x: np.ndarray, y: np.ndarray) -> None:
    want = np.matmul(x, y)
    got = np.asarray(fg.matmul(fg.asarray(x), fg.asarray(y)))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4 if got.dtype == np.float32 else 1e-12, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("sizes", [(1, 5, 1), (3, 4, 1), (1, 4, 3), (2, 3, 4), (1, 1, 1), (40, 40, 1), (1, 40, 40)])
def test_batches_that_share_a_factor(sizes: tuple[int, int, int], dtype: str) -> None:
    m, k, n = sizes
    for batch in [(1,), (2,), (5,), (2, 3), (3, 1, 2), (0,)]:
        x, y = (RNG.normal(size=(*batch, *s)) * 5 for s in ((m, k), (k, n)))
        x, y = x.astype(dtype), y.astype(dtype)
        for a, b in itertools.product((x, x[..., ::-1, :], np.swapaxes(x, 0, 0)), (y, np.flip(y, 0))):
            check(a, b)
        if 0 not in batch:
            one_x, one_y = x[(0,) * len(batch)], y[(0,) * len(batch)]
            check(one_x, y)
            check(x, one_y)
            check(np.broadcast_to(one_x, x.shape), y)
            check(np.broadcast_to(one_x, x.shape), np.broadcast_to(one_y, y.shape))
            check(np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -2)), -2, 0), one_y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 31, 32, 65])
def test_diagonal_factors(n: int, dtype: str) -> None:
    d = np.diag(RNG.normal(size=n)).astype(dtype)
    for other in (RNG.normal(size=(n, 7)), RNG.normal(size=(7, n)).T, RNG.normal(size=(2 * n, 14))[::2, ::2]):
        y = other.astype(dtype)
        for diagonal in (d, d.T, np.asfortranarray(d), np.zeros_like(d), np.eye(n, dtype=dtype), -d):
            check(diagonal, y)
            check(y.T, diagonal)
    check(d, d)
    nearly = d.copy()
    nearly[-1, 0] = 1e-3
    check(nearly, d)
    check(d, nearly)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zeros_of_a_diagonal_factor_times_values_that_are_not_finite(bad: float) -> None:
    d, y = np.diag(np.arange(1.0, 41.0)), RNG.normal(size=(40, 40))
    y[3, 5] = bad
    with np.errstate(invalid="ignore"):
        for a, b in ((d, y), (y, d)):
            got = np.asarray(fg.matmul(fg.tensor(a), fg.tensor(b)))
            np.testing.assert_array_equal(np.isnan(got), np.isnan(a @ b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "k"), [(1, 5), (3, 4), (4, 1), (5, 3), (8, 5), (9, 7), (7, 13), (4, 32), (21, 6)])
def test_few_products_with_a_column_are_added_one_by_one(m: int, k: int, dtype: str) -> None:
    x, y = RNG.normal(size=(3, m, 2 * k)).astype(dtype), RNG.normal(size=(3, k, 1)).astype(dtype)
    x[0, -1, 0], y[1, 0, 0] = np.inf, np.nan
    for rows in (x[..., :k].copy(), x[..., ::2], x[:, ::-1, :k]):
        expected = np.zeros((3, m, 1), dtype)
        for p in range(k):
            expected += rows[..., p : p + 1] * y[:, p : p + 1]
        found = np.asarray(fg.matmul(fg.asarray(rows), fg.asarray(y)))
        np.testing.assert_array_equal(found, expected)
        single = np.asarray(fg.matmul(fg.asarray(rows)[2], fg.asarray(y)[2, :, 0]))
        np.testing.assert_array_equal(single, expected[2, :, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(150, 700, 300), (261, 513, 1100), (515, 260, 129), (16, 1024, 2050)])
def test_bits_of_a_product_are_those_of_its_parts(sizes: tuple[int, int, int], dtype: str) -> None:
    m, k, n = sizes
    for turned_x, turned_y in itertools.product((False, True), repeat=2):
        x = RNG.normal(size=(k, m) if turned_x else (m, k)).astype(dtype)
        y = RNG.normal(size=(n, k) if turned_y else (k, n)).astype(dtype)
        x, y = x.T if turned_x else x, y.T if turned_y else y
        check(x, y)
        a, b = fg.asarray(x), fg.asarray(y)
        threads, found = fg._core.num_threads(), set()
        try:
            for count in (1, 2, 3):
                fg._core.set_num_threads(count)
                found.add(np.asarray(fg.matmul(a, b)).tobytes())
        finally:
            fg._core.set_num_threads(threads)
        (bits,) = found
        whole = np.frombuffer(bits, dtype).reshape(m, n)
        for i, j in ((0, 0), (3, 70), (m - 9, n - 40)):
            part = fg.matmul(a[i : i + 9], b[:, j : j + 40])
            assert np.asarray(part).tobytes() == np.ascontiguousarray(whole[i : i + 9, j : j + 40]).tobytes()
