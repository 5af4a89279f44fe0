"""How far the vector functions are from the true values, over all exponents: in units of the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

#: By function: the same in NumPy, on a wider type.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
}


def sample(dtype: Any, each: int) -> np.ndarray:
    """Numbers of both signs with every exponent, the least and the largest of each among them."""
    info = np.finfo(dtype)
    generator = np.random.default_rng(11)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    fractions = 1 + generator.integers(0, 2**info.nmant, (len(exponents), each)) / 2**info.nmant
    fractions[:, 0], fractions[:, 1] = 1, 2 - info.eps
    x = np.ldexp(fractions, exponents[:, None]).astype(dtype).ravel()
    # The places where ranges are reduced.
    near = np.concatenate([np.arange(1, 200) * (np.pi / 4), np.arange(1, 200) * np.log(2) / 2]).astype(dtype)
    return np.concatenate([x, -x, near, -near, 1 - near * info.eps, 1 + near * info.eps])


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """By how many units of the last place results are off; where the type has no number, they must be equal."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        odd = ~np.isfinite(rounded) | ~np.isfinite(got)
        error = np.abs(got.astype(want.dtype) - want) / np.spacing(np.abs(rounded)).astype(want.dtype)
    same = (got == rounded) | np.isnan(got) & np.isnan(rounded)
    return np.where(odd, np.where(same, 0, np.inf), error)


def worst(name: str, x: np.ndarray, wider: Any) -> float:
    got = np.asarray(getattr(fg, name)(fg.tensor(x)))
    assert got.dtype == x.dtype
    with np.errstate(all="ignore"):
        want = np.asarray(FUNCTIONS[name](x.astype(wider)), wider)
    error = ulps(got, want)
    at = int(error.argmax())
    assert not np.isinf(error[at]), f"{name}({x[at]!r}) is {got[at]!r}, not {want[at]!r}"
    return float(error[at])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32(name: str) -> None:
    assert worst(name, sample(np.float32, 100), np.float64) <= 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long doubles are no wider here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64(name: str) -> None:
    assert worst(name, sample(np.float64, 25), np.longdouble) <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_alone_is_as_in_a_row(name: str, dtype: Any) -> None:
    """The loops of vectors and their rests compute the same bits."""
    x = sample(dtype, 2)[:: 7 if dtype == np.float64 else 1][:1003]
    f = getattr(fg, name)
    row = np.asarray(f(fg.tensor(x)))
    for start in range(1, 9):
        np.testing.assert_array_equal(np.asarray(f(fg.tensor(x[start:]))), row[start:])
    alone = [np.asarray(f(fg.tensor(v))) for v in x[::50]]
    np.testing.assert_array_equal(np.array(alone), row[::50])
