"""``torch.signal.windows``: weights that fade out at both ends.

Each takes the number of weights ``M`` and the options of creation: ``dtype``, ``layout``, ``device`` and
``requires_grad``. Without ``sym`` the window is one period of a longer one, which lacks the last weight.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._functions import signal
from ferrograd._kit import public as _public
from ferrograd.torch._functions.signal import bartlett_window, kaiser_window, made_window
from ferrograd.torch._tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _positive(function: str, name: str, value: float) -> float:
    if value <= 0:
        raise ArgumentError(f"{function}: {name} must be positive, got: {value} instead.")
    return value


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle: ``1 - |2 t - 1|`` for ``t`` from 0 to 1."""
    return bartlett_window(M, not sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a wave: ``sin(pi (n + 0.5) / M)``.

    >>> import ferrograd.torch as torch
    >>> [round(w, 4) for w in torch.signal.windows.cosine(3).tolist()]
    [0.5, 1.0, 0.5]
    """
    return made_window("cosine", signal.half_wave, M, not sym, **options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """``exp(-|n - center| / tau)``; the center is the middle, and may be another place where not ``sym``."""
    _positive("exponential", "Tau", tau)
    if sym and center is not None:
        raise ArgumentError("Center must be None for symmetric windows")
    formula = functools.partial(signal.exponential, center=center, tau=tau)
    return made_window("exponential", formula, M, not sym, **options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """``exp(-((n - middle) / std)**2 / 2)``."""
    _positive("gaussian", "Standard deviation", std)
    return made_window("gaussian", functools.partial(signal.gaussian, std=std), M, not sym, **options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """``a[0] - a[1] cos(2 pi t) + a[2] cos(4 pi t) - ...`` for ``t`` from 0 to 1."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ArgumentError("Coefficients cannot be empty")
    return made_window("general_cosine", signal.cosines(*weights), M, not sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """:func:`general_cosine` with 0.42, 0.5 and 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """:func:`general_cosine` with ``alpha`` and ``1 - alpha``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """:func:`general_hamming` with 0.54."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """:func:`general_hamming` with 0.5: ``sin(pi t)**2`` for ``t`` from 0 to 1."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (2 t - 1)**2)) / i0(beta)`` for ``t`` from 0 to 1."""
    if beta < 0:
        raise ArgumentError(f"beta must be non-negative, got: {beta} instead.")
    return kaiser_window(M, not sym, beta, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """:func:`general_cosine` with 0.3635819, 0.4891775, 0.1365995 and 0.0106411."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


__dir__ = _public.names(globals())
