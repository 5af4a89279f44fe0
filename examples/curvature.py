"""Second derivatives: Newton's method with an exact Hessian, and a gradient penalty."""

from __future__ import annotations

import ferrograd as fg
import numpy as np


def rosenbrock(x: fg.Tensor) -> fg.Tensor:
    """A banana-shaped valley; its minimum is 0 at (1, 1)."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


x = fg.tensor([-1.2, 1.0], dtype="float64", requires_grad=True)
for step in range(10):
    (slope,) = fg.grad(rosenbrock(x), [x], create_graph=True)
    rows = [fg.grad(slope[i], [x], retain_graph=True)[0] for i in range(2)]
    hessian = np.stack([np.asarray(r) for r in rows])
    moved = np.asarray(x) - np.linalg.solve(hessian, np.asarray(slope))
    x = fg.tensor(moved, requires_grad=True)
    print(f"step {step}: f = {rosenbrock(x).item():.3e} at {moved}")
assert rosenbrock(x).item() < 1e-20

# The loss penalizes input gradients whose length differs from 1, so the loss itself contains a derivative.
rng = np.random.default_rng(0)
w = fg.tensor(rng.normal(size=(4, 3)), requires_grad=True)
v = fg.tensor(rng.normal(size=(3, 1)), requires_grad=True)
for _ in range(200):
    points = fg.tensor(rng.normal(size=(64, 4)), requires_grad=True)
    (along,) = fg.grad(fg.sum(fg.tanh(points @ w) @ v), [points], create_graph=True)
    penalty = fg.mean((fg.sqrt(fg.sum(along * along, axis=1)) - 1) ** 2)
    dw, dv = fg.grad(penalty, [w, v])
    w = fg.tensor(np.asarray(w) - 0.2 * np.asarray(dw), requires_grad=True)
    v = fg.tensor(np.asarray(v) - 0.2 * np.asarray(dv), requires_grad=True)
print(f"gradient penalty: {penalty.item():.4f}")
assert penalty.item() < 0.1
