"""Networks that solve differential equations, trained as libraries do it. The losses are those of Paddle 3.3.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle
nn, F, optimizer = paddle.nn, paddle.nn.functional, paddle.optimizer


class Network(nn.Layer):  # type: ignore[misc, name-defined]
    """Two functions of place and time."""

    def __init__(self, has_norms: bool) -> None:
        super().__init__()
        layers = [nn.Linear(n, 16) for n in (2, 16, 16)]
        self.linears = nn.LayerList([nn.utils.weight_norm(layer) if has_norms else layer for layer in layers])
        self.last = nn.Linear(16, 2)
        self.activations = [paddle.sin, F.silu, nn.Tanh()]
        random = np.random.RandomState(0)
        for p in self.parameters():
            p.set_value(random.uniform(-0.5, 0.5, p.shape).astype("float32"))

    def forward(self, x: Any, t: Any) -> Any:
        y = paddle.concat([x, t], axis=-1)
        for layer, activation in zip(self.linears, self.activations, strict=True):
            y = activation(layer(y))
        return paddle.split(self.last(y), 2, axis=-1)


def slope(y: Any, x: Any) -> Any:
    return paddle.grad(y, x, create_graph=True, retain_graph=True)[0]


OPTIMIZERS: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "Adam": (
        lambda rate, ps: optimizer.Adam(rate, parameters=ps),
        [0.56584, 0.20625, 0.058191, 0.072494, 0.13498, 0.15235],
    ),
    "AdamW": (
        lambda rate, ps: optimizer.AdamW(
            rate, parameters=ps, weight_decay=0.01, grad_clip=nn.ClipGradByGlobalNorm(0.1)
        ),
        [0.56584, 0.20618, 0.055833, 0.089401, 0.13162, 0.12198],
    ),
    "Momentum": (
        lambda rate, ps: optimizer.Momentum(rate, 0.9, parameters=ps, weight_decay=paddle.regularizer.L2Decay(1e-3)),
        [0.56584, 0.43996, 0.26542, 0.1197, 0.047521, 0.051065],
    ),
    "RMSProp": (
        lambda rate, ps: optimizer.RMSProp(rate, parameters=ps),
        [0.56584, 0.53271, 0.13384, 0.04255, 0.036419, 0.033161],
    ),
}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(("make", "losses"), OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_burgers_equation(make: Callable[[Any, Any], Any], losses: list[float], is_compiled: bool) -> None:
    np.testing.assert_allclose(trained(make, False, is_compiled), losses, rtol=1e-3)


def test_burgers_equation_with_weights_of_given_lengths() -> None:
    wanted = [0.18729, 0.12263, 0.084897, 0.068624, 0.06766, 0.074555]
    np.testing.assert_allclose(trained(OPTIMIZERS["Adam"][0], True, False), wanted, rtol=1e-3)


def trained(make: Callable[[Any, Any], Any], has_norms: bool, is_compiled: bool) -> list[float]:
    """The losses of six steps."""
    net = Network(has_norms)
    random = np.random.RandomState(1)
    x, t = (paddle.to_tensor(random.rand(32, 1).astype("float32"), stop_gradient=False) for _ in range(2))
    rate = optimizer.lr.ExponentialDecay(1e-2, 0.95)
    steps = make(rate, net.parameters())

    def loss_of(x: Any, t: Any) -> Any:
        u, v = net(x, t)
        u_x, u_t = slope(u, x), slope(u, t)
        residual = u_t + u * u_x - 0.01 * slope(u_x, x)
        return F.mse_loss(residual, paddle.zeros_like(u), "mean") + F.mse_loss(v, paddle.sin(x))

    run = paddle.jit.to_static(loss_of, full_graph=True) if is_compiled else loss_of
    losses = []
    for _ in range(6):
        loss = run(x, t)
        loss.backward()
        steps.step()
        steps.clear_grad()
        rate.step()
        losses.append(loss.item())
    return losses


def test_a_coefficient_of_an_equation_is_found() -> None:
    # u = exp(-c t) for c = 1.5: a plain tensor is trained beside the network.
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    random = np.random.RandomState(0)
    for p in net.parameters():
        p.set_value(random.uniform(-0.5, 0.5, p.shape).astype("float32"))
    c = paddle.to_tensor([0.5], stop_gradient=False)
    steps = optimizer.LBFGS(1.0, max_iter=150, line_search_fn="strong_wolfe", parameters=[*net.parameters(), c])
    t = paddle.to_tensor(np.linspace(0, 1, 20, dtype=np.float32).reshape(-1, 1), stop_gradient=False)

    def closure() -> Any:
        steps.clear_grad()
        u = net(t)
        loss = F.mse_loss(slope(u, t), -c * u) + F.mse_loss(u, paddle.exp(-1.5 * t.detach()))
        loss.backward()
        return loss

    steps.step(closure)
    assert c.item() == pytest.approx(1.5, abs=0.02)
