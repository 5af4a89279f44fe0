"""The errors of functions and of their derivatives over all magnitudes, against mpmath.

``python -m tests.ops.accuracy`` computes every differentiable elementwise function and its first three derivatives in
float32 and float64, at numbers of all magnitudes in its domain and next to the ends of it. It prints the table of what
is off by more than 8 units in the last place times the condition number, where that is above 1. ``--only WORD`` selects
the functions with that word. ``test_accuracy_of_derivatives.py`` asserts the same for fewer numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import ferrograd as fg
import mpmath as mp
import numpy as np
from scipy import special

ORDERS = 3
#: Errors that are allowed, in units in the last place times the condition number.
ALLOWED = 8.0
inf = float("inf")


@dataclass(frozen=True)
class Formula:
    """A function of one number in mpmath, and where it is compared.

    value: the function. slope: its derivative, where differences of the function lose digits far out. exact: instead of
        both the function and its first four derivatives.
    low, high: the ends of the domain, which do not belong to it. most: the largest magnitude that is tried.
    kinks: points without a derivative. near: more numbers that are tried, such as those next to poles.
    call: the function, where it is not the op of that name.
    """

    value: Callable[[Any], Any] = mp.mpf
    slope: Callable[[Any], Any] | None = None
    exact: Callable[[Any], list[Any]] | None = None
    low: float = -inf
    high: float = inf
    most: float = inf
    kinks: tuple[float, ...] = ()
    call: Callable[[Any], Any] | None = None
    near: tuple[float, ...] = ()


def erfc(x: Any) -> Any:
    return mp.erfc(x) if abs(x) < 1e6 else mp.mpf(0 if x > 0 else 2)


def sech2(x: Any) -> Any:
    return 1 / mp.cosh(x) ** 2


def bell(x: Any) -> Any:
    """The density of the normal distribution."""
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def normal(x: Any) -> Any:
    return erfc(-x / mp.sqrt(2)) / 2


def binet(x: Any) -> Any:
    return mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def log1p_rest(x: Any) -> Any:
    if abs(x) < 1e-9:
        return sum((-x) ** k / (k + 2) for k in range(8)) * -1
    return (mp.log1p(x) - x) / (x * x)


def log_exprel(x: Any) -> Any:
    if abs(x) < 1e-9:
        return x / 2 + x**2 / 24 - x**4 / 2880
    return mp.log(mp.expm1(x) / x)


def gelu_tanh(x: Any) -> Any:
    return x * sigmoid(mp.sqrt(8 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


def sinpi(x: Any) -> Any:
    return mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1)


def jn(x: Any) -> Any:
    return mp.sin(x) / x if x else mp.mpf(1)


def series(start: Any, ratio: Callable[[int], Any]) -> Any:
    """The sum of an asymptotic series from the quotients of its terms."""
    total = term = mp.mpf(start)
    k = 1
    while abs(term) > abs(total) * mp.eps:
        term *= ratio(k)
        total += term
        k += 1
    return total


def erfcx(x: Any) -> Any:
    if x < 2000:
        return mp.exp(x * x) * mp.erfc(x)
    return series(1, lambda k: (1 - 2 * k) / (2 * x * x)) / (x * mp.sqrt(mp.pi))


def mills(x: Any) -> Any:
    """The derivative of log_ndtr."""
    return bell(x) / normal(x) if x > 1 else mp.sqrt(2 / mp.pi) / erfcx(-x / mp.sqrt(2))


def log_ndtr(x: Any) -> Any:
    return mp.log(normal(x)) if x > -1 else mp.log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2


def scaled_bessel(n: int, x: Any, side: int) -> Any:
    """The asymptotic series of e^-x I (side -1) and e^x K (side 1) without their factors."""
    return series(1, lambda k: mp.mpf(side * (4 * n * n - (2 * k - 1) ** 2)) / (8 * k * x))


def quantiles(x: Any) -> list[Any]:
    """ndtri and its derivatives, from Newton's method for the logarithm of the distribution function."""
    y = mp.mpf(float(special.ndtri(float(x))))
    for _step in range(5):
        y -= (log_ndtr(y) - mp.log(x)) / mills(y)
    s = 1 / bell(y)
    return [y, s, y * s**2, (1 + 2 * y**2) * s**3, (7 * y + 6 * y**3) * s**4]


