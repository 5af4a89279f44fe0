"""``paddle.audio.functional``: windows, the mel scale, decibels and the matrices that make features of spectra.

Source of the mel scale: M. Slaney, "Auditory Toolbox" (1998), linear below 1000 Hz and logarithmic above; with ``htk``
S. Young et al., "The HTK Book".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._functions.signal import get_window
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "compute_fbank_matrix",
    "create_dct",
    "fft_frequencies",
    "get_window",
    "hz_to_mel",
    "mel_frequencies",
    "mel_to_hz",
    "power_to_db",
]

#: The scale is linear up to this frequency, where the mel is 15.
_BEND = 1000.0
_HZ_PER_MEL = 200.0 / 3
#: The logarithm of the ratio of frequencies that are one mel apart, above the bend.
_STEP = math.log(6.4) / 27


def hz_to_mel(freq: Any, htk: bool = False) -> Any:
    """Frequencies in mels: a tensor for a tensor, a float for a number. Gradients flow through a tensor.

    >>> import ferrograd.paddle as paddle
    >>> paddle.audio.functional.hz_to_mel(200.0)
    3.0
    """
    m: Any = ops if isinstance(freq, _core.Tensor) else np
    if htk:
        mel = 2595.0 * m.log10(1.0 + freq / 700.0)
    else:
        above = _BEND / _HZ_PER_MEL + m.log(m.clip(freq, _BEND, None) / _BEND) / _STEP
        mel = m.where(freq > _BEND, above, freq / _HZ_PER_MEL)
    return mel if m is ops or np.ndim(mel) else float(mel)


def mel_to_hz(mel: Any, htk: bool = False) -> Any:
    """Mels as frequencies: the inverse of :func:`hz_to_mel`.

    >>> import ferrograd.paddle as paddle
    >>> round(paddle.audio.functional.mel_to_hz(3.0), 3)
    200.0
    """
    m: Any = ops if isinstance(mel, _core.Tensor) else np
    if htk:
        freq = 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    else:
        bend = _BEND / _HZ_PER_MEL
        freq = m.where(mel > bend, _BEND * m.exp(_STEP * (m.clip(mel, bend, None) - bend)), mel * _HZ_PER_MEL)
    return freq if m is ops or np.ndim(freq) else float(freq)


def _made(values: np.ndarray, dtype: Any) -> Tensor:
    found: Tensor = _core.make(values, dtype, False, PADDLE)
    return found


def _mels(count: int, low: float, high: float, htk: bool) -> np.ndarray:
    found: np.ndarray = mel_to_hz(_line(hz_to_mel(low, htk), hz_to_mel(high, htk), count), htk)
    return found


def _line(low: float, high: float, count: int) -> np.ndarray:
    # The core refuses what is too large for memory, which NumPy does not.
    found: np.ndarray = ops.linspace(low, high, count, "float64").numpy()
    return found


def mel_frequencies(
    n_mels: int = 64, f_min: float = 0.0, f_max: float = 11025.0, htk: bool = False, dtype: Any = "float32"
) -> Tensor:
    """Frequencies from ``f_min`` to ``f_max`` that are equally far apart in mels: [n_mels]."""
    count = _arguments.integer(n_mels, "mel_frequencies", "n_mels")
    return _made(_mels(count, f_min, f_max, htk), dtype)


def fft_frequencies(sr: int, n_fft: int, dtype: Any = "float32") -> Tensor:
    """The frequencies of a transform of ``n_fft`` numbers, at ``sr`` of them a second: [n_fft // 2 + 1].

    They end at ``sr / 2``, as in Paddle, also where ``n_fft`` is odd.
    """
    return _made(_line(0.0, sr / 2, _arguments.integer(n_fft, "fft_frequencies", "n_fft") // 2 + 1), dtype)


def compute_fbank_matrix(
    sr: int,
    n_fft: int,
    n_mels: int = 64,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: Any = "slaney",
    dtype: Any = "float32",
) -> Tensor:
    """Triangles over the frequencies of a transform, each from one mel frequency to the next but one.

    The shape is [n_mels, n_fft // 2 + 1]. With "slaney" as ``norm`` all triangles have the same area; with a number the
    norm of that order of each row is 1.

    >>> import ferrograd.paddle as paddle
    >>> list(paddle.audio.functional.compute_fbank_matrix(16000, 512).shape)
    [64, 257]
    """
    n_mels = _arguments.integer(n_mels, "compute_fbank_matrix", "n_mels")
    mels = _mels(n_mels + 2, f_min, sr / 2 if f_max is None else f_max, htk)
    given = _line(0.0, sr / 2, _arguments.integer(n_fft, "compute_fbank_matrix", "n_fft") // 2 + 1)
    ramps, widths = mels[:, None] - given, np.diff(mels)[:, None]
    weights = np.maximum(0, np.minimum(-ramps[:-2] / widths[:-1], ramps[2:] / widths[1:]))
    if norm == "slaney":
        weights *= 2 / (mels[2:] - mels[:-2])[:, None]
    elif isinstance(norm, int | float):
        weights /= np.maximum(np.linalg.norm(weights, norm, axis=-1, keepdims=True), 1e-12)
    return _made(weights, dtype)


def power_to_db(spect: Tensor, ref_value: float = 1.0, amin: float = 1e-10, top_db: float | None = 80.0) -> Tensor:
    """Powers in decibels of ``ref_value``: ``10 log10(spect / ref_value)``.

    Powers below ``amin`` count as ``amin``, and results more than ``top_db`` below the largest one are raised to there.
    Gradients flow through the others.

    Raises:
        ArgumentError: ``amin`` or ``ref_value`` is not positive, or ``top_db`` is negative.

    >>> import ferrograd.paddle as paddle
    >>> paddle.audio.functional.power_to_db(paddle.to_tensor([1.0, 100.0])).tolist()
    [0.0, 20.0]
    """
    spect = _arguments.tensor(spect, "power_to_db", "spect")
    for name, value in (("amin", amin), ("ref_value", ref_value)):
        if not value > 0:
            raise ArgumentError(f"power_to_db: {name} must be strictly positive")
    if top_db is not None and top_db < 0:
        raise ArgumentError("power_to_db: top_db must be non-negative")
    found = 10.0 * ops.log10(ops.clip(spect, amin, None)) - 10.0 * math.log10(max(ref_value, amin))
    return found if top_db is None else ops.maximum(found, ops.max(found) - top_db)


def create_dct(n_mfcc: int, n_mels: int, norm: str | None = "ortho", dtype: Any = "float32") -> Tensor:
    """The matrix [n_mels, n_mfcc] of the discrete cosine transform of type 2; "ortho" makes its columns orthonormal.

    Raises:
        ArgumentError: another ``norm`` than "ortho" or None.
    """
    if norm not in (None, "ortho"):
        raise ArgumentError(f"create_dct: norm is 'ortho' or None, not {norm!r}")
    count, size = (_arguments.integer(n, "create_dct", name) for n, name in ((n_mfcc, "n_mfcc"), (n_mels, "n_mels")))
    matrix = 2 * np.cos(math.pi / size * np.multiply.outer(np.arange(size) + 0.5, np.arange(count)))
    if norm == "ortho":
        matrix *= math.sqrt(0.5 / size)
        matrix[:, :1] *= math.sqrt(0.5)
    return _made(matrix, dtype)


__dir__ = _public.names(globals())
