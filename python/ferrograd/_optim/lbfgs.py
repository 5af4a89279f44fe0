"""L-BFGS on a flat vector.

Source: J. Nocedal, S. Wright, "Numerical Optimization" (2006): algorithms 7.4 and 7.5 (L-BFGS), 3.5 and 3.6 (search).
The choice of trial steps in the search is that of M. Schmidt's minFunc, which PyTorch and Paddle follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._core import Tensor, native

#: The state between steps, by name: ``d`` is the last direction and ``t`` the length of the step along it; ``old_stps``
#: are the last steps, ``old_dirs`` the changes of the gradient in them, and ``ro`` one over their products.
State = dict[str, Any]


class Point(NamedTuple):
    """A step along a line: its length, and the value, the gradient and the slope there."""

    t: Any
    value: float
    g: Tensor
    slope: Any


def flat(tensors: list[Tensor]) -> Tensor:
    """The elements of all tensors as one vector; those of complex tensors are two numbers each."""
    parts = [native.view_as_real(x.detach()) if x.dtype.kind == "c" else x.detach() for x in tensors]
    return native.concat([native.reshape(x, [-1]) for x in parts])


def step(
    params: list[Tensor],
    closure: Callable[[], Any],
    gradients: Callable[[], list[Tensor]],
    state: State,
    *,
    sign: float = 1.0,
    rate: float,
    max_iterations: int,
    max_evaluations: int,
    tolerance_grad: float,
    tolerance_change: float,
    history: int,
    searches: bool,
    most_in_search: int | None = None,
) -> Any:
    """Runs L-BFGS iterations on parameters, in place; the first loss that ``closure`` returned.

    ``closure`` computes the loss and its gradients, and ``gradients`` returns those of all parameters. The loss is
    multiplied by ``sign``. A search makes up to ``most_in_search`` evaluations after its first, by default as many as
    are left.
    """

    def move(t: Any, d: Tensor) -> None:
        start = 0
        for p in params:
            shape = [*p.shape, 2] if p.dtype.kind == "c" else list(p.shape)
            end = start + math.prod(shape)
            moved = native.reshape(d[start:end] * t, shape)
            p.add_(native.view_as_complex(moved) if p.dtype.kind == "c" else moved)
            start = end

    def evaluate() -> tuple[float, Tensor, Any]:
        with enable_grad():
            loss = closure()
        g = flat(gradients())
        number = float(loss.detach() if isinstance(loss, Tensor) else loss)
        return sign * number, g if sign == 1 else -g, loss

    with no_grad():
        value, g, first = evaluate()
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        evaluations = 1
        if 0 in g.shape or native.abs(g).max().item() <= tolerance_grad:
            return first
        for i in range(max_iterations):
            state["n_iter"] += 1
            d = _direction(state, g, history)
            state["prev_flat_grad"], before = g, value
            t: Any = rate
            if state["n_iter"] == 1:
                inverse: Any = 1.0 / native.abs(g).sum()
                t = min(1.0, inverse) * rate
            state.update(d=d, t=t, prev_loss=before)
            slope = native.dot(g, d)
            if slope > -tolerance_change:
                break
            used = 0
            if searches:
                kept = [p.detach().clone() for p in params]

                def at(t: Any, d: Tensor = d, kept: list[Tensor] = kept) -> Point:
                    move(t, d)
                    value, g, _ = evaluate()
                    for p, x in zip(params, kept, strict=True):
                        p.set_value(x)
                    return Point(t, value, g, native.dot(g, d))

                most = max_evaluations - evaluations if most_in_search is None else most_in_search
                found, used = search(at, t, Point(0, value, g, slope), native.abs(d).max(), tolerance_change, most)
                state["t"] = t = found.t
                value, g = found.value, found.g
            move(t, d)
            if not searches and i + 1 < max_iterations:
                value, g, _ = evaluate()
                used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                i + 1 == max_iterations
                or evaluations >= max_evaluations
                or native.abs(g).max().item() <= tolerance_grad
                or native.abs(d * t).max().item() <= tolerance_change
                or abs(value - before) < tolerance_change
            ):
                break
        return first


def _direction(state: State, g: Tensor, history: int) -> Tensor:
    """The search direction ``-H g`` with the inverse Hessian ``H`` of the last ``history`` steps (7.4)."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -g
    dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
    change, step = g - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = native.dot(change, step)
    if curvature > 1e-10:
        dirs.append(change)
        steps.append(step)
        ro.append(1.0 / curvature)
        for last in (dirs, steps, ro):
            del last[:-history]
        state["H_diag"] = curvature / native.dot(change, change)
    q, weights = -g, []
    for s, y, r in zip(reversed(steps), reversed(dirs), reversed(ro), strict=True):
        weights.append(native.dot(s, q) * r)
        q = q - y * weights[-1]
    d: Tensor = q * state["H_diag"]
    for s, y, r, a in zip(steps, dirs, ro, reversed(weights), strict=True):
        d = d + s * (a - native.dot(y, d) * r)
    return d


def cubic(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimizer of the cubic with the values and slopes of two points (equation 3.59).

    It is clipped to bounds, by default the points. The middle of the bounds if there is no minimizer.
    """
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = native.sqrt(square)
    if a.t > b.t:
        a, b = b, a
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)), low), high)


def search(
    at: Callable[[Any], Point],
    t: Any,
    start: Point,
    size: Tensor,
    tolerance: float,
    most: int,
    c1: float = 1e-4,
    c2: float = 0.9,
) -> tuple[Point, int]:
    """A step with which the strong Wolfe conditions hold (3.5, 3.6), and the number of evaluations.

    ``t`` is the first step to try, ``size`` the largest element of the direction. After ``most`` further evaluations
    the best step so far is returned.
    """

    def too_high(p: Point) -> bool:
        return bool(p.value > start.value + c1 * p.t * start.slope)

    def flat_enough(p: Point) -> bool:
        return bool(abs(p.slope) <= -c2 * start.slope)

    last, p, used = start, at(t), 1
    # The ends of an interval that holds such a step.
    ends: list[Point] = []
    while used <= most:
        if too_high(p) or (used > 2 and p.value >= last.value):
            ends = [last, p]
        elif flat_enough(p):
            return p, used
        elif p.slope >= 0:
            ends = [last, p]
        if ends:
            break
        t = cubic(last, p, (p.t + 0.01 * (p.t - last.t), p.t * 10))
        last, p, used = p, at(t), used + 1
    if not ends:
        return min([start, p], key=lambda q: q.value), used

    low, high = sorted(ends, key=lambda q: q.value)
    was_close = False
    while used <= most:
        left, right = min(low.t, high.t), max(low.t, high.t)
        if (right - left) * size < tolerance:
            break
        first, second = ends
        t = cubic(first, second)
        # A trial that is close to an end for the second time is moved away from it.
        margin = 0.1 * (right - left)
        is_close = bool(min(right - t, t - left) < margin)
        if is_close and (was_close or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            is_close = False
        was_close = is_close
        p, used = at(t), used + 1
        if too_high(p) or p.value >= low.value:
            ends[_place(ends, high)] = p
            low, high = sorted(ends, key=lambda q: q.value)
            continue
        i = _place(ends, low)
        if flat_enough(p):
            return p, used
        if p.slope * (high.t - low.t) >= 0:
            ends[1 - i] = low
            high = low
        ends[i] = low = p
    return low, used


def _place(ends: list[Point], p: Point) -> int:
    return 0 if ends[0] is p else 1
