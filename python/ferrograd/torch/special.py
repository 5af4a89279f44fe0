"""``torch.special``."""

from __future__ import annotations

from typing import Any

from ferrograd import _public
from ferrograd._core.torch import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    digamma,
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
    log1p,
    log_ndtr,
    logsumexp,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    ndtr,
    ndtri,
    orthogonal_polynomial,
    polygamma,
    round,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    sinc,
    spherical_bessel_j0,
    xlog1py,
    xlogy,
    zeta,
)
from ferrograd._core.torch import (
    digamma as psi,
)
from ferrograd._core.torch import (
    lgamma as gammaln,
)
from ferrograd._core.torch import (
    mvlgamma as multigammaln,
)
from ferrograd._core.torch import (
    sigmoid as expit,
)
from ferrograd._dialects.out_argument import into
from ferrograd._dialects.specialize import specialize
from ferrograd.torch._special import log_softmax, logit, softmax

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
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
    "i0",
    "i0e",
    "i1",
    "i1e",
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
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]


def _polynomial(input: Any, n: Any, *, out: Any = None, _kind: str, _is_shifted: bool) -> Any:
    return into(out, orthogonal_polynomial(2 * input - 1 if _is_shifted else input, n, _kind))


def _define(kind: str, family: str, shifted: str = "") -> None:
    name = f"{shifted}{family}_polynomial_{kind}"
    doc = f"The {shifted.replace('_', ' ')}{family.title()} polynomial {kind.title()} of degree ``n``."
    options = {"_kind": f"{family}_{kind}", "_is_shifted": bool(shifted)}
    globals()[name] = specialize(name, doc, _polynomial, **options)
    __all__.append(name)


for _kind in "tuvw":
    _define(_kind, "chebyshev")
    _define(_kind, "chebyshev", "shifted_")
_define("h", "hermite")
_define("he", "hermite")
_define("l", "laguerre")
_define("p", "legendre")

__dir__ = _public.names(globals())
