"""The windows of torch.signal."""

from typing import Any

import numpy as np
import pytest
import scipy.signal
from ferrograd import torch
from ferrograd._core import ArgumentError

T: Any = torch


def test_windows_of_signal() -> None:
    windows = T.signal.windows
    own: dict[str, dict[str, Any]] = {
        "exponential": {"tau": 2.5},
        "gaussian": {"std": 1.5},
        "general_cosine": {"a": [0.3, 0.4, 0.2]},
        "general_hamming": {"alpha": 0.7},
        "kaiser": {"beta": 5.0},
    }
    for name in windows.__all__:
        options = own.get(name, {})
        for size in (0, 1, 2, 7, 8):
            for sym in (True, False):
                found = getattr(windows, name)(size, sym=sym, dtype=torch.float64, **options)
                want = getattr(scipy.signal.windows, name)(size, sym=sym, **options)
                np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    assert windows.exponential(3, center=0.0, tau=1.0, sym=False)[0] == 1
    assert windows.hann(3, requires_grad=True).requires_grad
    refused: list[tuple[Any, str]] = [
        (lambda: windows.hann(3, dtype=torch.int64), "floating point"),
        (lambda: windows.gaussian(3, std=0.0), "positive"),
        (lambda: windows.exponential(3, center=1.0), "Center"),
        (lambda: windows.kaiser(3, beta=-1.0), "non-negative"),
        (lambda: windows.general_cosine(3, a=[]), "empty"),
    ]
    for call, message in refused:
        with pytest.raises(ArgumentError, match=message):
            call()
    with pytest.raises(TypeError, match="list/tuple"):
        windows.general_cosine(3, a=1)
