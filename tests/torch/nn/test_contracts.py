"""What layers and losses of torch refuse, and in which words; digits of half floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd._core import ShapeError

torch: Any = _torch
F: Any = torch.nn.functional
nn: Any = torch.nn


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("mode", "axes"), [("nearest", 2), ("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)]
)
def test_interpolation_of_half_floats_rounds_once(mode: str, axes: int, dtype: str) -> None:
    half = getattr(torch, dtype)
    torch.manual_seed(0)
    x = torch.randn(2, 3, *(5, 7, 6)[:axes]).to(half)
    exact = x.float().requires_grad_()
    x.requires_grad_()
    y, of_exact = (F.interpolate(t, scale_factor=2, mode=mode) for t in (x, exact))
    assert y.dtype == half
    g = torch.randn(*y.shape).to(half)
    y.backward(g)
    of_exact.backward(g.float())
    assert torch.equal(y, of_exact.to(half))
    assert torch.equal(x.grad, exact.grad.to(half))


def test_sizes_that_no_memory_holds() -> None:
    x = torch.ones(1, 1, 16, 16)
    for mode in ("nearest", "bilinear"):
        with pytest.raises(RuntimeError, match="which no memory holds"):
            F.interpolate(x, scale_factor=1e20, mode=mode)


def test_modules_do_not_make_copies() -> None:
    layer = nn.Linear(2, 3)
    with pytest.raises(RuntimeError, match="does not accept copy"):
        layer.to("cpu", copy=True)
    assert layer.to("cpu", dtype=torch.float64) is layer


def test_modules_may_call_the_constructors_behind_them() -> None:
    class Mixin:
        def __init__(self) -> None:
            super().__init__()
            self.mixed = True

    before, after = type("Before", (Mixin, nn.Module), {}), type("After", (nn.Module, Mixin), {})
    asks = type("Asks", (after,), {"call_super_init": True})
    assert hasattr(before(), "mixed")
    assert not hasattr(after(), "mixed")
    assert asks().mixed
    assert list(asks().state_dict()) == []


def test_words_of_losses() -> None:
    x, classes = torch.randn(10, 3), torch.zeros(10, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"label_smoothing must be between 0.0 and 1.0, not 1.2"):
        F.cross_entropy(x, classes, label_smoothing=1.2)
    with pytest.raises(ValueError, match=r"Expected input batch_size \(10\) to match target batch_size \(3\)"):
        F.nll_loss(x, classes[:3])
    with pytest.raises(ValueError, match="1D target tensor expected"):
        F.nll_loss(x, torch.zeros(10, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="should be defined either for all 3 classes or no classes"):
        F.nll_loss(x, classes, weight=torch.ones(4))
    with pytest.raises(RuntimeError, match=r"lambda must be greater or equal to 0, but found to be -1\.0"):
        F.softshrink(x, -1)


def test_words_of_margin_losses() -> None:
    for loss, target in ((F.multi_margin_loss, (0,)), (F.multilabel_margin_loss, (0, 10))):
        x = torch.randn(0, 10, requires_grad=True)
        loss(x, torch.ones(*target, dtype=torch.int64)).sum().backward()
        assert np.asarray(x.grad).shape == (0, 10)
        with pytest.raises(RuntimeError, match="Expected"):
            loss(torch.randn(0), torch.ones(10, dtype=torch.int64))
        with pytest.raises(RuntimeError, match="Expected"):
            loss(torch.randn(10, 0), torch.ones(10, 0, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="Expected a class for each sample"):
        F.multi_margin_loss(torch.randn(4, 3), torch.ones(3, dtype=torch.int64))
    with pytest.raises(ShapeError, match=r"inconsistent weight size, expected \[3\] but got \[4\]"):
        F.multi_margin_loss(torch.randn(2, 3), torch.tensor([0, 1]), weight=torch.ones(4))
    with pytest.raises(RuntimeError, match="Expected labels for each sample"):
        F.multilabel_margin_loss(torch.randn(4, 3), torch.ones(3, 3, dtype=torch.int64))
