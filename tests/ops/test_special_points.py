"""Derivatives at zeros, ties, bounds, large arguments and NaN."""

import math
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
    ("logit below", fg.logit, -0.5, [nan, nan]),
    ("logit at 0", fg.logit, 0, [inf, -inf]),
    ("logit at 1", fg.logit, 1, [inf, inf]),
    ("logit above", fg.logit, 1.5, [nan, nan]),
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


#: Function, arguments, the position of a shape, and its first four derivatives, computed by mpmath with 50 digits.
BY_SHAPE: list[tuple[str, tuple[float, ...], int, list[float]]] = [
    ("gammainc", (0.5, 0.3), 0, [-0.7705703513753519, 0.6261476558399125, 0.617101102059001, -3.8596546231797744]),
    (
        "gammainc",
        (30.0, 25.0),
        0,
        [-0.049954877425834855, 0.009137883116240923, -2.89046649190743e-06, -0.0006658196153367847],
    ),
    (
        "gammainc",
        (30.0, 60.0),
        0,
        [-5.086422279260005e-06, -3.534937036753765e-06, -2.286387004734747e-06, -1.3579806348113564e-06],
    ),
    (
        "gammainc",
        (500.0, 530.0),
        0,
        [-0.007292580642768045, -0.00042499911695268627, -1.0180496651789596e-05, 1.0778079035635948e-06],
    ),
    ("zeta", (2.0, 3.0), 0, [-0.7642614591758575, 1.8691669808193514, -5.916889639845818, 23.94377761909074]),
    (
        "zeta",
        (20.0, 2.0),
        0,
        [-6.613530207367108e-07, 4.58543625163949e-07, -3.179798099777378e-07, 2.2056272218658853e-07],
    ),
    ("betainc", (0.1, 0.2, 0.3), 0, [-2.524764848889697, 16.69727416114598, -165.0006441556079, 2191.713515905871]),
    (
        "betainc",
        (4.0, 2.0, 0.5),
        0,
        [-0.09871509635498975, 0.04676324132466619, -0.017399652193092894, 0.0016534994857119617],
    ),
    (
        "betainc",
        (40.0, 60.0, 0.45),
        0,
        [-0.027801706569232844, -0.0029976641582672115, 9.157843986851068e-05, 8.472757263387625e-05],
    ),
    (
        "betainc",
        (300.0, 10.0, 0.95),
        0,
        [-0.001289125351493919, 2.8018780031729792e-05, -4.838237215438317e-07, 4.2530534272821725e-09],
    ),
    (
        "betainc",
        (300.0, 10.0, 0.95),
        1,
        [0.031031074081471943, 0.013583113037525766, 0.0029123836077972667, -0.0010624038836981973],
    ),
]


@pytest.mark.parametrize(("name", "arguments", "of", "want"), BY_SHAPE)
def test_derivatives_by_shapes(name: str, arguments: tuple[float, ...], of: int, want: list[float]) -> None:
    x = [fg.tensor(a, dtype="float64", requires_grad=i == of) for i, a in enumerate(arguments)]
    y, found = getattr(fg, name)(*x), []
    for _ in want:
        (y,) = fg.grad(y, [x[of]], create_graph=True)
        found.append(y.item())
    np.testing.assert_allclose(found, want, rtol=1e-11)


#: Function, arguments, how many times it is differentiated by each, and that derivative, by mpmath with 60 digits.
MIXED: list[tuple[str, tuple[float, ...], tuple[int, ...], float]] = [
    ("betainc", (2.0, 3.0, 0.3), (1, 1, 1), 0.34217896930852504),
    ("betainc", (0.4, 0.7, 0.8), (2, 1, 2), 8.952033592507588),
    ("betainc", (0.2, 30.0, 0.001), (1, 1, 1), 4.591163626910474),
    ("betainc", (5.0, 0.5, 0.99), (0, 2, 1), -43.418876099158105),
    ("gammainc", (2.0, 5.0), (2, 1), 0.025712431780652634),
    ("gammainc", (0.4, 0.7), (2, 2), 2.9901982888461682),
    ("gammainc", (30.0, 25.0), (1, 2), 0.0007362337482191959),
]


@pytest.mark.parametrize(("name", "arguments", "orders", "want"), MIXED)
def test_mixed_derivatives_by_shapes(
    name: str, arguments: tuple[float, ...], orders: tuple[int, ...], want: float
) -> None:
    x = [fg.tensor(a, dtype="float64", requires_grad=True) for a in arguments]
    y = getattr(fg, name)(*x)
    for of, order in zip(x, orders, strict=True):
        for _ in range(order):
            (y,) = fg.grad(y, [of], create_graph=True)
    np.testing.assert_allclose(y.item(), want, rtol=1e-12)


