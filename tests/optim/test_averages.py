"""Averages of a model over a training run: ``torch.optim.swa_utils``."""

from __future__ import annotations

import math
import pickle
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest

torch: Any = _torch
S: Any = torch.optim.swa_utils


def linear() -> Any:
    return torch.nn.Linear(2, 1, bias=False)


def averaged(values: list[float], **options: Any) -> float:
    model = linear()
    average = S.AveragedModel(model, **options)
    for value in values:
        torch.nn.init.constant_(model.weight, value)
        average.update_parameters(model)
    assert average.n_averaged.item() == len(values)
    assert model.weight.tolist() == [[values[-1]] * 2]
    assert average.module.weight.requires_grad
    assert average(torch.ones(2)).item() == pytest.approx(2 * average.module.weight[0, 0].item())
    return float(average.module.weight[0, 1].item())


def test_means_and_moving_averages() -> None:
    values = [1.0, 5.0, 0.0, 4.0]
    moving = 1.0
    for value in values[1:]:
        moving = 0.9 * moving + 0.1 * value
    for options in ({}, {"avg_fn": S.get_swa_avg_fn()}, {"multi_avg_fn": S.get_swa_multi_avg_fn()}):
        assert averaged(values, **options) == pytest.approx(2.5)
    for options in ({"avg_fn": S.get_ema_avg_fn(0.9)}, {"multi_avg_fn": S.get_ema_multi_avg_fn(0.9)}):
        assert averaged(values, **options) == pytest.approx(moving)
    assert averaged(values, avg_fn=lambda a, c, n: c + n) == 4 + 3
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        S.AveragedModel(linear(), avg_fn=S.get_swa_avg_fn(), multi_avg_fn=S.get_swa_multi_avg_fn())
    for make in (S.get_ema_avg_fn, S.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match=r"Invalid decay value 1\.5"):
            make(1.5)


def test_buffers() -> None:
    norm = torch.nn.BatchNorm1d(2)
    copied, mean = S.AveragedModel(norm), S.AveragedModel(norm, use_buffers=True)
    for value in (1.0, 4.0):
        norm.running_mean.fill_(value)
        copied.update_parameters(norm)
        mean.update_parameters(norm)
    assert copied.module.running_mean.tolist() == [4, 4]
    assert mean.module.running_mean.tolist() == [2.5, 2.5]
    other = S.AveragedModel(torch.nn.BatchNorm1d(2))
    other.load_state_dict(mean.state_dict())
    assert other.n_averaged.item() == 2
    assert pickle.loads(pickle.dumps(other)).n_averaged.item() == 2


def test_statistics_of_a_pass() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)).eval()
    x = np.random.default_rng(0).normal(size=(3, 8, 2)).astype(np.float32)
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.tensor(x), torch.zeros(3)), None)
    S.update_bn(batches, model)
    norm = model[0]
    np.testing.assert_allclose(norm.running_mean.numpy(), x.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(norm.running_var.numpy(), x.var(1, ddof=1).mean(0), rtol=1e-5)
    assert norm.momentum == 0.1
    assert not model.training
    S.update_bn([1, 2], linear())

    def broken() -> Any:
        yield torch.tensor(x[0])
        raise OSError("no more data")

    with pytest.raises(OSError, match="no more data"):
        S.update_bn(broken(), model)
    assert norm.momentum == 0.1
    assert not model.training


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 4])
def test_rates(strategy: str, epochs: int) -> None:
    o = torch.optim.SGD([{"params": [torch.ones(1, requires_grad=True)], "lr": lr} for lr in (0.5, 0.1)], lr=1.0)
    s = S.SWALR(o, [0.1, 0.2], epochs, strategy)
    for e in range(8):
        part = min(1.0, e / epochs) if epochs else 1.0
        part = (1 - math.cos(math.pi * part)) / 2 if strategy == "cos" else part
        assert s.get_last_lr() == pytest.approx([0.5 - 0.4 * part, 0.1 + 0.1 * part])
        o.step()
        s.step()
        if e == 3:
            state = s.state_dict()
            s = S.SWALR(o, [0.1, 0.2], epochs, strategy)
            for group, lr in zip(o.param_groups, state["_last_lr"], strict=True):
                group["lr"] = lr
            s.load_state_dict(state)


def test_wrong_arguments_raise() -> None:
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)])
    for options, text in (
        ({"anneal_strategy": "sin"}, "anneal_strategy must be one of"),
        ({"anneal_epochs": -1}, "anneal_epochs must be equal or greater than 0"),
        ({"swa_lr": [0.1, 0.2]}, "swa_lr must have the same length"),
    ):
        with pytest.raises(ValueError, match=text):
            S.SWALR(o, **{"swa_lr": 0.1, **options})
