"""Functions of SciPy: the same values, and derivatives that are those of differences."""

from __future__ import annotations

from typing import Any

import ferrograd.autograd.numpy as anp
import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats
from ferrograd.autograd import grad, jacobian, make_vjp
from ferrograd.autograd.scipy import integrate, linalg, signal, special, stats
from ferrograd.autograd.test_util import check_grads

RANDOM = np.random.RandomState(1)
X, P, Q = (RANDOM.rand(4) + shift for shift in (0.1, 1.2, 2.3))
UNIT = RANDOM.rand(4) * 0.8 + 0.1
MATRIX = RANDOM.rand(3, 3) + 3 * np.eye(3)

#: The function, its arguments, and the positions of those that it is differentiated by.
SPECIAL: dict[str, tuple[tuple[Any, ...], tuple[int, ...]]] = {
    "beta": ((P, Q), (0, 1)),
    "betainc": ((P, Q, UNIT), (2,)),
    "betaln": ((P, Q), (0, 1)),
    "digamma": ((P,), (0,)),
    "erf": ((X,), (0,)),
    "erfc": ((X,), (0,)),
    "erfcinv": ((UNIT,), (0,)),
    "erfinv": ((UNIT,), (0,)),
    "expit": ((X,), (0,)),
    "gamma": ((P - 2.0,), (0,)),
    "gammainc": ((P, X), (1,)),
    "gammaincc": ((P, X), (1,)),
    "gammaln": ((P,), (0,)),
    "gammasgn": ((P - 2.0,), (0,)),
    "i0": ((X,), (0,)),
    "i1": ((X,), (0,)),
    "iv": ((1.5, P), (1,)),
    "ive": ((1.5, P), (1,)),
    "j0": ((P,), (0,)),
    "j1": ((P,), (0,)),
    "jn": ((2, P), (1,)),
    "log_softmax": ((X,), (0,)),
    "logit": ((UNIT,), (0,)),
    "logsumexp": ((X,), (0,)),
    "multigammaln": ((Q, 2), (0,)),
    "polygamma": ((1, P), (1,)),
    "psi": ((P,), (0,)),
    "rgamma": ((P - 2.0,), (0,)),
    "softmax": ((X,), (0,)),
    "xlogy": ((X, P), (0, 1)),
    "y0": ((P,), (0,)),
    "y1": ((P,), (0,)),
    "yn": ((2, P), (1,)),
}


def compare(f: Any, of_scipy: Any, args: tuple[Any, ...], argnums: tuple[int, ...], order: int = 2) -> None:
    """Compares values outside and inside of a derivative with SciPy's, and derivatives with differences."""
    wanted = of_scipy(*args)
    np.testing.assert_allclose(f(*args), wanted, rtol=1e-9)
    np.testing.assert_allclose(make_vjp(f, argnums)(*args)[1], wanted, rtol=1e-9)
    check_grads(f, argnums, order=order)(*args)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name: str) -> None:
    args, argnums = SPECIAL[name]
    compare(getattr(special, name), getattr(scipy.special, name), args, argnums)


def test_special_functions_of_complex_numbers() -> None:
    for name in ("erf", "erfc"):
        compare(getattr(special, name), getattr(scipy.special, name), (X + 0.3j,), (0,))


def test_sums_of_exponentials_with_factors() -> None:
    a, b = RANDOM.rand(3, 4), RANDOM.rand(3, 4)
    for axis in (None, 0, 1):
        for keep in (False, True):
            compare(
                lambda a, b, axis=axis, keep=keep: special.logsumexp(a, axis, b, keepdims=keep),
                lambda a, b, axis=axis, keep=keep: scipy.special.logsumexp(a, axis, b, keepdims=keep),
                (a, b),
                (0, 1),
                1,
            )
    assert np.isfinite(grad(special.logsumexp)(np.array([1000.0, -np.inf]))).all()
    with pytest.raises(NotImplementedError):
        grad(lambda a: special.logsumexp(a, return_sign=True)[0])(X)