def test_derivatives_by_small_shapes() -> None:
    a, b = (fg.tensor(s, dtype="float64", requires_grad=True) for s in (0.0104271315038342, 292.36588896091314))
    (g,) = fg.grad(fg.betainc(a, b, 7.62042640072503e-05), [a])
    np.testing.assert_allclose(g.item(), -3.1580414509373036, rtol=1e-10)


def test_derivatives_by_shapes_at_ends() -> None:
    def slopes(f: Callable[..., Any], shape: float, points: list[float], *more: float) -> list[float]:
        a = fg.tensor([shape] * len(points), requires_grad=True)
        return np.asarray(fg.grad(fg.sum(f(a, *more, fg.tensor(points))), a)).tolist()

    for f in (fg.gammainc, fg.gammaincc):
        np.testing.assert_array_equal(slopes(f, 2.0, [0.0, inf, nan]), [0.0, 0.0, nan])
        np.testing.assert_array_equal(slopes(f, 0.0, [0.5]), [nan])
    np.testing.assert_array_equal(slopes(fg.betainc, 2.0, [0.0, 1.0, 1.5, nan], 3.0), [0.0, 0.0, nan, nan])
    np.testing.assert_array_equal(slopes(fg.zeta, 0.5, [1.0]), [nan])


@pytest.mark.parametrize("exponent", [2, 3, -1, -2, 0.5, -0.5, 1.7])
@pytest.mark.parametrize("dtype", [fg.float32, fg.float64])
def test_a_power_of_a_number_has_the_bits_of_that_of_a_vector(exponent: float, dtype: Any) -> None:
    rows = np.random.default_rng(0).uniform(0.1, 9, 300)
    x = fg.tensor(rows, dtype=dtype)
    one_by_one = [(v**exponent).item() for v in fg.unbind(x)]
    assert one_by_one == (x**exponent).tolist()
    compiled = fg.compile(lambda v: v**exponent)
    assert one_by_one[:20] == [compiled(v).item() for v in fg.unbind(x)[:20]]


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (-3.0, 2.0, -math.log(6)),
        (2.0, -3.0, -math.log(6)),
        (-3.0, 4.0, math.inf),
        (-5.0, -3.0, math.inf),
        (-1.5, 3.0, 1.6739764335716716),
        # Beyond the integers of 32 bits: the values of the sum of logarithms below.
        (-(2.0**31), 5.0, math.log(24) - sum(math.log(2.0**31 - k) for k in range(5))),
        (-4e9, 3.0, math.log(2) - sum(math.log(4e9 - k) for k in range(3))),
        (math.nan, -2.0, math.nan),
        (-3.0, math.nan, math.nan),
    ],
)
def test_betaln_at_poles_of_one_gamma_function(a: float, b: float, want: float) -> None:
    found = fg.betaln(fg.tensor(a, dtype="float64"), fg.tensor(b, dtype="float64")).item()
    assert found == pytest.approx(want, rel=1e-12, nan_ok=True)


def test_bessel_functions_of_the_second_kind_near_zero() -> None:
    x = fg.tensor([0.0, 1e-310, 1e-300], dtype=fg.float64)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            fg.modified_bessel_k0(x).numpy(), -np.log(x.numpy() / 2) - np.euler_gamma, rtol=1e-15
        )
    np.testing.assert_allclose(fg.modified_bessel_k1(x).numpy(), [inf, inf, 1e300], rtol=1e-15)


def test_sinc_is_exact_at_integers_and_near_them() -> None:
    x = fg.tensor([0.0, -0.0, 1.0, -3.0, 1e300, 1e-320, 0.5, -1.5, inf, nan], dtype=fg.float64)
    np.testing.assert_allclose(
        fg.sinc(x).numpy(), [1, 1, 0, 0, 0, 1, 2 / np.pi, -2 / (3 * np.pi), nan, nan], rtol=1e-15
    )
    # sin(πx) is -πh at 1 + h, so sinc is -h / (1 + h) up to the square of πh.
    h = 2.0 ** np.arange(-50, -28)
    np.testing.assert_allclose(fg.sinc(fg.tensor(1 + h)).numpy(), -h / (1 + h), rtol=1e-15)
