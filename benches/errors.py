"""Prints the largest errors of special functions of ferrograd, torch and SciPy, in units in the last place.

``python benches/errors.py`` compares them with mpmath, at random numbers of the ranges that ``functions.py`` times.
``--only WORD`` selects the functions with that word, ``--points N`` sets the number of numbers.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

#: For each function (``torch's name=SciPy's``) its formula and the bounds of its arguments, which are equal.
FORMULAS: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "erf": (mp.erf, 0.1, 5),
    "erfc": (mp.erfc, 0.1, 5),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), 0.1, 5),
    "gammaln": (mp.loggamma, 0.1, 5),
    "digamma=psi": (mp.digamma, 0.1, 5),
    "ndtr": (mp.ncdf, 0.1, 5),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), 0.1, 5),
    "sinc": (lambda x: mp.sinpi(x) / (mp.pi * x), 0.1, 5),
    "i0": (lambda x: mp.besseli(0, x), 0.1, 5),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-x), 0.1, 5),
    "i1": (lambda x: mp.besseli(1, x), 0.1, 5),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-x), 0.1, 5),
    "modified_bessel_k0=k0": (lambda x: mp.besselk(0, x), 0.1, 5),
    "modified_bessel_k1=k1": (lambda x: mp.besselk(1, x), 0.1, 5),
    "scaled_modified_bessel_k0=k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), 0.1, 5),
    "scaled_modified_bessel_k1=k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), 0.1, 5),
    "bessel_j0=j0": (lambda x: mp.besselj(0, x), 0.1, 5),
    "bessel_j1=j1": (lambda x: mp.besselj(1, x), 0.1, 5),
    "bessel_y0=y0": (lambda x: mp.bessely(0, x), 0.1, 5),
    "bessel_y1=y1": (lambda x: mp.bessely(1, x), 0.1, 5),
    "spherical_bessel_j0": (lambda x: mp.sin(x) / x, 0.1, 5),
    "airy_ai": (mp.airyai, 0.1, 5),
    "erfinv": (mp.erfinv, 0.01, 0.99),
    "ndtri": (lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), 0.01, 0.99),
    "gammainc": (lambda x: mp.gammainc(x, 0, x, regularized=True), 1.1, 5),
    "gammaincc": (lambda x: mp.gammainc(x, x, mp.inf, regularized=True), 1.1, 5),
}
TWO = ("gammainc", "gammaincc")


def error(found: np.ndarray, exact: list[Any]) -> float:
    """The largest distance from the exact numbers in units in the last place of these."""
    units = np.spacing(np.abs(np.array([float(v) for v in exact]).astype(found.dtype)))
    return max(float(abs(mp.mpf(float(a)) - b) / mp.mpf(float(u))) for a, b, u in zip(found, exact, units, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--points", type=int, default=1000)
    options = parser.parse_args()
    mp.mp.dps = 25
    libraries = {n: importlib.import_module(n) for n in ("ferrograd.torch", "torch", "scipy.special")}
    print("function and dtype", *libraries, sep=", ")
    for names, (formula, low, high) in FORMULAS.items():
        name, _, other = names.partition("=")
        for dtype in (np.float32, np.float64) if options.only in name else ():
            x = np.random.default_rng(1).uniform(low, high, options.points).astype(dtype)
            exact = [formula(mp.mpf(float(v))) for v in x]
            shown = []
            for library in libraries.values():
                functions = getattr(library, "special", library)
                call = getattr(functions, name, None) or getattr(functions, other or name, None)
                if call is None:
                    shown.append("–")
                    continue
                argument = library.tensor(x) if hasattr(library, "tensor") else x
                found = call(*[argument] * (2 if name in TWO else 1))
                shown.append(f"{error(np.asarray(found), exact):.3g}")
            print(f"{name} {dtype.__name__}", *shown, sep=", ", flush=True)


if __name__ == "__main__":
    main()
