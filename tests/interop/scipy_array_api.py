"""What SciPy's functions do with a tracked tensor where ``SCIPY_ARRAY_API=1`` is set. SciPy reads it when imported.

``python -m tests.interop.scipy_array_api`` prints a line of JSON: what became of the tensor, by function.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ferrograd as fg
import numpy as np

VECTOR = np.array([0.25, 0.5, 0.7, 0.8, 0.9, 0.95])
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
INDEX = np.arange(1, 7)


def calls() -> dict[str, Callable[..., Any]]:
    """Functions of SciPy, each of a vector or a matrix."""
    import scipy.cluster.vq
    import scipy.fft
    import scipy.integrate
    import scipy.linalg
    import scipy.ndimage
    import scipy.signal
    import scipy.special
    import scipy.stats

    modules = {
        scipy.cluster.vq: "whiten",
        scipy.fft: "fft rfft dct fftshift",
        scipy.integrate: "trapezoid simpson cumulative_trapezoid romb",
        scipy.linalg: "inv det norm expm svdvals pinv cholesky",
        scipy.ndimage: "gaussian_filter1d uniform_filter median_filter sobel zoom",
        scipy.signal: "detrend hilbert medfilt",
        scipy.special: "softmax log_softmax logsumexp softplus",
        scipy.stats: "gmean hmean zscore skew kurtosis entropy sem iqr tmean variation differential_entropy"
        " ttest_ind pearsonr",
    }
    arguments = {"gaussian_filter1d": (1.0,), "zoom": (2.0,), "ttest_ind": (VECTOR**2,), "pearsonr": (VECTOR**2,)}
    found: dict[str, Callable[..., Any]] = {}
    for module, names in modules.items():
        for name in names.split():
            # A function that this version of SciPy does not have is left out.
            if f := getattr(module, name, None):
                found[f"{module.__name__}.{name}"] = partial(_first, f, arguments.get(name, ()))
    return found


def _first(f: Callable[..., Any], rest: tuple[Any, ...], x: Any) -> Any:
    return f(x, *(fg.tensor(r) if isinstance(r, np.ndarray) else r for r in rest))


def special() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """The elementwise functions of ``scipy.special``, with arguments."""
    import scipy.special
    from scipy.special import _support_alternative_backends as inventory

    found: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
    for info in inventory._special_funcs:
        whole = info.int_only or (False,) * info.n_args
        found[info.name] = getattr(scipy.special, info.name), [INDEX if w else VECTOR for w in whole]
    return found


def _arrays(value: Any) -> Iterator[Any]:
    """The tensors and arrays in a result."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)
    else:
        yield value


def tracked(a: Any) -> Any:
    """A float array as a tracked tensor, another one as a tensor."""
    return fg.tensor(a, requires_grad=True) * 1.0 if a.dtype.kind == "f" else fg.tensor(a)


def outcome(f: Callable[..., Any], arguments: list[Any]) -> str:
    """What becomes of tracked arguments: ``tracks``, ``raises`` or ``lost``."""
    try:
        found = f(*map(tracked, arguments))
    except (TypeError, AttributeError, ValueError) as refusal:
        return f"raises {type(refusal).__name__}"
    return "tracks" if any(getattr(part, "requires_grad", False) for part in _arrays(found)) else "lost"


def slope(f: Callable[..., Any], arguments: list[Any]) -> bool:
    """Whether the gradient of the sum of a function is that of differences."""
    x = [fg.tensor(a, requires_grad=True) for a in arguments]
    step = 1e-6
    for i, g in enumerate(fg.grad(fg.sum(f(*x)), x)):
        sides = [[a + sign * step if i == k else a for k, a in enumerate(arguments)] for sign in (1, -1)]
        up, down = (np.asarray(f(*map(fg.tensor, side))) for side in sides)
        if not np.allclose(np.asarray(g), (up - down) / (2 * step), rtol=1e-5, atol=1e-6):
            return False
    return True


def main() -> None:
    """Prints what each function does."""
    os.environ["SCIPY_ARRAY_API"] = "1"
    warnings.simplefilter("ignore")
    found, values, slopes = {}, {}, {}
    with np.errstate(all="ignore"):
        for name, f in calls().items():
            matrix = name.startswith("scipy.linalg") or name.endswith("whiten")
            found[name] = outcome(f, [MATRIX if matrix else VECTOR])
        for name, (f, arguments) in special().items():
            if name == "multigammaln":
                continue
            found[f"scipy.special.{name}"] = what = outcome(f, arguments)
            plain = np.asarray(f(*map(fg.tensor, arguments)))
            values[name] = bool(np.allclose(plain, f(*arguments), equal_nan=True))
            if what == "tracks":
                slopes[name] = slope(f, arguments)
    print(json.dumps([found, values, slopes]))


if __name__ == "__main__":
    main()
