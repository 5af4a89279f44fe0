"""The update rules of the other optimizers, as tensor ops in place; shared by the dialects.

Each takes a parameter, its gradient and its state. Where ops are recorded, so is the step: its options may be tensors
without axes, and it counts in tensors. Then an ``if`` must not ask for a number, which :func:`choose` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, native
from ferrograd._optim.fused import Rate, State, counter, factor, is_on, numbers, root, write, zeros
from ferrograd._tensor.dtypes import finfo


def begin(state: State, p: Tensor, *names: str, **values: float) -> None:
    """Before the first step the state gets zeros under the names, and the values."""
    if "step" not in state:
        counters = {name: counter(value) for name, value in {"step": 0, **values}.items()}
        state.update(**counters, **{name: zeros(p) for name in names})


def counted(state: State) -> Any:
    """Counts a step. Returns its number, from 1."""
    state["step"] += 1
    step = state["step"]
    return step if type(step) is int or _core.is_grad_enabled() else int(step)


def largest(x: Any, y: float) -> Any:
    """The larger one of two numbers, of which the first may be a tensor."""
    return native.maximum(x, y) if isinstance(x, Tensor) else max(x, y)


def smallest(x: Any, y: Any) -> Any:
    """The smaller one of two numbers or two tensors."""
    return native.minimum(x, y) if isinstance(x, Tensor) else min(x, y)


def choose(holds: Any, value: Callable[[], Any], other: Any) -> Any:
    """``value()`` if a condition holds, else ``other``. Where the condition is a tensor, both are computed."""
    if isinstance(holds, Tensor):
        return native.where(holds, value(), other)
    return value() if holds else other


def counted_rate(state: State, rate: Rate) -> float:
    """Counts a step. Returns the rate."""
    counted(state)
    return rate()


def single(value: Any) -> Any:
    """The number as a saved state holds it: in the default float dtype. A tensor stays as it is."""
    return value if isinstance(value, Tensor) else float(native.full([], value).item())


def decayed(p: Tensor, g: Tensor, decay: float) -> Tensor:
    """The gradient with that of an L2 penalty."""
    return g + decay * p if isinstance(decay, Tensor) or decay else g


def average(mean: Tensor, value: Tensor, weight: float) -> None:
    """Moves a running mean towards a value, in place."""
    mean.add_((value - mean) * weight)


def average_of_squares(mean: Tensor, value: Tensor, kept: float) -> None:
    """Moves a running mean towards the square of a value, in place."""
    mean.mul_(kept).add_(value * value * (1 - kept))


def rmsprop(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    smoothing: float,
    epsilon: float,
    momentum: float,
    centered: bool,
    inside: bool,
) -> None:
    """T. Tieleman, G. Hinton, lecture 6.5 (2012). ``inside`` adds epsilon before the root, and puts the rate into the
    momentum.
    """
    begin(state, p, "square_avg", *["momentum_buffer"] * is_on(momentum), *["grad_avg"] * centered)
    (now,) = numbers(p, state, lambda: (counted_rate(state, rate),))
    v = state["square_avg"]
    average_of_squares(v, g, smoothing)
    if centered:
        average(state["grad_avg"], g, 1 - smoothing)
        v = v - state["grad_avg"] * state["grad_avg"]
    step = g / native.sqrt(v + epsilon) * now if inside else g / (root(v) + epsilon)
    if is_on(momentum):
        step = state["momentum_buffer"].mul_(momentum).add_(step)
    p.sub_(step if inside else step * now)


def sparse_adam(p: Tensor, g: Tensor, state: State, *, rate: Rate, betas: tuple[float, float], epsilon: float) -> None:
    """Adam for the rows (slices along the first axis) whose gradient is not zero; the others and their state rest."""
    begin(state, p, "exp_avg", "exp_avg_sq")

    def count() -> tuple[float]:
        step = counted(state)
        return (rate() * (1 - betas[1] ** step) ** 0.5 / (1 - betas[0] ** step),)

    (now,) = numbers(p, state, count)
    if 0 in p.shape:
        return
    touched = native.any(native.reshape(g != 0, [g.shape[0], -1]), -1) if g.ndim else g != 0
    if not g.ndim and not bool(touched):
        return
    rows = native.nonzero(touched)[0] if g.ndim else ...
    part = g[rows]
    mean = betas[0] * state["exp_avg"][rows] + (1 - betas[0]) * part
    square = betas[1] * state["exp_avg_sq"][rows] + (1 - betas[1]) * part * part
    state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
    p[rows] = p[rows] - mean / (root(square) + epsilon) * now


def begin_adagrad(p: Tensor, state: State, initial: float) -> None:
    """Begins the state of :func:`adagrad`."""
    start = complex(initial, initial) if p.dtype.kind == "c" else initial
    state.update(step=0, sum=zeros(p).add_(start))


def adagrad(
    p: Tensor, g: Tensor, state: State, *, rate: Rate, rate_decay: float, epsilon: float, initial: float
) -> None:
    """J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning" (2011)."""
    if "sum" not in state:
        begin_adagrad(p, state, initial)
    (now,) = numbers(p, state, lambda: (rate() / (1 + (counted(state) - 1) * rate_decay),))
    state["sum"].add_(g * g)
    p.sub_(g / (root(state["sum"]) + epsilon) * now)


