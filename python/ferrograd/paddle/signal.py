"""``paddle.signal``."""

from __future__ import annotations

import numpy as np

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions.segments import reduced
from ferrograd._functions.shapes import windows
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._tensor import Tensor

__all__ = ["frame", "istft", "overlap_add", "stft"]


def frame(x: Tensor, frame_length: int, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """The pieces of ``frame_length`` elements along the last axis (-1) or the first (0), ``hop_length`` apart.

    With the last axis the pieces are columns: [..., frame_length, frames]; with the first rows: [frames,
    frame_length, ...].

    Raises:
        ArgumentError: another axis.

    >>> import ferrograd.paddle as paddle
    >>> frame(paddle.arange(5), 3, 2).tolist()
    [[0, 2], [1, 3], [2, 4]]
    """
    _check_axis("frame", axis)
    if _arguments.integer(frame_length, "frame", "frame_length") < 1:
        raise ArgumentError(f"frame: frame_length is positive, not {frame_length}")
    found: Tensor = windows(x, axis, frame_length, hop_length)
    # The elements of a piece are the last axis of ``windows``.
    return ops.matrix_transpose(found) if axis == -1 else ops.moveaxis(found, -1, 1)


def overlap_add(x: Tensor, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """The sum of pieces that begin ``hop_length`` apart: what :func:`frame` takes apart, put together.

    Raises:
        ArgumentError: another axis than -1 or 0.

    >>> import ferrograd.paddle as paddle
    >>> overlap_add(paddle.to_tensor([[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]]), 2).tolist()
    [0.0, 1.0, 4.0, 3.0, 4.0]
    """
    _check_axis("overlap_add", axis)
    x = _arguments.tensor(x, "overlap_add", "x")
    hop = _arguments.integer(hop_length, "overlap_add", "hop_length")
    if hop < 1 or x.ndim < 2:
        raise ArgumentError(f"overlap_add: hop_length {hop} is not positive, or {list(x.shape)} has no two axes")
    # [frame_length, frames, ...]
    pieces = ops.moveaxis(x, [-2, -1], [0, 1]) if axis == -1 else ops.moveaxis(x, 1, 0)
    length, count = pieces.shape[0], pieces.shape[1]
    at = np.add.outer(np.arange(length), hop * np.arange(count)).ravel()
    rows = ops.reshape(pieces, [length * count, *pieces.shape[2:]])
    found: Tensor = reduced(rows, at, length + hop * (count - 1) if count else 0, "sum", 0.0)
    return ops.moveaxis(found, 0, -1) if axis == -1 else found


def _check_axis(function: str, axis: int) -> None:
    if axis not in (0, -1):
        raise ArgumentError(f"{function}: the axis is 0 or -1, not {axis}")


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    name: str | None = None,
) -> Tensor:
    """The frequencies of parts of real or complex signals, as :func:`ferrograd.stft`: [..., frequencies, parts].

    Raises:
        ArgumentError: a part is longer than the signal.

    >>> import ferrograd.paddle as paddle
    >>> list(stft(paddle.ones([8]), 4).shape)
    [3, 9]
    """
    x = _arguments.tensor(x, "stft", "x")
    if x.ndim and not 0 < _arguments.integer(n_fft, "stft", "n_fft") <= x.shape[-1]:
        raise ArgumentError(f"stft: n_fft should be in (0, seq_length({x.shape[-1]})], but got {n_fft}.")
    return ops.stft(x, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided)


def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> Tensor:
    """The signals of which these are the frequencies of parts, as ``stft`` gives them."""
    return ops.istft(x, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)


__dir__ = _public.names(globals())