X_ROWS, MEAN, COV = RANDOM.rand(5, 3), RANDOM.rand(3), MATRIX @ MATRIX.T
WEIGHTS = UNIT / UNIT.sum()
STATS: dict[str, tuple[tuple[Any, ...], tuple[int, ...]]] = {
    **{f"norm.{name}": ((X, P, Q), (0, 1, 2)) for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf")},
    "norm.logpdf of many": ((RANDOM.rand(4, 3), RANDOM.rand(1, 3), P[:, None]), (0, 1, 2)),
    "t.pdf": ((X, Q, P, Q), (0, 1, 2, 3)),
    "t.logpdf": ((X, Q, P, Q), (0, 1, 2, 3)),
    "t.cdf": ((X, Q, P, Q), (0, 2, 3)),
    "t.logcdf": ((X, Q, P, Q), (0, 2, 3)),
    **{f"beta.{name}": ((UNIT, P, Q), (0, 1, 2)) for name in ("pdf", "logpdf")},
    "beta.cdf": ((UNIT, P, Q), (0,)),
    **{f"gamma.{name}": ((X, P), (0, 1)) for name in ("pdf", "logpdf")},
    "gamma.cdf": ((X, P), (0,)),
    **{f"chi2.{name}": ((X, P), (0, 1)) for name in ("pdf", "logpdf")},
    "chi2.cdf": ((X, P), (0,)),
    **{f"poisson.{name}": ((np.arange(4.0), P), (1,)) for name in ("pmf", "logpmf", "cdf")},
    "multivariate_normal.pdf": ((X_ROWS, MEAN, COV), (0, 1)),
    "multivariate_normal.logpdf": ((X_ROWS[0], MEAN, COV), (0, 1)),
}


@pytest.mark.parametrize("name", STATS)
def test_stats(name: str) -> None:
    args, argnums = STATS[name]
    distribution, _, function = name.split(" ")[0].partition(".")
    own = getattr(getattr(stats, distribution), function)
    compare(own, getattr(getattr(scipy.stats, distribution), function), args, argnums, 1)


def test_named_locations_and_scales() -> None:
    for name in ("pdf", "cdf", "logcdf"):
        own, of_scipy = getattr(stats.t, name), getattr(scipy.stats.t, name)
        compare(lambda x, f=own: f(x, 3.0, loc=0.2, scale=Q), lambda x, f=of_scipy: f(x, 3.0, 0.2, Q), (X,), (0,), 1)


def test_covariances() -> None:
    normal, of_scipy = stats.multivariate_normal, scipy.stats.multivariate_normal
    for f in (normal.pdf, normal.logpdf):
        check_grads(lambda cov, f=f: f(X_ROWS, MEAN, cov + cov.T), order=1)(COV)
    check_grads(lambda cov: normal.entropy(MEAN, cov + cov.T), order=1)(COV)
    np.testing.assert_allclose(make_vjp(normal.logpdf, 1)(X_ROWS, MEAN)[1], of_scipy.logpdf(X_ROWS, MEAN))
    np.testing.assert_allclose(make_vjp(normal.logpdf, 2)(X_ROWS, MEAN, 2.0)[1], of_scipy.logpdf(X_ROWS, MEAN, 2.0))
    flat = np.diag([1.0, 2.0, 0.0])
    inside, at = make_vjp(lambda x: normal.logpdf(x, np.zeros(3), flat, allow_singular=True))(np.array([1.0, 2.0, 0.0]))
    np.testing.assert_allclose(at, of_scipy.logpdf([1.0, 2.0, 0.0], np.zeros(3), flat, allow_singular=True))
    np.testing.assert_allclose(inside(1.0), [-1.0, -1.0, 0.0])
    with pytest.raises(NotImplementedError, match="singular"):
        grad(lambda cov: normal.logpdf(MEAN, MEAN, cov, allow_singular=True))(flat)


def test_dirichlet() -> None:
    args = (WEIGHTS, P)
    own, of_scipy = stats.dirichlet, scipy.stats.dirichlet
    for name in ("pdf", "logpdf"):
        f = getattr(own, name)
        np.testing.assert_allclose(make_vjp(f, 1)(*args)[1], getattr(of_scipy, name)(*args))
        check_grads(f, 1, order=1)(*args)
        check_grads(lambda x, f=f: f(x / anp.sum(x), P), order=1)(WEIGHTS)
    many = np.stack([WEIGHTS, WEIGHTS[::-1]], axis=1)
    np.testing.assert_allclose(make_vjp(own.logpdf, 1)(many, P)[1], of_scipy.logpdf(many, P))
    assert own.rvs(P).shape == (1, 4)


def test_matrices() -> None:
    compare(linalg.sqrtm, scipy.linalg.sqrtm, (COV,), (0,))
    compare(linalg.expm, scipy.linalg.expm, (MATRIX / 3,), (0,))
    compare(linalg.inv, scipy.linalg.inv, (MATRIX,), (0,))
    compare(linalg.det, scipy.linalg.det, (MATRIX,), (0,))
    compare(linalg.solve_sylvester, scipy.linalg.solve_sylvester, (MATRIX, COV, X_ROWS[:3]), (0, 1, 2))
    for trans in (0, 1, "T"):
        for lower in (False, True):
            for b in (MEAN, X_ROWS[:3]):
                compare(
                    lambda a, b, trans=trans, lower=lower: linalg.solve_triangular(a, b, trans, lower),
                    lambda a, b, trans=trans, lower=lower: scipy.linalg.solve_triangular(a, b, trans, lower),
                    (MATRIX, b),
                    (0, 1),
                    1,
                )


@pytest.mark.parametrize("bands", [(1, 1), (2, 0), (0, 1)])
def test_banded_systems(bands: tuple[int, int]) -> None:
    a = RANDOM.rand(sum(bands) + 1, 5)
    a[bands[1]] += 3.0
    for b in (RANDOM.rand(5), RANDOM.rand(5, 2)):
        compare(
            lambda a, b: linalg.solve_banded(bands, a, b),
            lambda a, b: scipy.linalg.solve_banded(bands, a, b),
            (a, b),
            (0, 1),
            1,
        )


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolutions(mode: str) -> None:
    for a, b in ((RANDOM.rand(5), RANDOM.rand(3)), (RANDOM.rand(5, 4), RANDOM.rand(2, 3))):
        compare(
            lambda a, b: signal.convolve(a, b, mode=mode),
            lambda a, b: scipy.signal.convolve(a, b, mode),
            (a, b),
            (0, 1),
        )
    small, large = RANDOM.rand(3), RANDOM.rand(5)
    wanted = scipy.signal.convolve(small, large, mode)
    np.testing.assert_allclose(signal.convolve(small, large, mode=mode), wanted)
    a, b = RANDOM.rand(3, 5, 2), RANDOM.rand(3, 4)
    found = signal.convolve(a, b, axes=([1], [1]), dot_axes=([0], [0]), mode=mode)
    wanted = np.stack([sum(scipy.signal.convolve(a[i, :, j], b[i], mode) for i in range(3)) for j in range(2)])
    np.testing.assert_allclose(found, wanted)
    check_grads(lambda a, b: signal.convolve(a, b, ([1], [1]), ([0], [0]), mode), (0, 1))(a, b)


def test_convolutions_that_are_none() -> None:
    with pytest.raises(ValueError, match="Mode"):
        signal.convolve(X, X, mode="circular")
    with pytest.raises(ValueError, match="larger"):
        signal.convolve(RANDOM.rand(2, 3), RANDOM.rand(3, 2), mode="valid")


def test_differential_equations() -> None:
    def decay(y: Any, t: Any, rate: Any) -> Any:
        return -rate * y

    times = np.array([0.0, 0.3, 1.0])
    start, rate = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    options = {"rtol": 1e-10, "atol": 1e-10}

    def solve(y0: Any, t: Any, rate: Any) -> Any:
        return integrate.odeint(decay, y0, t, (rate,), **options)

    wanted = start * np.exp(-rate * times[:, None])
    np.testing.assert_allclose(solve(start, times, rate), wanted, rtol=1e-8)
    by_start, by_rate = (jacobian(solve, i)(start, times, rate) for i in (0, 2))
    np.testing.assert_allclose(by_start[2], np.diag(np.exp(-rate)), atol=1e-8)
    np.testing.assert_allclose(by_rate[2], np.diag(-start * np.exp(-rate)), atol=1e-8)
    by_time = jacobian(solve, 1)(start, times, rate)
    np.testing.assert_allclose(by_time[2, :, 2], -rate * wanted[2], atol=1e-8)
