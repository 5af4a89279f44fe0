"""Errors of the vectorised functions in units of the last place, over all exponents."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from scipy import special

#: By function: the same function in NumPy, computed in a wider type.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
    "tan": np.tan,
    "log2": np.log2,
    "log10": np.log10,
    "exp2": np.exp2,
    "sqrt": np.sqrt,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
#: Functions that NumPy lacks: SciPy's, in float64.
SPECIAL: dict[str, Callable[[Any], Any]] = {"erf": special.erf, "erfinv": special.erfinv, "lgamma": special.gammaln}


def sample(dtype: Any, each: int) -> np.ndarray:
    """Numbers of both signs with every exponent, including the smallest and the largest of each."""
    info = np.finfo(dtype)
    generator = np.random.default_rng(11)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    fractions = 1 + generator.integers(0, 2**info.nmant, (len(exponents), each)) / 2**info.nmant
    fractions[:, 0], fractions[:, 1] = 1, 2 - info.eps
    x = np.ldexp(fractions, exponents[:, None]).astype(dtype).ravel()
    # Around the points where argument reduction changes.
    near = np.concatenate([np.arange(1, 200) * (np.pi / 4), np.arange(1, 200) * np.log(2) / 2]).astype(dtype)
    return np.concatenate([x, -x, near, -near, 1 - near * info.eps, 1 + near * info.eps])


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Errors in units of the last place; where the true value overflows the type or is NaN, results must be equal."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        odd = ~np.isfinite(rounded) | ~np.isfinite(got)
        error = np.abs(got.astype(want.dtype) - want) / np.spacing(np.abs(rounded)).astype(want.dtype)
    same = (got == rounded) | np.isnan(got) & np.isnan(rounded)
    return np.where(odd, np.where(same, 0, np.inf), error)


def worst(name: str, x: np.ndarray, wider: Any, *more: Any) -> float:
    """The largest error of a function of `x` and `more`, in units of the last place."""
    got = np.asarray(getattr(fg, name)(fg.tensor(x), *map(fg.tensor, more)))
    assert got.dtype == x.dtype
    with np.errstate(all="ignore"):
        function = {**FUNCTIONS, **SPECIAL, **TWO}[name]
        want = np.asarray(function(*(a.astype(wider) for a in (x, *more))), wider)
    error = ulps(got, want)
    at = int(error.argmax())
    shown = ", ".join(repr(a[at]) for a in (x, *more))
    assert not np.isinf(error[at]), f"{name}({shown}) is {got[at]!r}, not {want[at]!r}"
    return float(error[at])


def dense() -> np.ndarray:
    """Every 499th number of moderate size, of both signs."""
    first, last = np.array([2**-7, 2**7], np.float32).view(np.uint32)
    x = np.arange(first, last, 499, dtype=np.uint32).view(np.float32)
    return np.concatenate([x, -x])


@pytest.mark.parametrize("name", [*FUNCTIONS, *SPECIAL])
def test_float32(name: str) -> None:
    x = np.concatenate([sample(np.float32, 100), dense()])
    assert worst(name, x, np.float64) <= 1


def test_float32_of_the_derivative_of_tanh() -> None:
    x = np.concatenate([sample(np.float32, 100), dense(), np.linspace(7, 53, 10_001, dtype=np.float32)])
    t = fg.tensor(x).requires_grad_()
    got = fg.grad(fg.tanh(t), t, fg.ones(x.shape))
    with np.errstate(over="ignore"):
        want = np.cosh(x.astype(np.float64)) ** -2.0
    assert ulps(got.numpy(), want).max() <= 3
    odd = fg.tensor([np.inf, -np.inf, np.nan], "float32").requires_grad_()
    got = fg.grad(fg.tanh(odd), odd, fg.ones([3]))
    np.testing.assert_array_equal(got.numpy(), [0, 0, np.nan])


def pairs(name: str, dtype: Any, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Bases of every exponent with exponents that give results of every exponent, and the special values."""
    x = sample(dtype, each)
    generator = np.random.default_rng(13)
    if name == "pow":
        reach = np.log2(float(np.finfo(dtype).max)) * 1.05
        with np.errstate(all="ignore"):
            y = generator.uniform(-reach, reach, x.shape) / np.abs(np.log2(np.abs(x).astype(float)))
        y[::3] = np.round(y[::3])
    else:
        y = x.astype(np.longdouble) * np.ldexp(generator.normal(size=x.shape), generator.integers(-8, 9, x.shape))
    odd = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, np.inf, -np.inf, np.nan, 1e30, -1e30]
    a, b = (v.ravel() for v in np.meshgrid(odd, odd))
    with np.errstate(all="ignore"):
        return np.concatenate([x, a.astype(dtype)]), np.concatenate([y.astype(dtype), b.astype(dtype)])


#: By function of two numbers: the same function in NumPy.
TWO: dict[str, Callable[..., Any]] = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}


