"""``fg.optim``: the optimizers for native tensors."""

from __future__ import annotations

import ferrograd as fg
import ferrograd.torch as torch
import pytest

CLASSES = [name for name in fg.optim.__all__ if name[0].isupper() and name not in {"Optimizer", "LBFGS", "SparseAdam"}]


@pytest.mark.parametrize("name", CLASSES)
def test_a_native_tensor_goes_down(name: str) -> None:
    x = fg.tensor([[3.0, -2.0]], requires_grad=True)
    optimizer = getattr(fg.optim, name)([x], lr=0.05)
    before = float((x.detach() ** 2).sum())
    for _ in range(20):
        optimizer.zero_grad()
        fg.sum(x * x).backward()
        optimizer.step()
    assert type(x) is fg.Tensor
    assert float((x.detach() ** 2).sum()) < before


def test_lbfgs_finds_the_minimum() -> None:
    x = fg.tensor([3.0, -2.0], dtype="float64", requires_grad=True)
    optimizer = fg.optim.LBFGS([x], line_search_fn="strong_wolfe")

    def loss() -> fg.Tensor:
        optimizer.zero_grad()
        value = fg.sum((x - fg.tensor([1.0, 2.0], dtype="float64")) ** 4 + x**2)
        value.backward()
        return value

    optimizer.step(loss)
    loss()
    assert x.grad is not None
    assert float(fg.abs(x.grad).max()) < 1e-4


def test_they_are_those_of_torch() -> None:
    assert fg.optim.Adam is torch.optim.Adam
    assert fg.optim.lr_scheduler.StepLR is torch.optim.lr_scheduler.StepLR