def adadelta(p: Tensor, g: Tensor, state: State, *, rate: Rate, smoothing: float, epsilon: float) -> None:
    """M. Zeiler, "Adadelta: an adaptive learning rate method" (2012)."""
    begin(state, p, "square_avg", "acc_delta")
    (now,) = numbers(p, state, lambda: (counted_rate(state, rate),))
    average_of_squares(state["square_avg"], g, smoothing)
    step = native.sqrt(state["acc_delta"] + epsilon) / native.sqrt(state["square_avg"] + epsilon) * g
    average_of_squares(state["acc_delta"], step, smoothing)
    p.sub_(step * now)


def adamax(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
    to_norm: bool,
) -> None:
    """Adam with the largest gradient: D. Kingma, J. Ba (2015). ``to_norm`` adds epsilon to the norm, else to the
    gradient.
    """
    begin(state, p, "exp_avg", "exp_inf")
    (speed,) = numbers(p, state, lambda: (rate() / (1 - betas[0] ** counted(state)),))
    average(state["exp_avg"], g, 1 - betas[0])
    before, size = state["exp_inf"] * betas[1], native.abs(g)
    if to_norm:
        before = before + epsilon
    else:
        size = size + epsilon
    write(state["exp_inf"], native.maximum(before, size))
    p.sub_(state["exp_avg"] / state["exp_inf"] * speed)


def nadam(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
    momentum_decay: float,
) -> None:
    """Adam with Nesterov's momentum: T. Dozat, "Incorporating Nesterov momentum into Adam" (2016)."""
    begin(state, p, "exp_avg", "exp_avg_sq", mu_product=1.0)

    def count() -> tuple[float, float, float]:
        step = counted(state)
        now, following = (betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (step, step + 1))
        product = state["mu_product"] = single(state["mu_product"] * single(now))
        fresh, old = rate() * (1 - now) / (1 - product), rate() * following / (1 - product * following)
        return 1 - betas[1] ** step, fresh, old

    correction, fresh, old = numbers(p, state, count)
    average(state["exp_avg"], g, 1 - betas[0])
    average_of_squares(state["exp_avg_sq"], g, betas[1])
    size = root(state["exp_avg_sq"] / correction) + epsilon
    p.sub_(g / size * fresh)
    p.sub_(state["exp_avg"] / size * old)


def radam(p: Tensor, g: Tensor, state: State, *, rate: Rate, betas: tuple[float, float], epsilon: float) -> None:
    """Rectified Adam: L. Liu et al., "On the variance of the adaptive learning rate and beyond" (2020)."""
    begin(state, p, "exp_avg", "exp_avg_sq")

    def count() -> tuple[Any, ...]:
        step = counted(state)
        rest = 1 - betas[1] ** step
        most = 2 / (1 - betas[1]) - 1
        length = most - 2 * step * betas[1] ** step / rest
        rectifies = length > 5
        square = choose(rectifies, lambda: (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length), 1.0)
        return 1 - betas[0] ** step, rate(), rest**0.5, square**0.5, rectifies

    correction, now, spread, rectified, rectifies = numbers(p, state, count)
    average(state["exp_avg"], g, 1 - betas[0])
    average_of_squares(state["exp_avg_sq"], g, betas[1])
    change = state["exp_avg"] / correction * now
    size = lambda: change * (spread / (root(state["exp_avg_sq"]) + epsilon)) * rectified  # noqa: E731
    p.sub_(choose(rectifies, size, change))


def rprop(
    p: Tensor, g: Tensor, state: State, *, rate: Rate, factors: tuple[float, float], bounds: tuple[float, float]
) -> None:
    """M. Riedmiller, H. Braun, "A direct adaptive method for faster backpropagation learning" (1993)."""
    if "step_size" not in state:
        state.update(step=counter(0), prev=zeros(p), step_size=zeros(p).add_(rate()))
    numbers(p, state, lambda: (counted(state) > 0,))
    less, more = factors
    sign = native.sign(g * state["prev"])
    size = state["step_size"]
    write(size, native.clip(native.where(sign > 0, size * more, native.where(sign < 0, size * less, size)), *bounds))
    g = native.where(sign < 0, native.zeros_like(g), g)
    p.sub_(native.sign(g) * size)
    write(state["prev"], g)


