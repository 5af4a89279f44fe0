"""Convolutions at odd sizes, against SciPy, and what is refused."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from scipy.signal import correlate2d

from tests.check import run


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("size", [(3, 3), (17, 9), (64, 70)])
@pytest.mark.parametrize("mode", ["valid", "same"])
def test_against_scipy(size: tuple[int, int], mode: str) -> None:
    x, w = normal(2, 3, *size), normal(4, 3, 3, 3, seed=1)
    got = np.asarray(fg.conv2d(x, w, padding=mode))
    for b in range(2):
        for f in range(4):
            want = sum(correlate2d(x[b, c], w[f, c], mode=mode) for c in range(3))
            np.testing.assert_allclose(got[b, f], want, rtol=1e-11, atol=1e-11)


def test_a_large_batch_in_single_precision() -> None:
    x, w = normal(9, 8, 20, 20).astype(np.float32), normal(16, 8, 3, 3, seed=1).astype(np.float32)
    got = fg.conv2d(x, w, padding=1)
    want = fg.conv2d(x.astype(np.float64), w.astype(np.float64), padding=1)
    assert got.dtype == np.float32
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=1e-4)


def test_an_image_without_a_batch() -> None:
    x, w = normal(3, 6, 6), normal(2, 3, 3, 3)
    np.testing.assert_array_equal(np.asarray(fg.conv2d(x, w)), np.asarray(fg.conv2d(x[None], w))[0])


def test_sizes_of_zero() -> None:
    assert fg.conv2d(np.ones((0, 3, 4, 4)), np.ones((2, 3, 2, 2))).shape == (0, 2, 3, 3)
    assert fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((0, 3, 2, 2))).shape == (1, 0, 3, 3)
    np.testing.assert_array_equal(
        np.asarray(fg.conv2d(np.ones((1, 0, 4, 4)), np.ones((2, 0, 2, 2)))), np.zeros((1, 2, 3, 3))
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 4, 2, 2))),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 5, 5))),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 0, 1))),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), stride=0),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), padding=-1),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), dilation=2**62),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), padding="same", stride=2),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), padding="full"),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), groups=2),
        lambda: fg.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2)), bias=np.ones(3)),
        lambda: fg.conv2d(np.ones((4, 4)), np.ones((2, 3, 2, 2))),
        lambda: fg.conv_transpose2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 2, 2))),
        lambda: fg.conv_transpose2d(np.ones((1, 3, 4, 4)), np.ones((3, 2, 2, 2)), padding=9),
        lambda: fg.conv_transpose2d(np.ones((1, 3, 4, 4)), np.ones((3, 2, 2, 2)), output_padding=1),
    ],
)
def test_refusals(call: Callable[[], Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        call()


def test_a_result_that_memory_cannot_hold() -> None:
    with pytest.raises(MemoryError):
        fg.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), padding=2**40)


def test_the_largest_pixel_is_the_first_one_and_nan_is_larger() -> None:
    x = fg.tensor(np.ones((1, 1, 4, 4)), requires_grad=True)
    (g,) = run([fg.max_pool2d(x, 2).sum()], [x])
    want = np.zeros((4, 4))
    want[::2, ::2] = 1
    np.testing.assert_array_equal(np.asarray(g)[0, 0], want)
    bad = np.ones((1, 1, 2, 4))
    bad[0, 0, 1, 1] = np.nan
    np.testing.assert_array_equal(np.asarray(fg.max_pool2d(bad, 2)), [[[[np.nan, 1.0]]]])


def test_overlapping_windows_add_up() -> None:
    x = fg.tensor(np.arange(9.0).reshape(1, 1, 3, 3), requires_grad=True)
    (g,) = run([fg.max_pool2d(x, 2, stride=1).sum()], [x])
    np.testing.assert_array_equal(np.asarray(g)[0, 0], [[0, 0, 0], [0, 1, 1], [0, 1, 1]])


@pytest.mark.parametrize(
    "kw",
    [
        {"kernel_size": 0},
        {"kernel_size": 5},
        {"kernel_size": 2, "stride": 0},
        {"kernel_size": 2, "padding": 2},
        {"kernel_size": 2, "dilation": 9},
        {"kernel_size": (1, 2, 3)},
    ],
)
def test_poolings_that_are_refused(kw: dict[str, Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        fg.max_pool2d(np.ones((1, 1, 4, 4)), **kw)