@pytest.mark.parametrize("name", TWO)
def test_float32_of_two(name: str) -> None:
    x, y = pairs(name, np.float32, 100)
    assert worst(name, x, np.float64, y) <= 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is no wider than float64 here")
@pytest.mark.parametrize("name", TWO)
def test_float64_of_two(name: str) -> None:
    x, y = pairs(name, np.float64, 25)
    assert worst(name, x, np.longdouble, y) <= 2


def test_float64_of_the_error_function() -> None:
    """Compared with the series and the continued fraction in exact arithmetic."""
    x = np.concatenate([np.geomspace(1e-30, 1e-3, 50), np.linspace(0.001, 6.5, 400)])
    got = np.asarray(fg.erf(fg.tensor(np.concatenate([x, -x]))))
    want = np.array([float(error_function(Fraction(v))) for v in x])
    assert np.max(np.abs(got - np.concatenate([want, -want])) / np.spacing(np.abs(got))) <= 2


@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 1), (np.float64, 2)])
def test_gelu(dtype: Any, most: float) -> None:
    """Compared with x (1 + erf(x / sqrt(2))) / 2 in exact arithmetic, far into the left tail."""
    reach = 13.0 if dtype is np.float32 else 37.0
    x = np.concatenate([np.geomspace(1e-30, 1e-3, 30), np.linspace(0.001, 6, 120), np.linspace(6, reach, 60)])
    x = np.concatenate([x, -x]).astype(dtype)
    root = Fraction(isqrt(2 << 800), 1 << 400)
    want = [Fraction(float(v)) * (1 + error_function(Fraction(float(v)) / root, 1600)) / 2 for v in x]
    got = np.asarray(fg.gelu(fg.tensor(x)))
    off = [
        abs(Fraction(float(g)) - w) / Fraction(float(np.spacing(abs(dtype(float(w))))))
        for g, w in zip(got, want, strict=True)
    ]
    assert max(off) <= most


def error_function(x: Fraction, bits: int = 400) -> Fraction:
    """The function by its series, in integers scaled by 2**bits."""
    one = 1 << bits
    a = int(x * one)
    term, total, n = a, a, 0
    while term not in (0, -1):
        n += 1
        term = -term * a // one * a // one // n
        total += term // (2 * n + 1)
    return Fraction(2 * total, one) / ROOT_OF_PI


def inverse_tangent(n: int, one: int) -> int:
    """The angle whose tangent is 1 / n, in units of 1 / one."""
    total, power, k = 0, one // n, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= n * n
        k += 1
    return total


ONE = 1 << 1700
#: By Machin's formula for pi.
ROOT_OF_PI = Fraction(isqrt((16 * inverse_tangent(5, ONE) - 4 * inverse_tangent(239, ONE)) * ONE), ONE)


def test_gelu_of_float32() -> None:
    """The distribution function keeps its digits in the left tail."""
    x = np.linspace(-13, 8, 20_001, dtype=np.float32)
    wide = x.astype(float)
    want = wide * special.ndtr(wide)
    assert ulps(np.asarray(fg.gelu(fg.tensor(x))), want).max() <= 2
    leaf = fg.tensor(x, requires_grad=True)
    (slope,) = fg.grad(fg.sum(fg.gelu(leaf)), [leaf])
    true = special.ndtr(wide) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(np.asarray(slope), true, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_reach_their_limits_at_infinity(dtype: Any) -> None:
    """Zeros keep their signs too, which a sum in the argument reduction would lose."""
    x = fg.tensor(np.array([-np.inf, -1e30, -0.0, 0.0, 1e30, np.inf], dtype))
    limits = {"tanh": [-1, -1, -0.0, 0.0, 1, 1], "sigmoid": [0, 0, 0.5, 0.5, 1, 1]}
    limits |= {"gelu": [-0.0, -0.0, -0.0, 0.0, 1e30, np.inf], "exp": [0, 0, 1, 1, np.inf, np.inf]}
    limits |= {"softplus": [0, 0, np.log(2), np.log(2), 1e30, np.inf]}
    for name, want in limits.items():
        got = np.asarray(getattr(fg, name)(x))
        np.testing.assert_allclose(got, np.array(want, dtype), rtol=float(np.finfo(dtype).eps), err_msg=name)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(np.array(want)), err_msg=name)
    for name in ("sin", "sinh", "expm1", "tan", "erf"):
        got = np.asarray(getattr(fg, name)(fg.tensor(np.array([-0.0, 0.0], dtype))))
        np.testing.assert_array_equal(got, [0, 0], err_msg=name)
        np.testing.assert_array_equal(np.signbit(got), [True, False], err_msg=name)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is no wider than float64 here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64(name: str) -> None:
    assert worst(name, sample(np.float64, 25), np.longdouble) <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*FUNCTIONS, *SPECIAL])
