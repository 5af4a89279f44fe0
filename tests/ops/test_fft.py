"""Fourier transforms: lengths of every kind, dtypes, refusals, and the functions of the dialects.

The table of cases checks values, derivatives of any order, tangents and batches.
"""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

LENGTHS = [*range(1, 34), 64, 97, 100, 128, 210, 243, 1000, 1009, 1024, 2310, 4093, 65537]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_kind_of_length(dtype: str) -> None:
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    for n in LENGTHS:
        x = np.random.default_rng(n).normal(size=(3, n)).astype(dtype)
        for name in ("fft", "ifft", "rfft", "ihfft"):
            want = getattr(np.fft, name)(x)
            got = getattr(fg.fft, name)(fg.tensor(x)).numpy()
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, atol=tolerance * np.sqrt(n) * abs(want).max(), err_msg=f"{name} {n}")
        half = fg.fft.rfft(fg.tensor(x))
        np.testing.assert_allclose(fg.fft.irfft(half, n).numpy(), x, atol=tolerance * 10, err_msg=f"irfft {n}")


def test_axes_in_any_order_of_any_layout() -> None:
    x = np.random.default_rng(0).normal(size=(70, 3, 40))
    t = fg.tensor(x)
    for order in [(0, 1, 2), (2, 0, 1), (1, 2, 0)]:
        for axes in [(0,), (1,), (2,), (0, 2), (2, 1), (1, 2, 0)]:
            y = fg.permute_dims(t, order)[::-1]
            want = np.transpose(x, order)[::-1]
            np.testing.assert_allclose(fg.fft.fftn(y, axes=axes).numpy(), np.fft.fftn(want, axes=axes), atol=1e-11)
            half = fg.fft.rfftn(y, axes=axes)
            np.testing.assert_allclose(half.numpy(), np.fft.rfftn(want, axes=axes), atol=1e-11)
            sizes = [want.shape[a] for a in axes]
            np.testing.assert_allclose(fg.fft.irfftn(half, sizes, axes).numpy(), want, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_the_gradient_of_half_of_the_frequencies_counts_each_of_them_once(n: int) -> None:
    x = fg.tensor(np.random.default_rng(n).normal(size=n))
    whole = np.fft.fft(np.eye(n))
    for f, matrix in [(fg.fft.rfft, whole[: n // 2 + 1]), (fg.fft.ihfft, whole.conj()[: n // 2 + 1] / n)]:
        np.testing.assert_allclose(func.jacrev(lambda x, f=f: f(x).real)(x).numpy(), matrix.real, atol=1e-12)
        np.testing.assert_allclose(func.jacrev(lambda x, f=f: f(x).imag)(x).numpy(), matrix.imag, atol=1e-12)
    m = n // 2 + 1
    columns = [np.fft.irfft(row, n) for row in np.eye(m)]
    turned = [np.fft.irfft(1j * row, n) for row in np.eye(m)]
    z = fg.tensor(np.ones(m, complex))
    for i in range(n):
        g = func.grad(lambda z, i=i: fg.fft.irfft(z, n)[i])(z).numpy()
        np.testing.assert_allclose(g, [a[i] + 1j * b[i] for a, b in zip(columns, turned, strict=True)], atol=1e-12)


def test_dtypes() -> None:
    assert fg.fft.fft(fg.tensor([1, 2])).dtype == fg.complex64
    assert fg.fft.rfft(fg.tensor([True, False])).dtype == fg.complex64
    assert fg.fft.irfft(fg.tensor([1.0, 2.0], dtype=fg.float64)).dtype == fg.float64
    assert fg.fft.fftfreq(3).dtype == fg.float32
    assert fg.fft.rfftfreq(3, dtype=fg.float64).dtype == fg.float64
    assert fg.fft.fftshift(fg.tensor([1, 2, 3])).tolist() == [3, 1, 2]


REFUSED: list[tuple[Any, str]] = [
    (lambda x: fg.fft.fft(x, 0), r"Invalid number of data points \(0\)"),
    (lambda x: fg.fft.fft(x, -1), r"Invalid number of data points \(-1\)"),
    (lambda x: fg.fft.fft(x, -2), "Invalid number"),
    (lambda x: fg.fft.irfft(x, axis=0, n=0), "Invalid number"),
    (lambda x: fg.fft.irfft(x[:, :1]), "Invalid number"),
    (lambda x: fg.fft.fft(x[:, :0]), "Invalid number"),
    (lambda x: fg.fft.fft(x, norm="half"), "norm is 'backward', 'ortho' or 'forward', not 'half'"),
    (lambda x: fg.fft.rfft(x + 1j), "expects a real signal, not complex64"),
    (lambda x: fg.fft.fftn(x, s=(1, 2, 3)), "3 lengths for the 2 axes"),
    (lambda x: fg.fft.fftn(x, s=(1,), axes=(0, 1)), "1 lengths for 2 axes"),
    (lambda x: fg.fft.fftn(x, axes=(0, 0)), "axis 0 appears multiple times"),
    (lambda x: fg.fft.rfftn(x, axes=()), "at least one axis"),
    (lambda x: fg.fft.fftfreq(0), "Invalid number"),
    (lambda x: fg.fft.fftfreq(3, dtype="int64"), "frequencies are real"),
    (lambda x: fg.stft(x, 0), "must be at least 1"),
    (lambda x: fg.stft(x, 4, 0), "must be at least 1"),
    (lambda x: fg.stft(x, 9, center=False), "a part has 9 elements, and the signal only 4"),
    (lambda x: fg.stft(x, 9), "Padding size should be less"),
    (lambda x: fg.stft(x, 4, window=fg.ones((3,))), r"the window has shape \[3\]"),
    (lambda x: fg.stft(x, 4, win_length=5), "win_length is between 1 and n_fft"),
    (lambda x: fg.stft(x + 1j, 4, onesided=True), "only real signals"),
    (lambda x: fg.istft(fg.stft(x, 4), 6), "expects 4 frequencies for n_fft 6, not 3"),
    (lambda x: fg.istft(x, 4), "expects complex numbers"),
    (lambda x: fg.istft(fg.stft(x, 4, window=fg.tensor([0.0] * 4)), 4, window=fg.tensor([0.0] * 4)), "vanish"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_refusals(call: Any, text: str) -> None:
    with pytest.raises((fg.ArgumentError, fg.ShapeError, fg.DtypeError), match=text):
        call(fg.ones((3, 4)))


def test_a_length_beyond_memory_is_a_memory_error() -> None:
    for n in (2**40, 2**62):
        with pytest.raises(MemoryError):
            fg.fft.fft(fg.ones((1,)), n)
        with pytest.raises(MemoryError):
            fg.fft.fftfreq(n)


def test_numpy_keeps_the_graph() -> None:
    x = fg.tensor(np.arange(6.0), requires_grad=True)
    y: Any = np.fft.irfft(np.fft.rfft(x, norm="ortho"), norm="ortho")
    assert y.requires_grad
    np.testing.assert_allclose(y.detach().numpy(), np.arange(6.0), atol=1e-14)
    assert np.fft.fftshift(np.fft.fft2(fg.ones((2, 3)), s=(2, 2)), axes=0).shape == (2, 2)


def test_torch() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    y = torch.fft.rfftn(input=x, s=(4,), dim=(-1,), norm="ortho")
    assert y.dtype == torch.complex64
    out = torch.zeros(1, 4, dtype=torch.complex64)
    assert torch.fft.fft(x.detach(), dim=1, out=out) is out
    assert out[0, 0].item() == 10
    assert torch.fft.fftfreq(4, d=0.5, dtype=torch.float64, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="return_complex"):
        x.stft(4)
    parts = x.stft(4, window=torch.ones(4), return_complex=True)
    torch.testing.assert_close(parts.istft(4, window=torch.ones(4)), x)
    assert torch.stft(x, 4, return_complex=False).shape == (1, 3, 5, 2)


def test_paddle() -> None:
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
    power = paddle.abs(paddle.fft.rfft(x)) ** 2
    assert paddle.grad(power.sum(), [x])[0].numpy().tolist() == [12, 20, 20, 28]
    parts = paddle.signal.stft(x, n_fft=4, hop_length=1)
    assert parts.shape == [3, 5]
    np.testing.assert_allclose(paddle.signal.istft(parts, 4, 1).numpy(), [1, 2, 3, 4], rtol=1e-6)
