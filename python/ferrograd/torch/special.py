"""``torch.special``."""

from __future__ import annotations

from typing import Any

from ferrograd._core.torch import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    digamma,
    digamma as psi,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    exp2,
    expm1,
    gammainc,
    gammaincc,
    i0,
    i0e,
    i1,
    i1e,
    lgamma as gammaln,
    log1p,
    log_ndtr,
    logsumexp,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    mvlgamma as multigammaln,
    ndtr,
    ndtri,
    orthogonal_polynomial,
    polygamma,
    round,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    sigmoid as expit,
    sinc,
    spherical_bessel_j0,
    xlog1py,
    xlogy,
    zeta,
)
from ferrograd._kit import public as _public
from ferrograd._kit.out import into
from ferrograd._kit.specialize import specialize
from ferrograd.torch._base.answers import accept_synonyms
from ferrograd.torch._functions.arithmetic import logit
from ferrograd.torch._functions.reduce import log_softmax, softmax

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]


def _polynomial(x: Any, n: Any, *, out: Any = None, _kind: str, _is_shifted: bool) -> Any:
    # Small integers would overflow, so the factor is a float.
    return into(out, orthogonal_polynomial(2.0 * x - 1 if _is_shifted else x, n, _kind))


def _define(family: str, kind: str, is_shifted: bool = False) -> Any:
    shifted = "shifted " if is_shifted else ""
    name = f"{shifted.strip()}_{family}_polynomial_{kind}".lstrip("_")
    doc = f"The {shifted}{family.title()} polynomial {kind.title()} of degree ``n``."
    return accept_synonyms(specialize(name, doc, _polynomial, _kind=f"{family}_{kind}", _is_shifted=is_shifted))


chebyshev_polynomial_t = _define("chebyshev", "t")
chebyshev_polynomial_u = _define("chebyshev", "u")
chebyshev_polynomial_v = _define("chebyshev", "v")
chebyshev_polynomial_w = _define("chebyshev", "w")
shifted_chebyshev_polynomial_t = _define("chebyshev", "t", is_shifted=True)
shifted_chebyshev_polynomial_u = _define("chebyshev", "u", is_shifted=True)
shifted_chebyshev_polynomial_v = _define("chebyshev", "v", is_shifted=True)
shifted_chebyshev_polynomial_w = _define("chebyshev", "w", is_shifted=True)
hermite_polynomial_h = _define("hermite", "h")
hermite_polynomial_he = _define("hermite", "he")
laguerre_polynomial_l = _define("laguerre", "l")
legendre_polynomial_p = _define("legendre", "p")

__dir__ = _public.names(globals())
