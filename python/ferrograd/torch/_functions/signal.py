"""The windows of ``torch``, and ``stft``."""

from __future__ import annotations

import functools
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, torch as ops
from ferrograd._functions import signal
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import placed
from ferrograd.torch._tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window", "stft"]


def made_window(
    function: str,
    formula: signal.Formula,
    length: int,
    periodic: bool,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The weights of a formula of the shared room. A periodic window lacks the last one."""
    _core.check_device(function, device)
    length = _arguments.integer(length, function, "window_length")
    if length < 0:
        raise ArgumentError(f"{function} requires non-negative window_length, got window_length={length}")
    weights = signal.weights(formula, ops.arange(0, length, 1, "float64"), periodic)
    weights = ops.astype(weights, ops.get_default_dtype() if dtype is None else dtype)
    if weights.dtype.kind != "f":
        raise ArgumentError(f"{function} expects floating point dtypes, got: {weights.dtype}")
    return placed(weights, None, requires_grad)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``sin(pi t)**2`` for ``t`` from 0 to 1; a periodic window lacks the last weight.

    The options are those of creation: ``dtype``, ``layout``, ``device`` and ``requires_grad``.

    >>> import ferrograd.torch as torch
    >>> torch.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return hamming_window(window_length, periodic, 0.5, 0.5, _function="hann_window", **options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    _function: str = "hamming_window",
    **options: Any,
) -> Tensor:
    """``alpha - beta cos(2 pi t)`` for ``t`` from 0 to 1. See :func:`hann_window`."""
    return made_window(_function, signal.cosines(alpha, beta), window_length, periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)`` for ``t`` from 0 to 1. See :func:`hann_window`."""
    return made_window("blackman_window", signal.cosines(0.42, 0.5, 0.08), window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: ``1 - |2 t - 1|`` for ``t`` from 0 to 1. See :func:`hann_window`."""
    return made_window("bartlett_window", signal.triangle, window_length, periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (2 t - 1)**2)) / i0(beta)`` for ``t`` from 0 to 1. See :func:`hann_window`."""
    formula = functools.partial(signal.kaiser, beta=beta)
    return made_window("kaiser_window", formula, window_length, periodic, **options)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The frequencies of short parts of signals. Real signals need ``return_complex``, as in torch."""
    if align_to_window:
        raise ArgumentError("stft: align_to_window is not taken")
    if return_complex is None:
        _arguments.tensor(input, "stft", "input")
        if not any(isinstance(x, Tensor) and x.is_complex() for x in (input, window)):
            raise ArgumentError("stft requires the return_complex parameter be given for real inputs")
        return_complex = True
    return ops.stft(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex
    )
