"""Special functions, element by element."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform
from tests.cases.elementary import HARD, quiet, real

SMALL = np.array([-2.5, -1.0, -0.5, 0.0, 0.5, 1.5, np.nan])


def row(name: str, ref: Callable[..., Any], low: float, high: float) -> list[Case]:
    """Rows for a function whose digits at the largest numbers no reference has."""
    return [
        Case(name, (uniform(low, high, 3, 4),), ref=ref, rtol=1e-11),
        Case(name, (uniform(low, high, seed=2),), ref=ref, rtol=1e-11),
        Case(name, (SMALL,), ref=quiet(ref), order=0, rtol=1e-11),
        Case(name, (np.zeros((0, 3)),), ref=ref, order=0),
    ]


DEGREES = np.array([[-1], [0], [1], [5]])


def jacobi(n: Any, x: Any, alpha: float) -> Any:
    """Chebyshev's polynomials of the third and the fourth kind, whose values at 1 are 1 and 2 n + 1."""
    end = 1 if alpha < 0 else 2 * n + 1
    return special.eval_jacobi(n, alpha, -alpha, x) * end / special.eval_jacobi(n, alpha, -alpha, 1.0)


POLYNOMIALS: dict[str, Callable[..., Any]] = {
    "chebyshev_t": special.eval_chebyt,
    "chebyshev_u": special.eval_chebyu,
    "chebyshev_v": lambda n, x: jacobi(n, x, -0.5),
    "chebyshev_w": lambda n, x: jacobi(n, x, 0.5),
    "legendre_p": special.eval_legendre,
    "laguerre_l": special.eval_laguerre,
    "hermite_h": special.eval_hermite,
    "hermite_he": special.eval_hermitenorm,
}


def polynomial(x: Any, n: Any, kind: str) -> Any:
    return np.where(n < 0, 0, POLYNOMIALS[kind](np.maximum(n, 0), x))


def by_mpmath(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of mpmath, element by element, NaN for NaN."""
    one = np.vectorize(lambda x: float(f(mpmath.mpf(x))) if x == x else x, otypes=[np.float64])
    return lambda x: one(x) if np.size(x) else np.zeros(np.shape(x))


def mvlgamma(x: Any, p: int) -> Any:
    return np.array([special.multigammaln(v, p) for v in np.ravel(x)]).reshape(np.shape(x))


REMAINDERS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "log1p_rest": (lambda x: (mpmath.log1p(x) - x) / x**2, -0.7, 9),
    "log_exprel": (lambda x: mpmath.log(mpmath.expm1(x) / x), -9, 9),
    "binet": (lambda x: mpmath.loggamma(x) - (x - 0.5) * mpmath.log(x) + x - mpmath.log(2 * mpmath.pi) / 2, 0.5, 20),
}

CASES = [
    *[
        Case(name, (uniform(low, high, *shape),), ref=by_mpmath(ref), rtol=1e-11)
        for name, (ref, low, high) in REMAINDERS.items()
        for shape in ((3, 4), (), (0, 3))
    ],
    Case("deviance", (uniform(0.5, 2, 3, 4), uniform(2.5, 9, 4)), ref=special.kl_div),
    Case("deviance", (uniform(2.5, 9), uniform(0.5, 2)), ref=special.kl_div),
    Case(
        "deviance",
        (np.array([0.0, 0.0, 1.0, 1.0, np.nan, -1.0]), np.array([0.0, 2.0, 0.0, 1.0, 1.0, 1.0])),
        ref=lambda x, y: np.array([0.0, 2.0, np.inf, 0.0, np.nan, np.nan]),
        order=0,
    ),
    *real("erfc", special.erfc),
    *real("erfcx", special.erfcx, -1, 3),
    *real("erfinv", special.erfinv, -0.8, 0.8),
    *real("ndtr", special.ndtr),
    *row("log_ndtr", special.log_ndtr, -3, 2),
    *real("ndtri", special.ndtri, 0.2, 0.8),
    *row("lgamma", special.gammaln, 0.5, 4),
    *row("digamma", special.psi, 0.5, 4),
    *row("sinc", np.sinc, -2, 2),
    *real("cbrt", np.cbrt, 0.5, 2),
    *[Case("polygamma", (uniform(0.5, 4, 3),), lead=(n,), ref=special.polygamma, rtol=1e-11) for n in (0, 1, 3)],
    Case("polygamma", (np.array([-0.5, -3.3, 2.0]),), lead=(2,), ref=special.polygamma, order=0, rtol=1e-10),
    Case("mvlgamma", (uniform(2, 5, 3, 2),), {"p": 3}, ref=mvlgamma, rtol=1e-11),
    *row("bessel_j0", special.j0, -3, 3),
    *row("bessel_j1", special.j1, -3, 3),
    *row("bessel_y0", special.y0, 0.5, 4),
    *row("bessel_y1", special.y1, 0.5, 4),
    *row("i0", special.i0, -3, 3),
    *row("i1", special.i1, -3, 3),
    *row("i0e", special.i0e, 0.5, 3),
    *row("i1e", special.i1e, 0.5, 3),
    *row("modified_bessel_k0", special.k0, 0.5, 3),
    *row("modified_bessel_k1", special.k1, 0.5, 3),
    *row("scaled_modified_bessel_k0", special.k0e, 0.5, 3),
    *row("scaled_modified_bessel_k1", special.k1e, 0.5, 3),
    *row("spherical_bessel_j0", lambda x: special.spherical_jn(0, np.asarray(x)), 0, 4),
    Case("zeta", (uniform(1.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.zeta, rtol=1e-11),
    Case("gammainc", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.gammainc, rtol=1e-11),
    Case("gammaincc", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.gammaincc, rtol=1e-11),
    Case("betaln", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.betaln, rtol=1e-11),
    *row("airy_ai", lambda x: special.airy(x)[0], -4, 4),
    Case(
        "betainc",
        (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1), uniform(0.1, 0.9, 3, seed=2)),
        ref=special.betainc,
        rtol=1e-11,
    ),
    Case("betainc", (normal(0, 3), normal(1), normal(3)), ref=special.betainc, order=0),
    Case(
        "betainc",
        tuple(np.meshgrid([-1.0, 0.0, 2.0, np.inf, np.nan], [0.0, 3.0, np.inf], [-0.1, 0.0, 0.5, 1.0, 1.1])),
        ref=special.betainc,
        order=0,
        rtol=1e-11,
    ),
    *[
        Case("orthogonal_polynomial", (uniform(-1.2, 1.2, 3), DEGREES), {"kind": kind}, ref=polynomial, rtol=1e-11)
        for kind in POLYNOMIALS
    ],
    Case("orthogonal_polynomial", (np.array([-1.0, 1.0]), DEGREES), {"kind": "chebyshev_u"}, ref=polynomial),
    Case("orthogonal_polynomial", (normal(0, 3), np.arange(3)), {"kind": "legendre_p"}, ref=polynomial, order=0),
    Case("xlog1py", (normal(3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.xlog1py),
    Case("xlog1py", (np.array([0.0, 0.0, 0.0]), np.array([-1.0, 2.0, np.nan])), ref=quiet(special.xlog1py), order=0),
    Case("frexp", (normal(3, 4),), ref=np.frexp, pick=lambda result: result[0]),
    Case("frexp", (HARD[1:-2],), ref=np.frexp, order=0),
    Case("ldexp", (normal(3), np.array([[2], [-3]])), ref=np.ldexp),
]
