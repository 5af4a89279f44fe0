"""Windows with Paddle's names and parameters. Each is computed in float64."""

from __future__ import annotations

import functools
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions import signal
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


_FORMULAS: dict[str, signal.Formula] = {
    "bartlett": signal.triangle,
    "blackman": signal.cosines(0.42, 0.5, 0.08),
    "bohman": signal.bohman,
    "cosine": signal.half_wave,
    "exponential": signal.exponential,
    "gaussian": signal.gaussian,
    "general_gaussian": signal.general_gaussian,
    "hamming": signal.cosines(0.54, 0.46),
    "hann": signal.cosines(0.5, 0.5),
    "kaiser": signal.kaiser,
    "nuttall": signal.cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "taylor": signal.taylor,
    "triang": signal.triangle_above_zero,
    "tukey": signal.tukey,
}


def _made(function: str, formula: signal.Formula, parameters: Any, length: Any, periodic: bool, dtype: Any) -> Tensor:
    """The weights of a formula of the shared room. A periodic window lacks the last one."""
    length = _arguments.integer(length, function, "the length of the window")
    if length < 0:
        raise ArgumentError(f"{function}: the length of the window is not negative, but {length}")
    weights = signal.weights(formula, ops.arange(0, length, 1, "float64"), bool(periodic), *parameters)
    made: Tensor = ops.cast(weights, dtype)
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
    return _named("hamming_window", signal.cosines(alpha, beta), window_length, periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("blackman_window", _FORMULAS["blackman"], window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: ``1 - |2 x - 1|`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("bartlett_window", _FORMULAS["bartlett"], window_length, periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (2 x - 1)**2)) / i0(beta)`` for ``x`` from 0 to 1. See :func:`hann_window`."""
    return _named("kaiser_window", functools.partial(signal.kaiser, beta=beta), window_length, periodic, **options)


def _named(
    function: str,
    formula: signal.Formula,
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
