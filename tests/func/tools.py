"""Helpers for the tests of transforms: samples, comparisons and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np


def sample(*shape: int, seed: int = 0, track: bool = False) -> Any:
    """A float64 tensor of normally distributed numbers."""
    return fg.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=track)


def same(got: Any, want: Any, rtol: float = 1e-10) -> None:
    """Equal up to rounding, with the same shape."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> np.ndarray:
    """The Jacobian by central differences, with the input's axes last."""
    at = np.asarray(x)
    columns = []
    for i in range(at.size):
        e = np.zeros(at.shape)
        e.flat[i] = step
        columns.append((np.asarray(f(fg.tensor(at + e))) - np.asarray(f(fg.tensor(at - e)))) / (2 * step))
    out = np.stack(columns, -1) if columns else np.zeros((*np.asarray(f(x)).shape, 0))
    return out.reshape(*out.shape[:-1], *at.shape)
