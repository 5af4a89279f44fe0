"""L-BFGS on a flat vector.

Source: J. Nocedal, S. Wright, "Numerical Optimization" (2006): algorithms 7.4 and 7.5 (L-BFGS), 3.5 and 3.6 (search).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferrograd._autograd.modes import enable_grad
from ferrograd._core import Tensor

Vector = np.ndarray[Any, np.dtype[Any]]
#: The value and the gradient at a point.
Objective = Callable[[Vector], tuple[float, Vector]]


@dataclass
class Memory:
    """The state between iterations: the last steps ``s`` and gradient changes ``y``, and the last direction."""

    iterations: int = 0
    steps: list[Vector] = field(default_factory=list)
    changes: list[Vector] = field(default_factory=list)
    direction: Vector | None = None
    gradient: Vector | None = None
    length: float = 0.0
    scale: float = 1.0

    def next_direction(self, g: Vector, history: int) -> Vector:
        """The search direction ``-H g`` with the inverse Hessian ``H`` of the last ``history`` pairs (7.4)."""
        if self.direction is None or self.gradient is None:
            return -g
        change, step = g - self.gradient, self.direction * self.length
        curvature = float(change @ step)
        if curvature > 1e-10:
            self.changes.append(change)
            self.steps.append(step)
            del self.changes[:-history], self.steps[:-history]
            self.scale = curvature / float(change @ change)
        q, weights = -g, []
        for s, y in zip(reversed(self.steps), reversed(self.changes), strict=True):
            weights.append(float(s @ q) / float(y @ s))
            q = q - weights[-1] * y
        q = q * self.scale
        for s, y, a in zip(self.steps, self.changes, reversed(weights), strict=True):
            q = q + s * (a - float(y @ q) / float(y @ s))
        return q


def step(
    params: list[Tensor], closure: Callable[[], Any], clip: Any, decay: float, memory: Memory, **options: Any
) -> Any:
    """Runs L-BFGS iterations on parameters, in place; the first loss that ``closure`` returned.

    ``closure`` computes the loss and its gradients. ``clip``, if not None, clips pairs (parameter, gradient).
    """
    losses: list[Any] = []
    zeros = [np.zeros(tuple(p.shape), p.detach().numpy().dtype) for p in params]

    def place(x: Vector) -> None:
        start = 0
        for p, zero in zip(params, zeros, strict=True):
            p.set_value(x[start : start + zero.size].reshape(zero.shape).astype(zero.dtype))
            start += zero.size

    def objective(x: Vector) -> tuple[float, Vector]:
        place(x)
        with enable_grad():
            losses.append(closure())
        pairs = [(p, p.grad) for p in params if p.grad is not None]
        found = {id(p): np.asarray(g.detach()) for p, g in (clip(pairs) if clip else pairs)}
        flat = [found.get(id(p), zero).reshape(-1) for p, zero in zip(params, zeros, strict=True)]
        loss = losses[-1].detach() if isinstance(losses[-1], Tensor) else losses[-1]
        return float(loss), np.concatenate(flat) + decay * x

    start = np.concatenate([np.asarray(p.detach()).reshape(-1) for p in params])
    place(minimize(objective, start, memory, **options))
    return losses[0]


def minimize(
    f: Objective,
    x: Vector,
    memory: Memory,
    *,
    rate: float,
    max_iterations: int,
    max_evaluations: int,
    tolerance_grad: float,
    tolerance_change: float,
    history: int,
    searches: bool,
) -> Vector:
    """Runs up to ``max_iterations`` L-BFGS iterations from ``x``; the last point."""
    value, g = f(x)
    evaluations = 1
    for i in range(max_iterations):
        if np.abs(g).max(initial=0.0) <= tolerance_grad:
            break
        d = memory.next_direction(g, history)
        slope = float(g @ d)
        if slope > -tolerance_change:
            break
        memory.iterations += 1
        length = rate * (min(1.0, 1.0 / float(np.abs(g).sum())) if memory.iterations == 1 else 1.0)
        before, memory.direction, memory.gradient = value, d, g
        if searches:
            room = max(max_evaluations - evaluations, 1)
            length, value, g, used = search(f, x, length, d, value, g, slope, tolerance_change, min(25, room))
            x, evaluations = x + length * d, evaluations + used
        else:
            x = x + length * d
            if i + 1 < max_iterations:
                value, g = f(x)
                evaluations += 1
        memory.length = length
        still = np.abs(d * length).max(initial=0.0) <= tolerance_change or abs(value - before) < tolerance_change
        if evaluations >= max_evaluations or still:
            break
    return x


def cubic(a: float, fa: float, sa: float, b: float, fb: float, sb: float) -> float:
    """The minimizer between ``a`` and ``b`` of the cubic with these values ``f`` and slopes ``s`` (equation 3.59)."""
    low, high = min(a, b), max(a, b)
    if a > b:
        a, fa, sa, b, fb, sb = b, fb, sb, a, fa, sa
    d1 = sa + sb - 3 * (fa - fb) / (a - b) if a != b else 0.0
    square = d1 * d1 - sa * sb
    if not square >= 0 or a == b:
        return (low + high) / 2
    d2 = square**0.5
    bottom = sb - sa + 2 * d2
    found = b - (b - a) * (sb + d2 - d1) / bottom if bottom else (low + high) / 2
    return min(max(found, low), high)


def search(
    f: Objective,
    x: Vector,
    t: float,
    d: Vector,
    f0: float,
    g0: Vector,
    s0: float,
    tolerance: float,
    most: int,
) -> tuple[float, float, Vector, int]:
    """A step length along ``d`` that satisfies the strong Wolfe conditions (algorithms 3.5 and 3.6).

    Returns the length, the value and gradient there, and the number of evaluations.
    """
    c1, c2, used = 1e-4, 0.9, 0
    Point = tuple[float, float, Vector, float]

    def at(t: float) -> Point:
        nonlocal used
        used += 1
        value, g = f(x + t * d)
        return t, value, g, float(g @ d)

    def zoom(low: Point, high: Point) -> Point:
        while used < most and abs(high[0] - low[0]) * np.abs(d).max(initial=0.0) > tolerance:
            t = cubic(low[0], low[1], low[3], high[0], high[1], high[3])
            # At least a tenth of the interval away from its ends, so that it shrinks.
            width = abs(high[0] - low[0])
            near, far = min(low[0], high[0]) + 0.1 * width, max(low[0], high[0]) - 0.1 * width
            p = at(min(max(t, near), far))
            if not p[1] <= f0 + c1 * p[0] * s0 or p[1] >= low[1]:
                high = p
                continue
            if abs(p[3]) <= -c2 * s0:
                return p
            if p[3] * (high[0] - low[0]) >= 0:
                high = low
            low = p
        return low

    last: Point = (0.0, f0, g0, s0)
    best = last
    while used < most:
        p = at(t)
        if not p[1] <= f0 + c1 * t * s0 or (used > 1 and p[1] >= last[1]):
            best = zoom(last, p)
            break
        if abs(p[3]) <= -c2 * s0:
            best = p
            break
        if p[3] >= 0:
            best = zoom(p, last)
            break
        last = best = p
        t *= 2
    return best[0], best[1], best[2], used
