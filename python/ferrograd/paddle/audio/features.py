"""``paddle.audio.features``: layers that make spectra of sounds, [batch, time]. Gradients flow to the sounds."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.audio.functional import compute_fbank_matrix, create_dct, get_window, power_to_db
from ferrograd.paddle.nn import Layer

__all__ = ["MFCC", "LogMelSpectrogram", "MelSpectrogram", "Spectrogram"]


class Spectrogram(Layer):
    """The size of the frequencies of short parts, to the power ``power``: [batch, n_fft // 2 + 1, parts].

    The window is one of :func:`paddle.audio.functional.get_window`; the other arguments are those of
    :func:`paddle.signal.stft`.

    >>> import ferrograd.paddle as paddle
    >>> list(paddle.audio.features.Spectrogram(16, 8)(paddle.ones([1, 32])).shape)
    [1, 9, 5]
    """

    fft_window: Tensor

    def __init__(
        self,
        n_fft: int = 512,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 1.0,
        center: bool = True,
        pad_mode: str = "reflect",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if not power > 0:
            raise ArgumentError("Spectrogram: Power of spectrogram must be > 0.")
        self.power = power
        self._parts = (n_fft, hop_length, n_fft if win_length is None else win_length)
        self._edges = (center, pad_mode)
        self.register_buffer("fft_window", get_window(window, self._parts[2], True, dtype))

    def forward(self, x: Tensor) -> Tensor:
        """The spectrogram of sounds [batch, time]."""
        return ops.pow(ops.abs(ops.stft(x, *self._parts, self.fft_window, *self._edges)), self.power)


class MelSpectrogram(Layer):
    """The spectrogram, summed over triangles of frequencies: [batch, n_mels, parts].

    The triangles are those of :func:`paddle.audio.functional.compute_fbank_matrix`, the other arguments those of
    :class:`Spectrogram`.
    """

    fbank_matrix: Tensor

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._spectrogram = Spectrogram(n_fft, hop_length, win_length, window, power, center, pad_mode, dtype)
        self.n_mels, self.f_min, self.f_max, self.htk, self.norm = n_mels, f_min, f_max, htk, norm
        highest = sr // 2 if f_max is None else f_max
        self.register_buffer("fbank_matrix", compute_fbank_matrix(sr, n_fft, n_mels, f_min, highest, htk, norm, dtype))

    def forward(self, x: Tensor) -> Tensor:
        """The spectrogram of sounds [batch, time]."""
        return ops.matmul(self.fbank_matrix, self._spectrogram(x))


class LogMelSpectrogram(Layer):
    """:class:`MelSpectrogram` in decibels, as :func:`paddle.audio.functional.power_to_db` gives them."""

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        parts = (n_fft, hop_length, win_length, window, power, center, pad_mode)
        self._melspectrogram = MelSpectrogram(sr, *parts, n_mels, f_min, f_max, htk, norm, dtype)
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def forward(self, x: Tensor) -> Tensor:
        """The spectrogram of sounds [batch, time]."""
        return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)


class MFCC(Layer):
    """The cosine transform of :class:`LogMelSpectrogram`: [batch, n_mfcc, parts]. The arguments are those of both.

    >>> import ferrograd.paddle as paddle
    >>> list(paddle.audio.features.MFCC(8000, 12, 64)(paddle.ones([1, 80])).shape)
    [1, 12, 6]
    """

    dct_matrix: Tensor

    def __init__(
        self,
        sr: int = 22050,
        n_mfcc: int = 40,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if n_mfcc > n_mels:
            raise ArgumentError(f"MFCC: n_mfcc cannot be larger than n_mels: {n_mfcc} vs {n_mels}")
        parts = (n_fft, hop_length, win_length, window, power, center, pad_mode)
        triangles = (n_mels, f_min, f_max, htk, norm)
        self._log_melspectrogram = LogMelSpectrogram(sr, *parts, *triangles, ref_value, amin, top_db, dtype)
        self.register_buffer("dct_matrix", create_dct(n_mfcc, n_mels, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """The coefficients of sounds [batch, time]."""
        return ops.matmul(ops.matrix_transpose(self.dct_matrix), self._log_melspectrogram(x))


__dir__ = _public.names(globals())