def test_a_single_number_gives_the_bits_of_an_array(name: str, dtype: Any) -> None:
    """The vector loop and its remainder compute the same bits."""
    x = sample(dtype, 2)[:: 7 if dtype == np.float64 else 1][:1003]
    f = getattr(fg, name)
    row = np.asarray(f(fg.tensor(x)))
    for start in range(1, 9):
        np.testing.assert_array_equal(np.asarray(f(fg.tensor(x[start:]))), row[start:])
    alone = [np.asarray(f(fg.tensor(v))) for v in x[::50]]
    np.testing.assert_array_equal(np.array(alone), row[::50])


def test_trigamma() -> None:
    """The derivative of digamma, also where it is summed up to the asymptotic series, and where it is reflected."""
    x = np.concatenate([np.geomspace(1e-150, 1e18, 2000), -np.linspace(0.01, 30.03, 400)])
    want = special.polygamma(1, x)
    np.testing.assert_allclose(fg.polygamma(1, fg.tensor(x)).numpy(), want, rtol=2e-14)
    short = x[(x > 1e-18) & (x < 1e18)].astype(np.float32)
    np.testing.assert_allclose(fg.polygamma(1, fg.tensor(short)).numpy(), special.polygamma(1, short), rtol=2e-7)
    odd = fg.polygamma(1, fg.tensor([0.0, -0.0, -2.0, np.inf, np.nan, 1e-200])).tolist()
    assert odd[:4] + odd[5:] == [np.inf, np.inf, np.inf, 0.0, np.inf]
    assert np.isnan(odd[4])


def test_bessel_functions_of_float32() -> None:
    """Near their zeros, between them and far out, and with the signs and limits of the exact functions."""
    roots = np.concatenate([f(n, 40) for n in (0, 1) for f in (special.jn_zeros, special.yn_zeros)])
    x = np.concatenate([np.geomspace(1e-30, 1e7, 4000), np.linspace(0.01, 60, 6000), roots, roots * (1 + 1e-4)])
    x = x.astype(np.float32)
    both = np.concatenate([x, -x, [np.float32(0), np.float32(np.nan)]])
    names = {"bessel_j0": special.j0, "bessel_j1": special.j1, "bessel_y0": special.y0, "bessel_y1": special.y1}
    names |= {"i0": special.i0, "i1": special.i1, "i0e": special.i0e, "i1e": special.i1e}
    names |= {"spherical_bessel_j0": lambda x: special.spherical_jn(0, x)}
    for name, exact in names.items():
        values = both if "_y" not in name else np.concatenate([x, [np.float32(0), np.float32(-1)]])
        with np.errstate(all="ignore"):
            want = exact(values.astype(np.float64))
        got = getattr(torch.special, name)(torch.tensor(values)).numpy()
        assert got.dtype == np.float32
        # SciPy's own errors far out and at zeros.
        loose = np.abs(want) < 1e-4 * np.sqrt(2 / np.pi / np.maximum(np.abs(values), 1))
        loose |= np.abs(values) > 1e5
        error = ulps(got, want)
        assert error[~loose].max() <= 0.51, (name, values[~loose][error[~loose].argmax()])
        np.testing.assert_allclose(got[loose], want[loose], rtol=2e-5, atol=1e-11, err_msg=name)
    far = torch.tensor([-np.inf, np.inf])
    limits = {"bessel_j0": [0, 0], "bessel_j1": [0, 0], "bessel_y0": [np.nan, 0], "bessel_y1": [np.nan, 0]}
    limits |= {
        "spherical_bessel_j0": [0, 0],
        "i0": [np.inf, np.inf],
        "i1": [-np.inf, np.inf],
        "i0e": [0, 0],
        "i1e": [0, 0],
    }
    for name, limit in limits.items():
        np.testing.assert_array_equal(getattr(torch.special, name)(far).numpy(), limit, err_msg=name)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is no wider than float64 here")
def test_erfinv_of_float64() -> None:
    """The error function of the result is the argument, up to the rounding of the result."""
    x = np.concatenate([np.geomspace(1e-300, 1e-3, 300), np.linspace(0.001, 0.999, 3000)])
    tail = 1 - np.geomspace(1e-3, 2.0**-53, 300)
    got = fg.erfinv(fg.tensor(np.concatenate([x, tail]))).numpy()
    want = np.concatenate([special.erfinv(x), special.erfcinv(1 - tail)])
    assert ulps(got, want.astype(np.longdouble)).max() <= 8
    np.testing.assert_array_equal(fg.erfinv(fg.tensor(-x)).numpy(), -got[: len(x)])
    odd = fg.erfinv(fg.tensor([0.0, -0.0, 1.0, -1.0, 1.5, np.nan])).numpy()
    np.testing.assert_array_equal(odd, [0.0, 0.0, np.inf, -np.inf, np.nan, np.nan])
    assert np.signbit(odd[1])
