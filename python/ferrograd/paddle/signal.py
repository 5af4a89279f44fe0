"""``paddle.signal``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._core import paddle as _ops
from ferrograd._core.paddle import stft
from ferrograd.paddle._tensor import Tensor

__all__ = ["istft", "stft"]


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
    return _ops.istft(x, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)


__dir__ = _public.names(globals())
