"""Softmax of rows of every length, and along an axis that is not the last in memory."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

SHAPES = [(7, 33), (3, 50, 40), (2, 5, 3, 17), (1000, 16), (1, 64), (65, 300), (2, 33, 600)]


def wanted(x: np.ndarray, g: np.ndarray, axis: int, log: bool) -> tuple[np.ndarray, np.ndarray]:
    """The softmax or its logarithm, and its gradient for the cotangent `g`."""
    x, g = x.astype(float), g.astype(float)
    less = x - x.max(axis, keepdims=True)
    total = np.exp(less).sum(axis, keepdims=True)
    z = np.exp(less) / total
    if log:
        return less - np.log(total), g - z * g.sum(axis, keepdims=True)
    return z, z * (g - (g * z).sum(axis, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_axis(shape: tuple[int, ...], log: bool, dtype: type) -> None:
    generator = np.random.default_rng(5)
    x: np.ndarray = generator.normal(size=shape).astype(dtype) * 3
    g: np.ndarray = generator.normal(size=shape).astype(dtype)
    rtol, atol = (1e-4, 2e-5) if dtype is np.float32 else (1e-11, 1e-13)
    for axis in range(len(shape)):
        leaf = fg.tensor(x, requires_grad=True)
        y = (fg.log_softmax if log else fg.softmax)(leaf, axis)
        (slope,) = fg.grad(y, [leaf], [fg.tensor(g)])
        value, gradient = wanted(x, g, axis, log)
        np.testing.assert_allclose(np.asarray(y), value, rtol=rtol, atol=atol)
        np.testing.assert_allclose(np.asarray(slope), gradient, rtol=rtol, atol=atol)


@pytest.mark.parametrize("log", [False, True])
def test_columns_longer_than_a_block(log: bool) -> None:
    x = np.random.default_rng(8).normal(size=(70_000, 16)).astype(np.float32)
    leaf = fg.tensor(x, requires_grad=True)
    y = (fg.log_softmax if log else fg.softmax)(leaf, 0)
    (slope,) = fg.grad(y, [leaf], [fg.tensor(x)])
    value, gradient = wanted(x, x, 0, log)
    np.testing.assert_allclose(np.asarray(y), value, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(np.asarray(slope), gradient, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("f", [fg.softmax, fg.log_softmax])
def test_columns_without_a_finite_maximum_give_the_values_of_rows(f: Any) -> None:
    x = np.random.default_rng(6).normal(size=(40, 32)).astype(np.float32)
    x[3, 4], x[:, 5], x[2, 6], x[1, 7] = np.nan, -np.inf, np.inf, -np.inf
    columns = np.asarray(f(fg.tensor(x), 0))
    rows = np.asarray(f(fg.tensor(np.ascontiguousarray(x.T)), 1)).T
    np.testing.assert_allclose(columns, rows, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"])
def test_one_pass_losses_have_the_bits_of_the_recorded_ones(name: str) -> None:
    generator = np.random.default_rng(7)
    x, t = (generator.normal(size=(30, 41)).astype(np.float32) * 2 for _ in range(2))
    f = getattr(fg, name)
    alone = np.asarray(f(fg.tensor(x), fg.tensor(t), "none"))
    recorded = np.asarray(f(fg.tensor(x, requires_grad=True), fg.tensor(t), "none"))
    np.testing.assert_array_equal(alone, recorded)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_every_length_are_those_of_the_definition(dtype: str) -> None:
    generator = np.random.default_rng(0)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for n in (1, 2, 5, 17, 50, 127, 128, 129, 255, 300):
        x = (generator.normal(size=(37, n)) * 5).astype(dtype)
        x[4], x[6, 0] = -np.inf, -np.inf
        x[3, -1], x[5, -1] = np.inf, np.nan
        wide = x.astype("float64")
        with np.errstate(all="ignore"):
            m = wide.max(axis=1, keepdims=True)
            total = np.exp(wide - m).sum(axis=1, keepdims=True)
            lse = np.where(np.isfinite(m), m + np.log(total), m)
            wanted = np.exp(wide - m) / total, np.where(np.isfinite(m), wide - lse, np.nan), lse[:, 0]
        t = fg.tensor(x)
        found = fg.softmax(t, axis=1), fg.log_softmax(t, axis=1), fg.logsumexp(t, axis=1)
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance)
        rows = fg.tensor(x[8:]).requires_grad_()
        classes = generator.integers(0, n, size=29)
        fg.cross_entropy(rows, fg.tensor(classes), reduction="sum").backward()
        np.testing.assert_allclose(rows.grad.numpy(), wanted[0][8:] - np.eye(n)[classes], atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "n"), [(300, 5), (1, 7), (90, 1), (52, 5), (3, 2)])
def test_gradients_of_short_rows_sum_in_order(rows: int, n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    x, g = rng.normal(size=(rows, n)).astype(dtype), rng.normal(size=(rows, n)).astype(dtype)
    x[-1, 0], g[0, -1] = -np.inf, np.inf
    leaf = fg.tensor(x, requires_grad=True)
    z = fg.softmax(leaf)
    found = np.asarray(fg.grad(z, leaf, fg.tensor(g)))
    weights, total = np.asarray(z.detach()), np.zeros((rows, 1), dtype)
    with np.errstate(invalid="ignore"):
        for k in range(n):
            total += g[:, k : k + 1] * weights[:, k : k + 1]
        small = weights <= 0.75
        np.testing.assert_array_equal(found[small], (weights * (g - total))[small])
        # A large share gets what the others leave, since the sum of a row is 0.
        finite = np.isfinite(found).all(-1) & ~small.all(-1)
        np.testing.assert_allclose(found[finite].sum(-1), 0, atol=4 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", range(1, 10))
def test_short_rows_have_the_bits_that_each_has_alone(n: int, dtype: type) -> None:
    generator = np.random.default_rng(n)
    x: Any = (generator.normal(size=(601, n)) * 30).astype(dtype)
    x[generator.random(x.shape) < 0.1] = generator.choice(np.array([np.inf, -np.inf, np.nan, 1e30, -0.0], dtype))
    x[7], x[300] = -np.inf, np.inf
    softmax, total = np.asarray(fg.softmax(fg.tensor(x))), np.asarray(fg.logsumexp(fg.tensor(x), -1))
    columns = np.asarray(fg.logsumexp(fg.tensor(np.ascontiguousarray(x.T)), 0))
    leaf = fg.tensor(x, requires_grad=True)
    (weights,) = fg.grad(fg.logsumexp(leaf, -1).sum(), [leaf])
    is_finite = np.isfinite(x).all(-1)
    value, _ = wanted(x[is_finite], x[is_finite], -1, False)
    np.testing.assert_allclose(softmax[is_finite], value, 1e-5, 1e-30)
    for i, row in enumerate(x):
        one = fg.tensor(row.reshape(1, n), requires_grad=True)
        alone = fg.logsumexp(one, -1)
        assert np.asarray(fg.softmax(one.detach())).tobytes() == softmax[i].tobytes()
        assert np.asarray(alone).tobytes() == total[i].tobytes() == columns[i].tobytes()
        assert np.asarray(fg.grad(alone.sum(), [one])[0]).tobytes() == np.asarray(weights)[i].tobytes()


#: What the softmax of a row that ends with 0 has left for that 0, which its first element has almost all of.
TAILS = [(np.float32, 18.0), (np.float64, 37.43), (np.float64, 300.0)]


@pytest.mark.parametrize(("dtype", "x"), TAILS)
@pytest.mark.parametrize("shape", [(2,), (1, 2), (3, 2), (5, 40)])
def test_gradients_of_a_share_of_almost_one_are_what_the_others_have(dtype: Any, x: float, shape: Any) -> None:
    row = np.full(shape, -np.inf, dtype)
    row[..., 0], row[..., -1] = x, 0
    rest = np.exp(-np.float64(x))
    leaf = fg.tensor(row)
    seed = fg.zeros_like(leaf)
    seed[..., 0] = 1.0
    for f in (lambda t: fg.sum(fg.log_softmax(t) * seed), lambda t: fg.sum(fg.softmax(t) * seed)):
        for slope in (func.grad(f), fg.compile(func.grad(f))):
            found = slope(leaf).numpy()
            np.testing.assert_allclose(found[..., 0], rest, rtol=1e-5)
            np.testing.assert_allclose(found[..., -1], -rest, rtol=1e-5)
        for k, sign in ((0, 1), (-1, -1)):
            along = fg.zeros_like(leaf)
            along[..., k] = 1.0
            found = func.jvp(f, (leaf,), (along,))[1].item()
            np.testing.assert_allclose(found, sign * rest * np.prod(shape[:-1]), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "x"), [(np.float32, 10.0), (np.float64, 18.0)])
def test_derivatives_of_softmax_of_a_number_and_its_negative(dtype: Any, x: float) -> None:
    e = np.exp(-2.0 * x)
    for route in (lambda f: f, fg.compile, lambda f: lambda t: func.vmap(f)(fg.stack([t]))[0]):
        f = lambda t: fg.softmax(fg.stack([t, -t]))[0]  # noqa: E731
        for order in (1, 2, 3):
            f = func.grad(f)
            want = (-1) ** (order + 1) * 2**order * e
            np.testing.assert_allclose(route(f)(fg.tensor(x, dtype=dtype)).item(), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_shares_along_other_axes(dtype: Any) -> None:
    x = np.zeros((3, 20, 40), dtype)
    x[:, 7] = 40
    for log in (False, True):
        f = fg.log_softmax if log else fg.softmax
        g = np.zeros_like(x)
        g[:, 7] = 1
        leaf = fg.tensor(x, requires_grad=True)
        (slope,) = fg.grad(f(leaf, 1), [leaf], [fg.tensor(g)])
        np.testing.assert_allclose(slope.numpy()[:, 7], 19 * np.exp(-40.0), rtol=1e-5)
        np.testing.assert_allclose(slope.numpy()[:, 3], -np.exp(-40.0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_a_cross_entropy_of_almost_zero(dtype: Any) -> None:
    x = fg.tensor([[40.0, 0.0, 0.0], [0.0, 1.0, 40.0]], dtype=dtype)
    slope = func.grad(lambda t: fg.cross_entropy(t, fg.tensor([0, 2]), reduction="sum"))(x).numpy()
    e = np.exp(-40.0)
    np.testing.assert_allclose(slope, [[-2 * e, e, e], [e, e * np.e, -e - e * np.e]], rtol=1e-4)
