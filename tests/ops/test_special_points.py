"""Derivatives at zeros, ties, bounds, large arguments and NaN."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

inf, nan = np.inf, np.nan


def derivatives(f: Callable[..., Any], x: Any, orders: int) -> Any:
    """f and its derivatives at a point, in order."""
    t = fg.tensor(np.float64(x), requires_grad=True)
    y, out = f(t), []
    for _ in range(orders):
        (y,) = fg.grad(y, [t], create_graph=True, allow_unused=True)
        out.append(0.0 if y is None else y.item())
        if y is None or y.stop_gradient:
            break
    return out + [0.0] * (orders - len(out))


ROWS = [
    ("abs", fg.abs, 0, [0, 0]),
    ("sign", fg.sign, 0, [0, 0]),
    ("sqrt", fg.sqrt, 0, [inf, -inf]),
    ("relu", fg.relu, 0, [0, 0, 0]),
    ("relu right", fg.relu, 2, [1, 0, 0]),
    ("relu left", fg.relu, -2, [0, 0, 0]),
    ("leaky_relu", fg.leaky_relu, 0, [0.01, 0]),
    ("x**0", lambda x: x**0, 0, [0, 0]),
    ("x**1", lambda x: x**1, 0, [1, 0, 0]),
    ("x**2", lambda x: x**2, 0, [0, 2, 0, 0]),
    ("x**3", lambda x: x**3, 0, [0, 0, 6, 0]),
    ("x**6 at 2", lambda x: x**6, 2, [192, 480, 960, 1440, 1440, 720, 0]),
    ("x**6 at -2", lambda x: x**6, -2, [-192, 480, -960, 1440, -1440, 720, 0]),
    ("x**2.0 of a tensor", lambda x: x ** fg.tensor(np.float64(2)), 0, [0, 2, 0]),
    ("x**0.5", lambda x: x**0.5, 0, [inf, -inf]),
    ("x**-1", lambda x: x**-1, -2, [-0.25, -0.25, -0.375]),
    ("x**x", lambda x: x**x, 0, [0]),
    ("x**x at 1", lambda x: x**x, 1, [1, 2, 3]),
    ("2**x", lambda x: 2.0**x, 0, [np.log(2), np.log(2) ** 2]),
    ("0**x", lambda x: 0.0**x, 0, [0, 0]),
    ("0**x at -1", lambda x: 0.0**x, -1, [-inf]),
    ("0**x at 2", lambda x: 0.0**x, 2, [0, 0]),
    ("maximum(x, 0)", lambda x: fg.maximum(x, 0.0), 0, [0.5, 0]),
    ("maximum(x, 1)", lambda x: fg.maximum(x, 1.0), 1, [0.5, 0]),
    ("minimum(x, 0)", lambda x: fg.minimum(x, 0.0), 0, [0.5, 0]),
    ("maximum(x, x)", lambda x: fg.maximum(x, x), 3, [1, 0]),
    ("maximum(nan, 1)", lambda x: fg.maximum(x, 1.0), nan, [1]),
    ("maximum(1, nan)", lambda x: fg.maximum(x, nan), 1, [0]),
    ("clip at its lower bound", lambda x: fg.clip(x, 0, 1), 0, [1, 0]),
    ("clip at its upper bound", lambda x: fg.clip(x, 0, 1), 1, [1, 0]),
    ("clip below", lambda x: fg.clip(x, 0, 1), -1, [0, 0]),
    ("clip inside", lambda x: fg.clip(x, 0, 1), 0.5, [1, 0]),
    ("atan2(x, 0)", lambda x: fg.atan2(x, 0.0 * x), 0, [0, 0]),
    ("atan2(0, x)", lambda x: fg.atan2(0.0 * x, x), 0, [0, 0]),
    ("hypot", lambda x: fg.hypot(x, 0.0), 0, [0, 0]),
    ("sinh far out", fg.sinh, 700, [np.cosh(700), np.sinh(700)]),
    ("softplus 800", fg.softplus, 800, [1, 0]),
    ("softplus -800", fg.softplus, -800, [0, 0]),
    ("softplus 0", fg.softplus, 0, [0.5, 0.25, 0]),
    ("floor", fg.floor, 1.5, [0, 0]),
    ("round", fg.round, 0.5, [0, 0]),
    ("where of the other side", lambda x: fg.where(x > 0, fg.sqrt(x), x), -1, [nan]),
    ("sqrt of max(x, 0) below", lambda x: fg.sqrt(fg.maximum(x, 0.0)), -1, [0]),
    ("sqrt of relu below", lambda x: fg.sqrt(fg.relu(x)), -1, [0]),
    ("sqrt of clip below", lambda x: fg.sqrt(fg.clip(x, 0, None)), -1, [0]),
    ("tanh at 1/2", fg.tanh, 0.5, [0.7864477, -0.7268620, -0.5652093, 3.9522196, -3.2666863, -36.2795397]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "want"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_point(f: Callable[..., Any], x: Any, want: Any) -> None:
    np.testing.assert_allclose(derivatives(f, x, len(want)), want, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("x", [20.0, 40.0, 100.0, -20.0, -100.0])
def test_derivatives_at_large_arguments_do_not_cancel(x: Any) -> None:
    """The leading terms are 4 e^-2x for tanh and e^-x for sigmoid; each further order multiplies by -2 or -1."""
    e = np.exp(-2 * abs(x))
    np.testing.assert_allclose(derivatives(fg.tanh, x, 3), [4 * e, -8 * e * np.sign(x), 16 * e], rtol=1e-12)
    e = np.exp(-abs(x))
    np.testing.assert_allclose(derivatives(fg.sigmoid, x, 3), [e, -e * np.sign(x), e], rtol=10 * max(e, 1e-16) + 1e-12)


def test_pow_by_its_exponent() -> None:
    x = fg.tensor([0.0, 0.0, 2.0, -2.0])
    y = fg.tensor([2.0, 0.0, 3.0, 3.0], requires_grad=True)
    (g,) = fg.grad((x**y).sum(), [y])
    np.testing.assert_allclose(np.asarray(g), [0, 0, 8 * np.log(2), nan], rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(x ** y.detach()), [0, 1, 8, -8])


def test_tensor_bounds_of_clip() -> None:
    x = fg.tensor([-1.0, 0.0, 0.5, 1.0, 2.0], requires_grad=True)
    low, high = fg.tensor(0.0, requires_grad=True), fg.tensor([1.0] * 5, requires_grad=True)
    gx, gl, gh = fg.grad(fg.clip(x, low, high).sum(), [x, low, high])
    assert np.asarray(gx).tolist() == [0, 1, 1, 1, 0]
    assert gl.item() == 1
    assert np.asarray(gh).tolist() == [0, 0, 0, 0, 1]


def test_where_gives_the_other_side_gradient_zero() -> None:
    x = fg.tensor([0.0, 4.0], requires_grad=True)
    (g,) = fg.grad(fg.where(fg.tensor([False, True]), 1 / x, 3.0).sum(), [x], create_graph=True)
    np.testing.assert_array_equal(np.asarray(g), [nan, -0.0625])
    y = fg.tensor([1.0, 2.0], requires_grad=True)
    a, b = fg.grad(fg.where(fg.tensor([False, True]), y, -y).sum(), [y]), None
    assert np.asarray(a[0]).tolist() == [-1, 1]
    assert b is None


def test_results_without_derivative_are_constants() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    for result in (x > 1, x == x, fg.isnan(x), fg.logical_and(x, x), fg.isclose(x, x)):
        assert result.stop_gradient
    assert not fg.floor(x).stop_gradient


def test_derivatives_of_steps_are_zeros() -> None:
    x = fg.tensor([1.0, 2.5], requires_grad=True)
    (g,) = fg.grad((fg.floor(x) + fg.sign(x) + fg.round(x)).sum(), [x])
    assert np.asarray(g).tolist() == [0, 0]
