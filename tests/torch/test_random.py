"""In-place random methods of torch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch

torch: Any = _torch

N = 20_000


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distributions(dtype: Any) -> None:
    x = torch.empty(N, dtype=dtype)
    assert x.uniform_(-1, 3) is x
    assert -1 <= x.min().item() < -0.9
    assert 2.9 < x.max().item() < 3
    assert abs(x.normal_(2, 0.5).mean().item() - 2) < 0.02
    assert abs(x.std().item() - 0.5) < 0.02
    assert abs(x.exponential_(4).mean().item() - 0.25) < 0.01
    assert x.min().item() >= 0
    assert abs(x.bernoulli_(0.25).mean().item() - 0.25) < 0.02
    assert set(np.unique(x.numpy())) == {0, 1}
    assert set(np.unique(x.random_(2, 5).numpy())) == {2, 3, 4}
    assert x.dtype == dtype


def test_distributions_with_heavy_tails_and_counts() -> None:
    x = torch.zeros(N)
    assert abs(x.log_normal_(1, 0.5).log().mean().item() - 1) < 0.02
    assert abs(x.cauchy_(3, 0.5).median().item() - 3) < 0.03
    assert abs(x.geometric_(0.25).mean().item() - 4) < 0.1
    assert x.min().item() == 1
    assert abs(torch.poisson(x * 0 + 3).mean().item() - 3) < 0.1
    assert abs(torch.binomial(x * 0 + 10, torch.tensor(0.3)).mean().item() - 3) < 0.1
    one, two = (torch.poisson(x * 0 + 3, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(one, two)
    with pytest.raises(RuntimeError, match="rates"):
        torch.poisson(torch.tensor([-1.0]))
    with pytest.raises(RuntimeError, match="binomial"):
        torch.binomial(torch.tensor([1.0]), torch.tensor([1.5]))


def test_other_dtypes() -> None:
    assert set(np.unique(torch.LongTensor(N).random_(3).numpy())) == {0, 1, 2}
    assert torch.ByteTensor(N).random_().max().item() >= 250
    assert 0.4 < torch.BoolTensor(N).bernoulli_().float().mean().item() < 0.6
    assert 0.4 < torch.BoolTensor(N).random_().float().mean().item() < 0.6
    p = torch.tensor([0.0, 1.0])
    assert torch.zeros(3, 2).bernoulli_(p).tolist() == [[0, 1]] * 3


def test_both_parts_of_complex_numbers_are_drawn() -> None:
    x = torch.empty(N, dtype=torch.complex64)
    parts = torch.view_as_real(x.uniform_(-1, 3))
    assert -1 <= parts.min().item() < -0.9
    assert 2.9 < parts.max().item() < 3
    parts = torch.view_as_real(x.normal_(2, 0.5))
    assert np.allclose(parts.mean(0).numpy(), 2, atol=0.02)
    assert abs(x.std().item() - 0.5) < 0.02
    functional = torch.nn.functional
    dropouts = (functional.dropout, functional.alpha_dropout, functional.dropout2d, functional.feature_alpha_dropout)
    for dropout in dropouts:
        y = dropout(x.reshape(-1, 50, 1, 1), 0.75, training=True).reshape(N)
        values = (y / x).abs()[y.abs() > 4]
        assert 0.15 * N < values.numel() < 0.35 * N
        assert y.dtype == torch.complex64
    assert set(np.unique((functional.dropout(x, 0.75) / x).real.round().numpy())) == {0, 4}


@pytest.mark.parametrize("name", ["normal_", "uniform_", "exponential_", "cauchy_", "log_normal_"])
def test_continuous_distributions_are_refused_for_integers(name: str) -> None:
    for dtype in (torch.int64, torch.bool) if name in ("normal_", "uniform_") else (torch.int64, torch.complex64):
        with pytest.raises(RuntimeError, match=f"{name}: not defined for"):
            getattr(torch.zeros(2, dtype=dtype), name)()
    for name, args in (("random_", ()), ("bernoulli_", ()), ("geometric_", (0.5,))):
        with pytest.raises(RuntimeError, match=f"{name}: not defined for"):
            getattr(torch.zeros(2, dtype=torch.complex64), name)(*args)


def test_the_overwritten_value_has_no_gradient() -> None:
    a = torch.ones(3, requires_grad=True)
    x = a * 2
    x.uniform_()
    (x * a).sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        a.normal_()
    with torch.no_grad():
        a.normal_()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform_", (1, 0)),
        ("normal_", (0, -1)),
        ("exponential_", (0,)),
        ("random_", (3, 3)),
        ("cauchy_", (0, 0)),
        ("geometric_", (1.5,)),
        ("log_normal_", (0, 0)),
    ],
)
def test_wrong_arguments_raise(name: str, args: Any) -> None:
    with pytest.raises(RuntimeError):
        getattr(torch.zeros(2), name)(*args)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_draws_have_the_tails_of_their_distribution(dtype: Any) -> None:
    x = torch.empty(100 * N, dtype=dtype)
    assert abs(x.exponential_(0.2).double().var().item() - 25) < 0.5
    assert x.max().item() > 50
    assert abs(x.geometric_(0.3).double().var().item() - 7.78) < 0.15
    assert torch.nn.functional.gumbel_softmax(torch.zeros(N, 2, dtype=dtype)).isfinite().all()


def test_draws_that_distributions_are_made_of() -> None:
    a = torch.full((20000,), 3.0, requires_grad=True)
    g = torch.Generator().manual_seed(1)
    x = torch._standard_gamma(a, generator=g)
    assert abs(x.mean().item() - 3) < 0.1
    # The mean of the variables grows as the concentration.
    assert abs(torch.autograd.grad(x.mean(), a)[0].sum().item() - 1) < 0.05
    assert torch.equal(torch._standard_gamma(a, g.manual_seed(1)), x)
    p = torch._sample_dirichlet(torch.tensor([[1.0, 2.0, 5.0]] * 5000))
    assert torch.allclose(p.sum(-1), torch.ones(5000))
    assert torch.allclose(p.mean(0), torch.tensor([0.125, 0.25, 0.625]), atol=0.02)


@pytest.mark.parametrize(
    "draw",
    [
        torch.bernoulli,
        torch.poisson,
        lambda p: torch.normal(p, 1.0),
        lambda p: torch.normal(0.0, p),
        lambda p: torch.normal(p, p),
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_draws_of_tracked_parameters_are_tensors_of_torch(draw: Callable[..., Any], shape: Any) -> None:
    p = torch.full(shape, 0.5, requires_grad=True)
    found = draw(p)
    assert type(found) is torch.Tensor
    assert found.requires_grad
    found.sum().backward()
    assert torch.equal(p.grad, torch.zeros(shape))
    assert type(p.grad) is torch.Tensor
