"""The way from one number to another, where an end is infinite or much larger than the other."""

from __future__ import annotations

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch

INF = float("inf")
DTYPES = ["float32", "float64"]
#: x, y, weight, and the value.
ENDS = [
    (-INF, 1.0, 0.5, -INF),
    (-INF, 1.0, 0.25, -INF),
    (1.0, -INF, 0.25, -INF),
    (1.0, INF, 0.75, INF),
    (-INF, -INF, 0.3, -INF),
    (-INF, INF, 0.5, np.nan),
    (-INF, 1.0, 1.0, 1.0),
    (1.0, INF, 0.0, 1.0),
    (-INF, 1.0, 2.0, INF),
    (np.nan, 1.0, 1.0, np.nan),
    (1e8, 1.0, 1.0, 1.0),
    (1.0, 1e8, 0.0, 1.0),
    (1.0, 3.0, 0.25, 1.5),
    (1.0, 3.0, 0.75, 2.5),
    (1.0, 3.0, -1.0, -1.0),
    (1.0, 3.0, 2.0, 5.0),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("x", "y", "weight", "wanted"), ENDS)
def test_lerp(x: float, y: float, weight: float, wanted: float, dtype: str) -> None:
    a, b, w = (fg.tensor(v, dtype=dtype) for v in (x, y, weight))
    ways = [
        fg.lerp(a, b, w),
        fg.lerp(a, b, weight),
        fg.compile(fg.lerp)(a, b, w),
        func.vmap(fg.lerp)(fg.stack([a, a]), fg.stack([b, b]), fg.stack([w, w]))[1],
        fg.lerp(fg.tensor(x, dtype=dtype, requires_grad=True), b, w),
        func.jvp(lambda a: fg.lerp(a, b, w), a, fg.ones_like(a))[0],
        torch.lerp(torch.tensor(x, dtype=getattr(torch, dtype)), torch.tensor(y, dtype=getattr(torch, dtype)), weight),
        paddle.lerp(paddle.to_tensor(x, dtype), paddle.to_tensor(y, dtype), weight),
    ]
    for way in ways:
        np.testing.assert_array_equal(np.asarray(way.detach()), np.asarray(wanted, dtype))
        assert np.asarray(way.detach()).dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_lerp_of_half_precision(dtype: str) -> None:
    x = torch.tensor([-INF, 1.0, 100.0], dtype=getattr(torch, dtype))
    assert torch.lerp(x, torch.tensor([1.0, 3.0, 1.0], dtype=x.dtype), 1.0).tolist() == [1, 3, 1]
    assert torch.lerp(x, x, 0.5).tolist() == x.tolist()


def test_derivatives_of_lerp() -> None:
    for weight in (0.25, 0.75):
        given = [fg.tensor(v, dtype="float64") for v in ([1.0, 2.0], [4.0, -3.0], [weight, weight])]
        fg.testing.check(fg.lerp, given, order=3)
    given = [fg.tensor([1 + 2j, 3.0]), fg.tensor([2.0, 1j]), fg.tensor([0.25 + 0j, 0.75])]
    fg.testing.check(fg.lerp, [x.astype("complex128") for x in given], order=2)
    x, y = fg.tensor([-INF, 0.0]), fg.tensor([1.0, INF])
    dx, dy = func.grad(lambda x, y: fg.sum(fg.lerp(x, y, 0.25)), (0, 1))(x, y)
    assert (dx.tolist(), dy.tolist()) == ([0.75, 0.75], [0.25, 0.25])


def test_lerp_keeps_shapes_dtypes_and_integers() -> None:
    assert fg.lerp(fg.ones((2, 1)), fg.zeros(3), fg.tensor(0.5)).shape == (2, 3)
    assert fg.lerp(fg.ones((0, 2)), fg.zeros((0, 2)), 0.5).shape == (0, 2)
    assert fg.lerp(fg.tensor([0, 10]), fg.tensor([10, 20]), fg.tensor(0.5)).tolist() == [5, 15]
    assert fg.lerp(fg.ones(2), fg.ones(2, dtype="float64"), 0.5).dtype == np.float64
    assert fg.lerp(fg.arange(6.0).reshape(2, 3).T, fg.zeros((3, 2)), 0.5).tolist() == [[0, 1.5], [0.5, 2], [1, 2.5]]
    assert fg.lerp(fg.tensor([0j]), fg.tensor([2 + 2j]), fg.tensor([0.75])).tolist() == [1.5 + 1.5j]


def between(rising: list[float], place: float) -> float:
    """The value at a place of a row. NumPy has NaN beside an infinite element."""
    low, high, weight = rising[int(place)], rising[int(np.ceil(place))], place - int(place)
    if weight == 0 or low == high:
        return low
    return low + high if np.isinf([low, high]).any() else low + weight * (high - low)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("data", [[-INF, 0.0], [-INF, -INF, 0.0, 1.0], [0.0, INF], [-INF, 3.0, INF], [0.0, 1.0, 1e38]])
def test_quantiles(data: list[float], dtype: str) -> None:
    x = fg.tensor(data, dtype=dtype)
    for q in (0.0, 0.25, 0.5, 0.6, 1.0):
        wanted, name = between(sorted(data), q * (len(data) - 1)), dtype
        found = [
            fg.quantile(x, q),
            fg.nanquantile(x, q),
            np.quantile(x, q),
            np.percentile(x, 100 * q),
            torch.tensor(data, dtype=getattr(torch, name)).quantile(q),
            torch.tensor(data, dtype=getattr(torch, name)).nanquantile(q),
            paddle.quantile(paddle.to_tensor(data, name), q),
            fg.compile(fg.quantile)(x, q),
            func.vmap(lambda x, q=q: fg.quantile(x, q))(fg.stack([x, x]))[0],
        ]
        for one in found:
            np.testing.assert_allclose(np.asarray(one), wanted, rtol=1e-6)
    assert func.grad(lambda x: fg.quantile(x, 0.25))(fg.tensor([-INF, 0.0], dtype=dtype)).tolist() == [0.75, 0.25]


def test_interpolation_between_points() -> None:
    xp, fp = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-INF, 0.0, 2.0, INF])
    x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
    with np.errstate(invalid="ignore"):
        wanted = np.interp(x, xp, fp)
    for found in (fg.interp(fg.tensor(x), fg.tensor(xp), fg.tensor(fp)), np.interp(fg.tensor(x), xp, fp)):
        np.testing.assert_array_equal(np.asarray(found), wanted)
    slope = func.grad(lambda x: fg.sum(fg.interp(x, fg.tensor(xp), fg.tensor(xp**2))))(fg.tensor([0.5, 1.5]))
    assert slope.tolist() == [1, 3]


def test_medians_of_nothing_but_nan_have_no_derivative() -> None:
    data = [[np.nan, np.nan], [1.0, np.nan]]
    for f in (lambda x: torch.nanmedian(x, 1)[0], lambda x: torch.nanquantile(x, 0.5, 1)):
        x = torch.tensor(data, requires_grad=True)
        f(x).nansum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[0, 0], [1, 0]]
    for g in (paddle.nanmedian, lambda x, axis: paddle.nanquantile(x, 0.5, axis)):
        y = paddle.to_tensor(data, stop_gradient=False)
        g(y, 1).nansum().backward()
        assert y.grad.tolist() == [[0, 0], [1, 0]]
    assert func.grad(lambda x: np.nanmedian(x))(fg.tensor([np.nan, np.nan])).tolist() == [0, 0]
