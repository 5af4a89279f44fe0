"""Distributions where a formula through probabilities, or a difference of large numbers, would lose all digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ferrograd as _fg
import ferrograd.paddle as _paddle
import ferrograd.torch as _torch
import mpmath as mp
import numpy as np
import pytest
from ferrograd import func as _func

fg: Any = _fg
torch: Any = _torch
paddle: Any = _paddle
func: Any = _func
D: Any = torch.distributions


def t(values: Any, dtype: Any = np.float64) -> Any:
    return torch.tensor(np.asarray(values, dtype))


def single(values: Any) -> Any:
    return t(values, np.float32)


# What a call gives, and the right number.
POINTS: dict[str, tuple[Callable[[], Any], float]] = {
    "mean of a continuous Bernoulli": (lambda: D.ContinuousBernoulli(logits=t(20.0)).mean, 0.9500000020611536),
    "its entropy": (lambda: D.ContinuousBernoulli(logits=t(20.0)).entropy(), -1.9957323131481636),
    "its quantile": (lambda: D.ContinuousBernoulli(logits=t(20.0)).icdf(t(0.3)), 0.9398013599465109),
    "its quantile at logits that overflow": (lambda: D.ContinuousBernoulli(logits=t(800.0)).icdf(t(0.3)), 0.9984950340),
    "its mean at logits that overflow": (lambda: D.ContinuousBernoulli(logits=t(-800.0)).mean, 0.00125),
    "a tiny probability": (lambda: D.ContinuousBernoulli(t(1e-30)).mean, 0.014476482730108395),
    "a success that is nearly certain": (lambda: D.Bernoulli(logits=t(20.0)).log_prob(t(1.0)), -2.0611536203143807e-09),
    "in float32": (lambda: D.Bernoulli(logits=single(15.0)).log_prob(single(1.0)), -3.0590227e-07),
    "a failure that is nearly certain": (lambda: D.Bernoulli(logits=t(-40.0)).log_prob(t(0.0)), -4.248354255291589e-18),
    "failures before a success that is nearly certain": (lambda: D.Geometric(logits=t(40.0)).log_prob(t(3.0)), -120.0),
    "their mean": (lambda: D.Geometric(logits=t(40.0)).mean, 4.248354255291589e-18),
    "a lower tail": (lambda: D.Normal(t(0.0), t(1.0)).cdf(t(-9.0)), 1.1285884059538408e-19),
    "a lower tail in float32": (lambda: D.Normal(single(0.0), single(1.0)).cdf(single(-5.0)), 2.866516e-07),
    "a quantile of a tail": (lambda: D.Normal(t(0.0), t(1.0)).icdf(t(1e-20)), -9.262340089798409),
    "of a lognormal": (lambda: D.LogNormal(t(0.0), t(1.0)).icdf(t(1e-20)), 9.49329134722434915e-05),
    "variance of a lognormal": (lambda: D.LogNormal(t(-1000.0), t(math.sqrt(800.0))).variance, math.exp(-400.0)),
    "of a Laplace": (lambda: D.Laplace(t(0.0), t(1.0)).icdf(t(1e-20)), math.log(2e-20)),
    "a tail of a Cauchy": (lambda: D.Cauchy(t(0.0), t(1.0)).cdf(t(-1e20)), 1e-20 / math.pi),
    "a quantile of a Cauchy": (lambda: D.Cauchy(t(0.0), t(1.0)).icdf(t(1e-20)), -1e20 / math.pi),
    "a far value of a Cauchy": (lambda: D.Cauchy(t(0.0), t(1.0)).log_prob(t(1e200)), -922.178767124547),
    "a small value of half a Cauchy": (lambda: D.HalfCauchy(t(1.0)).cdf(t(1e-20)), 2e-20 / math.pi),
    "the quantile of half a Cauchy": (lambda: D.HalfCauchy(t(1.0)).icdf(t(1e-20)), 1e-20 * math.pi / 2),
    "a small value of a Weibull": (lambda: D.Weibull(t(1.0), t(2.0)).cdf(t(1e-10)), 1e-20),
    "its quantile at a small probability": (lambda: D.Weibull(t(1.0), t(2.0)).icdf(t(1e-20)), 1e-10),
    "variance of a narrow Weibull": (lambda: D.Weibull(t(1.0), t(1e10)).variance, math.pi**2 / 6 * 1e-20),
    "a Kumaraswamy": (lambda: D.Kumaraswamy(t(50.0), t(50.0)).log_prob(t(1e-3)), -330.65596265926842),
    "its small value": (lambda: D.Kumaraswamy(t(2.0), t(3.0)).cdf(t(1e-12)), 3e-24),
    "nearly a normal": (lambda: D.StudentT(t(1e15)).log_prob(t(1.0)), -1.4189385332046727),
    "a narrow gamma": (lambda: D.Gamma(t(1e10), t(1e10)).log_prob(t(1.0)), 10.593986931765556),
    "the entropy of a narrow gamma": (lambda: D.Gamma(t(1e10), t(1e10)).entropy(), -10.093986931823889),
    "a narrow beta": (lambda: D.Beta(t(1e10), t(1e10)).log_prob(t(0.5)), 11.633707712008869),
    "many events": (lambda: D.Poisson(t(1e10)).log_prob(t(1e10)), -12.431864),
    "many trials": (lambda: D.Binomial(10**8, t(0.5)).log_prob(t(5e7)), -9.436131861),
    "trials with logits that overflow": (lambda: D.Binomial(10, logits=t(-800.0)).log_prob(t(3.0)), -2395.2125082573),
    "the spread of angles": (lambda: D.VonMises(t(0.0), t(1e10)).variance, 5e-11),
    "a probability that is nearly all": (
        lambda: func.grad(lambda x: D.ContinuousBernoulli(logits=t(-40.0)).cdf(x))(t(0.7)),
        40 * math.exp(-28),
    ),
    "an angle near the mode": (lambda: D.VonMises(t(0.0), t(1e10)).log_prob(t(1e-5)), 10.093986931765556),
}


@pytest.mark.parametrize("name", POINTS)
def test_points(name: str) -> None:
    call, wanted = POINTS[name]
    found = call()
    assert found.item() == pytest.approx(wanted, rel=2e-7 if found.dtype == torch.float32 else 2e-8, abs=0)


def normal_quantile(v: Any) -> Any:
    return mp.findroot(lambda y: mp.log(mp.ncdf(y)) - mp.log(v), -mp.sqrt(-2 * mp.log(v)) if v < 0.01 else mp.mpf(0))


def soft(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def share(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def log_cosh(p: Any, q: Any) -> Any:
    return share(p) * (soft(-q) - soft(-p)) + share(-p) * (soft(q) - soft(p))


def log_mean(x: Any) -> Any:
    return mp.log(mp.expm1(x) / x)


def mean(x: Any) -> Any:
    return -1 / mp.expm1(-x) - 1 / x


def by_logits(make: Any, *rest: Any) -> Any:
    return lambda x: make(*rest, logits=x)


PI = mp.pi
LOGITS = [(x,) for x in (-90.0, -20.0, -1.0, 0.1, 15.0, 40.0, 90.0)]
SCALES = [(0.0, 1.0), (1.0, 2.5)]
# What makes a distribution, the method, its parameters, the values (None for a method without), the same in mpmath.
ROWS: dict[str, Any] = {
    "normal cdf": (D.Normal, "cdf", SCALES, [-9, -5, 0.3], lambda x, m, s: mp.ncdf((x - m) / s)),
    "normal icdf": (D.Normal, "icdf", SCALES[1:], [1e-9, 0.9], lambda v, m, s: m + s * normal_quantile(v)),
    "laplace icdf": (
        D.Laplace,
        "icdf",
        SCALES,
        [1e-30, 0.3, 0.9],
        lambda v, m, s: m + s * (mp.log(2 * v) if v < 0.5 else -mp.log(2 - 2 * v)),
    ),
    "cauchy": (
        D.Cauchy,
        "log_prob",
        SCALES,
        [-1e9, -3, 0.2],
        lambda x, m, s: -mp.log(PI * s) - mp.log1p(((x - m) / s) ** 2),
    ),
    "cauchy cdf": (D.Cauchy, "cdf", SCALES, [-1e5, -3, 0.2, 5], lambda x, m, s: mp.atan2(1, (m - x) / s) / PI),
    "cauchy icdf": (D.Cauchy, "icdf", SCALES, [1e-9, 0.3, 0.9], lambda v, m, s: m - s * mp.cot(PI * v)),
    "half cauchy cdf": (D.HalfCauchy, "cdf", [(2.5,)], [1e-9, 0.2, 1e4], lambda x, s: 2 * mp.atan(x / s) / PI),
    "half cauchy icdf": (D.HalfCauchy, "icdf", [(2.5,)], [1e-9, 0.4, 0.9], lambda v, s: s * mp.tan(PI * v / 2)),
    "gumbel cdf": (D.Gumbel, "cdf", SCALES, [-4, 0.2, 5], lambda x, m, s: mp.exp(-mp.exp((m - x) / s))),
    "pareto cdf": (D.Pareto, "cdf", [(1.0, 2.0)], [1.001, 30], lambda x, s, a: -mp.expm1(a * mp.log(s / x))),
    "weibull": (
        D.Weibull,
        "log_prob",
        [(1.0, 2.0), (2.0, 9.0)],
        [1e-3, 0.3, 1.5],
        lambda x, s, k: mp.log(k / s) + (k - 1) * mp.log(x / s) - (x / s) ** k,
    ),
    "weibull icdf": (D.Weibull, "icdf", [(1.0, 2.0)], [1e-9, 0.7], lambda v, s, k: s * (-mp.log1p(-v)) ** (1 / k)),
    "kumaraswamy": (
        D.Kumaraswamy,
        "log_prob",
        [(2.0, 1.5), (50.0, 50.0), (1.0, 1.0)],
        [1e-3, 0.3, 0.9],
        lambda x, a, b: mp.log(a * b) + (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-(x**a)),
    ),
    "kumaraswamy cdf": (
        D.Kumaraswamy,
        "cdf",
        [(2.0, 1.5), (5.0, 9.0)],
        [1e-3, 0.3, 0.9],
        lambda x, a, b: -mp.expm1(b * mp.log1p(-(x**a))),
    ),
    "generalized pareto": (
        D.GeneralizedPareto,
        "log_prob",
        [(0.0, 1.0, 1e-20), (0.0, 2.0, 0.3)],
        [0.7, 5],
        lambda x, m, s, c: -(1 + 1 / c) * mp.log1p(c * (x - m) / s) - mp.log(s),
    ),
    "student": (
        D.StudentT,
        "log_prob",
        [(1e9, 0.0, 1.0), (3.0, 1.0, 2.0)],
        [-3, 0.7],
        lambda x, n, m, s: (
            -(n + 1) / 2 * mp.log1p(((x - m) / s) ** 2 / n) - mp.log(n) / 2 - mp.log(s) - log_beta(n / 2, 0.5)
        ),
    ),
    "gamma": (
        D.Gamma,
        "log_prob",
        [(1.0, 1.0), (0.5, 2.0), (1e9, 1e9)],
        [1e-9, 1.5],
        lambda x, a, r: a * mp.log(r) + (a - 1) * mp.log(x) - r * x - mp.loggamma(a),
    ),
    "beta": (
        D.Beta,
        "log_prob",
        [(1.0, 1.0), (0.5, 2.0), (1e9, 1e9)],
        [1e-9, 0.3],
        lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b),
    ),
    "bernoulli 1": (by_logits(D.Bernoulli), "log_prob 1", LOGITS, None, lambda x: -soft(-x)),
    "bernoulli 0": (by_logits(D.Bernoulli), "log_prob 0", LOGITS, None, lambda x: -soft(x)),
    "bernoulli entropy": (
        by_logits(D.Bernoulli),
        "entropy",
        LOGITS,
        None,
        lambda x: share(x) * soft(-x) + share(-x) * soft(x),
    ),
    "geometric 3": (by_logits(D.Geometric), "log_prob 3", LOGITS, None, lambda x: -soft(-x) - 3 * soft(x)),
    "geometric entropy": (
        by_logits(D.Geometric),
        "entropy",
        LOGITS,
        None,
        lambda x: soft(-x) + mp.exp(-x) * soft(x),
    ),
    "binomial 3": (
        by_logits(D.Binomial, 10),
        "log_prob 3",
        LOGITS,
        None,
        lambda x: mp.log(120) - 3 * soft(-x) - 7 * soft(x),
    ),
    "negative binomial 3": (
        by_logits(D.NegativeBinomial, 2.0),
        "log_prob 3",
        LOGITS,
        None,
        lambda x: mp.log(4) - 3 * soft(-x) - 2 * soft(x),
    ),
    "continuous bernoulli": (
        by_logits(D.ContinuousBernoulli),
        "log_prob",
        LOGITS,
        [1e-3, 0.3, 0.999],
        lambda v, x: x * v - log_mean(x),
    ),
    "continuous bernoulli mean": (by_logits(D.ContinuousBernoulli), "mean", LOGITS, None, mean),
    "continuous bernoulli entropy": (
        by_logits(D.ContinuousBernoulli),
        "entropy",
        LOGITS,
        None,
        lambda x: log_mean(x) - x * mean(x),
    ),
    "continuous bernoulli cdf": (
        by_logits(D.ContinuousBernoulli),
        "cdf",
        LOGITS[1:6],
        [1e-3, 0.3, 0.999],
        lambda v, x: mp.expm1(x * v) / mp.expm1(x),
    ),
}


def call(row: str, *args: Any) -> Any:
    make, method, _, values, _ = ROWS[row]
    if values is not None:
        return getattr(make(*args[1:]), method)(args[0])
    name, *value = method.split()
    found = getattr(make(*args), name)
    return found(*[args[0] * 0 + float(v) for v in value]) if callable(found) else found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", ROWS)
def test_values_and_derivatives(row: str, dtype: Any) -> None:
    _, _, parameters, values, same = ROWS[row]
    tolerance = 3e-4 if dtype == np.float32 else 1e-9
    with mp.workdps(60):
        for given in parameters:
            for value in values or [None]:
                args = [float(dtype(v)) for v in ([] if value is None else [value]) + list(given)]
                for place, order in [(0, 0), *((i, n) for i in range(len(args)) for n in (1, 2, 3))]:
                    wanted = (
                        mp.diff(
                            lambda x, args=args, place=place: same(
                                *[mp.mpf(v) for v in args[:place]], x, *[mp.mpf(v) for v in args[place + 1 :]]
                            ),
                            mp.mpf(args[place]),
                            order,
                            h=mp.mpf(10) ** -15 * (abs(args[place]) or 1),
                        )
                        if order
                        else same(*map(mp.mpf, args))
                    )
                    tensors = [t(v, dtype) for v in args]

                    def f(x: Any, place: int = place, tensors: Any = tensors) -> Any:
                        return call(row, *tensors[:place], x, *tensors[place + 1 :])

                    for _ in range(order):
                        f = func.grad(f)
                    found, bound = f(tensors[place]).item(), float(np.finfo(dtype).max) / 1e3
                    if abs(wanted) < bound:
                        # A derivative that is 0, or far below the terms whose sum it is, has no digits.
                        least = 1e-30 if order == 0 else tolerance * 1e-2 * float(abs(args[place]) or 1) ** -order
                        assert abs(found - wanted) <= tolerance * abs(wanted) + least, (
                            args,
                            place,
                            order,
                            found,
                            wanted,
                        )


PAIRS: dict[str, Any] = {
    "normal": (
        D.Normal,
        [(0, 1, 1e-6, 1), (0, 1, 0, 1.001), (0, 1e-200, 0, 1)],
        lambda m, s, n, u: mp.log(u / s) + (s * s + (m - n) ** 2) / (2 * u * u) - mp.mpf(1) / 2,
    ),
    "laplace": (
        D.Laplace,
        [(0, 1, 1e-6, 1), (0, 1, 0, 1.001), (1, 2, 3, 4)],
        lambda m, s, n, u: mp.log(u / s) + abs(m - n) / u + s / u * mp.exp(-abs(m - n) / s) - 1,
    ),
    "exponential": (D.Exponential, [(1, 1.001), (1e-100, 1e100)], lambda a, b: b / a - 1 - mp.log(b / a)),
    "cauchy": (
        D.Cauchy,
        [(0, 1, 1e-6, 1), (0, 1e-100, 0, 1e100)],
        lambda m, s, n, u: mp.log(((s + u) ** 2 + (m - n) ** 2) / (4 * s * u)),
    ),
    "gumbel": (
        D.Gumbel,
        [(1000, 1, 1000.5, 1), (0, 1, 0, 1.001)],
        lambda m, s, n, u: (
            mp.log(u / s) - 1 - mp.euler + (m - n + s * mp.euler) / u + mp.exp((n - m) / u) * mp.gamma(1 + s / u)
        ),
    ),
    "gamma": (
        D.Gamma,
        [(1, 1, 1.001, 1), (1e10, 1e10, 1.1e10, 1.1e10), (3, 2, 0.5, 4)],
        lambda a, r, b, q: (
            b * mp.log(r / q) + mp.loggamma(b) - mp.loggamma(a) + (a - b) * mp.digamma(a) + (q - r) * a / r
        ),
    ),
    "beta": (
        D.Beta,
        [(1, 1, 1, 1.001), (1e8, 1e8, 1.1e8, 1.1e8), (3, 2, 0.5, 4)],
        lambda a, b, c, d: (
            log_beta(c, d)
            - log_beta(a, b)
            + (a - c) * mp.digamma(a)
            + (b - d) * mp.digamma(b)
            + (c + d - a - b) * mp.digamma(a + b)
        ),
    ),
    "poisson": (D.Poisson, [(1, 1.001), (1e10, 1.0001e10)], lambda a, b: a * mp.log(a / b) + b - a),
    "bernoulli": (
        by_logits(D.Bernoulli),
        [(-40, 40), (40, -40), (-800, 800), (1, 1.001), (-40, -41), (40, 40.5)],
        log_cosh,
    ),
    "geometric": (
        by_logits(D.Geometric),
        [(-40, -41), (40, 39), (1, 1.001), (-800, -803)],
        lambda p, q: log_cosh(p, q) / share(p),
    ),
    "continuous bernoulli": (
        by_logits(D.ContinuousBernoulli),
        [(-20, 20), (20, -20), (-800, -803), (1, 1.001), (3, -2)],
        lambda p, q: log_mean(q) - log_mean(p) - (q - p) * mean(p),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name: str) -> None:
    make, pairs, same = PAIRS[name]
    for pair in pairs:
        tensors, half = [t(v) for v in pair], len(pair) // 2
        found = D.kl_divergence(make(*tensors[:half]), make(*tensors[half:])).item()
        with mp.workdps(60):
            wanted = float(same(*map(mp.mpf, pair)))
        # The gap of two nearly equal parameters has the error of the parameters themselves.
        assert found == pytest.approx(wanted, rel=1e-9), pair


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (D.Normal, (0.5, 2.0)),
        (D.Laplace, (0.5, 2.0)),
        (D.Cauchy, (0.5, 2.0)),
        (D.Gumbel, (0.5, 2.0)),
        (D.Exponential, (2.0,)),
        (D.Gamma, (2.0, 3.0)),
        (D.Beta, (2.0, 3.0)),
        (D.Poisson, (2.0,)),
        (D.Bernoulli, (0.3,)),
        (D.Geometric, (0.3,)),
        (by_logits(D.ContinuousBernoulli), (0.3,)),
        (lambda a, b: D.Categorical(logits=torch.stack([a, b, a * b])), (0.2, 0.5)),
    ],
)
def test_the_second_derivative_of_a_divergence_at_equal_distributions_is_fishers_information(
    make: Any, parameters: Any
) -> None:
    at = t(parameters)
    own = make(*at)

    def gap(x: Any) -> Any:
        return D.kl_divergence(own, make(*x))

    def back(x: Any) -> Any:
        return D.kl_divergence(make(*x), own)

    assert gap(at).item() == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(func.grad(gap)(at).numpy(), 0, atol=1e-14)
    there, other = (func.hessian(f)(at).numpy() for f in (gap, back))
    np.testing.assert_allclose(there, other, atol=1e-12)
    assert (np.linalg.eigvalsh(there) > 1e-3).all()


IMPOSSIBLE: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "bernoulli": lambda t: (D.Bernoulli(t(0.0)), t(1.0)),
    "bernoulli 1": lambda t: (D.Bernoulli(t(1.0)), t(0.0)),
    "bernoulli by logits": lambda t: (D.Bernoulli(logits=t(math.inf), validate_args=False), t(0.0)),
    "binomial": lambda t: (D.Binomial(3, t(0.0)), t(2.0)),
    "binomial 1": lambda t: (D.Binomial(3, t(1.0)), t(2.0)),
    "many trials": lambda t: (D.Binomial(300, t(0.0)), t(200.0)),
    "categorical": lambda t: (D.Categorical(t([0.0, 1.0])), torch.tensor(0)),
    "one-hot": lambda t: (D.OneHotCategorical(t([0.0, 1.0])), t([1.0, 0.0])),
    "geometric": lambda t: (D.Geometric(t(1.0)), t(2.0)),
    "negative binomial": lambda t: (D.NegativeBinomial(t(2.0), t(0.0)), t(1.0)),
    "multinomial": lambda t: (D.Multinomial(3, t([0.0, 1.0])), t([1.0, 2.0])),
    "many draws": lambda t: (D.Multinomial(300, t([0.0, 1.0])), t([100.0, 200.0])),
    "poisson": lambda t: (D.Poisson(t(0.0)), t(1.0)),
}


@pytest.mark.parametrize("make", [t, single])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_is_impossible_has_no_probability(name: str, make: Any) -> None:
    d, value = IMPOSSIBLE[name](make)
    assert d.log_prob(value).item() == -math.inf


def test_what_is_certain_has_the_logarithm_0_and_a_gradient() -> None:
    cases: list[tuple[Any, Any, Any, Any]] = [
        (D.Bernoulli, 0.0, t(0.0), -1.0),
        (D.Bernoulli, 1.0, t(1.0), 1.0),
        (lambda p: D.Binomial(3, p), 0.0, t(0.0), -3.0),
        (lambda p: D.Binomial(3, p), 1.0, t(3.0), 3.0),
        (D.Geometric, 1.0, t(0.0), 1.0),
        (lambda p: D.NegativeBinomial(t(2.0), p), 0.0, t(0.0), -2.0),
        (D.Categorical, [0.0, 1.0], torch.tensor(1), [-1.0, 0.0]),
        (D.OneHotCategorical, [0.0, 1.0], t([0.0, 1.0]), [-1.0, 0.0]),
        (lambda p: D.Multinomial(3, p), [0.0, 1.0], t([0.0, 3.0]), [-3.0, 0.0]),
        (D.Poisson, 0.0, t(0.0), -1.0),
    ]
    for make, p, value, slope in cases:
        assert make(t(p)).log_prob(value).item() == 0
        assert func.grad(lambda x, make=make, value=value: make(x).log_prob(value))(t(p)).tolist() == slope


def test_chances_of_0_leave_gradients_finite() -> None:
    for make in (D.Bernoulli, D.Categorical, D.OneHotCategorical):
        p = [0.0, 1.0] if make is not D.Bernoulli else 0.0
        assert make(t(p)).entropy().item() == 0
        assert D.kl_divergence(make(t(p)), make(t(p))).item() == 0
    assert torch.isfinite(func.grad(lambda x: D.Categorical(x).entropy())(t([0.0, 1.0]))).all().item()
    weights = t([0.0, 1.0])

    def mixed(w: Any) -> Any:
        return D.MixtureSameFamily(D.Categorical(w), D.Normal(t([-1.0, 1.0]), t([1.0, 1.0]))).log_prob(t(0.3))

    assert torch.isfinite(func.grad(mixed)(weights)).all().item()


def test_variances_of_what_is_nearly_certain() -> None:
    tiny = math.exp(-40)
    for d in (D.Bernoulli(logits=t(40.0)), D.Binomial(1, logits=t(40.0))):
        assert d.variance.item() == pytest.approx(tiny, rel=1e-12)
    for d in (D.OneHotCategorical(logits=t([40.0, 0.0])), D.Multinomial(1, logits=t([40.0, 0.0]))):
        np.testing.assert_allclose(d.variance.numpy(), [tiny, tiny], rtol=1e-12)


def test_a_decreasing_transform_keeps_the_tails() -> None:
    base = {
        "normal": (D.Normal(t(0.0), t(1.0)), 9.0),
        "laplace": (D.Laplace(t(0.0), t(1.0)), 90.0),
        "cauchy": (D.Cauchy(t(0.0), t(1.0)), 1e20),
        "gumbel": (D.Gumbel(t(0.0), t(1.0)), 90.0),
        "exponential": (D.Exponential(t(1.0)), 90.0),
        "half normal": (D.HalfNormal(t(1.0)), 9.0),
        "half cauchy": (D.HalfCauchy(t(1.0)), 1e20),
        "weibull": (D.Weibull(t(1.0), t(1.0)), 90.0),
        "pareto": (D.Pareto(t(1.0), t(2.0)), 1e20),
        "generalized pareto": (D.GeneralizedPareto(t(0.0), t(1.0), t(0.5)), 1e20),
    }
    for name, (d, far) in base.items():
        turned = D.TransformedDistribution(d, D.AffineTransform(0.0, -1.0))
        p = turned.cdf(t(-far))
        assert 0 < p.item() < 1e-15, name
        assert turned.icdf(p).item() == pytest.approx(-far, rel=1e-9), name
    assert D.InverseGamma(t(2.0), t(1.0)).cdf(t(0.01)).item() == pytest.approx(101 * math.exp(-100), rel=1e-9)


def test_cross_entropy_of_logits() -> None:
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    for make, tolerance in ((t, 1e-14), (single, 3e-7)):
        for x in (-800.0, -80.0, -20.0, -3.0, 0.0, 3.0, 20.0, 80.0):
            for y in (0.0, 0.25, 1.0):
                target = make(y)
                for weight in (None, make(3.0)):
                    w = 1.0 if weight is None else 3.0
                    with mp.workdps(60):
                        wanted = float(w * y * soft(mp.mpf(-x)) + (1 - y) * soft(mp.mpf(x)))
                        slope = float((1 - y) * share(mp.mpf(x)) - w * y * share(mp.mpf(-x)))

                    def f(x: Any, target: Any = target, weight: Any = weight) -> Any:
                        return loss(x, target, pos_weight=weight)

                    assert f(make(x)).item() == pytest.approx(wanted, rel=tolerance, abs=1e-37)
                    assert func.grad(f)(make(x)).item() == pytest.approx(slope, rel=tolerance, abs=1e-37)
    assert loss(t([math.inf, -math.inf]), t([1.0, 0.0])).item() == 0
    assert loss(t(math.inf), t(0.0)).item() == math.inf


ROUTES: dict[str, tuple[Callable[[Any, Any], Any], list[float], list[float]]] = {
    "normal": (lambda x, p: D.Normal(p, 1 + p).icdf(x), [1e-20, 0.3, 0.9], [0.1, 2.0, 30.0]),
    "cauchy": (lambda x, p: D.Cauchy(p, 1 + p).cdf(x), [-1e20, 0.3, 40.0], [0.1, 2.0, 30.0]),
    "kumaraswamy": (lambda x, p: D.Kumaraswamy(p, p).log_prob(x), [1e-3, 0.3, 0.9], [50.0, 1.0, 0.3]),
    "gamma": (lambda x, p: D.Gamma(p, p).log_prob(x), [1e-3, 0.3, 1.0], [1.0, 0.3, 1e9]),
    "student": (lambda x, p: D.StudentT(p).log_prob(x), [-30.0, 0.3, 1.0], [1.0, 300.0, 1e15]),
    "bernoulli": (lambda x, p: D.Bernoulli(logits=p).log_prob(x), [0.0, 1.0, 1.0], [-40.0, 20.0, 0.3]),
    "binomial": (lambda x, p: D.Binomial(90, logits=p).log_prob(x), [0.0, 40.0, 90.0], [-40.0, 0.3, 20.0]),
    "continuous": (lambda x, p: D.ContinuousBernoulli(logits=p).cdf(x), [0.1, 0.5, 1.0], [-40.0, 0.0, 20.0]),
    "divergence": (lambda x, p: D.kl_divergence(D.Gamma(p, x), D.Gamma(x, p)), [0.1, 0.5, 1.0], [40.0, 0.5, 1.001]),
}


@pytest.mark.parametrize("name", ROUTES)
def test_all_routes_agree(name: str) -> None:
    f, *numbers = ROUTES[name]
    x, p = map(t, numbers)
    whole, ones = f(x, p), t([1.0, 1.0, 1.0])
    slope = func.grad(lambda v: f(x, v).sum())(p)
    compiled = fg.compile(lambda x, v: (f(x, v), func.grad(lambda v: f(x, v).sum())(v)))
    with D_unchecked():
        for _ in range(3):
            found = compiled(x, p)
            np.testing.assert_allclose(found[0].numpy(), whole.numpy(), rtol=1e-12)
            np.testing.assert_allclose(found[1].numpy(), slope.numpy(), rtol=1e-12)
        np.testing.assert_allclose(func.vmap(f)(x, p).numpy(), whole.numpy(), rtol=1e-12)
        np.testing.assert_allclose(func.vmap(func.grad(f, 1))(x, p).numpy(), slope.numpy(), rtol=1e-12)
    value, tangent = func.jvp(lambda v: f(x, v), (p,), (ones,))
    np.testing.assert_allclose(value.numpy(), whole.numpy(), rtol=1e-12)
    np.testing.assert_allclose(tangent.numpy(), slope.numpy(), rtol=1e-12)
    np.testing.assert_allclose(f(x[::2], p[::2]).numpy(), whole.numpy()[::2], rtol=1e-12)
    assert f(x[:0], p[:0]).shape == (0,)


class D_unchecked:
    """Distributions that do not read the numbers that they get."""

    def __enter__(self) -> None:
        D.Distribution.set_default_validate_args(False)

    def __exit__(self, *_: object) -> None:
        D.Distribution.set_default_validate_args(True)


def test_paddles_dialect_has_the_same_tails() -> None:
    P = paddle.distribution
    x = paddle.to_tensor
    assert P.Normal(x(0.0), x(1.0)).cdf(x(-5.0)).item() == pytest.approx(2.866516e-07, rel=1e-6)
    assert P.Geometric(x(1.0)).log_prob(x(2.0)).item() == -math.inf
    assert P.Geometric(x(1.0)).cdf(x(2.0)).item() == 1
    assert P.Binomial(3, x(0.0)).log_prob(x(2.0)).item() == -math.inf
    assert P.Multinomial(3, x([0.0, 1.0])).log_prob(x([1.0, 2.0])).item() == -math.inf
    assert P.LogNormal(x(0.0), x(1.0)).log_prob(x(0.0)).item() == -math.inf
    assert P.StudentT(x(1e15), x(0.0), x(1.0)).log_prob(x(1.0)).item() == pytest.approx(-1.4189385)
    assert P.ContinuousBernoulli(x(1e-30)).mean.item() == pytest.approx(0.0144765, rel=1e-5)
    assert P.Cauchy(x(0.0), x(1.0)).cdf(x(-1e10)).item() == pytest.approx(1e-10 / math.pi, rel=1e-6)
    for d in (P.Normal(x(0.0), x(1.0)), P.Bernoulli(x(0.3))):
        assert type(d.log_prob(x(1.0))) is paddle.Tensor


SIMPLE: dict[str, tuple[float, ...]] = {
    "Normal": (0.0, 1.0),
    "LogNormal": (0.0, 1.0),
    "Laplace": (0.0, 1.0),
    "Cauchy": (0.0, 1.0),
    "HalfCauchy": (1.0,),
    "HalfNormal": (1.0,),
    "Gumbel": (0.0, 1.0),
    "Pareto": (0.1, 2.0),
    "Weibull": (1.0, 2.0),
    "Kumaraswamy": (2.0, 3.0),
    "GeneralizedPareto": (0.0, 1.0, 0.0),
    "ContinuousBernoulli": (0.3,),
    "StudentT": (3.0,),
    "Gamma": (2.0, 3.0),
    "InverseGamma": (2.0, 3.0),
    "Beta": (2.0, 3.0),
    "FisherSnedecor": (3.0, 5.0),
    "Bernoulli": (0.3,),
    "Geometric": (0.3,),
    "Poisson": (2.0,),
}


@pytest.mark.parametrize("name", SIMPLE)
def test_dtypes_numbers_and_nan(name: str) -> None:
    kind, parameters = getattr(D, name), SIMPLE[name]
    value = 1.0 if name in ("Bernoulli", "Geometric", "Poisson") else 0.5
    wanted = kind(*map(t, parameters)).log_prob(t(value))
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        found = kind(*[torch.tensor(p, dtype=dtype) for p in parameters]).log_prob(torch.tensor(value, dtype=dtype))
        assert found.dtype == dtype
        assert found.item() == pytest.approx(wanted.item(), abs=0.05)
    unchecked = kind(*map(t, parameters), validate_args=False)
    assert unchecked.log_prob(value).item() == wanted.item()
    assert math.isnan(unchecked.log_prob(t(math.nan)).item())
    empty = kind(*[t(np.full(0, p)) for p in parameters])
    assert empty.log_prob(t(np.zeros(0))).shape == (0,)
