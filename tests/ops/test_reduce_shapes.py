"""Reductions, scans and sorts against NumPy, with shapes and axes drawn by hypothesis."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
from hypothesis import given, strategies as st
from scipy import special

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def array(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Arrays of few different numbers, so that there are ties and zeros."""
    return np.random.default_rng(seed).integers(-2, 3, size=shape).astype(float)


@st.composite
def folds(draw: Any) -> tuple[np.ndarray, Any, bool]:
    shape = draw(SHAPES)
    axes = draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape)).map(tuple))
    if axes is not None:
        axes = tuple(a - len(shape) if draw(st.booleans()) else a for a in axes)
    return array(shape, draw(st.integers(0, 9))), axes, draw(st.booleans())


@st.composite
def lines(draw: Any) -> tuple[np.ndarray, int]:
    shape = draw(SHAPES.filter(len))
    return array(shape, draw(st.integers(0, 9))), draw(st.integers(-len(shape), len(shape) - 1))


def close(got: Any, want: Any) -> None:
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12)


@given(folds())
def test_reductions(case: tuple[np.ndarray, Any, bool]) -> None:
    a, axes, keepdims = case
    x = fg.tensor(a)
    for op in ("sum", "prod", "any", "all", "count_nonzero"):
        close(getattr(fg, op)(x, axis=axes, keepdims=keepdims), getattr(np, op)(a, axis=axes, keepdims=keepdims))
    for op in ("max", "min"):
        try:
            want = getattr(np, op)(a, axis=axes, keepdims=keepdims)
        except ValueError:
            try:
                getattr(fg, op)(x, axis=axes, keepdims=keepdims)
            except fg.ArgumentError:
                continue
            raise AssertionError(f"{op} of nothing") from None
        close(getattr(fg, op)(x, axis=axes, keepdims=keepdims), want)


@given(lines())
def test_scans_and_sorts(case: tuple[np.ndarray, int]) -> None:
    a, axis = case
    x = fg.tensor(a)
    close(fg.cumsum(x, axis), np.cumsum(a, axis))
    close(fg.cumprod(x, axis), np.cumprod(a, axis))
    close(fg.sort(x, axis), np.sort(a, axis))
    close(fg.argsort(x, axis), np.argsort(a, axis, kind="stable"))
    if a.size:
        close(fg.softmax(x, axis), special.softmax(a, axis))
        close(fg.log_softmax(x, axis), special.log_softmax(a, axis))
        close(fg.argmax(x, axis), np.argmax(a, axis))
        close(fg.argmin(x, axis, keepdims=True), np.argmin(a, axis, keepdims=True))
        close(fg.median(x, axis), np.median(a, axis))
