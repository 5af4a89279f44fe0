"""The rules of the optimizers against their formulas in NumPy, their options, and their states."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import ferrograd.torch as _torch
import numpy as np
import pytest

torch: Any = _torch
paddle: Any = _paddle
T: Any = torch.optim
P: Any = paddle.optimizer
Array = np.ndarray[Any, np.dtype[Any]]
STEPS = 8
START = {
    "matrix": np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.5]]),
    "vector": np.array([0.3, -0.7, 1.1, 2.0]),
    "scalar": np.array(0.8),
}


def gradient(w: Array, t: int) -> Array:
    """A gradient whose elements change their signs."""
    return w * np.cos(1.3 * t + np.arange(w.size).reshape(w.shape)) + 0.1 * w**3


Rule = Callable[[Array], Iterator[Array]]


def rmsprop(rate: float, rho: float, eps: float, momentum: float, centered: bool, decay: float, inside: bool) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        v = m = b = np.zeros_like(w)
        for t in range(STEPS):
            g = gradient(w, t) + decay * w
            v, m = rho * v + (1 - rho) * g * g, rho * m + (1 - rho) * g
            u = v - m * m if centered else v
            if inside:
                b = momentum * b + rate * g / np.sqrt(u + eps)
                w = w - b
            else:
                b = momentum * b + g / (np.sqrt(u) + eps)
                w = w - rate * b
            yield w

    return run


def adagrad(rate: float, rate_decay: float, start: float, eps: float, decay: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        s = np.full_like(w, start)
        for t in range(STEPS):
            g = gradient(w, t) + decay * w
            s = s + g * g
            w = w - rate / (1 + t * rate_decay) * g / (np.sqrt(s) + eps)
            yield w

    return run


def adadelta(rate: float, rho: float, eps: float, decay: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        v = u = np.zeros_like(w)
        for t in range(STEPS):
            g = gradient(w, t) + decay * w
            v = rho * v + (1 - rho) * g * g
            d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
            u = rho * u + (1 - rho) * d * d
            w = w - rate * d
            yield w

    return run


def adamax(rate: float, b1: float, b2: float, eps: float, decay: float, to_norm: bool) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        m = u = np.zeros_like(w)
        for t in range(STEPS):
            g = gradient(w, t) + decay * w
            m = b1 * m + (1 - b1) * g
            u = np.maximum(b2 * u + eps, abs(g)) if to_norm else np.maximum(b2 * u, abs(g) + eps)
            w = w - rate / (1 - b1 ** (t + 1)) * m / u
            yield w

    return run


def moments(w: Array, b1: float, b2: float, decay: float, step: Callable[..., Array], shrink: float = 0) -> Any:
    m = v = np.zeros_like(w)
    for t in range(STEPS):
        g = gradient(w, t) + decay * w
        w = w * (1 - shrink)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = step(w, g, m, v, t + 1)
        yield w


def nadam(rate: float, b1: float, b2: float, eps: float, psi: float, decay: float, shrink: float = 0) -> Rule:
    def step(w: Array, g: Array, m: Array, v: Array, t: int) -> Array:
        mu = [b1 * (1 - 0.5 * 0.96 ** (i * psi)) for i in range(1, t + 2)]
        part = mu[t] * m / (1 - np.prod(mu)) + (1 - mu[t - 1]) * g / (1 - np.prod(mu[:t]))
        return w - rate * part / (np.sqrt(v / (1 - b2**t)) + eps)

    return lambda w: moments(w, b1, b2, decay, step, shrink)


def radam(rate: float, b1: float, b2: float, eps: float, decay: float, shrink: float = 0) -> Rule:
    def step(w: Array, g: Array, m: Array, v: Array, t: int) -> Array:
        most = 2 / (1 - b2) - 1
        rho = most - 2 * t * b2**t / (1 - b2**t)
        if rho <= 5:
            return w - rate * m / (1 - b1**t)
        r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
        return w - rate * r * m / (1 - b1**t) * np.sqrt(1 - b2**t) / (np.sqrt(v) + eps)

    return lambda w: moments(w, b1, b2, decay, step, shrink)


def lamb(rate: float, b1: float, b2: float, eps: float, decay: float, adapts: bool) -> Rule:
    def step(w: Array, g: Array, m: Array, v: Array, t: int) -> Array:
        d = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps) + decay * w
        return w - rate * (np.sqrt((w * w).sum() / (d * d).sum()) if decay or adapts else 1) * d

    return lambda w: moments(w, b1, b2, 0.0, step)


def rprop(rate: float, less: float, more: float, low: float, high: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        size, last = np.full_like(w, rate), np.zeros_like(w)
        for t in range(STEPS):
            g = gradient(w, t)
            size = np.clip(size * np.choose(np.sign(g * last).astype(int) + 1, [less, 1, more]), low, high)
            g = np.where(g * last < 0, 0, g)
            w, last = w - size * np.sign(g), g
            yield w

    return run


def averaged_sgd(rate: float, lambd: float, alpha: float, decay: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        eta = np.float32(rate).item()
        for t in range(STEPS):
            g = gradient(w, t) + decay * w
            w = w * (1 - lambd * eta) - eta * g
            eta = np.float32(rate / (1 + lambd * rate * (t + 1)) ** alpha).item()
            yield w

    return run


def averaged_gradient(rate: float, n: int, decay: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        all_g: list[Array] = []
        for t in range(STEPS):
            all_g.append(gradient(w, t) + decay * w)
            w = w - rate * np.mean(all_g[-n:], axis=0)
            yield w

    return run


def adafactor(rate: float, power: float, e1: float, e2: float, d: float, decay: float) -> Rule:
    def run(w: Array) -> Iterator[Array]:
        rows = columns = v = np.zeros(1)
        for t in range(1, STEPS + 1):
            g = gradient(w, t - 1)
            part = t**power
            step = max(e2, np.sqrt(np.mean(w * w))) * min(rate, t**-0.5)
            w = w * (1 - rate * decay)
            if w.ndim > 1:
                rows = (1 - part) * rows + part * np.mean(g * g, -1, keepdims=True)
                columns = (1 - part) * columns + part * np.mean(g * g, -2, keepdims=True)
                v = rows * columns / np.maximum(rows.mean(-2, keepdims=True), e1)
            else:
                v = (1 - part) * v + part * g * g
                v = v.reshape(w.shape)
            u = g / np.sqrt(np.maximum(v, e1 * e1))
            w = w - step * u / max(1.0, np.sqrt(np.mean(u * u)) / d)
            yield w

    return run


EPS = float(np.finfo(np.float64).eps)
#: An optimizer of some parameters, and the values that its steps give.
CASES: dict[str, Any] = {}
for _d in (0.0, 0.2):
    _t = {"weight_decay": _d}
    for _c in (False, True):
        for _m in (0.0, 0.7):
            CASES[f"torch RMSprop {_d} {_c} {_m}"] = (
                lambda p, t=_t, c=_c, m=_m: T.RMSprop(p, 0.02, 0.9, 1e-3, centered=c, momentum=m, **t),
                rmsprop(0.02, 0.9, 1e-3, _m, _c, _d, False),
            )
            CASES[f"paddle RMSProp {_d} {_c} {_m}"] = (
                lambda p, t=_t, c=_c, m=_m: P.RMSProp(0.02, 0.9, 1e-3, m, c, p, **t),
                rmsprop(0.02, 0.9, 1e-3, _m, _c, _d, True),
            )
    CASES |= {
        f"torch Adagrad {_d}": (
            lambda p, t=_t: T.Adagrad(p, 0.1, 0.3, initial_accumulator_value=0.2, eps=1e-3, **t),
            adagrad(0.1, 0.3, 0.2, 1e-3, _d),
        ),
        f"paddle Adagrad {_d}": (
            lambda p, t=_t: P.Adagrad(0.1, 1e-3, p, initial_accumulator_value=0.2, **t),
            adagrad(0.1, 0.0, 0.2, 1e-3, _d),
        ),
        f"torch Adadelta {_d}": (lambda p, t=_t: T.Adadelta(p, 0.5, 0.8, 1e-3, **t), adadelta(0.5, 0.8, 1e-3, _d)),
        f"paddle Adadelta {_d}": (
            lambda p, t=_t: P.Adadelta(0.5, 1e-3, 0.8, p, **t),
            adadelta(0.5, 0.8, 1e-3, _d),
        ),
        f"torch Adamax {_d}": (
            lambda p, t=_t: T.Adamax(p, 0.1, (0.8, 0.9), 1e-2, **t),
            adamax(0.1, 0.8, 0.9, 1e-2, _d, False),
        ),
        f"paddle Adamax {_d}": (
            lambda p, t=_t: P.Adamax(0.1, 0.8, 0.9, 1e-2, p, **t),
            adamax(0.1, 0.8, 0.9, 1e-2, _d, True),
        ),
        f"torch NAdam {_d}": (
            lambda p, t=_t: T.NAdam(p, 0.1, (0.8, 0.9), 1e-3, momentum_decay=0.1, **t),
            nadam(0.1, 0.8, 0.9, 1e-3, 0.1, _d),
        ),
        f"torch NAdam decoupled {_d}": (
            lambda p, t=_t: T.NAdam(p, 0.1, (0.8, 0.9), 1e-3, decoupled_weight_decay=True, **t),
            nadam(0.1, 0.8, 0.9, 1e-3, 0.004, 0.0, 0.1 * _d),
        ),
        f"paddle NAdam {_d}": (
            lambda p, t=_t: P.NAdam(0.1, 0.8, 0.9, 1e-3, 0.1, p, **t),
            nadam(0.1, 0.8, 0.9, 1e-3, 0.1, _d),
        ),
        f"torch RAdam {_d}": (
            lambda p, t=_t: T.RAdam(p, 0.1, (0.8, 0.9), 1e-3, **t),
            radam(0.1, 0.8, 0.9, 1e-3, _d),
        ),
        f"torch RAdam decoupled {_d}": (
            lambda p, t=_t: T.RAdam(p, 0.1, (0.8, 0.99), 1e-3, decoupled_weight_decay=True, **t),
            radam(0.1, 0.8, 0.99, 1e-3, 0.0, 0.1 * _d),
        ),
        f"paddle RAdam {_d}": (
            lambda p, t=_t: P.RAdam(0.1, 0.8, 0.9, 1e-3, p, **t),
            radam(0.1, 0.8, 0.9, 1e-3, _d),
        ),
        f"torch ASGD {_d}": (lambda p, t=_t: T.ASGD(p, 0.1, 0.2, 0.5, **t), averaged_sgd(0.1, 0.2, 0.5, _d)),
        f"paddle ASGD {_d}": (lambda p, t=_t: P.ASGD(0.1, 3, p, **t), averaged_gradient(0.1, 3, _d)),
        f"torch Adafactor {_d}": (
            lambda p, t=_t: T.Adafactor(p, 0.3, -0.5, (1e-3, 1e-2), 1.5, **t),
            adafactor(0.3, -0.5, 1e-3, 1e-2, 1.5, _d),
        ),
        f"paddle Lamb {_d}": (
            lambda p, d=_d: P.Lamb(0.1, d, 0.8, 0.9, 1e-3, p),
            lamb(0.1, 0.8, 0.9, 1e-3, _d, False),
        ),
    }
CASES |= {
    "torch Adafactor": (lambda p: T.Adafactor(p), adafactor(1e-2, -0.8, EPS, 1e-3, 1.0, 0.0)),
    "torch Rprop": (lambda p: T.Rprop(p, 0.1, (0.4, 1.5), (0.05, 0.2)), rprop(0.1, 0.4, 1.5, 0.05, 0.2)),
    "paddle Rprop": (lambda p: P.Rprop(0.1, (0.05, 0.2), p, (0.4, 1.5)), rprop(0.1, 0.4, 1.5, 0.05, 0.2)),
    "paddle Lamb adapts": (
        lambda p: P.Lamb(0.1, 0.0, 0.8, 0.9, 1e-3, p, always_adapt=True),
        lamb(0.1, 0.8, 0.9, 1e-3, 0.0, True),
    ),
}


def parameter(name: str, start: Array) -> Any:
    if name.startswith("torch"):
        return torch.tensor(start, requires_grad=True)
    return paddle.to_tensor(start, stop_gradient=False)


def take(optimizer: Any, p: Any, t: int, sign: float = 1.0) -> None:
    g = sign * gradient(p.detach().numpy(), t)
    p.grad = torch.tensor(g) if isinstance(optimizer, T.Optimizer) else paddle.to_tensor(g)
    optimizer.step()


@pytest.mark.parametrize("start", START)
@pytest.mark.parametrize("name", CASES)
def test_steps(name: str, start: str) -> None:
    make, rule = CASES[name]
    p = parameter(name, START[start])
    optimizer = make([p])
    # NAdam and ASGD hold a product and a rate in single precision, as PyTorch does.
    precision = 1e-6 if "NAdam" in name else 1e-12
    for t, wanted in enumerate(rule(START[start])):
        take(optimizer, p, t)
        assert p.shape == START[start].shape
        np.testing.assert_allclose(p.detach().numpy(), wanted, rtol=precision, atol=1e-14)
        assert not p.grad.requires_grad if name.startswith("torch") else p.grad.stop_gradient


@pytest.mark.parametrize("name", CASES)
def test_states_are_saved_and_loaded(name: str) -> None:
    make, _ = CASES[name]
    p = parameter(name, START["matrix"])
    optimizer = make([p])
    for t in range(3):
        take(optimizer, p, t)
    state = copy.deepcopy(optimizer.state_dict())
    q = parameter(name, p.detach().numpy())
    other = make([q])
    (other.load_state_dict if name.startswith("torch") else other.set_state_dict)(state)
    for t in range(3, 6):
        take(optimizer, p, t)
        take(other, q, t)
    assert p.tolist() == q.tolist()


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("torch")])
def test_maximize(name: str) -> None:
    make, _ = CASES[name]
    p, q = (parameter(name, START["vector"]) for _ in range(2))
    down, up = make([p]), make([q])
    up.param_groups[0]["maximize"] = True
    for t in range(4):
        take(down, p, t)
        take(up, q, t, -1.0)
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())


@pytest.mark.parametrize("name", CASES)
def test_empty_and_float32_parameters(name: str) -> None:
    make, rule = CASES[name]
    p = parameter(name, START["vector"].astype(np.float32))
    optimizer = make([p])
    for t, wanted in enumerate(rule(START["vector"])):
        p.grad = (torch.tensor if name.startswith("torch") else paddle.to_tensor)(
            gradient(p.detach().numpy(), t).astype(np.float32)
        )
        optimizer.step()
        assert str(p.dtype).endswith("float32")
        np.testing.assert_allclose(p.detach().numpy(), wanted, rtol=2e-3, atol=1e-5)
    empty = parameter(name, np.zeros((0, 3)))
    optimizer = make([empty])
    take(optimizer, empty, 0)
    assert list(empty.shape) == [0, 3]


def test_layout_of_saved_states() -> None:
    wanted = {
        "SGD": set(),
        "Adam": {"step", "exp_avg", "exp_avg_sq"},
        "AdamW": {"step", "exp_avg", "exp_avg_sq"},
        "Adamax": {"step", "exp_avg", "exp_inf"},
        "NAdam": {"step", "exp_avg", "exp_avg_sq", "mu_product"},
        "RAdam": {"step", "exp_avg", "exp_avg_sq"},
        "RMSprop": {"step", "square_avg"},
        "Adagrad": {"step", "sum"},
        "Adadelta": {"step", "square_avg", "acc_delta"},
        "Adafactor": {"step", "row_var", "col_var"},
        "ASGD": {"step", "eta", "mu", "ax"},
        "Rprop": {"step", "prev", "step_size"},
        "Muon": {"momentum_buffer"},
    }
    for name, keys in wanted.items():
        p = torch.tensor(START["matrix"], requires_grad=True)
        optimizer = getattr(T, name)([p], foreach=False) if name != "Muon" else T.Muon([p])
        take(optimizer, p, 0)
        take(optimizer, p, 1)
        state = optimizer.state_dict()["state"].get(0, {})
        assert set(state) == keys, name
        assert all(isinstance(value, torch.Tensor) for value in state.values())
        if "step" in keys:
            assert state["step"].item() == 2
            assert state["step"].dtype == torch.float32
            # PyTorch's own states hold such tensors.
            optimizer.load_state_dict(optimizer.state_dict())
            take(optimizer, p, 2)
            assert optimizer.state_dict()["state"][0]["step"].item() == 3
    p = torch.tensor(START["matrix"], requires_grad=True)
    optimizer = T.RMSprop([p], momentum=0.5, centered=True)
    take(optimizer, p, 0)
    assert set(optimizer.state[p]) == {"step", "square_avg", "momentum_buffer", "grad_avg"}


def test_averaged_sgd_keeps_the_mean() -> None:
    p = torch.tensor(START["vector"], requires_grad=True)
    optimizer = T.ASGD([p], 0.1, t0=2)
    seen = []
    for t in range(6):
        take(optimizer, p, t)
        seen.append(p.detach().numpy().copy())
    np.testing.assert_allclose(optimizer.state[p]["ax"].numpy(), np.mean(seen[3:], axis=0), rtol=1e-6)


def test_muon_takes_orthogonal_steps() -> None:
    for shape in ((3, 5), (5, 3)):
        g = np.random.default_rng(0).normal(size=shape)
        p = torch.tensor(np.zeros(shape), requires_grad=True)
        optimizer = T.Muon([p], 1.0, weight_decay=0.5, ns_steps=9, adjust_lr_fn="match_rms_adamw")
        p.grad = torch.tensor(g)
        optimizer.step()
        size = 0.2 * np.sqrt(max(shape))
        sizes = np.linalg.svd(p.detach().numpy() / size)[1]
        assert sizes.min() > 0.6
        assert sizes.max() < 1.3
        u, _, v = np.linalg.svd(g, full_matrices=False)
        assert np.trace(-p.detach().numpy().T @ (u @ v)) / size > 2.2
    with pytest.raises(fg.ArgumentError, match="only supports 2D parameters"):
        T.Muon([torch.ones(3, requires_grad=True)])
    with pytest.raises(fg.ArgumentError, match="is not supported"):
        T.Muon([p], adjust_lr_fn="best")


def test_penalties_of_paddle() -> None:
    start = START["vector"]
    for penalty, by in ((paddle.regularizer.L1Decay(0.5), np.sign(start)), (paddle.regularizer.L2Decay(0.5), start)):
        p = parameter("paddle", start)
        optimizer = P.SGD(0.1, [p], penalty)
        take(optimizer, p, 0)
        np.testing.assert_allclose(p.numpy(), start - 0.1 * (gradient(start, 0) + 0.5 * by))
        assert "coeff=0.5" in str(penalty)
    a, b = parameter("paddle", start), parameter("paddle", START["matrix"])
    lamb_of = P.Lamb(0.1, 0.5, parameters=[a, b], exclude_from_weight_decay_fn=lambda p: len(p.shape) == 1)
    for p in (a, b):
        p.grad = paddle.to_tensor(np.ones(p.shape))
    lamb_of.step()
    np.testing.assert_allclose(a.numpy(), start - 0.1, rtol=1e-5)
    assert abs(b.numpy() - (START["matrix"] - 0.1)).max() > 0.05


def rosenbrock(x: Any, y: Any) -> Any:
    return (100 * (y - x**2) ** 2 + (1 - x) ** 2).sum()


def evaluations(name: str, steps: int = 1, **options: Any) -> list[float]:
    x, y = parameter(name, np.array([-1.2])), parameter(name, np.array([1.0]))
    make = T.LBFGS if name == "torch" else lambda p, **o: P.LBFGS(parameters=p, **o)
    optimizer = make([x, y], line_search_fn="strong_wolfe", **options)
    seen = []

    def closure() -> Any:
        optimizer.zero_grad() if name == "torch" else optimizer.clear_grad()
        value = rosenbrock(x, y)
        value.backward()
        seen.append(float(value))
        return value

    for i in range(steps):
        optimizer.step(closure)
        if i % 2:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = make([x, y], line_search_fn="strong_wolfe", **options)
            (optimizer.load_state_dict if name == "torch" else optimizer.set_state_dict)(state)
    return seen


def test_lbfgs_tries_the_steps_of_pytorch() -> None:
    # The values that PyTorch 2.15 and Paddle 3.3 print for this function.
    wanted = [
        24.2,
        112.44805609,
        4.14692710257,
        4.12558671367,
        4.12112677577,
        4.11181645176,
        4.08495537633,
        4.02228214898,
        3.90914427952,
        3.75891171794,
        3.42316546229,
        2.85975914073,
    ]
    for name in ("torch", "paddle"):
        found = evaluations(name)
        np.testing.assert_allclose(found[: len(wanted)], wanted, rtol=1e-9)


def test_lbfgs_goes_on_from_a_state() -> None:
    for name in ("torch", "paddle"):
        assert evaluations(name, 12, max_iter=4, max_eval=100, history_size=3)[-1] < 1e-9
    whole = evaluations("torch", 1, max_iter=6, max_eval=1000)
    parts = evaluations("torch", 4, max_iter=2, max_eval=1000)
    assert whole[:4] == parts[:4]
    x = torch.tensor([1.0], requires_grad=True)
    up = T.LBFGS([x], maximize=True)

    def closure() -> Any:
        up.zero_grad()
        y = -((x - 3) ** 2).sum()
        y.backward()
        return y

    up.step(closure)
    assert x.item() == pytest.approx(3)
    state = up.state_dict()["state"][0]
    assert {"func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "ro", "H_diag"} <= state.keys()


def test_wrong_options_raise() -> None:
    w = torch.ones(2, requires_grad=True)
    v = paddle.ones([2])
    v.stop_gradient = False
    cases: list[tuple[Any, str]] = [
        (lambda: T.RMSprop([w], alpha=-1), "Invalid alpha value: -1"),
        (lambda: T.Adagrad([w], lr_decay=-1), "Invalid lr_decay value"),
        (lambda: T.Adadelta([w], rho=1.5), "Invalid rho value"),
        (lambda: T.Adamax([w], betas=(0.9, 1.0)), "Invalid beta parameter at index 1"),
        (lambda: T.NAdam([w], momentum_decay=-1), "Invalid momentum_decay value"),
        (lambda: T.RAdam([w], eps=-1), "Invalid epsilon value"),
        (lambda: T.ASGD([w], lambd=-1), "Invalid lambd value"),
        (lambda: T.Rprop([w], etas=(1.5, 2.0)), "Invalid eta values"),
        (lambda: T.Adafactor([w], beta2_decay=0.5), "beta2_decay should be <= 0"),
        (lambda: T.Adafactor([w], eps=(-1e-30, 1e-3)), "epsilon1 should be >= 0"),
        (lambda: T.Adafactor([w], eps=(None, -1.0)), "epsilon2 should be >= 0"),
        (lambda: T.Adafactor([w], d=0.0), "Clipping threshold d should be >= 1"),
        (lambda: P.RMSProp(0.1, rho=-1.0, parameters=[v]), "Invalid rho"),
        (lambda: P.NAdam(beta1=1.0, parameters=[v]), "Invalid beta1"),
        (lambda: P.Rprop(100.0, parameters=[v]), "learning_rate_range"),
        (lambda: P.Rprop(0.1, parameters=[v], etas=(2.0, 3.0)), "etas"),
        (lambda: P.ASGD(0.1, 0, [v]), "batch_num should be greater than 0"),
        (lambda: P.Lamb(lamb_weight_decay=-1.0, parameters=[v]), "Invalid lamb_weight_decay"),
        (lambda: P.Adagrad(0.1, initial_accumulator_value=-1.0, parameters=[v]), "Invalid initial_accumulator_value"),
        (lambda: P.Adadelta(rho=-0.1, parameters=[v]), "Invalid rho"),
    ]
    for call, text in cases:
        with pytest.raises(fg.ArgumentError, match=text):
            call()
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        T.Adam([w], fused=True, foreach=True)


def test_a_fused_step_divides_by_the_scale_and_is_left_out_where_gradients_are_not_finite() -> None:
    w, v = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2))
    scaled, plain = T.Adam([w], fused=True), T.Adam([v])
    w.grad, v.grad = torch.tensor([8.0, 4.0]), torch.tensor([2.0, 1.0])
    scaled.grad_scale, scaled.found_inf = torch.tensor(4.0), torch.tensor(1.0)
    scaled.step()
    assert w.tolist() == [1.0, -2.0]
    assert not scaled.state[w]
    scaled.found_inf = torch.tensor(0.0)
    scaled.step()
    plain.step()
    assert torch.equal(w, v)
    assert torch.equal(w.grad, v.grad)
