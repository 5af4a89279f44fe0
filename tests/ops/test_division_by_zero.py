"""Integers divided by 0: a warning as NumPy gives it, and an error in the other dialects."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest

OPS = [operator.floordiv, operator.mod, fg.floor_divide, fg.remainder, np.floor_divide, np.remainder, fg.fmod]


@pytest.mark.parametrize("op", OPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_a_warning(op: Callable[..., Any], dtype: str) -> None:
    x, y = fg.tensor([7, 8], dtype=dtype), fg.tensor([2, 0], dtype=dtype)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in (floor_divide|remainder|fmod)"):
        z = op(x, y)
    assert z[1].item() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It is said once.
        assert (z + 1)[1].item() == 1
        assert op(x, fg.tensor([2, 4], dtype=dtype))[1].item() in (0, 2)


def test_where_else_it_is_seen() -> None:
    x = fg.tensor([[7, 8], [9, 10]])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (x // 0).tolist() == [[0, 0], [0, 0]]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (5 // fg.tensor([0, 2])).tolist() == [0, 2]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert fg.func.vmap(lambda row: row // fg.tensor([1, 0]))(x).tolist() == [[7, 0], [9, 0]]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        x //= fg.tensor([[1], [0]])
    assert x.tolist() == [[7, 8], [0, 0]]


def test_where_nothing_is_divided() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (fg.tensor([1.0]) // fg.tensor([0.0])).item() == np.inf
        assert (fg.zeros([0], dtype="int64") // 0).shape == (0,)


@pytest.mark.parametrize(
    ("library", "text"), [(torch, "ZeroDivisionError"), (paddle, "Integer division by zero encountered")]
)
def test_an_error_in_the_other_dialects(library: Any, text: str) -> None:
    make = library.tensor if library is torch else library.to_tensor
    x, zero = make([7]), make([0])
    for f in (library.floor_divide, library.remainder, operator.floordiv, operator.mod):
        with pytest.raises(RuntimeError, match=text):
            f(x, zero)
    with pytest.raises(RuntimeError, match=text):
        x //= zero
    assert x.tolist() == [7]
    for mode in ("trunc", "floor") if library is torch else ():
        with pytest.raises(RuntimeError, match=text):
            torch.div(x, zero, rounding_mode=mode)