def erfinv(x: Any) -> list[Any]:
    """erfinv and its derivatives."""
    if abs(x) > 0.5:
        y = -mp.sign(x) * quantiles((1 - abs(x)) / 2)[0] / mp.sqrt(2)
    else:
        y = mp.mpf(float(special.erfinv(float(x))))
        for _step in range(5):
            y -= (mp.erf(y) - x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    s = mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return [y, s, 2 * y * s**2, (2 + 8 * y**2) * s**3, (28 * y + 48 * y**3) * s**4]


def gammas(first: int) -> Callable[[Any], list[Any]]:
    """The derivatives of the logarithm of the gamma function from that order on."""
    return lambda x: [mp.log(abs(mp.gamma(x))) if n < 0 else mp.polygamma(n, x) for n in range(first, first + 5)]


#: Next to poles of the gamma function, and between them.
POLES = (-0.5, -1e-3, -1e-20, -1.001, -2 + 1e-6, -2 - 1e-6, -9.3, -100.7)


def bessel(f: Callable[[int, Any], Any], order: int, before: int, after: int) -> Callable[[Any], list[Any]]:
    """The derivatives of a Bessel function by its recurrence: half of ``before`` and ``after`` times its neighbours."""

    def at(x: Any) -> list[Any]:
        known = {n: f(n, x) for n in range(order - 4, order + 5)}
        found = []
        for _order in range(5):
            found.append(known[order])
            known = {n: (before * known[n - 1] + after * known[n + 1]) / 2 for n in known if {n - 1, n + 1} <= {*known}}
        return found

    return at


def bessel_ie(n: int, x: Any) -> Any:
    if abs(x) < 5000:
        return mp.besseli(n, x) * mp.exp(-abs(x))
    return mp.sign(x) ** n * scaled_bessel(n, abs(x), -1) / mp.sqrt(2 * mp.pi * abs(x))


def bessel_ke(n: int, x: Any) -> Any:
    if x < 5000:
        return mp.besselk(n, x) * mp.exp(x)
    return scaled_bessel(n, x, 1) * mp.sqrt(mp.pi / (2 * x))


def scaled(f: Callable[[int, Any], Any], order: int, side: int) -> Callable[[Any], list[Any]]:
    """The derivatives of a scaled modified Bessel function: from those of the function and of its factor."""

    def at(x: Any) -> list[Any]:
        size = abs(x)
        with mp.workdps(60 + 6 * max(0, int(mp.log10(size)))):
            known = {n: f(abs(n), size) for n in range(order - 4, order + 5)}
            found = []
            for k in range(5):
                found.append(known[order] * (-1 if x < 0 and (order + k) % 2 else 1))
                inner = [n for n in known if {n - 1, n + 1} <= {*known}]
                known = {n: side * (known[n] - (known[n - 1] + known[n + 1]) / 2) for n in inner}
        return found

    return at


tn = fg.tensor

FORMULAS: dict[str, Formula] = {
    "square": Formula(lambda x: x * x),
    "reciprocal": Formula(lambda x: 1 / x, kinks=(0,)),
    "exp": Formula(mp.exp, most=1e4),
    "expm1": Formula(mp.expm1, mp.exp, most=1e4),
    "log": Formula(mp.log, low=0),
    "log1p": Formula(mp.log1p, lambda x: 1 / (1 + x), low=-1),
    "log1p_rest": Formula(log1p_rest, low=-1, most=1e6),
    "log_exprel": Formula(log_exprel, most=1e4),
    "binet": Formula(binet, low=0, most=1e6),
    "log2": Formula(lambda x: mp.log(x, 2), low=0),
    "log10": Formula(lambda x: mp.log(x, 10), low=0),
    "sqrt": Formula(mp.sqrt, low=0),
    "rsqrt": Formula(lambda x: 1 / mp.sqrt(x), low=0),
    "cbrt": Formula(lambda x: mp.sign(x) * mp.cbrt(abs(x)), kinks=(0,)),
    "sin": Formula(mp.sin, most=1e20),
    "cos": Formula(mp.cos, most=1e20),
    "tan": Formula(mp.tan, most=1e20),
    "asin": Formula(mp.asin, lambda x: 1 / mp.sqrt(1 - x * x), low=-1, high=1),
    "acos": Formula(mp.acos, lambda x: -1 / mp.sqrt(1 - x * x), low=-1, high=1),
    "atan": Formula(mp.atan, lambda x: 1 / (1 + x * x)),
    "sinh": Formula(mp.sinh, most=1e4),
    "cosh": Formula(mp.cosh, most=1e4),
    "tanh": Formula(mp.tanh, sech2, most=1e4),
    "asinh": Formula(mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x)),
    "acosh": Formula(mp.acosh, lambda x: 1 / mp.sqrt(x * x - 1), low=1),
    "atanh": Formula(mp.atanh, lambda x: 1 / (1 - x * x), low=-1, high=1),
    "erf": Formula(lambda x: mp.erf(x) if abs(x) < 1e6 else mp.sign(x), lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "erfc": Formula(erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "erfcx": Formula(erfcx),
    "erfinv": Formula(exact=erfinv, low=-1, high=1),
    "ndtr": Formula(normal, bell),
    "ndtri": Formula(exact=quantiles, low=0, high=1),
    "log_ndtr": Formula(log_ndtr, mills),
    "exp2": Formula(lambda x: mp.mpf(2) ** x, most=1e4),
    "entr": Formula(lambda x: -x * mp.log(x), low=0),
    "logit": Formula(lambda x: mp.log(x / (1 - x)), low=0, high=1),
    "lgamma": Formula(exact=gammas(-1), low=0, near=POLES),
    "digamma": Formula(exact=gammas(0), low=0, near=POLES),
    "polygamma": Formula(exact=gammas(2), low=0, near=POLES, call=lambda x: fg.polygamma(2, x)),
    "mvlgamma": Formula(
        exact=lambda x: [
            (1.5 * mp.log(mp.pi) if n == 0 else 0) + sum(gammas(-1)(x - j / mp.mpf(2))[n] for j in range(3))
            for n in range(5)
        ],
        low=1,
        call=lambda x: fg.mvlgamma(x, 3),
    ),
    "sinc": Formula(sinpi, most=1e5),
    "spherical_bessel_j0": Formula(jn, most=1e5),
    "bessel_j0": Formula(exact=bessel(mp.besselj, 0, 1, -1), most=1e4),
    "bessel_j1": Formula(exact=bessel(mp.besselj, 1, 1, -1), most=1e4),
    "bessel_y0": Formula(exact=bessel(mp.bessely, 0, 1, -1), low=0, most=1e4),
    "bessel_y1": Formula(exact=bessel(mp.bessely, 1, 1, -1), low=0, most=1e4),
    "i0": Formula(exact=bessel(mp.besseli, 0, 1, 1), most=1e4),
    "i1": Formula(exact=bessel(mp.besseli, 1, 1, 1), most=1e4),
    "i0e": Formula(exact=scaled(bessel_ie, 0, -1), kinks=(0,)),
    "i1e": Formula(exact=scaled(bessel_ie, 1, -1), kinks=(0,)),
    "modified_bessel_k0": Formula(exact=bessel(mp.besselk, 0, -1, -1), low=0, most=1e4),
    "modified_bessel_k1": Formula(exact=bessel(mp.besselk, 1, -1, -1), low=0, most=1e4),
    "scaled_modified_bessel_k0": Formula(exact=scaled(bessel_ke, 0, 1), low=0),
    "scaled_modified_bessel_k1": Formula(exact=scaled(bessel_ke, 1, 1), low=0),
    "airy_ai": Formula(mp.airyai, most=1e4),
    "sigmoid": Formula(sigmoid, lambda x: 1 / (2 + mp.exp(x) + mp.exp(-x)), most=1e4),
    "log_sigmoid": Formula(lambda x: -mp.log1p(mp.exp(-x)), lambda x: 1 / (1 + mp.exp(x)), most=1e4),
    "softplus": Formula(lambda x: mp.log1p(mp.exp(x)), sigmoid, most=1e4),
    "softplus of 3 x": Formula(
        lambda x: mp.log1p(mp.exp(3 * x)) / 3,
        lambda x: sigmoid(3 * x),
        most=1e4,
        call=lambda x: fg.softplus(x, 3.0, 100.0),
    ),
    "silu": Formula(lambda x: x * sigmoid(x), most=1e4),
    "mish": Formula(lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), most=1e4),
    "gelu": Formula(lambda x: x * normal(x), lambda x: normal(x) + x * bell(x)),
    "gelu by tanh": Formula(gelu_tanh, call=lambda x: fg.gelu(x, "tanh")),
    "softsign": Formula(lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2, kinks=(0,)),
    "tanhshrink": Formula(lambda x: x - mp.tanh(x), lambda x: mp.tanh(x) ** 2, most=1e4),
    "elu": Formula(
        lambda x: x if x > 0 else mp.expm1(x), lambda x: mp.mpf(1) if x > 0 else mp.exp(x), kinks=(0,), most=1e4
    ),
    "celu": Formula(
        lambda x: x if x > 0 else mp.mpf(0.5) * mp.expm1(2 * x),
        lambda x: mp.mpf(1) if x > 0 else mp.exp(2 * x),
        kinks=(0,),
        most=1e4,
        call=lambda x: fg.celu(x, 0.5),
    ),
    "hypot of 1": Formula(lambda x: mp.sqrt(x * x + 1), call=lambda x: fg.hypot(x, 1.0)),
    "hypot by the second": Formula(lambda x: mp.sqrt(x * x + 1), call=lambda x: fg.hypot(tn(1.0, dtype=x.dtype), x)),
    "atan2 of 1": Formula(mp.atan, lambda x: 1 / (1 + x * x), call=lambda x: fg.atan2(x, 1.0)),
    "atan2 by the second": Formula(
        lambda x: mp.atan2(1, x), lambda x: -1 / (1 + x * x), call=lambda x: fg.atan2(tn(1.0, dtype=x.dtype), x)
    ),
    "divide": Formula(lambda x: 3 / x, kinks=(0,), call=lambda x: 3.0 / x),
    "divide by a number": Formula(lambda x: x / 3, call=lambda x: x / 3.0),
    "pow 2.5": Formula(lambda x: x ** mp.mpf(2.5), low=0, call=lambda x: x**2.5),
    "pow 3": Formula(lambda x: x**3, call=lambda x: x**3),
    "pow -2": Formula(lambda x: x**-2, kinks=(0,), call=lambda x: x**-2),
    "pow by the exponent": Formula(lambda x: mp.mpf(3) ** x, most=1e4, call=lambda x: 3.0**x),
    "logaddexp of 0": Formula(lambda x: mp.log1p(mp.exp(x)), sigmoid, most=1e4, call=lambda x: fg.logaddexp(x, 0.0)),
    "logaddexp2 of 0": Formula(
        lambda x: mp.log1p(mp.mpf(2) ** x) / mp.log(2),
        lambda x: sigmoid(x * mp.log(2)),
        most=1e4,
        call=lambda x: fg.logaddexp2(x, 0.0),
    ),
    "xlogy of 3": Formula(lambda x: 3 * mp.log(x), low=0, call=lambda x: fg.xlogy(tn(3.0, dtype=x.dtype), x)),
    "xlogy by the first": Formula(lambda x: x * mp.log(3), call=lambda x: fg.xlogy(x, 3.0)),
    "xlog1py of 3": Formula(
        lambda x: 3 * mp.log1p(x), lambda x: 3 / (1 + x), low=-1, call=lambda x: fg.xlog1py(tn(3.0, dtype=x.dtype), x)
    ),
    "betaln of 2": Formula(
        lambda x: -mp.log(x) - mp.log1p(x), lambda x: -1 / x - 1 / (1 + x), low=0, call=lambda x: fg.betaln(x, 2.0)
    ),
    "ldexp": Formula(lambda x: x * 2 ** mp.mpf(5), call=lambda x: fg.ldexp(x, 5)),
    "gammainc of 2": Formula(
        lambda x: 1 - (1 + x) * mp.exp(-x),
        lambda x: x * mp.exp(-x),
        low=0,
        most=1e4,
        call=lambda x: fg.gammainc(2.0, x),
    ),
    "gammaincc of 2": Formula(lambda x: (1 + x) * mp.exp(-x), low=0, most=1e4, call=lambda x: fg.gammaincc(2.0, x)),
    "binary_cross_entropy_with_logits": Formula(
        lambda x: mp.log1p(mp.exp(-x)),
        lambda x: -1 / (1 + mp.exp(x)),
        most=1e4,
        call=lambda x: fg.binary_cross_entropy_with_logits(x, fg.ones_like(x), reduction="none"),
    ),
    "binary_cross_entropy": Formula(
        lambda x: -mp.log(x) * 0.25 - mp.log1p(-x) * 0.75,
        low=0,
        high=1,
        call=lambda x: fg.binary_cross_entropy(x, fg.full_like(x, 0.25), reduction="none"),
    ),
    "norm of (x, 1)": Formula(
        lambda x: mp.sqrt(x * x + 1), call=lambda x: fg.norm(fg.stack([x, fg.ones_like(x)]), axis=0)
    ),
    "softmax of (x, -x)": Formula(
        lambda x: sigmoid(2 * x),
        lambda x: 2 / (2 + mp.exp(2 * x) + mp.exp(-2 * x)),
        most=1e4,
        call=lambda x: fg.softmax(fg.stack([x, -x]), axis=0)[0],
    ),
    "log_softmax of (x, 0)": Formula(
        lambda x: -mp.log1p(mp.exp(-x)),
        lambda x: 1 / (1 + mp.exp(x)),
        most=1e4,
        call=lambda x: fg.log_softmax(fg.stack([x, fg.zeros_like(x)]), axis=0)[0],
    ),
    "logsumexp of (x, 0)": Formula(
        lambda x: mp.log1p(mp.exp(x)),
        sigmoid,
        most=1e4,
        call=lambda x: fg.logsumexp(fg.stack([x, fg.zeros_like(x)]), axis=0),
    ),
}


#: Magnitudes for the test, which both dtypes have.
FEW = (1e-30, 1e-3, 0.3, 1.3, 2.7, 40, 1e6)
#: Magnitudes at which functions bend, overflow or underflow.
BENDS = (
    0.2,
    0.5,
    0.9,
    1.3,
    2.2,
    2.7,
    4,
    6,
    8,
    13,
    20,
    30,
    37.5,
    50,
    80,
    88,
    103,
    200,
    300,
    650,
    700,
    708,
    740,
    1020,
    1024,
)


def numbers(formula: Formula, dtype: Any, few: bool) -> np.ndarray:
    """Numbers of all magnitudes in the domain, and next to its ends."""
    info = np.finfo(np.float32 if few else dtype)
    top = int(np.log10(float(info.max)))
    sizes = FEW if few else [*BENDS, *(10.0**p for p in [*range(-top, top, max(1, top // 12)), *range(-12, 13)])]
    bits = (3, 20) if few else (1, 2, 3, 5, 10, 15, 20, info.nmant)
    ends = [
        end + side * 2.0**-k for end, side in ((formula.low, 1), (formula.high, -1)) if np.isfinite(end) for k in bits
    ]
    with np.errstate(over="ignore"):
        x = np.unique(np.array([*sizes, *(-v for v in sizes), *ends]).astype(info.dtype))
    x = x[(x > formula.low) & (x < formula.high) & (np.abs(x) <= formula.most) & ~np.isin(x, formula.kinks)]
    return np.concatenate([x, np.array(formula.near, info.dtype)]).astype(dtype)


def difference(f: Callable[[Any], Any], x: Any, n: int, digits: int, scale: Any) -> Any:
    """The n-th derivative by a central difference, with this number of digits."""
    with mp.workdps(digits):
        h = scale * mp.mpf(10) ** -30
        total = mp.mpf(0)
        for k in range(n + 1):
            total += (-1) ** k * mp.binomial(n, k) * f(x + (mp.mpf(n) / 2 - k) * h)
        return total / h**n


def derivative(formula: Formula, x: float, n: int) -> Any:
    """The n-th derivative to 20 digits: the digits are doubled until nothing changes."""
    f, m = (formula.slope, n - 1) if n and formula.slope else (formula.value, n)
    ends = [abs(mp.mpf(x) - mp.mpf(e)) for e in (formula.low, formula.high, *formula.kinks) if np.isfinite(e)]
    scale = min([mp.mpf(1), *([abs(mp.mpf(x))] if x else []), *ends])
    size = abs(np.log10(abs(x))) if x else 0
    digits = 40 + (m + 2) * (35 + int(size))
    last = None
    while digits < 6000:
        with mp.workdps(digits):
            found = mp.re(difference(f, mp.mpf(x), m, digits, scale)) if m else mp.re(f(mp.mpf(x)))
        same = last is not None and abs(found - last) <= abs(found) * mp.mpf(10) ** -20
        # The difference of functions that have settled is nothing, which takes many digits to see.
        nothing = last is not None and max(abs(found), abs(last)) < mp.mpf(10) ** -350
        if (digits > 1000 and nothing) or (same and found):
            return found
        last, digits = found, 20 + digits * 3 // 2
    raise ArithmeticError(f"no digits at {x}, order {n}")


@cache
def derivatives(name: str, x: float) -> list[Any]:
    """The function and one derivative more than is compared."""
    formula = FORMULAS[name]
    if formula.exact:
        with mp.workdps(60):
            return formula.exact(mp.mpf(x))
    return [derivative(formula, x, n) for n in range(ORDERS + 2)]


def found(call: Callable[[Any], Any], x: np.ndarray) -> list[np.ndarray]:
    """The values and derivatives that ferrograd computes, the last in one pass."""
    t = fg.tensor(x, requires_grad=True)
    y, out = call(t), []
    for _order in range(ORDERS):
        out.append(np.asarray(y.detach()))
        if y.stop_gradient:
            return out + [np.zeros_like(x)] * (ORDERS + 1 - len(out))
        (y,) = fg.grad(y.sum(), [t], create_graph=True, allow_unused=True)
        y = fg.zeros_like(t.detach()) if y is None else y
    return [*out, np.asarray(y.detach())]


@dataclass(frozen=True)
class Error:
    """A result that is off, in units in the last place, and in those divided by the condition number."""

    name: str
    dtype: str
    order: int
    at: float
    got: float
    want: float
    units: float
    times: float


def off(got: float, want: Any, condition: Any, dtype: Any) -> tuple[float, float]:
    """The error in units in the last place, and that divided by the condition number, if that is above 1."""
    info = np.finfo(dtype)
    with np.errstate(over="ignore", under="ignore"):
        exact = dtype(float(want))
    # Next to the largest number the exact result and the found one may lie on two sides of it.
    if np.isinf(exact) or np.isinf(got):
        close = mp.mpf(float(info.max)) * (1 - ALLOWED * mp.mpf(float(info.eps)) * max(condition, 1))
        alike = got == exact or (got * want > 0 and abs(want) > close and abs(got) > close)
        return (0.0, 0.0) if alike else (inf, inf)
    if np.isnan(got):
        return inf, inf
    units = abs(mp.mpf(got) - want) / mp.mpf(float(np.spacing(np.abs(exact))))
    return float(units), float(units / max(condition, 1))


def errors(name: str, dtype: Any, few: bool = False) -> Iterator[Error]:
    """The results of a function that are off by more than what is allowed."""
    formula = FORMULAS[name]
    x = numbers(formula, dtype, few)
    values = found(formula.call or getattr(fg, name), x)
    for i, v in enumerate(x.tolist()):
        want = derivatives(name, v)
        for n in range(ORDERS + 1):
            condition = abs(mp.mpf(v) * want[n + 1] / want[n]) if want[n] else mp.mpf(1)
            got = float(values[n][i])
            units, times = off(got, want[n], condition, dtype)
            if times > ALLOWED:
                yield Error(name, dtype.__name__, n, v, got, float(want[n]), units, times)


def table(found: Iterable[Error]) -> list[str]:
    """The errors as rows of a table: of each function, dtype and order the largest."""
    worst: dict[tuple[str, str, int], Error] = {}
    for e in found:
        key = (e.name, e.dtype, e.order)
        worst[key] = max(worst.get(key, e), e, key=lambda e: e.times)
    return [f"| `{e.name}` | {e.dtype} | {e.order} | {e.at:.4g} | {e.got:.6g} | {e.want:.6g} |" for e in worst.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--few", action="store_true", help="the numbers of the test")
    options = parser.parse_args()
    print("| function | dtype | order | at | found | right |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in FORMULAS:
        for dtype in (np.float32, np.float64) if options.only in name else ():
            for row in table(errors(name, dtype, options.few)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
