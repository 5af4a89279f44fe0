"""Distinct elements and distances of rows, compared with NumPy where the way to them depends on the numbers."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest

DTYPES = (np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_, np.complex64)


def drawn(n: int, kind: str, dtype: Any) -> Any:
    """A vector of few distinct numbers, of many, or with NaNs."""
    r = np.random.default_rng(n)
    if kind == "few":
        return r.integers(-20, 20, n).astype(dtype)
    x = r.standard_normal(n) * 1e6
    if kind == "nan":
        x[r.random(n) < 0.1] = np.nan
        x = x.round(-5)
    return x.astype(np.int64).astype(dtype) if np.dtype(dtype).kind in "iu" else x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 255, 300, 5000, 200_000])
def test_distinct_elements_are_those_of_numpy(n: int, dtype: Any) -> None:
    """Few distinct elements are found with a table, many by a sort."""
    for kind in ("few", "many", "nan")[: 3 if np.dtype(dtype).kind == "f" else 2]:
        x = drawn(n, kind, dtype)
        for equal_nan in (False, True):
            want = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan)
            for a, b in zip(want, fg.unique_all(fg.tensor(x), equal_nan=equal_nan), strict=True):
                np.testing.assert_array_equal(b.numpy(), a.reshape(b.shape), err_msg=f"{kind} {equal_nan}")


def test_elements_whose_hashes_meet_are_found() -> None:
    """Keys that are multiples of a power of two begin their search in few places of a table."""
    x = np.tile(np.arange(3000, dtype=np.uint64) << np.uint64(50), 8)
    want = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for a, b in zip(want, fg.unique_all(fg.tensor(x)), strict=True):
        np.testing.assert_array_equal(b.numpy(), a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 1e-44, 1e-38, 1e-25, 1e-18, 1e-12, 1.0, 1e18, 1e30])
def test_distances_keep_their_digits(scale: float, dtype: Any) -> None:
    """Rows that are equal, nearly equal, and so small or large that squares leave the range."""
    r = np.random.default_rng(1)
    x = (r.standard_normal((40, 5)) * scale).astype(dtype)
    y = x.copy()
    y[::3] = np.nextafter(y[::3], dtype(np.inf))
    y[1::3] *= dtype(0.5)
    wide = np.longdouble
    differences = x.astype(wide)[:, None] - y.astype(wide)[None]
    largest = np.abs(differences).max(-1)
    scaled = differences / np.where(largest == 0, wide(1), largest)[..., None]
    want = (largest * np.sqrt((scaled**2).sum(-1))).astype(dtype)
    ulp = np.spacing(np.maximum(want, np.finfo(dtype).smallest_subnormal))
    got = fg.cdist(fg.tensor(x), fg.tensor(y)).numpy()
    assert np.all(np.abs(got.astype(wide) - want.astype(wide)) <= 8 * ulp)
