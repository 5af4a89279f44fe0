"""Special functions, element by element."""

from collections.abc import Callable
from typing import Any

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


def mvlgamma(x: Any, p: int) -> Any:
    return np.array([special.multigammaln(v, p) for v in np.ravel(x)]).reshape(np.shape(x))


CASES = [
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
    Case("zeta", (uniform(1.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.zeta, wrt=(1,), rtol=1e-11),
    Case("gammainc", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.gammainc, wrt=(1,), rtol=1e-11),
    Case("gammaincc", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.gammaincc, wrt=(1,), rtol=1e-11),
    Case("betaln", (uniform(0.5, 4, 3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.betaln, rtol=1e-11),
    Case("xlog1py", (normal(3), uniform(0.5, 3, 2, 3, seed=1)), ref=special.xlog1py),
    Case("xlog1py", (np.array([0.0, 0.0, 0.0]), np.array([-1.0, 2.0, np.nan])), ref=quiet(special.xlog1py), order=0),
    Case("frexp", (normal(3, 4),), ref=np.frexp, pick=lambda result: result[0]),
    Case("frexp", (HARD[1:-2],), ref=np.frexp, order=0),
    Case("ldexp", (normal(3), np.array([[2], [-3]])), ref=np.ldexp),
]
