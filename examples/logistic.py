"""Logistic regression on real data, written as a PyTorch script with one import changed."""

from __future__ import annotations

import ferrograd.torch as torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

data, target = load_breast_cancer(return_X_y=True)
x = torch.tensor(StandardScaler().fit_transform(data))
y = torch.tensor(target.astype("float64"))

w = torch.zeros(30, dtype=torch.float64, requires_grad=True)
b = torch.zeros(1, dtype=torch.float64, requires_grad=True)
for _ in range(200):
    score = x @ w + b
    loss = torch.mean(torch.nn.functional.softplus(score) - y * score)
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        b -= 0.5 * b.grad
    for p in (w, b):
        p.grad = None

right = ((x @ w + b > 0) == (y > 0.5)).to(torch.float64).mean().item()
print(f"loss {loss.item():.4f}, {right:.1%} of {len(y)} tumours classified correctly")
assert right > 0.98
