"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case, normal

EVEN, ODD = normal(3, 6), normal(2, 5, seed=1)
COMPLEX = normal(3, 4) + 1j * normal(3, 4, seed=2)
CUBE = normal(2, 3, 4, seed=3)
EMPTY = np.zeros((0, 4))


def of(name: str, inputs: list[Any], *options: dict[str, Any], ref: Callable[..., Any] | None = None) -> list[Case]:
    """A function with each of these options, on each of these inputs."""
    return [Case(f"fft.{name}", (x,), kw=kw, ref=ref or getattr(np.fft, name)) for x in inputs for kw in options]


def hermitian(x: np.ndarray, s: Any = None, axes: Any = None, norm: str = "backward") -> np.ndarray:
    """``hfftn``, which NumPy has for one axis only."""
    swapped: Any = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return np.asarray(np.fft.irfftn(np.conj(x), s, range(x.ndim) if axes is None else axes, norm=swapped))


def inverse_hermitian(x: np.ndarray, s: Any = None, axes: Any = None, norm: str = "backward") -> np.ndarray:
    """``ihfftn``."""
    swapped: Any = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return np.asarray(np.conj(np.fft.rfftn(x, s, range(x.ndim) if axes is None else axes, norm=swapped)))


LINES: list[dict[str, Any]] = [{}, {"n": 5, "norm": "ortho"}, {"n": 4, "axis": 0, "norm": "forward"}]
PLANES: list[dict[str, Any]] = [{}, {"s": (3, 5), "axes": (1, 0), "norm": "ortho"}]
SPACES: list[dict[str, Any]] = [{"axes": (0, 1)}, {"s": (2, 3), "axes": (0, 1), "norm": "forward"}]
N = 8


def parts(x: np.ndarray, window: np.ndarray, hop: int, center: bool) -> np.ndarray:
    """The parts of the last axis, windowed: the axes (…, part, element)."""
    n = len(window)
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)], mode="reflect")
    starts = range(0, x.shape[-1] - n + 1, hop)
    return np.stack([x[..., i : i + n] * window for i in starts], -2)


def stft(x: np.ndarray, n_fft: int, hop_length: int = 2, center: bool = True, **_: Any) -> np.ndarray:
    whole = parts(x, np.ones(n_fft), hop_length, center)
    return np.swapaxes(np.fft.fft(whole) if np.iscomplexobj(x) else np.fft.rfft(whole), -1, -2)


def stft_with_window(x: np.ndarray, n_fft: int, hop: int, _: None, window: np.ndarray) -> np.ndarray:
    return np.swapaxes(np.fft.rfft(parts(x, window, hop, True)), -1, -2)


def istft(x: np.ndarray, n_fft: int, hop_length: int, length: int | None = None) -> np.ndarray:
    pieces = np.fft.irfft(np.swapaxes(x, -1, -2), n_fft)
    n = n_fft + hop_length * (pieces.shape[-2] - 1)
    whole, weight = np.zeros((*x.shape[:-2], n)), np.zeros(n)
    for i in range(pieces.shape[-2]):
        at = slice(i * hop_length, i * hop_length + n_fft)
        whole[..., at] += pieces[..., i, :]
        weight[at] += 1
    cut = slice(n_fft // 2, n - n_fft // 2 if length is None else n_fft // 2 + length)
    return whole[..., cut] / weight[cut]


SPECTRA = stft(normal(2, 12, seed=4), N, 2)

CASES = [
    *of("fft", [EVEN, COMPLEX, EMPTY], *LINES),
    *of("ifft", [ODD, COMPLEX], *LINES),
    *of("rfft", [EVEN, ODD, EMPTY], *LINES),
    *of("irfft", [COMPLEX, ODD], *LINES, {"n": 7}),
    *of("hfft", [COMPLEX, ODD], *LINES, {"n": 7}),
    *of("ihfft", [EVEN, ODD], *LINES),
    *(row for name in ("fft2", "ifft2", "irfft2") for row in of(name, [COMPLEX], *PLANES)),
    *of("rfft2", [EVEN, ODD], *PLANES),
    *of("hfft2", [COMPLEX], {"axes": (0, 1)}, PLANES[1], ref=hermitian),
    *of("ihfft2", [ODD], {"axes": (0, 1)}, PLANES[1], ref=inverse_hermitian),
    *(row for name in ("fftn", "ifftn", "irfftn") for row in of(name, [CUBE * (1 + 2j)], {}, *SPACES)),
    *of("rfftn", [CUBE], {}, *SPACES),
    *of("hfftn", [CUBE * (1 + 2j)], {}, *SPACES, ref=hermitian),
    *of("ihfftn", [CUBE], {}, *SPACES, ref=inverse_hermitian),
    *of("fftshift", [ODD, COMPLEX], {}, {"axes": (1,)}),
    *of("ifftshift", [ODD, COMPLEX], {}, {"axes": (1,)}),
    *(
        Case(f"fft.{name}", (), lead=(n, 0.5), kw={"dtype": "float64"}, ref=ref, order=0)
        for name, f in [("fftfreq", np.fft.fftfreq), ("rfftfreq", np.fft.rfftfreq)]
        for ref in [lambda n, d, dtype, f=f: f(n, d)]
        for n in (1, 2, 5)
    ),
    Case("stft", (normal(12),), kw={"n_fft": N, "hop_length": 2}, ref=stft),
    Case("stft", (normal(2, 12),), kw={"n_fft": N, "hop_length": 3, "center": False}, ref=stft),
    Case("stft", (COMPLEX,), kw={"n_fft": 3, "hop_length": 1}, ref=stft),
    Case("stft", (normal(12), normal(N)), ref=stft_with_window, prepare=lambda x, window: (x, N, 3, None, window)),
    Case("istft", (SPECTRA,), kw={"n_fft": N, "hop_length": 2}, ref=istft),
    Case("istft", (SPECTRA[0],), kw={"n_fft": N, "hop_length": 2, "length": 7}, ref=istft),
]