def averaged_sgd(p: Tensor, g: Tensor, state: State, *, rate: Rate, decay: float, power: float, start: float) -> None:
    """Averaged SGD: B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging" (1992)."""
    begin(state, p, "ax", eta=single(rate()), mu=1.0)

    def count() -> tuple[Any, ...]:
        step, eta, mu = counted(state), state["eta"], state["mu"]
        state["eta"] = single(rate() / (1 + decay * rate() * step) ** power)
        state["mu"] = single(1 / largest(step - start, 1))
        return 1 - decay * eta, eta, mu, mu == 1

    shrink, eta, mu, is_first = numbers(p, state, count)
    p.mul_(shrink)
    p.sub_(g * eta)
    # A recorded step does not ask: with a weight of 1 the mean is the value.
    if is_first is True:
        write(state["ax"], p)
    else:
        average(state["ax"], p, mu)


def adafactor(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    beta2_decay: float,
    epsilons: tuple[float | None, float],
    threshold: float,
    decay: float,
) -> None:
    """N. Shazeer, M. Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018).

    The second moment of a matrix is kept as means of its rows and columns.
    """
    if 0 in g.shape:
        return
    least = float(finfo(p.dtype).eps) if epsilons[0] is None else epsilons[0]
    names = ("row_var", "col_var") if len(g.shape) > 1 else ("variance",)
    if "step" not in state:
        state["step"] = counter(0)
        for name in names:
            axis = {"row_var": -1, "col_var": -2}.get(name)
            state[name] = zeros(p) if axis is None else zeros(native.sum(p.detach(), axis, keepdims=True))
    weight, shrink = numbers(p, state, lambda: (counted(state) ** beta2_decay, 1 - rate() * decay))
    (most,) = numbers(None, state, lambda: (smallest(rate(), 1 / state["step"] ** 0.5),))
    root = math.prod(g.shape) ** 0.5
    step = native.maximum(native.norm(p).astype("float64") / root, epsilons[1]) * most
    if is_on(decay):
        p.mul_(shrink)
    squares = g * g
    if len(g.shape) > 1:
        rows, columns = state["row_var"], state["col_var"]
        average(rows, native.mean(squares, -1, keepdims=True), weight)
        average(columns, native.mean(squares, -2, keepdims=True), weight)
        v = rows * columns / native.clip(native.mean(rows, -2, keepdims=True), least, None)
    else:
        average(state["variance"], squares, weight)
        v = state["variance"]
    change = g / native.sqrt(native.clip(v, least * least, None))
    size = native.norm(change).astype("float64") / (root * threshold)
    p.sub_(change * factor(step / native.maximum(size, 1.0), p))


def lamb(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
    decay: float,
    adapts: bool,
) -> None:
    """Adam with a rate for each layer: Y. You et al., "Large batch optimization for deep learning" (2020).

    A parameter that does not decay gets the plain rate unless ``adapts``.
    """
    begin(state, p, "exp_avg", "exp_avg_sq")

    def count() -> tuple[float, float]:
        step = counted(state)
        return 1 - betas[0] ** step, 1 - betas[1] ** step

    corrections = numbers(p, state, count)
    average(state["exp_avg"], g, 1 - betas[0])
    average_of_squares(state["exp_avg_sq"], g, betas[1])
    m, v = state["exp_avg"] / corrections[0], state["exp_avg_sq"] / corrections[1]
    change = decayed(p, m / (root(v) + epsilon), decay)
    if not (is_on(decay) or adapts):
        (now,) = numbers(p, state, lambda: (rate(),))
        p.sub_(change * now)
        return
    (now,) = numbers(None, state, lambda: (rate(),))
    mine, its = (native.norm(x).astype("float64") for x in (p, change))
    divides = (mine != 0) & (its != 0)
    ratio = native.where(divides, mine / native.where(divides, its, 1.0), 1.0)
    p.sub_(change * factor(ratio * now, p))


def averaged_gradient(p: Tensor, g: Tensor, state: State, *, rate: Rate, batches: int) -> None:
    """SAG: M. Schmidt, N. Le Roux, F. Bach, "Minimizing finite sums with the stochastic average gradient" (2017).

    The mean of the last gradients of ``batches`` batches, which come in turn.
    """
    begin(state, p, "d")
    (speed,) = numbers(p, state, lambda: (rate() / smallest(counted(state), batches),))
    last: list[Tensor] = state.setdefault("ys", [])
    if len(last) == batches:
        state["d"].sub_(last.pop(0))
    last.append(g.clone())
    state["d"].add_(g)
    p.sub_(state["d"] * speed)


def orthogonalized(g: Tensor, coefficients: Sequence[float], steps: int, epsilon: float) -> Tensor:
    """A matrix near the orthogonal one nearest to ``g``, by Newton and Schulz's iteration."""
    a, b, c = coefficients
    wide = g.shape[0] <= g.shape[1]
    x: Tensor = g if wide else g.T
    x = x / native.maximum(native.norm(x), epsilon)
    for _ in range(steps):
        square = native.matmul(x, x.T)
        x = a * x + native.matmul(b * square + c * native.matmul(square, square), x)
    found: Tensor = x if wide else x.T
    return found
