"""Trains a network to solve u'' = -u with u(0) = 0 and u'(0) = 1. The equation is its only training data."""

from __future__ import annotations

import ferrograd as fg
import numpy as np
from ferrograd.torch.optim import Adam

rng = np.random.default_rng(1)
HIDDEN, STEPS, RATE = 24, 1500, 5e-3
shapes = [(1, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, 1)]
weights = [fg.tensor(rng.normal(0, 1 / np.sqrt(s[0]), s), requires_grad=True) for s in shapes]
time = np.linspace(0, 3, 40)[:, None]


def u(t: fg.Tensor) -> fg.Tensor:
    """The solution by the network; its form satisfies the initial conditions."""
    w1, b1, w2, b2, w3 = weights
    return t + t * t * (fg.tanh(fg.tanh(t @ w1 + b1) @ w2 + b2) @ w3)


optimizer = Adam(weights, lr=RATE)
for step in range(1, STEPS + 1):
    t = fg.tensor(time, requires_grad=True)
    y = u(t)
    (velocity,) = fg.grad(fg.sum(y), [t], create_graph=True)
    (acceleration,) = fg.grad(fg.sum(velocity), [t], create_graph=True)
    loss = fg.mean((acceleration + y) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 0:
        print(f"step {step}: residual {loss.item():.2e}")

off = np.abs(np.asarray(u(fg.tensor(time))) - np.sin(time)).max()
print(f"the network differs from the sine by at most {off:.4f}")
assert off < 0.02
