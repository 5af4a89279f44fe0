"""Compiled functions that change which tensors require gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest

from tests.compile.test_closed_door import bits

nn: Any = torch.nn


def data(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def residual(u: Any, x: Any) -> Any:
    x.requires_grad_(True)
    (slope,) = torch.autograd.grad(u(x).sum(), x, create_graph=True)
    return (slope - x).pow(2).mean()


@pytest.mark.parametrize("is_part", [False, True])
@pytest.mark.parametrize("steps", [False, True])
def test_an_argument_becomes_a_leaf_in_each_call(is_part: bool, steps: bool) -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        torch.manual_seed(0)
        u = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
        adam = torch.optim.Adam(u.parameters(), 0.1)

        def step(x: Any) -> Any:
            loss = residual(u, x)
            if steps:
                adam.zero_grad()
                loss.backward()
                adam.step()
            return loss

        f, found = wrap(step), []
        for seed in range(5):
            x = data(6, 2, seed=seed)[:, :1] if is_part else data(6, 1, seed=seed)
            loss = f(x)
            if not steps:
                loss.backward()
            assert x.requires_grad
            assert x.is_leaf
            found.append([loss.tolist(), x.grad.tolist(), *(p.tolist() for p in u.parameters())])
            u.zero_grad()
        return f, found

    compiled, found = run(lambda f: fg.compile(f, fullgraph=True))
    assert found == run(lambda f: f)[1]
    assert compiled.cache_info().misses <= 2


def test_an_argument_that_is_a_leaf_already_stays_one() -> None:
    f = fg.compile(lambda x: residual(torch.sin, x), fullgraph=True)
    for seed in range(4):
        x, y = data(3, seed=seed), data(3, seed=seed)
        x.requires_grad_(seed % 2 == 0)
        assert bits(f(x)) == bits(residual(torch.sin, y))
        assert x.requires_grad


def test_what_is_computed_before_an_argument_becomes_a_leaf_has_no_gradient() -> None:
    def f(x: Any) -> Any:
        before = x * x
        x.requires_grad_(True)
        return (before * x).sum(), x.sum()

    compiled = fg.compile(f, fullgraph=True)
    for is_leaf in (False, True, False, True):
        found = []
        for g in (compiled, f):
            x = data(3)
            x.requires_grad_(is_leaf)
            g(x)[0].backward()
            found.append(x.grad.tolist())
        assert found[0] == found[1]
    y, _ = compiled(x := data(3))
    with pytest.raises(RuntimeError, match="compile the function that computes the whole gradient"):
        torch.autograd.grad(y, x, create_graph=True)


def test_a_run_that_fails_makes_no_leaf() -> None:
    def f(x: Any) -> Any:
        x.requires_grad_(True)
        return torch.linalg.cholesky(x).sum()

    compiled = fg.compile(f, fullgraph=True)
    for _ in range(2):
        compiled(torch.eye(2))
        x = -torch.eye(2)
        with pytest.raises(fg.LinAlgError):
            compiled(x)
    assert not x.requires_grad


def test_layers_that_are_frozen_for_a_while() -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        torch.manual_seed(0)
        critic, actor = nn.Linear(2, 1), nn.Linear(2, 2)
        of_critic, of_actor = (torch.optim.Adam(m.parameters(), 0.1) for m in (critic, actor))

        def step(x: Any) -> Any:
            loss = (critic(actor(x).detach()) - 1).pow(2).mean()
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
            critic.requires_grad_(False)
            value = critic(actor(x)).mean()
            of_actor.zero_grad()
            (-value).backward()
            of_actor.step()
            critic.requires_grad_(True)
            return loss, value

        f = wrap(step)
        found = [[y.tolist() for y in f(data(3, 2, seed=seed))] for seed in range(6)]
        assert all(p.requires_grad for p in critic.parameters())
        return f, [found, [p.tolist() for p in (*critic.parameters(), *actor.parameters())]]

    compiled, found = run(lambda f: fg.compile(f, fullgraph=True))
    assert found == run(lambda f: f)[1]
    assert compiled.cache_info().hits >= 3


def test_a_layer_that_is_frozen_twice() -> None:
    layer = nn.Linear(2, 2)

    def f(x: Any) -> Any:
        layer.zero_grad()
        for _ in range(2):
            layer.requires_grad_(False)
            x = x + layer(x)
            layer.requires_grad_(True)
        loss = layer(x).pow(2).sum()
        loss.backward()
        return loss

    compiled = fg.compile(f, fullgraph=True)
    for seed in range(5):
        found = []
        for g in (compiled, f):
            found.append([g(data(3, 2, seed=seed)).tolist(), layer.weight.grad.tolist()])
        assert found[0] == found[1]


def test_a_layer_that_stays_frozen() -> None:
    layer, head = nn.Linear(2, 2), nn.Linear(2, 1)

    def f(x: Any) -> Any:
        layer.requires_grad_(False)
        return head(layer(x)).sum()

    compiled = fg.compile(f)
    for seed in range(4):
        x = data(3, 2, seed=seed)
        assert bits(compiled(x)) == bits(f(x))
        compiled(x).backward()
    assert layer.weight.grad is None
    assert not layer.weight.requires_grad
    assert compiled.cache_info().hits >= 3
