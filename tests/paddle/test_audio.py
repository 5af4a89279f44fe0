"""``paddle.audio``: windows are compared with SciPy's, and the rest with formulas and values of Paddle's own wheel."""

from __future__ import annotations

from typing import Any

import ferrograd.paddle
import numpy as np
import pytest
import scipy.fft
import scipy.signal
from ferrograd import ArgumentError, testing

# The type checker knows the core's functions, whose arguments are others.
paddle: Any = ferrograd.paddle
A = paddle.audio.functional
F = paddle.audio.features
#: What Paddle's wheel gives.
PLAIN = [-171.46820068359375, 14.156841278076172, -94.62017059326172]
X = np.random.default_rng(0).standard_normal((2, 90))


def tracked(data: Any) -> Any:
    return paddle.to_tensor(data, "float64", stop_gradient=False)


def near(found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(found.detach().numpy()), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize(
    "window",
    [
        *("bartlett", "blackman", "bohman", "cosine", "hamming", "hann", "nuttall", "taylor", "triang", "tukey"),
        *(("exponential", None, 2.0), ("gaussian", 3.0), ("general_gaussian", 1.5, 2.0), ("kaiser", 5.0)),
        *(("taylor", 5, 40, False), ("taylor", 2), ("tukey", 0.3), ("tukey", 2.0), ("tukey", 0.0)),
    ],
    ids=str,
)
def test_windows(window: Any, periodic: bool) -> None:
    for n in (1, 2, 7, 8):
        near(A.get_window(window, n, periodic), scipy.signal.get_window(window, n, periodic), 1e-9)
    made = A.get_window(window, 4, dtype="float32")
    assert (made.dtype, made.stop_gradient) == (paddle.float32, True)


def test_wrong_windows_raise() -> None:
    for window, text in (
        ("no", "Unknown window type"),
        ((), "Unknown window type"),
        (3, "Unknown window type"),
        ("kaiser", "needs one or more parameters"),
        (("hann", 3), "does not take the numbers"),
    ):
        with pytest.raises(ArgumentError, match=text):
            A.get_window(window, 4)
    with pytest.raises(ArgumentError, match="center must be None"):
        A.get_window(("exponential", 3, 2.0), 4, fftbins=False)
    with pytest.raises(ArgumentError, match="not negative"):
        A.get_window("hann", -1)


def test_mels() -> None:
    freq = np.array([0, 10.0, 500, 1000, 1001, 5000, 20000])
    for htk in (True, False):
        x = paddle.to_tensor(freq, stop_gradient=False)
        mel = A.hz_to_mel(x, htk)
        near(A.mel_to_hz(mel, htk), freq)
        assert mel.tolist() == pytest.approx([A.hz_to_mel(f, htk) for f in freq.tolist()])
        near(
            A.mel_frequencies(3, 10.0, 5000.0, htk, "float64"),
            A.mel_to_hz(np.linspace(mel[1].item(), mel[5].item(), 3), htk),
        )
        assert testing.gradcheck(lambda x, htk=htk: A.hz_to_mel(x, htk), (tracked([10.0, 3000]),))
        assert testing.gradcheck(lambda x, htk=htk: A.mel_to_hz(x, htk), (tracked([3.0, 20]),))
    # Paddle's own values.
    assert A.hz_to_mel(4000.0) == pytest.approx(35.163760315)
    assert A.hz_to_mel(4000.0, True) == pytest.approx(2146.0645275)
    near(A.fft_frequencies(16000, 6, "float64"), [0, 8000 / 3, 16000 / 3, 8000])


def test_triangles() -> None:
    found = A.compute_fbank_matrix(800, 16, 3, 10.0, norm=None, dtype="float64")
    at = np.linspace(0, 400, 9)
    mels = A.mel_frequencies(5, 10.0, 400.0, dtype="float64").numpy()
    rows = np.array([np.interp(at, mels[i : i + 3], [0, 1, 0]) for i in range(3)])
    near(found, rows)
    near(A.compute_fbank_matrix(800, 16, 3, 10.0, dtype="float64"), rows * (2 / (mels[2:] - mels[:-2]))[:, None])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    near(A.compute_fbank_matrix(800, 16, 3, 10.0, norm=2, dtype="float64"), rows / norms)


def test_decibels_and_the_cosine_transform() -> None:
    x = paddle.to_tensor([[1e-9, 0.02], [1.0, 10.0]], "float64")
    near(A.power_to_db(x, 0.5, 1e-3, None), 10 * np.log10(np.maximum(x.numpy(), 1e-3) / 0.5))
    near(A.power_to_db(x, top_db=15.0), [[-5, -5], [0, 10]])
    assert testing.gradcheck(lambda x: A.power_to_db(x, 0.5, 1e-3, 15.0), (tracked([[1e-9, 0.02], [1.0, 10.0]]),))
    for options in ({"amin": 0.0}, {"ref_value": -1.0}, {"top_db": -1.0}):
        with pytest.raises(ArgumentError, match=f"power_to_db: {next(iter(options))} must be"):
            A.power_to_db(x, **options)
    for norm in ("ortho", None):
        near(A.create_dct(4, 6, norm, "float64"), scipy.fft.dct(np.eye(6), norm=norm)[:, :4])
    with pytest.raises(ArgumentError, match="create_dct: norm is"):
        A.create_dct(4, 6, "other")


def test_features() -> None:
    x = paddle.to_tensor(X, stop_gradient=False)
    options = {"dtype": "float64", "window": ("gaussian", 5.0), "win_length": 12}
    spectrum = F.Spectrogram(16, 8, power=2.0, **options)
    found = spectrum(x)
    window = np.pad(A.get_window(("gaussian", 5.0), 12).numpy(), 2)
    parts = np.lib.stride_tricks.sliding_window_view(np.pad(X, [(0, 0), (8, 8)], "reflect"), 16, axis=1)[:, ::8]
    wanted = np.moveaxis(np.abs(np.fft.rfft(parts * window)) ** 2, 1, 2)
    near(found, wanted)
    near(F.Spectrogram(16, 8, **options)(x), np.sqrt(wanted))
    mels = A.compute_fbank_matrix(800, 16, 3, 10.0, 400, dtype="float64").numpy() @ wanted
    options |= {"n_mels": 3, "f_min": 10.0}
    near(F.MelSpectrogram(800, 16, 8, **options)(x), mels)
    decibels = 10 * np.log10(mels / 0.5)
    near(F.LogMelSpectrogram(800, 16, 8, ref_value=0.5, **options)(x), decibels)
    layer = F.MFCC(800, 2, 16, 8, ref_value=0.5, **options)
    near(layer(x), scipy.fft.dct(decibels, axis=1, norm="ortho")[:, :2])
    assert list(layer.state_dict()) == [
        "dct_matrix",
        "_log_melspectrogram._melspectrogram.fbank_matrix",
        "_log_melspectrogram._melspectrogram._spectrogram.fft_window",
    ]
    assert testing.gradcheck(layer, (tracked(X[:, :24]),))
    # A value of Paddle's own.
    plain = F.MFCC(8000, 7, 128, n_mels=12)(paddle.to_tensor(np.cos(np.arange(256)), "float32").unsqueeze(0))
    assert list(plain.shape) == [1, 7, 9]
    near(plain[0, :3, 4], PLAIN, 1e-4)


def test_wrong_features_raise() -> None:
    with pytest.raises(ArgumentError, match="Power of spectrogram must be > 0"):
        F.Spectrogram(power=0.0)
    with pytest.raises(ArgumentError, match="n_mfcc cannot be larger than n_mels: 5 vs 4"):
        F.MFCC(n_mfcc=5, n_mels=4)
    with pytest.raises(AttributeError, match="files of sounds"):
        paddle.audio.load  # noqa: B018
