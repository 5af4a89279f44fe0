"""Quotients rounded down where an operand is infinite: natively those of the array API standard, elsewhere NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest

SPECIAL = np.array([-np.inf, -3.0, -0.5, -0.0, 0.0, 0.5, 2.0, np.inf, np.nan])
X, Y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(SPECIAL[:, None], SPECIAL))
with np.errstate(all="ignore"):
    STANDARD, NUMPY, REST = np.floor(X / Y), np.floor_divide(X, Y), np.remainder(X, Y)


def in_place(x: Any, y: Any) -> Any:
    x = x.clone()
    x //= y
    return x


def by_method_in_place(x: Any, y: Any) -> Any:
    return x.clone().floor_divide_(y)


def same(found: Any, expected: np.ndarray[Any, Any]) -> None:
    found = found.astype("float64").numpy()
    np.testing.assert_array_equal(found, expected)
    where = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[where], np.signbit(expected)[where])


FORMS: list[Callable[..., Any]] = [
    *(fg.floor_divide, operator.floordiv, np.floor_divide, in_place, by_method_in_place),
    lambda x, y: x.floor_divide(y),
    lambda x, y: divmod(x, y)[0],
    lambda x, y: np.divmod(x, y)[0],
    fg.func.vmap(fg.floor_divide),
    fg.compile(fg.floor_divide),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_native(form: Callable[..., Any], dtype: str) -> None:
    same(form(fg.tensor(X, dtype=dtype), fg.tensor(Y, dtype=dtype)), STANDARD)


def test_native_with_numbers() -> None:
    for number in SPECIAL.tolist():
        with np.errstate(all="ignore"):
            same(fg.tensor(SPECIAL) // number, np.floor(SPECIAL / number))
            same(number // fg.tensor(SPECIAL), np.floor(number / SPECIAL))
            same(fg.tensor(SPECIAL)[3] // number, np.floor(SPECIAL[3] / number))


def test_remainders_are_pythons() -> None:
    x, y = fg.tensor(X), fg.tensor(Y)
    forms: list[Callable[..., Any]] = [operator.mod, fg.remainder, np.remainder, lambda x, y: divmod(x, y)[1]]
    for form in forms:
        np.testing.assert_array_equal(form(x, y).numpy(), REST)
    # For a large negative divisor a positive number leaves x + y.
    x, y = fg.tensor(1.0, requires_grad=True), fg.tensor(-fg.inf, requires_grad=True)
    assert [g.item() for g in fg.grad(x % y, [x, y])] == [1.0, 1.0]


def test_long_arrays() -> None:
    x, y = np.tile(X.ravel(), 100), np.tile(Y.ravel(), 100)
    same(fg.tensor(x) // fg.tensor(y), np.tile(STANDARD.ravel(), 100))
    same(torch.tensor(x) // torch.tensor(y), np.tile(NUMPY.ravel(), 100))


@pytest.mark.parametrize("library", [torch, paddle])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_other_dialects(library: Any, dtype: str) -> None:
    make = library.tensor if library is torch else library.to_tensor
    x, y = make(X, dtype=getattr(library, dtype)), make(Y, dtype=getattr(library, dtype))
    for form in (
        library.floor_divide,
        operator.floordiv,
        in_place,
        by_method_in_place,
        fg.func.vmap(operator.floordiv),
    ):
        same(form(x, y), NUMPY)
    assert (2.0 // x[0, 0]).item() == -1.0
    if library is torch:
        same(torch.div(x, y, rounding_mode="floor"), NUMPY)
        same(torch.compile(torch.floor_divide)(x, y), NUMPY)


def test_integers_stay_integers() -> None:
    x, y = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    for make in (fg.tensor, torch.tensor, paddle.to_tensor):
        found = make(x) // make(y)
        assert found.tolist() == (x // y).tolist()
        assert str(found.dtype).endswith("int64")
