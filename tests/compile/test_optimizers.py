"""Compiled functions that take steps of optimizers: the bits, the state and the counts of the functions themselves."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any, cast

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import paddle

from tests.optim.test_rules import CASES

T, P = torch.optim, paddle.optimizer
nn: Any = torch.nn
MORE: dict[str, Callable[[Any], Any]] = {
    "torch SGD": lambda p: T.SGD(p, 0.1),
    "torch SGD momentum": lambda p: T.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "torch SGD nesterov": lambda p: T.SGD(p, 0.1, momentum=0.9, nesterov=True, maximize=True),
    "torch Adam": lambda p: T.Adam(p, 0.1, weight_decay=0.1),
    "torch Adam amsgrad": lambda p: T.Adam(p, 0.1, amsgrad=True),
    "torch AdamW": lambda p: T.AdamW(p, 0.1),
    "paddle SGD": lambda p: P.SGD(0.1, p),
    "paddle Momentum": lambda p: P.Momentum(0.1, 0.9, p, weight_decay=0.1, rescale_grad=0.5),
    "paddle Adam": lambda p: P.Adam(0.1, parameters=p, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)),
    "paddle AdamW": lambda p: P.AdamW(0.1, parameters=p, lr_ratio=lambda p: 0.5),
}
MAKE = {name: make for name, (make, _) in CASES.items()} | MORE
START = [np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]), np.array([0.5, -0.5, 2.0])]


def rate(optimizer: Any, value: float) -> None:
    if isinstance(optimizer, P.Optimizer):
        optimizer.set_lr(value)
    else:
        optimizer.param_groups[0]["lr"] = value


def numbers(state: Any) -> list[Any]:
    """All numbers in a saved state, in order."""
    if isinstance(state, fg.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return [numbers(v) for _, v in sorted(state.items(), key=lambda item: str(item[0])) if not callable(v)]
    if isinstance(state, list | tuple):
        return [numbers(v) for v in state]
    return [state] if isinstance(state, float | int) else []


def trained(name: str, dtype: str, compiles: bool, steps: int = 7) -> tuple[list[Any], Any]:
    """The parameters after each step and the state at last; and the compiled function."""
    lib: Any = paddle if name.startswith("paddle") else torch
    make = (lambda x: lib.to_tensor(x, dtype, stop_gradient=False)) if lib is paddle else None
    params = [make(x) if make else torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True) for x in START]
    optimizer = MAKE[name](params)

    def step(x: Any) -> Any:
        for p in params:
            p.grad = None
        loss = ((params[0] * x + params[1]) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    function = fg.compile(step) if compiles else step
    found = []
    for i in range(steps):
        rate(optimizer, 0.1 / (1 + i))
        x = fg.tensor(np.random.default_rng(i).normal(size=(2, 3)), dtype=dtype)
        found.append([function(x).item(), *(p.detach().numpy().tolist() for p in params)])
    return [found, numbers(optimizer.state_dict())], function


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MAKE)
def test_a_compiled_step_has_the_bits_of_the_step(name: str, dtype: str) -> None:
    with warnings.catch_warnings():
        # The mean of the last gradients keeps a list of them, which no program can.
        warnings.simplefilter("ignore" if name.startswith("paddle ASGD") else "error")
        wanted, _ = trained(name, dtype, False)
        found, function = trained(name, dtype, True)
    assert found == wanted
    assert name.startswith("paddle ASGD") or function.cache_info().hits >= 3


def training(optimizer: Callable[[Any], Any]) -> tuple[Any, Any, Callable[[Any], Any]]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    made = optimizer([w])

    def step(x: Any) -> Any:
        made.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        made.step()
        return loss.detach()

    return w, made, step


def test_what_changes_in_python_is_seen() -> None:
    results = []
    for wrap in (lambda f: f, fg.compile):
        w, adam, step = training(lambda p: T.Adam(p, 0.1))
        f = wrap(step)
        x = torch.tensor([1.0, 3.0])
        seen = []
        for i in range(12):
            if i == 4:
                saved = {k: v for k, v in adam.state_dict().items()}
            if i == 6:
                adam.param_groups[0]["betas"] = (0.5, 0.9)
            if i == 8:
                adam.load_state_dict(saved)
            if i == 10:
                v = torch.tensor([5.0], requires_grad=True)
                v.grad = torch.tensor([1.0])
                adam.add_param_group({"params": [v]})
            f(x)
            seen.append((w.tolist(), adam.state[w]["step"], adam.state[w]["exp_avg"].tolist()))
        results.append([*seen, v.tolist()])
    assert results[0] == results[1]


def test_steps_of_two_optimizers_and_several_steps_of_one() -> None:
    results = []
    for wrap in (lambda f: f, fg.compile):
        a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        first, second = T.Adam([a], 0.1), T.RMSprop([b], 0.01)

        def step(x: Any, a: Any = a, b: Any = b, first: Any = first, second: Any = second) -> Any:
            for _ in range(3):
                first.zero_grad()
                (a * x - b.detach()).pow(2).sum().backward()
                first.step()
            second.zero_grad()
            loss = (a.detach() - b * x).pow(2).sum()
            loss.backward()
            second.step()
            return loss.detach()

        f = wrap(step)
        losses = [f(torch.tensor([1.0, float(i)])).item() for i in range(6)]
        results.append((losses, a.tolist(), b.tolist(), first.state[a]["step"]))
    assert results[0] == results[1]
    assert results[0][3] == 18


def test_clipping_of_gradients_is_traced() -> None:
    for most in (0.1, 1e6):
        results = []
        for wrap in (lambda f: f, fg.compile):
            net = nn.Linear(3, 2)
            net.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
            sgd = T.SGD(net.parameters(), 0.1)

            def step(x: Any, net: Any = net, sgd: Any = sgd, most: float = most) -> Any:
                sgd.zero_grad()
                (net(x) ** 2).sum().backward()
                norm = nn.utils.clip_grad_norm_(net.parameters(), most)
                sgd.step()
                return norm

            f = wrap(step)
            norms = [f(torch.tensor([[1.0, 2.0, float(i)]])).item() for i in range(5)]
            results.append((norms, [p.tolist() for p in net.parameters()]))
        assert results[0] == results[1]
        assert f.cache_info().hits >= 3


def test_a_run_that_fails_counts_no_step() -> None:
    w, adam, step = training(lambda p: T.Adam(p, 0.1))
    f = fg.compile(step)
    for _ in range(3):
        f(torch.tensor([1.0, 2.0]))
    before = w.tolist(), adam.state[w]["step"], adam.state[w]["exp_avg"].tolist()
    kept = adam.param_groups[0]["lr"]
    adam.param_groups[0]["lr"] = "fast"
    with pytest.raises(ValueError, match="fast"):
        f(torch.tensor([1.0, 2.0]))
    assert (w.tolist(), adam.state[w]["step"], adam.state[w]["exp_avg"].tolist()) == before
    adam.param_groups[0]["lr"] = kept
    f(torch.tensor([1.0, 2.0]))
    assert adam.state[w]["step"] == before[1] + 1


def warned_of(step: Callable[[Any], Any], times: int) -> None:
    """Calls the compiled step, and expects a warning that it is not traced."""
    f, x = fg.compile(step), torch.tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="counted in Python"):
        f(x)
    for _ in range(times - 1):
        f(x)


def test_what_counts_in_python_is_not_traced() -> None:
    class Own(T.SGD):
        steps = 0

        def step(self, closure: Any = None) -> Any:
            self.steps += 1
            return super().step(closure)

    _, own, step = training(lambda p: Own(p, 0.1))
    warned_of(step, 5)
    assert own.steps == 5
    _, sgd, step = training(lambda p: T.SGD(p, 0.1))
    calls: list[int] = []
    sgd.register_step_post_hook(lambda *_: calls.append(1))
    warned_of(step, 5)
    assert len(calls) == 5
    _, sgd, step = training(lambda p: T.SGD(p, 0.1))
    schedule = T.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.1, patience=0)

    def both(x: Any) -> Any:
        found = step(x)
        schedule.step(1.0)
        return found

    warned_of(both, 4)
    assert sgd.param_groups[0]["lr"] == pytest.approx(0.1 * 0.1**3)


HALF: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: T.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "SGD nesterov": lambda p: T.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: T.Adam(p, 0.1, weight_decay=0.1),
    "Adam amsgrad": lambda p: T.Adam(p, 0.1, amsgrad=True),
    "AdamW": lambda p: T.AdamW(p, 0.1),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", HALF)
def test_steps_of_parameters_of_a_half_dtype(name: str, dtype: Any) -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        params = [torch.tensor(x, dtype=dtype, requires_grad=True) for x in START]
        optimizer = HALF[name](params)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = sum(((p - x) ** 2).sum() for p in params)
            loss.backward()
            nn.utils.clip_grad_norm_(params, 2.0)
            optimizer.step()
            return loss

        f = wrap(step)
        found = [f(torch.tensor(0.1 * k, dtype=dtype)).tolist() for k in range(6)]
        return [found, [p.tolist() for p in params], numbers(optimizer.state_dict())]

    assert run(lambda f: fg.compile(f, fullgraph=True)) == run(lambda f: f)


def test_a_parameter_of_a_half_dtype_takes_its_step_as_it_is() -> None:
    results = []
    for wrap in (lambda f: f, fg.compile):
        w = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True)
        adam = T.Adam([w], 0.1)

        def step(x: Any, w: Any = w, adam: Any = adam) -> Any:
            adam.zero_grad()
            (w * x).sum().backward()
            adam.step()
            return w.detach() * 1

        f = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append([f(torch.tensor([1.0, 3.0], dtype=torch.bfloat16)).tolist() for _ in range(4)])
    assert results[0] == results[1]


def test_a_rate_that_is_a_tensor() -> None:
    found = []
    for wrap in (lambda f: f, torch.compile):
        p = torch.tensor([1.0, 2.0], requires_grad=True)
        rate: Any = torch.tensor(0.5)
        optimizer = torch.optim.Adam([p], lr=rate)

        def step(x: Any, p: Any = p, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            (p * p * x).sum().backward()
            optimizer.step()

        f = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(3):
                f(torch.tensor([1.0, k + 1.0]))
                rate.mul_(0.5)
        found.append(p.tolist())
    assert found[0] == found[1]


def test_a_learning_rate_that_the_function_reads() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    sgd = torch.optim.SGD([w], lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(sgd, 2, 0.5)

    def train(x: Any) -> Any:
        sgd.zero_grad()
        (w * x).sum().backward()
        sgd.step()
        return sgd.param_groups[0]["lr"], schedule.get_last_lr()

    step, found = fg.compile(train, fullgraph=True), []
    for _ in range(6):
        found.append(step(torch.ones(2)))
        schedule.step()
    assert found == [(rate, [rate]) for rate in (1.0, 1.0, 0.5, 0.5, 0.25, 0.25)]
    # The first call finds no gradients.
    assert step.cache_info()[:2] == (2, 4)


S = T.lr_scheduler
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda o: S.StepLR(o, 2),
    "LambdaLR": lambda o: S.LambdaLR(o, lambda epoch: 0.9**epoch),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 2),
    "SequentialLR": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3]),
    "OneCycleLR": lambda o: S.OneCycleLR(o, 0.5, total_steps=20),
    "CyclicLR": lambda o: S.CyclicLR(o, 0.1, 0.5, 3),
    "ChainedScheduler": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_inside_of_the_function(make: Callable[[Any], Any]) -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        adam = T.Adam([w], 0.1)
        schedule = make(adam)

        def step(x: Any) -> Any:
            adam.zero_grad()
            ((w - x) ** 2).sum().backward()
            adam.step()
            schedule.step()
            return torch.linalg.cholesky(x.reshape(1, 1) + w.detach()[0] ** 2)

        f, found = wrap(step), []
        for k in (1.0, 2.0, 3.0, -99.0, 5.0, 6.0, 7.0):
            with contextlib.suppress(fg.LinAlgError):
                f(torch.tensor([k]))
            found.append((w.tolist(), schedule.get_last_lr(), adam.param_groups[0]["lr"], vars(schedule)))
        return f, found

    def without_error(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: step(x) if x.item() > 0 else None

    compiled, found = run(lambda f: fg.compile(f, fullgraph=True))
    # A run that raises an error makes no step.
    assert [x[:3] for x in found] == [x[:3] for x in run(without_error)[1]]
    assert compiled.cache_info().hits == 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: T.SGD(p, 0.1, momentum=0.9, dampening=0.1),
        lambda p: T.SGD(p, 0.1, momentum=0.9, nesterov=True),
        lambda p: T.Adam(p, 0.1, amsgrad=True),
        lambda p: T.AdamW(p, 0.1),
    ],
)
@pytest.mark.parametrize("is_inside", [False, True])
def test_schedules_of_momenta(make: Callable[[Any], Any], dtype: str, is_inside: bool) -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        w = torch.tensor([1.0, 2.0], dtype=getattr(torch, dtype), requires_grad=True)
        optimizer = make([w])
        # The momentum becomes zero, which is a step without momentum.
        schedule = S.CyclicLR(optimizer, 0.1, 0.5, 3, base_momentum=0.0)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w - x) ** 2).sum()
            loss.backward()
            optimizer.step()
            if is_inside:
                schedule.step()
            return loss

        f, found = wrap(step), list[Any]()
        for k in range(16):
            found.append((f(torch.tensor([float(k)], dtype=w.dtype)).tolist(), w.tolist()))
            if not is_inside:
                schedule.step()
            found.append(numbers(optimizer.state_dict()))
        return f, found

    compiled, found = run(lambda f: fg.compile(f, fullgraph=True))
    assert found == run(lambda f: f)[1]
    assert compiled.cache_info().misses <= 4


def test_a_schedule_of_paddle_inside_of_the_function() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        schedule = P.lr.LinearWarmup(P.lr.ExponentialDecay(0.1, 0.9), 3, 0.0, 0.1)
        adam = P.Adam(schedule, parameters=[w])

        def step(x: Any) -> Any:
            loss = ((w - x) ** 2).sum()
            loss.backward()
            adam.step()
            adam.clear_grad()
            schedule.step()
            return loss.detach()

        f = wrap(step)
        return [(f(paddle.ones([2]) * i).tolist(), w.tolist(), schedule(), adam.get_lr()) for i in range(8)]

    assert run(lambda f: fg.compile(f, fullgraph=True)) == run(lambda f: f)


def test_a_tensor_as_the_learning_rate() -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        w, rate = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1)
        adam = T.Adam([w], lr=cast(Any, rate))

        def step(x: Any) -> Any:
            adam.zero_grad()
            ((w - x) ** 2).sum().backward()
            adam.step()
            rate.mul_(0.9)

        f, found = wrap(step), []
        for i in range(6):
            f(torch.tensor([1.0, float(i)]))
            rate.add_(0.01)
            found.append((w.tolist(), rate.item()))
        return f, found

    compiled, found = run(lambda f: fg.compile(f, fullgraph=True))
    assert found == run(lambda f: f)[1]
    assert compiled.cache_info().hits == 4


def test_a_learning_rate_that_the_function_computes() -> None:
    w, rate = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1)
    sgd = T.SGD([w], lr=cast(Any, rate))

    def step(x: Any) -> Any:
        rate.mul_(0.9)
        sgd.zero_grad()
        (w * x).sum().backward()
        sgd.step()

    f = fg.compile(step)
    with pytest.warns(UserWarning, match="an optimizer reads a number that the function computes"):
        f(torch.ones(2))
    assert w.tolist() == pytest.approx([1 - 0.09, 2 - 0.09])
