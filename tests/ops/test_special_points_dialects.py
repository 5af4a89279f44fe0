"""Derivatives at points where libraries disagree, in every namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)

INF, NAN = np.inf, np.nan
TIES = [2.0, 2.0, 1.0, 2.0]
THIRDS = [1 / 3, 1 / 3, 0, 1 / 3]


def orders(d: Dialect, f: Callable[[Any], Any], x: Any, n: int) -> list[Any]:
    """The first n derivatives: each is the gradient of the sum of the one before."""
    t = d.leaf(np.array(x))
    y, found = f(t), []
    for _ in range(n):
        (y,) = d.grad([y.sum()], [t], create_graph=True)
        found.append(values(y))
    return found


def gradient(d: Dialect, f: Callable[[Any], Any], x: Any) -> Any:
    return orders(d, f, x, 1)[0]


def functional(d: Dialect) -> Any:
    """The module that has the activations."""
    return d.module if d.name == "native" else d.module.nn.functional


@every
def test_abs_at_zero(d: Dialect) -> None:
    assert orders(d, d.module.abs, 0.0, 2) == [0, 0]


@every
def test_sqrt_at_zero(d: Dialect) -> None:
    assert gradient(d, d.module.sqrt, 0.0) == INF


@every
def test_norm_at_zero(d: Dialect) -> None:
    for norm in (d.module.norm, d.module.linalg.norm, lambda x: x.norm()):
        assert orders(d, norm, [0.0, 0.0], 4) == [[0, 0]] * 4


@every
def test_a_power_of_zero_at_zero(d: Dialect) -> None:
    for f in (lambda x: x**0, lambda x: x**0.0, lambda x: d.module.pow(x, 0)):
        assert orders(d, f, 0.0, 2) == [0, 0]


@every
def test_relu_at_zero(d: Dialect) -> None:
    assert orders(d, functional(d).relu, 0.0, 2) == [0, 0]


@every
def test_maximum_at_a_tie(d: Dialect) -> None:
    zero = d.tensor(np.array(0.0))
    assert gradient(d, lambda x: d.module.maximum(x, zero), 0.0) == 0.5
    assert gradient(d, lambda x: d.module.maximum(zero, x), 0.0) == 0.5
    assert gradient(d, lambda x: d.module.minimum(x, zero), 0.0) == 0.5


@every
def test_clip_at_its_bounds(d: Dialect) -> None:
    data = [-1.0, 0.0, 0.5, 1.0, 2.0]
    assert gradient(d, lambda x: d.module.clip(x, 0.0, 1.0), data) == [0, 1, 1, 1, 0]
    assert gradient(d, lambda x: x.clip(0, 1), data) == [0, 1, 1, 1, 0]
    x, low, high = d.leaf(np.array(data)), d.leaf(np.zeros(5)), d.leaf(np.ones(5))
    found = d.grad([d.module.clip(x, low, high).sum()], [x, low, high])
    assert [values(g) for g in found] == [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


@every
def test_relu6_and_hardtanh_have_gradient_zero_at_their_bounds(d: Dialect) -> None:
    assert gradient(d, d.module.relu6, [0.0, 1.0, 6.0]) == [0, 1, 0]
    assert gradient(d, d.module.hardtanh, [-1.0, 0.0, 1.0]) == [0, 1, 0]


@every
def test_where_with_a_pole_in_the_other_branch(d: Dialect) -> None:
    def f(x: Any) -> Any:
        return d.module.where(x == 0, x * 0, d.module.log(x))

    assert np.isnan(gradient(d, f, 0.0))
    with fg.safe_gradients():
        assert gradient(d, f, 0.0) == 0
        assert gradient(d, f, [0.0, 4.0]) == [0, 0.25]
    assert np.isnan(gradient(d, f, 0.0))


@every
@pytest.mark.parametrize("name", ["max", "amax", "median"])
def test_ties_share_evenly_in_full_reductions(d: Dialect, name: str) -> None:
    np.testing.assert_allclose(gradient(d, getattr(d.module, name), TIES), THIRDS, rtol=1e-15)
    low = {"max": "min", "amax": "amin", "median": "median"}[name]
    np.testing.assert_allclose(gradient(d, lambda x: getattr(d.module, low)(-x), TIES), -np.array(THIRDS), rtol=1e-15)


@every
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_ties_share_evenly_in_amax_and_amin_along_an_axis(d: Dialect, name: str) -> None:
    sign = 1.0 if name == "amax" else -1.0
    got = gradient(d, lambda x: getattr(d.module, name)(sign * x, 0), TIES)
    np.testing.assert_allclose(got, sign * np.array(THIRDS), rtol=1e-15)


@every
@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_ties_of_max_min_and_median_along_an_axis(d: Dialect, name: str) -> None:
    """Tied elements share the gradient, except where an index is returned: that element gets all of it."""
    x = d.leaf(np.array(TIES if name != "min" else [-v for v in TIES]))
    found = getattr(d.module, name)(x, 0)
    want = np.array(THIRDS)
    if d.name == "torch":
        found, index = found.values, found.indices
        want = np.eye(4)[index.item()]
    (g,) = d.grad([found], [x])
    np.testing.assert_allclose(values(g), want, rtol=1e-15)


@pytest.mark.parametrize(
    ("data", "median", "want"),
    [
        (TIES, 2, THIRDS),
        ([1.0, 2.0, 2.0, 2.0, 3.0, 3.0], 2, [0, 1 / 3, 1 / 3, 1 / 3, 0, 0]),
        ([4.0, 1.0, 3.0, 2.0], 2, [0, 0, 0, 1]),
        ([-INF, -INF, 1.0, 2.0], -INF, [0.5, 0.5, 0, 0]),
        ([INF, INF, 1.0, INF], INF, [1 / 3, 1 / 3, 0, 1 / 3]),
        ([1.0, NAN, 0.0], NAN, [0, 1, 0]),
        ([3.0], 3, [1]),
    ],
)
def test_ties_in_the_lower_median(data: Any, median: float, want: Any) -> None:
    """torch's median, and Paddle's with ``mode="min"``."""
    _, paddle, torch = ALL
    for d, f in (torch, torch.module.median), (paddle, lambda x: paddle.module.median(x, mode="min")):
        assert values(f(d.tensor(np.array(data)))) == pytest.approx(median, nan_ok=True)
        np.testing.assert_allclose(gradient(d, f, data), want, rtol=1e-15)
    x = paddle.leaf(np.array(TIES))
    found, index = paddle.module.median(x, axis=0, mode="min")
    assert values(paddle.grad([found], [x])[0]) == np.eye(4)[index.item()].tolist()


@every
def test_maximum_with_the_flipped_vector(d: Dialect) -> None:
    assert gradient(d, lambda x: d.module.maximum(x, d.module.flip(x, [0])), TIES) == [1, 2, 0, 1]


@every
def test_topk_at_a_tie(d: Dialect) -> None:
    x = d.leaf(np.array(TIES))
    found, index = d.module.topk(x, 1)
    assert values(d.grad([found.sum()], [x])[0]) == np.eye(4)[index.item()].tolist()
    found, index = d.module.topk(x, 2)
    assert values(d.grad([found.sum()], [x])[0]) == np.eye(4)[np.asarray(index)].sum(0).tolist()


@every
def test_cummax_at_ties(d: Dialect) -> None:
    assert gradient(d, lambda x: d.module.cummax(x, 0)[0], TIES) == [1, 2, 0, 1]
    assert gradient(d, lambda x: d.module.cummin(x, 0)[0], TIES) == [1, 1, 2, 0]


@every
def test_products_with_zeros(d: Dialect) -> None:
    assert orders(d, d.module.prod, [0.0, 2.0, 3.0], 3) == [[6, 0, 0], [5, 3, 2], [2, 2, 2]]
    assert orders(d, d.module.prod, [0.0, 0.0, 3.0], 3) == [[0, 0, 0], [3, 3, 0], [2, 2, 2]]
    assert orders(d, d.module.prod, [0.0, 0.0, 0.0], 3) == [[0, 0, 0], [0, 0, 0], [2, 2, 2]]


@every
def test_logsumexp_of_minus_infinities(d: Dialect) -> None:
    assert orders(d, lambda x: d.module.logsumexp(x, 0), [-INF, -INF], 2) == [[0, 0]] * 2


@every
def test_std_of_equal_numbers(d: Dialect) -> None:
    assert orders(d, d.module.std, [3.0, 3.0, 3.0], 3) == [[0, 0, 0]] * 3
