"""Windows: weights that rise and fall, for the pieces of a signal. Each formula is computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _cosines(*factors: float) -> Callable[[np.ndarray], np.ndarray]:
    """The window ``a[0] - a[1] cos(2 pi x) + a[2] cos(4 pi x) - ...`` for ``x`` from 0 to 1."""

    def window(n: np.ndarray) -> np.ndarray:
        turns = 2 * math.pi * n / (len(n) - 1) - math.pi
        return np.sum([a * np.cos(k * turns) for k, a in enumerate(factors)], axis=0)

    return window


def _distances(n: np.ndarray) -> np.ndarray:
    """How far each weight is from the middle, where the ends are 1 away from it."""
    return np.abs(2 * n / (len(n) - 1) - 1)


def _kaiser(n: np.ndarray, beta: float) -> np.ndarray:
    found: np.ndarray = np.i0(beta * np.sqrt(1 - _distances(n) ** 2)) / np.i0(beta)
    return found


def _gaussian(n: np.ndarray, std: float) -> np.ndarray:
    return _general_gaussian(n, 1.0, std)


def _general_gaussian(n: np.ndarray, p: float, sig: float) -> np.ndarray:
    return np.exp(-0.5 * np.abs((n - (len(n) - 1) / 2) / sig) ** (2 * p))


def _exponential(n: np.ndarray, center: float | None = None, tau: float = 1.0) -> np.ndarray:
    return np.exp(-np.abs(n - ((len(n) - 1) / 2 if center is None else center)) / tau)


def _triang(n: np.ndarray) -> np.ndarray:
    return 1 - np.abs(2 * n - (len(n) - 1)) / (len(n) + len(n) % 2)


def _bohman(n: np.ndarray) -> np.ndarray:
    x = _distances(n)
    return (1 - x) * np.cos(math.pi * x) + np.sin(math.pi * x) / math.pi


def _tukey(n: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(len(n))
    return 0.5 - 0.5 * np.cos(math.pi * np.minimum((1 - _distances(n)) / min(alpha, 1), 1))


def _taylor(n: np.ndarray, nbar: int = 4, sll: float = 30, norm: bool = True) -> np.ndarray:
    # Source: W. Carrara et al., "Spotlight Synthetic Aperture Radar: Signal Processing Algorithms" (1995), appendix D.
    a = math.acosh(10 ** (sll / 20)) / math.pi
    spread = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    m = np.arange(1, nbar)
    above = np.prod(1 - m[:, None] ** 2 / spread / (a**2 + (m - 0.5) ** 2), axis=1)
    others = np.where(np.eye(nbar - 1), 0, (m[:, None] / m) ** 2)
    factors = -((-1.0) ** m) * above / (2 * np.prod(1 - others, axis=1))

    def at(places: Any) -> Any:
        turns = 2 * math.pi * (np.asarray(places) - len(n) / 2 + 0.5) / len(n)
        return 1 + 2 * np.cos(np.multiply.outer(turns, m)) @ factors

    found: np.ndarray = at(n) / (at((len(n) - 1) / 2) if norm else 1)
    return found


_FORMULAS: dict[str, Callable[..., np.ndarray]] = {
    "bartlett": lambda n: 1 - _distances(n),
    "blackman": _cosines(0.42, 0.5, 0.08),
    "bohman": _bohman,
    "cosine": lambda n: np.sin(math.pi / len(n) * (n + 0.5)),
    "exponential": _exponential,
    "gaussian": _gaussian,
    "general_gaussian": _general_gaussian,
    "hamming": _cosines(0.54, 0.46),
    "hann": _cosines(0.5, 0.5),
    "kaiser": _kaiser,
    "nuttall": _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "taylor": _taylor,
    "triang": _triang,
    "tukey": _tukey,
}


def _made(
    function: str, formula: Callable[..., np.ndarray], parameters: Any, length: Any, periodic: bool, dtype: Any
) -> Tensor:
    """The weights of a formula, whose argument is 0, 1, ... A periodic window lacks the last one."""
    length = _arguments.integer(length, function, "the length of the window")
    if length < 0:
        raise ArgumentError(f"{function}: the length of the window is not negative, but {length}")
    weights = np.ones(length)
    if length > 1:
        weights = formula(np.arange(length + bool(periodic), dtype=np.float64), *parameters)[:length]
    made: Tensor = _core.make(weights, dtype, False, PADDLE)
    return made


def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: Any = "float64") -> Tensor:
    """The window with a name, or with a tuple of a name and the numbers of its formula: [win_length].

    The names: "bartlett", "blackman", "bohman", "cosine", "exponential" (center, tau), "gaussian" (std),
    "general_gaussian" (p, sig), "hamming", "hann", "kaiser" (beta), "nuttall", "taylor" (nbar, sll, norm), "triang" and
    "tukey" (alpha). With ``fftbins`` the window is periodic: it lacks the last weight of a symmetric one.

    Raises:
        ArgumentError: no such window, or numbers that its formula does not take.

    >>> import ferrograd.paddle as paddle
    >>> paddle.audio.functional.get_window("hann", 4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    name, *parameters = window if isinstance(window, tuple) and window else (window,)
    if not isinstance(name, str) or name not in _FORMULAS:
        raise ArgumentError(f"get_window: Unknown window type: {name!r}; it is one of {', '.join(_FORMULAS)}")
    if not parameters and name in ("exponential", "gaussian", "general_gaussian", "kaiser"):
        raise ArgumentError(f"get_window: The {name!r} window needs one or more parameters -- pass a tuple.")
    if name == "exponential" and not fftbins and parameters[0] is not None:
        raise ArgumentError("get_window: If sym==True, center must be None.")
    try:
        return _made("get_window", _FORMULAS[name], parameters, win_length, fftbins, dtype)
    except ArgumentError:
        raise
    except TypeError as error:
        raise ArgumentError(f"get_window: {name!r} does not take the numbers {parameters}") from error


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``sin(pi x)**2`` for ``x`` from 0 to 1; a periodic window lacks the last weight.

    The options are ``dtype`` (float32) and ``requires_grad``; ``layout``, ``device`` and ``pin_memory`` change nothing.

    >>> import ferrograd.paddle as paddle
    >>> paddle.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _named("hann_window", _FORMULAS["hann"], window_length, periodic, **options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """``alpha - beta cos(2 pi x)`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("hamming_window", _cosines(alpha, beta), window_length, periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("blackman_window", _FORMULAS["blackman"], window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: ``1 - |2 x - 1|`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("bartlett_window", _FORMULAS["bartlett"], window_length, periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (2 x - 1)**2)) / i0(beta)`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("kaiser_window", lambda n: _kaiser(n, beta), window_length, periodic, **options)


def _named(
    function: str,
    formula: Callable[[np.ndarray], np.ndarray],
    length: int,
    periodic: bool,
    *,
    dtype: Any = "float32",
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    _core.check_device(function, device)
    made = _made(function, formula, (), length, periodic, "float32" if dtype is None else dtype)
    made.stop_gradient = not requires_grad
    return made
