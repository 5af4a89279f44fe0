"""The windows of ``torch``: weights that rise and fall, for the pieces of a signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, torch as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import placed
from ferrograd.torch._tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window", "stft"]

TURN = 6.283185307179586


def _window(
    function: str,
    formula: Callable[[Tensor], Tensor],
    length: int,
    periodic: bool,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A window from its formula, whose argument runs from 0 to 1. A periodic one lacks the last weight."""
    _core.check_device(function, device)
    length = _arguments.integer(length, function, "window_length")
    if length < 0:
        raise ArgumentError(f"{function} requires non-negative window_length, got window_length={length}")
    steps = length if periodic else length - 1
    places = ops.divide(ops.arange(0, length, 1, "float64"), max(steps, 1))
    weights = formula(places) if length > 1 else ops.ones([length], "float64")
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
    return _window(_function, lambda t: alpha - beta * ops.cos(t * TURN), window_length, periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)`` for ``t`` from 0 to 1. See :func:`hann_window`."""

    def formula(t: Tensor) -> Tensor:
        return 0.42 - 0.5 * ops.cos(t * TURN) + 0.08 * ops.cos(t * (2 * TURN))

    return _window("blackman_window", formula, window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: ``1 - |2 t - 1|`` for ``t`` from 0 to 1. See :func:`hann_window`."""
    return _window("bartlett_window", lambda t: 1 - ops.abs(2 * t - 1), window_length, periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (2 t - 1)**2)) / i0(beta)`` for ``t`` from 0 to 1. See :func:`hann_window`."""

    def formula(t: Tensor) -> Tensor:
        # The exponentially scaled function does not overflow.
        root = ops.sqrt(1 - ops.square(2 * t - 1))
        top = ops.multiply(ops.i0e(root * beta), ops.exp((root - 1) * abs(beta)))
        return top / ops.i0e(ops.full([1], beta, "float64"))

    return _window("kaiser_window", formula, window_length, periodic, **options)


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
