"""What torch takes from older programs, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import torch as _torch

from tests.dialects import values

torch: Any = _torch


def test_older_programs_give_the_factor_before_the_tensors() -> None:
    x, y = torch.ones(2), torch.tensor([1.0, 2.0])
    assert values(torch.add(x, 3, y)) == values(torch.add(x, y, alpha=3)) == [4, 7]
    assert values(x.clone().sub_(2, y)) == [-1, -3]
    assert values(x.clone().addcmul_(2, y, y)) == values(torch.addcmul(x, y, y, value=2)) == [3, 9]
    assert values(torch.addcdiv(x, 2, y, y)) == [3, 3]
    calls: list[Any] = [
        lambda: torch.add(x, y, y),
        lambda: torch.add(x, 2, y, alpha=3),
        lambda: torch.add(x, 2, y, y),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_view_wants_the_elements_in_place() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert x.view(-1).shape == x.view([3, 2]).view_as(torch.ones(6)).shape == (6,)
    assert x[:, :2].view(2, 2, 1).shape == (2, 2, 1)
    assert torch.ones(0, 3).t().view(-1).shape == (0,)
    calls: list[Any] = [lambda: x.t().view(-1), lambda: x[:, :2].view(4)]
    for bad in calls:
        with pytest.raises(RuntimeError, match="reshape"):
            bad()
    with pytest.raises(ValueError, match="dtype"):
        x.view(torch.int32)
    y = x.requires_grad_().view(3, 2)
    y.sum().backward()
    assert values(x.grad) == [[1, 1, 1], [1, 1, 1]]


def test_dot_and_svd() -> None:
    with pytest.raises(RuntimeError, match="1D tensors"):
        torch.dot(torch.ones(2, 2), torch.ones(2, 2))
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    u, s, v = torch.svd(a)
    assert torch.allclose(u @ torch.diag(s) @ v.t(), a, atol=1e-5)
    assert torch.svd(a, some=False).U.shape == (3, 3)
    assert values(torch.svd(a, compute_uv=False).V) == [[0, 0], [0, 0]]


def test_softmax_guesses_the_axis_with_a_warning() -> None:
    F = torch.nn.functional
    x = torch.arange(6.0).reshape(2, 3)
    for f in (F.softmax, F.softmin, F.log_softmax):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            assert torch.equal(f(x), f(x, 1))
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            assert torch.equal(f(x[None]), f(x[None], 0))
    with pytest.warns(UserWarning, match="softmax"):
        torch.nn.Softmax()(x)


def test_context_of_saved_tensors_has_clear() -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        ctx.clear()
