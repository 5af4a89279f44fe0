"""``torch.nn.init``: the distributions of initial values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch

torch: Any = _torch
nn: Any = torch.nn
init: Any = nn.init

DRAWS: list[tuple[Any, float, float]] = [
    (init.uniform_, 0.5, math.sqrt(1 / 12)),
    (init.normal_, 0.0, 1.0),
    (init.xavier_uniform_, 0.0, math.sqrt(2 / 300)),
    (init.xavier_normal_, 0.0, math.sqrt(2 / 300)),
    (init.kaiming_uniform_, 0.0, math.sqrt(2 / 100)),
    (init.kaiming_normal_, 0.0, math.sqrt(2 / 100)),
    (lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="tanh"), 0.0, 5 / 3 / math.sqrt(200)),
    (lambda w: init.xavier_uniform_(w, init.calculate_gain("relu")), 0.0, math.sqrt(4 / 300)),
    (lambda w: init.trunc_normal_(w, 1.0, 2.0, -1.0, 3.0), 1.0, 2 * 0.5396),
    (lambda w: init.trunc_normal_(w, 0.0, 1.0, 2.0, 3.0), 2.3159, 0.2481),
    (init.orthogonal_, 0.0, math.sqrt(1 / 200)),
]


@pytest.mark.parametrize(("draw", "mean", "std"), DRAWS)
def test_moments(draw: Any, mean: float, std: float) -> None:
    torch.manual_seed(0)
    w = nn.Parameter(torch.empty(200, 100, dtype=torch.float64))
    assert draw(w) is w
    assert w.requires_grad
    assert w.grad_fn is None
    assert abs(w.detach().numpy().mean() - mean) < 0.05 * std
    assert w.detach().numpy().std() == pytest.approx(std, rel=0.03)


def test_exact_values() -> None:
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert init.ones_(torch.empty(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(torch.ones(2)).tolist() == [0.0, 0.0]
    filters = init.dirac_(torch.empty(4, 2, 3), groups=2)
    x = torch.tensor(np.random.default_rng(0).normal(size=(1, 4, 5)).astype("float32"))
    assert nn.functional.conv1d(x, filters, padding=1, groups=2).tolist() == x.tolist()
    q = init.orthogonal_(torch.empty(3, 2, 4, dtype=torch.float64), gain=2).numpy().reshape(3, 8)
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-12)
    sparse = init.sparse_(torch.empty(10, 4), 0.25).numpy()
    assert ((sparse == 0).sum(0) == 3).all()


def test_mistakes() -> None:
    mistakes: list[tuple[Any, str]] = [
        (lambda: init.xavier_normal_(torch.empty(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(torch.empty(3, 3), mode="in"), "Mode in not supported"),
        (lambda: init.calculate_gain("swish"), "Unsupported nonlinearity swish"),
        (lambda: init.calculate_gain("leaky_relu", "x"), "not a valid number"),
        (lambda: init.dirac_(torch.empty(3, 3)), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.eye_(torch.empty(3)), "Only tensors with 2 dimensions"),
        (lambda: init.orthogonal_(torch.empty(3)), "2 or more dimensions"),
    ]
    for wrong, text in mistakes:
        with pytest.raises(ValueError, match=text):
            wrong()
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        init.trunc_normal_(torch.empty(3), 9.0)
    with pytest.warns(FutureWarning, match="deprecated in favor of `nn.init.constant_`"):
        init.constant(torch.empty(1), 1)


def test_layers_draw_as_torch_does() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(400, 100)
    bound = 1 / math.sqrt(400)
    for values in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert np.abs(values).max() <= bound
        assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.15)
    filters = nn.Conv2d(16, 32, 3).weight.detach().numpy()
    assert filters.std() == pytest.approx(1 / math.sqrt(3 * 144), rel=0.05)
    assert nn.Embedding(100, 50).weight.detach().numpy().std() == pytest.approx(1, rel=0.05)
    for draw in (init.uniform_, init.trunc_normal_, init.orthogonal_, init.kaiming_normal_):
        drawn = [draw(torch.empty(3, 3), generator=torch.Generator().manual_seed(5)).tolist() for _ in range(2)]
        assert drawn[0] == drawn[1]
    torch.manual_seed(3)
    first = nn.Linear(4, 4).weight
    torch.manual_seed(3)
    np.testing.assert_array_equal(first.detach().numpy(), nn.Linear(4, 4).weight.detach().numpy())
