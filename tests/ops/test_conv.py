"""Convolutions and pools at unusual sizes, against SciPy and direct sums, and their errors."""

from collections.abc import Callable, Iterator
from itertools import product
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


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integers_stay_integers(dtype: str) -> None:
    x, w = np.arange(18).reshape(1, 2, 9).astype(dtype), np.arange(12).reshape(3, 2, 2).astype(dtype)
    got = fg.conv1d(x, w, stride=2, padding=1)
    want = fg.conv1d(x.astype("float64"), w.astype("float64"), stride=2, padding=1)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.asarray(want).astype(np.int64).astype(dtype))
    assert fg.conv_transpose1d(x, w.transpose(1, 0, 2)).dtype == dtype
    assert fg.conv1d(x[:0], w).shape == (0, 3, 8)


def test_sums_of_integers_beyond_those_that_floats_hold() -> None:
    with pytest.raises(fg.ArgumentError, match="2\\^53"):
        fg.conv1d(np.full((1, 1, 4), 2**40), np.full((1, 1, 2), 2**13))


def terms(
    x: tuple[int, ...], w: tuple[int, ...], places: tuple[int, ...], stride: int, padding: int, dilation: int
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
    """For each element of a window: the pixels that it multiplies and the output positions, without padding."""
    for at in product(*map(range, w[2:])):
        of_x, of_y = [], []
        for size, n, k in zip(x[2:], places, at, strict=True):
            inside = [p for p in range(n) if 0 <= p * stride + k * dilation - padding < size]
            first, last = (inside[0], inside[-1]) if inside else (0, -1)
            start = first * stride + k * dilation - padding
            of_y.append(slice(first, last + 1))
            of_x.append(slice(start, start + (last - first) * stride + 1, stride) if inside else slice(0, 0))
        yield at, tuple(of_x), tuple(of_y)


def by_hand(
    x: np.ndarray, w: np.ndarray, g: np.ndarray, groups: int, stride: int, padding: int, dilation: int
) -> list[np.ndarray]:
    """A convolution and its gradients by image and weight, as plain sums over pixels."""
    y, dx, dw = np.zeros(g.shape), np.zeros(x.shape), np.zeros(w.shape)
    own, filters = w.shape[1], w.shape[0] // groups
    for at, of_x, of_y in terms(x.shape, w.shape, g.shape[2:], stride, padding, dilation):
        for f, c in product(range(w.shape[0]), range(own)):
            channel = f // filters * own + c
            y[:, f][:, *of_y] += w[f, c, *at] * x[:, channel][:, *of_x]
            dx[:, channel][:, *of_x] += w[f, c, *at] * g[:, f][:, *of_y]
            dw[f, c, *at] += (x[:, channel][:, *of_x] * g[:, f][:, *of_y]).sum()
    return [y, dx, dw]


def of_library(
    x: np.ndarray, w: np.ndarray, g: np.ndarray, groups: int, stride: int, padding: int, dilation: int
) -> list[np.ndarray]:
    image, weight = fg.tensor(x, requires_grad=True), fg.tensor(w, requires_grad=True)
    y = fg.conv2d(image, weight, None, stride, padding, dilation, groups)
    return [part.detach().numpy() for part in (y, *fg.grad(y, [image, weight], fg.tensor(g)))]


@pytest.mark.parametrize("size", [(1, 1), (4, 7), (9, 61), (33, 118)])
@pytest.mark.parametrize("window", [(1, 1, 1), (1, 2, 2), (1, 0, 1), (2, 1, 1)], ids=str)
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 5)])
def test_depthwise_convolutions(size: tuple[int, int], window: tuple[int, int, int], kernel: tuple[int, int]) -> None:
    stride, padding, dilation = window
    reach = [n + 2 * padding - dilation * (k - 1) for n, k in zip(size, kernel, strict=True)]
    if min(reach) < 1:
        return
    x, w = normal(2, 3, *size), normal(3, 1, *kernel, seed=1)
    g = normal(2, 3, *[(r - 1) // stride + 1 for r in reach], seed=2)
    for found, want in zip(of_library(x, w, g, 3, *window), by_hand(x, w, g, 3, *window), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite_are_not_multiplied_by_padding(groups: int, stride: int, bad: float) -> None:
    x, w = normal(2, 4, 6, 12), normal(4, 4 // groups, 3, 3, seed=1)
    g = normal(2, 4, 6 // stride, 12 // stride, seed=2)
    window = (stride, 1, 1)
    w[0, 0, 0, 0] = w[3, 0, 2, 1] = bad
    found, want = of_library(x, w, g, groups, *window), by_hand(x, w, g, groups, *window)
    assert np.isfinite(want[0][:, 0, 0]).all()
    assert not np.isfinite(want[0]).all()
    for f, e in zip(found, want, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-10, atol=1e-10)
    w, g[0, 1, 0, 0] = normal(4, 4 // groups, 3, 3, seed=1), bad
    found, want = of_library(x, w, g, groups, *window), by_hand(x, w, g, groups, *window)
    assert np.isfinite(want[2][1, 0, 0, 0])
    assert not np.isfinite(want[2]).all()
    for f, e in zip(found, want, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-10, atol=1e-10)


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
def test_wrong_arguments_raise(call: Callable[[], Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        call()


def test_a_result_that_memory_cannot_hold() -> None:
    with pytest.raises(MemoryError):
        fg.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), padding=2**40)


def test_max_pool_takes_the_first_maximum_and_nan_is_larger() -> None:
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
def test_wrong_arguments_of_pools_raise(kw: dict[str, Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        fg.max_pool2d(np.ones((1, 1, 4, 4)), **kw)


def test_a_window_that_begins_before_the_last_one() -> None:
    x = fg.tensor(np.arange(14.0).reshape(1, 2, 7))
    # The first pixels of the first window are padding, so it begins behind the second one.
    values, places = fg.max_pool1d_with_indices(x, 2, 1, 1, [7])
    assert values.tolist() == [[[6.0, 0.0], [13.0, 7.0]]]
    assert places.tolist() == [[[6, 0], [6, 0]]]
