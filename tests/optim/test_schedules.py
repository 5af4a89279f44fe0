"""Schedules of learning rates of both dialects, against closed formulas."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import ferrograd.paddle as _paddle
import ferrograd.torch as _torch
import pytest

torch: Any = _torch
paddle: Any = _paddle
T: Any = torch.optim.lr_scheduler
P: Any = paddle.optimizer.lr

BASES = [0.5, 0.2]
STEPS = 60


def optimizer(kind: Any = None, bases: list[float] = BASES) -> Any:
    groups = [{"params": [torch.ones(2, requires_grad=True)], "lr": lr} for lr in bases]
    return (kind or torch.optim.SGD)(groups, lr=0.1)


def rates_of_torch(make: Callable[[Any], Any], bases: list[float] = BASES, steps: int = STEPS) -> list[list[float]]:
    o = optimizer(bases=bases)
    s = make(o)
    found = []
    for _ in range(steps):
        assert [g["lr"] for g in o.param_groups] == s.get_last_lr()
        found.append(s.get_last_lr())
        o.step()
        s.step()
    return found


def rates_of_paddle(s: Any, steps: int = STEPS) -> list[float]:
    o = paddle.optimizer.SGD(s, parameters=[paddle.ones([2])])
    found = []
    for _ in range(steps):
        assert o.get_lr() == s()
        found.append(s())
        s.step()
    return found


def cosine(e: float, period: float, low: float, base: float) -> float:
    return low + (base - low) * (1 + math.cos(math.pi * e / period)) / 2


def triangle(e: float, up: float, down: float) -> float:
    x = e % (up + down)
    return x / up if x <= up else (up + down - x) / down


def one_cycle(e: float, ends: list[float], rates: list[float], between: Callable[[float], float]) -> float:
    i = next(i for i in range(len(rates) - 1) if e <= ends[i + 1] or i == len(rates) - 2)
    part = (e - ends[i]) / (ends[i + 1] - ends[i])
    return rates[i] + (rates[i + 1] - rates[i]) * between(part)


def half_cosine(part: float) -> float:
    return (1 - math.cos(math.pi * part)) / 2


def by_epoch(e: int) -> float:
    return 0.9**e + 0.01


# A schedule of torch and one of Paddle, and the factor of the initial rate, or the rate, at an epoch.
FACTORS: dict[str, tuple[Any, Any, Callable[[int], float]]] = {
    "lambda": (lambda o: T.LambdaLR(o, by_epoch), lambda b: P.LambdaDecay(b, by_epoch), by_epoch),
    "multiplicative": (
        lambda o: T.MultiplicativeLR(o, lambda e: 1 - 1 / (e + 1)),
        lambda b: P.MultiplicativeDecay(b, lambda e: 1 - 1 / (e + 1)),
        lambda e: 1 / (e + 1),
    ),
    "step": (lambda o: T.StepLR(o, 7, 0.5), lambda b: P.StepDecay(b, 7, 0.5), lambda e: 0.5 ** (e // 7)),
    "milestones": (
        lambda o: T.MultiStepLR(o, [4, 30], 0.5),
        lambda b: P.MultiStepDecay(b, [4, 30], 0.5),
        lambda e: 0.5 ** ((e >= 4) + (e >= 30)),
    ),
    "exponential": (
        lambda o: T.ExponentialLR(o, 0.9),
        lambda b: P.ExponentialDecay(b, 0.9),
        lambda e: 0.9**e,
    ),
    "linear": (
        lambda o: T.LinearLR(o, 0.25, 0.75, 20),
        lambda b: P.LinearLR(b, 20, 0.25, 0.75),
        lambda e: 0.25 + 0.5 * min(e, 20) / 20,
    ),
    "polynomial": (
        lambda o: T.PolynomialLR(o, 40, 2.0),
        lambda b: P.PolynomialDecay(b, 40, 0.0, 2.0),
        lambda e: (1 - min(e, 40) / 40) ** 2,
    ),
    "cosine": (
        lambda o: T.CosineAnnealingLR(o, 13),
        lambda b: P.CosineAnnealingDecay(b, 13),
        lambda e: cosine(e, 13, 0, 1),
    ),
    "restarts": (
        lambda o: T.CosineAnnealingWarmRestarts(o, 7),
        lambda b: P.CosineAnnealingWarmRestarts(b, 7),
        lambda e: cosine(e % 7, 7, 0, 1),
    ),
    "longer restarts": (
        lambda o: T.CosineAnnealingWarmRestarts(o, 4, 2),
        lambda b: P.CosineAnnealingWarmRestarts(b, 4, 2),
        lambda e: next(cosine(e - 4 * (n - 1), 4 * n, 0, 1) for n in (1, 2, 4, 8, 16) if e < 4 * (2 * n - 1)),
    ),
    "constant": (lambda o: T.ConstantLR(o, 0.25, 6), None, lambda e: 0.25 if e < 6 else 1.0),
    "inverse": (None, lambda b: P.InverseTimeDecay(b, 0.1), lambda e: 1 / (1 + 0.1 * e)),
    "natural": (None, lambda b: P.NaturalExpDecay(b, 0.1), lambda e: math.exp(-0.1 * e)),
    "noam": (None, lambda b: P.NoamDecay(16, 9, b), lambda e: min(e**-0.5 if e else 1, e * 9**-1.5) / 4),
    "cycled polynomial": (
        None,
        lambda b: P.PolynomialDecay(b, 8, 0.0, 1.0, cycle=True),
        lambda e: 1 - e / (8 * max(math.ceil(e / 8), 1)),
    ),
    "chained": (
        lambda o: T.ChainedScheduler([T.ConstantLR(o, 0.5, 5), T.ExponentialLR(o, 0.9)]),
        None,
        lambda e: 0.9**e * (0.5 if e < 5 else 1),
    ),
    "sequential": (
        lambda o: T.SequentialLR(o, [T.LinearLR(o, 0.1, 1.0, 10), T.ExponentialLR(o, 0.9)], [10]),
        None,
        lambda e: 0.1 + 0.9 * e / 10 if e < 10 else 0.9 ** (e - 10),
    ),
}


@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_the_initial_rate(name: str) -> None:
    of_torch, of_paddle, factor = FACTORS[name]
    if of_torch is not None:
        for e, rates in enumerate(rates_of_torch(of_torch)):
            assert rates == pytest.approx([b * factor(e) for b in BASES], rel=1e-10, abs=1e-15)
    if of_paddle is not None:
        for e, rate in enumerate(rates_of_paddle(of_paddle(0.5))):
            assert rate == pytest.approx(0.5 * factor(e), rel=1e-10, abs=1e-15)


CYCLES: list[tuple[dict[str, Any], Callable[[int], float]]] = [
    ({}, lambda e: triangle(e, 6, 4)),
    ({"mode": "triangular2"}, lambda e: triangle(e, 6, 4) / 2 ** (e // 10)),
    ({"mode": "exp_range", "gamma": 0.98}, lambda e: triangle(e, 6, 4) * 0.98**e),
    ({"scale_fn": lambda x: 1 / x, "scale_mode": "cycle"}, lambda e: triangle(e, 6, 4) / (1 + e // 10)),
    ({"scale_fn": lambda x: 1 / (1 + x), "scale_mode": "iterations"}, lambda e: triangle(e, 6, 4) / (1 + e)),
]


@pytest.mark.parametrize("case", range(len(CYCLES)))
def test_cycles(case: int) -> None:
    options, height = CYCLES[case]
    found = rates_of_torch(lambda o: T.CyclicLR(o, 0.1, 0.5, 6, 4, cycle_momentum=False, **options))
    renamed = {"exp_gamma" if k == "gamma" else k: v for k, v in options.items()}
    by_paddle = rates_of_paddle(P.CyclicLR(0.1, 0.5, 6, 4, **renamed))
    for e in range(STEPS):
        assert found[e] == pytest.approx([0.1 + 0.4 * height(e)] * 2)
        assert by_paddle[e] == pytest.approx(0.1 + 0.4 * height(e))


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("three", [False, True])
def test_one_cycle(three: bool, strategy: str) -> None:
    between = half_cosine if strategy == "cos" else float
    ends, rates = [0, 11.0, 39], [0.02, 0.5, 0.02e-2]
    if three:
        ends, rates = [0, 11.0, 22.0, 39], [0.02, 0.5, 0.02, 0.02e-2]
    options = {"anneal_strategy": strategy, "three_phase": three}
    o = optimizer(torch.optim.Adam, [0.1])
    s = T.OneCycleLR(o, 0.5, epochs=8, steps_per_epoch=5, final_div_factor=100, **options)
    by_paddle = P.OneCycleLR(0.5, 40, end_learning_rate=0.02e-2, **options)
    for e in range(40):
        wanted = one_cycle(e, ends, rates, between)
        assert s.get_last_lr() == pytest.approx([wanted])
        assert by_paddle() == pytest.approx(wanted)
        momenta = [0.95, 0.85, 0.95, 0.95][: len(rates)]
        beta = one_cycle(e, ends, momenta, between)
        assert o.param_groups[0]["betas"] == pytest.approx((beta, 0.999))
        o.step()
        s.step()
        by_paddle.step()
    for late in (s, by_paddle):
        with pytest.raises(ValueError, match="Tried to step 41 times"):
            late.step()


def test_cycles_of_the_momentum() -> None:
    kinds: list[tuple[Any, Any]] = [
        (torch.optim.SGD, lambda g: g["momentum"]),
        (torch.optim.Adam, lambda g: g["betas"][0]),
    ]
    for kind, get in kinds:
        o = optimizer(kind, [0.1])
        s = T.CyclicLR(o, 0.1, 0.5, 5, base_momentum=0.6, max_momentum=0.8)
        for e in range(20):
            assert get(o.param_groups[0]) == pytest.approx(0.8 - 0.2 * triangle(e, 5, 5))
            o.step()
            s.step()


def test_warmup_and_pieces_of_paddle() -> None:
    warm = rates_of_paddle(P.LinearWarmup(P.ExponentialDecay(0.5, 0.9), 10, 0.0, 0.5))
    assert warm == pytest.approx([0.05 * e if e < 10 else 0.5 * 0.9 ** (e - 10) for e in range(STEPS)])
    assert rates_of_paddle(P.LinearWarmup(0.5, 10, 0.0, 0.4), 12) == pytest.approx(
        [0.04 * e for e in range(10)] + [0.5] * 2
    )
    assert rates_of_paddle(P.PiecewiseDecay([2, 4], [0.3, 0.2, 0.1]), 6) == [0.3, 0.3, 0.2, 0.2, 0.1, 0.1]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateaus(mode: str, threshold_mode: str) -> None:
    sign = 1 if mode == "min" else -1
    # It becomes better by enough twice, and then by too little.
    metrics = [sign * m + 20 for m in (5.0, 4.0, 3.999, 3.998, 3.997, 3.996, 3.995, 3.994, 3.993, 3.992)]
    options = {"mode": mode, "factor": 0.5, "patience": 2, "threshold_mode": threshold_mode, "threshold": 0.01}
    o = optimizer()
    s = T.ReduceLROnPlateau(o, cooldown=1, min_lr=[0.0, 0.15], **options)
    p = P.ReduceOnPlateau(0.5, cooldown=1, **options)
    of_torch, of_paddle = [], []
    for m in metrics:
        s.step(torch.tensor(m))
        p.step(paddle.to_tensor([m]))
        of_torch.append(s.get_last_lr())
        of_paddle.append(p())
    # Torch: reduced after 3 bad epochs, then one does not count.
    assert [r[0] for r in of_torch] == [0.5] * 4 + [0.25] * 4 + [0.125] * 2
    assert [r[1] for r in of_torch] == [0.2] * 4 + [0.15] * 6
    assert of_paddle == [0.5] * 4 + [0.25] * 4 + [0.125] * 2
    assert s.best == pytest.approx(metrics[1], rel=1e-6)
    small = T.ReduceLROnPlateau(optimizer(bases=[1e-9]), patience=0)
    for _ in range(3):
        small.step(1.0)
    assert small.get_last_lr() == [1e-9]


@pytest.mark.parametrize("name", [n for n in FACTORS if FACTORS[n][0] is not None])
def test_states_of_torch(name: str) -> None:
    make = FACTORS[name][0]
    wanted = rates_of_torch(make)
    o = optimizer()
    s = make(o)
    for _ in range(17):
        o.step()
        s.step()
    states = copy.deepcopy((o.state_dict(), s.state_dict()))
    assert "optimizer" not in states[1]
    other = optimizer()
    again = make(other)
    other.load_state_dict(states[0])
    again.load_state_dict(states[1])
    for e in range(17, STEPS):
        assert again.get_last_lr() == wanted[e] == [g["lr"] for g in other.param_groups]
        other.step()
        again.step()


@pytest.mark.parametrize("name", [n for n in FACTORS if FACTORS[n][1] is not None])
def test_states_of_paddle(name: str) -> None:
    make = FACTORS[name][1]
    wanted = rates_of_paddle(make(0.5))
    first = paddle.optimizer.SGD(make(0.5), parameters=[paddle.ones([2])])
    for _ in range(17):
        first._learning_rate.step()
    second = paddle.optimizer.SGD(make(0.5), parameters=[paddle.ones([2])])
    second.set_state_dict(first.state_dict())
    for e in range(17, STEPS):
        assert second.get_lr() == wanted[e]
        second._learning_rate.step()


def test_functions_in_states() -> None:
    class Scaled:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, e: int) -> float:
            return self.by

    makers: list[tuple[Any, str]] = [
        (lambda f: T.LambdaLR(optimizer(bases=[1.0]), [f]), "lr_lambdas"),
        (lambda f: T.CyclicLR(optimizer(bases=[1.0]), 1, 2, 3, scale_fn=f, cycle_momentum=False), "_scale_fn_custom"),
    ]
    for make, key in makers:
        state = make(Scaled(0.5)).state_dict()
        assert state[key] in ([{"by": 0.5}], {"by": 0.5})
        kept = dict(state)
        f = Scaled(0.25)
        make(f).load_state_dict(state)
        assert f.by == 0.5
        assert state == kept
        assert make(by_epoch).state_dict()[key] in ([None], None)


@pytest.mark.parametrize("state", [5, None, {}, {"last_epoch": 3}, {"last_epoch": 3, "lr_lambdas": [{}]}])
def test_a_state_that_does_not_load_changes_no_schedule(state: Any) -> None:
    class Of:
        by = 1.0

        def __call__(self, e: int) -> float:
            return self.by

    o = optimizer()
    for s in (
        T.LambdaLR(o, [Of(), Of()]),
        T.SequentialLR(o, [T.StepLR(o, 2), T.StepLR(o, 3)], [4]),
        T.CyclicLR(o, 1, 2, 3, scale_fn=Of(), cycle_momentum=False),
        P.LinearWarmup(P.StepDecay(0.1, 2), 2, 0.0, 0.1),
        P.StepDecay(0.1, 2),
    ):
        kept = repr(s.state_dict())
        load = s.load_state_dict if isinstance(s, T.LRScheduler) else s.set_state_dict
        with pytest.raises((ValueError, KeyError, RuntimeError)):
            load(state)
        assert repr(s.state_dict()) == kept


def test_an_epoch_may_be_given() -> None:
    for name in ("step", "milestones", "exponential", "linear", "polynomial", "cosine", "constant", "lambda"):
        make, _, factor = FACTORS[name]
        o = optimizer()
        s = make(o)
        o.step()
        for e in (5, 0, 44, 2):
            with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
                s.step(e)
            assert s.get_last_lr() == pytest.approx([b * factor(e) for b in BASES], abs=1e-15)
    s = T.CosineAnnealingWarmRestarts(optimizer(bases=[1.0]), 4, 2)
    for part in (2.5, 0, 5, 30.25):
        s.step(part)
        n = next(n for n in (1, 2, 4, 8, 16) if part < 4 * (2 * n - 1))
        assert s.get_last_lr() == pytest.approx([cosine(part - 4 * (n - 1), 4 * n, 0, 1)])
    p = P.CosineAnnealingDecay(1.0, 13)
    p.step(5)
    assert p() == pytest.approx(cosine(5, 13, 0, 1))


def test_a_run_goes_on_from_an_epoch() -> None:
    o = optimizer()
    for g in o.param_groups:
        g["initial_lr"] = g["lr"]
    s = T.CosineAnnealingLR(o, 13, last_epoch=4)
    assert s.last_epoch == 5
    with pytest.raises(KeyError, match=r"param 'initial_lr' is not specified in param_groups\[0\]"):
        T.StepLR(optimizer(), 3, last_epoch=4)
    assert P.StepDecay(1.0, 2, 0.5, last_epoch=4)() == 0.25


def test_warnings_about_the_order_of_steps() -> None:
    s = T.StepLR(optimizer(), 3)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        s.step()
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        s.get_lr()
    o = optimizer()
    s = T.StepLR(o, 3)
    o.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        s.step()

    class Own(torch.optim.Optimizer):  # type: ignore[misc]
        def step(self, closure: Any = None) -> None:
            pass

    o = Own([torch.ones(1, requires_grad=True)], {"lr": 1.0})
    s = T.StepLR(o, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o.step()
        s.step()
    assert s.get_last_lr() == [0.1]


def test_a_schedule_of_the_user() -> None:
    class Halved(T.LRScheduler):  # type: ignore[misc]
        def get_lr(self) -> Any:
            return [b * 0.5**self.last_epoch for b in self.base_lrs]

    assert rates_of_torch(Halved, steps=3) == [BASES, [0.25, 0.1], [0.125, 0.05]]

    class Third(P.LRScheduler):  # type: ignore[misc]
        def get_lr(self) -> float:
            return float(self.base_lr / 3**self.last_epoch)

    assert rates_of_paddle(Third(0.9), 3) == pytest.approx([0.9, 0.3, 0.1])


def test_a_rate_that_is_a_tensor_stays_the_same_tensor() -> None:
    lr = torch.tensor(0.5)
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr)
    s = T.ExponentialLR(o, 0.5)
    o.step()
    s.step()
    assert o.param_groups[0]["lr"] is lr
    assert lr.item() == 0.25
    assert s.base_lrs[0].item() == 0.5
    assert s.get_last_lr()[0].item() == 0.25


def test_verbose_schedules_print(capsys: Any) -> None:
    P.StepDecay(0.5, 2, verbose=True)
    assert capsys.readouterr().out == "Epoch 0: StepDecay set learning rate to 0.5.\n"


def test_schedules_of_an_optimizer_of_paddle() -> None:
    w = paddle.to_tensor([1.0], stop_gradient=False)
    s = P.StepDecay(0.5, 1, 0.5)
    o = paddle.optimizer.SGD(s, parameters=[w])
    w.sum().backward()
    o.step()
    s.step()
    o.step()
    assert w.item() == 0.25
    with pytest.raises(RuntimeError, match="can't be LRScheduler when invoke this API"):
        o.set_lr(0.1)
    with pytest.raises(AssertionError, match="LR_Scheduler state must be included"):
        o.set_state_dict({})
    o.set_lr_scheduler(P.StepDecay(0.125, 1))
    assert o.get_lr() == 0.125
    with pytest.raises(TypeError, match="must be LRScheduler, but received"):
        o.set_lr_scheduler(0.1)


def test_wrong_arguments_raise() -> None:
    o = optimizer()
    step = T.StepLR(o, 3)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: T.StepLR(3, 3), TypeError, "int is not an Optimizer"),
        (lambda: T.LambdaLR(o, [by_epoch]), ValueError, "Expected 2 lr_lambdas, but got 1"),
        (lambda: T.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function, but got int"),
        (lambda: T.ConstantLR(o, 2.0), ValueError, "expected to be between 0 and 1"),
        (lambda: T.LinearLR(o, 0.0), ValueError, "greater than 0 and less or equal to 1"),
        (lambda: T.LinearLR(o, end_factor=2.0), ValueError, "Ending multiplicative factor"),
        (lambda: T.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0, but got 0"),
        (lambda: T.CosineAnnealingWarmRestarts(o, 3, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
        (lambda: T.SequentialLR(o, [], []), ValueError, "expects at least one scheduler"),
        (lambda: T.SequentialLR(o, [step], [3]), ValueError, "one more than the number of milestone points"),
        (lambda: T.SequentialLR(optimizer(), [step], []), ValueError, "belong to the same optimizer"),
        (lambda: T.ChainedScheduler([]), ValueError, "expects at least one scheduler to be chained"),
        (lambda: T.ChainedScheduler([step, 3]), TypeError, "at index 1 should have `optimizer`"),
        (lambda: T.ChainedScheduler([T.ReduceLROnPlateau(o)]), ValueError, "does not support `ReduceLROnPlateau`"),
        (lambda: T.ReduceLROnPlateau(o, "mean"), ValueError, "mode mean is unknown!"),
        (lambda: T.ReduceLROnPlateau(o, factor=1.0), ValueError, r"Factor should be < 1\.0"),
        (lambda: T.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError, "expected 2 min_lrs, got 1"),
        (lambda: T.CyclicLR(o, [0.1], 0.2), ValueError, "base_lr must have the same length"),
        (lambda: T.CyclicLR(o, 0.1, 0.2, mode="square"), ValueError, "mode is invalid and scale_fn is None"),
        (lambda: T.OneCycleLR(o, 0.1), ValueError, "You must define either total_steps OR"),
        (lambda: T.OneCycleLR(o, 0.1, 0), ValueError, "Expected positive integer total_steps, but got 0"),
        (lambda: T.OneCycleLR(o, 0.1, 9, pct_start=2.0), ValueError, "Expected float between 0 and 1 pct_start"),
        (lambda: T.OneCycleLR(o, 0.1, 9, anneal_strategy="sin"), ValueError, "anneal_strategy must be one of"),
        (lambda: P.StepDecay("1", 2), TypeError, "The type of learning rate must be float"),
        (lambda: P.StepDecay(-1.0, 2), ValueError, "Invalid learning rate"),
        (lambda: P.PiecewiseDecay([], [1.0]), ValueError, "The boundaries cannot be empty"),
        (lambda: P.PiecewiseDecay([1], [1.0]), ValueError, "one more element than boundaries"),
        (lambda: P.MultiStepDecay(0.1, [3, 2]), ValueError, "must be incremented"),
        (lambda: P.MultiStepDecay(0.1, 3), TypeError, "must be 'tuple, list'"),
        (lambda: P.ExponentialDecay(0.1, 1.5), AssertionError, "'gamma' must be in interval"),
        (lambda: P.LambdaDecay(0.1, 3), TypeError, "'lr_lambda' in 'LambdaDecay' must be 'function'"),
        (lambda: P.LinearWarmup("a", 3, 0.0, 0.1), TypeError, "the type of learning_rate should be"),
        (lambda: P.LinearWarmup(0.1, 3, 0.1, 0.1), AssertionError, "must be greater than start_lr"),
        (lambda: P.OneCycleLR(0.1, 9, phase_pct=0.5, three_phase=True), ValueError, "must be less than 0.5"),
        (lambda: P.CyclicLR(0.1, 0.2, 0), ValueError, "'step_size_up' must be a positive integer"),
        (lambda: P.ReduceOnPlateau(0.1).step("a"), TypeError, "metrics must be 'int', 'float'"),
        (lambda: P.ReduceOnPlateau(0.1).step(paddle.ones([2])), AssertionError, "the size of metrics must be 1"),
        (lambda: P.NoamDecay(0, 3), ValueError, "d_model should be grater than 0"),
        (lambda: P.StepDecay(0.1, 2).set_state_dict({}), RuntimeError, r"Can't find \[ last_epoch \]"),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()
    with pytest.warns(UserWarning, match="unused values in state_dict"):
        P.StepDecay(0.1, 2).set_state_dict({"last_epoch": 1, "last_lr": 0.1, "other": 2})


def test_schedules_do_not_follow_writes_to_the_tensors_they_were_given() -> None:
    makers: list[Callable[[Any, Any], Any]] = [
        lambda o, high: T.CyclicLR(o, base_lr=0.1, max_lr=high),
        lambda o, high: T.OneCycleLR(o, max_lr=high, total_steps=9),
        lambda o, high: torch.optim.swa_utils.SWALR(o, swa_lr=high),
    ]
    for make in makers:
        rates = []
        for factor in (1.0, 0.5):
            given, o = torch.tensor(0.2), torch.optim.SGD([torch.ones(1)], lr=0.1, momentum=0.9)
            schedule = make(o, given)
            given.mul_(factor)
            o.step()
            schedule.step()
            rates.append(float(o.param_groups[0]["lr"]))
        assert rates[0] == rates[1]


def test_the_verbose_of_older_programs_warns() -> None:
    makers: list[Any] = [T.ReduceLROnPlateau, lambda o, verbose: T.StepLR(o, 1, verbose=verbose)]
    for make in makers:
        with pytest.warns(UserWarning, match="verbose parameter is deprecated"):
            make(optimizer(), verbose=True)

    class Own(T.LRScheduler):  # type: ignore[misc]
        def __init__(self, o: Any, last_epoch: int = -1, verbose: bool = False) -> None:
            super().__init__(o, last_epoch, verbose)

        def get_lr(self) -> list[float]:
            return [group["lr"] for group in self.optimizer.param_groups]

    with pytest.warns(UserWarning, match="verbose parameter is deprecated"):
        assert Own(optimizer(), verbose=True).get_last_lr() == BASES
    with pytest.raises(TypeError, match="unexpected keyword"):
        T.StepLR(optimizer(), 1, loud=True)


def test_names_of_older_programs() -> None:
    assert rates_of_paddle(P.noam_decay(16, 9, 0.5)) == rates_of_paddle(P.NoamDecay(16, 9, 0.5))
    found, wanted = P.polynomial_decay(0.5, 8, 0.1, 2.0, True), P.PolynomialDecay(0.5, 8, 0.1, 2.0, cycle=True)
    assert rates_of_paddle(found) == rates_of_paddle(wanted)


def _rates(o: Any, schedule: Any, steps: int) -> list[float]:
    found = [o.param_groups[0]["lr"]]
    for _ in range(steps):
        o.step()
        schedule.step()
        found.append(o.param_groups[0]["lr"])
    return [round(rate, 6) for rate in found]


def _stepped(rate: float = 1.0) -> Any:
    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.zeros(1)
    return torch.optim.SGD([p], lr=rate)


def _warm(o: Any, **options: Any) -> Any:
    return T.SequentialLR(o, [T.LinearLR(o, 0.1, 1.0, 3), T.ExponentialLR(o, 0.5)], [3], **options)


def test_schedules_of_schedules_begin_at_their_first_epoch() -> None:
    o = _stepped()
    assert _rates(o, _warm(o), 5) == [0.1, 0.4, 0.7, 1, 0.5, 0.25]
    o = _stepped()
    nested = T.SequentialLR(o, [_warm(o), T.StepLR(o, 1, 0.1)], [5])
    assert _rates(o, nested, 7) == [0.1, 0.4, 0.7, 1, 0.5, 1, 0.1, 0.01]
    o = _stepped()
    nested = T.SequentialLR(o, [T.ConstantLR(o, 0.5, 2), _warm(o)], [2])
    assert _rates(o, nested, 7) == [0.5, 0.5, 0.1, 0.4, 0.7, 1, 0.5, 0.25]
    for first in (True, False):
        o = _stepped()
        chain = T.ChainedScheduler([T.ConstantLR(o, 0.5, 2), T.ExponentialLR(o, 0.5)])
        members = [chain, T.StepLR(o, 1, 0.1)]
        found = _rates(o, T.SequentialLR(o, members if first else members[::-1], [3]), 5)
        assert found == ([0.5, 0.25, 0.25, 1, 0.1, 0.01] if first else [1, 0.1, 0.01, 0.5, 0.25, 0.25])


@pytest.mark.parametrize("epoch", range(6))
def test_a_sequence_that_goes_on_after_an_epoch(epoch: int) -> None:
    o = _stepped()
    assert (
        _rates(o, _warm(o, last_epoch=epoch), 2)
        == [0.1, 0.4, 0.7, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125][epoch + 1 : epoch + 4]
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda o: T.CosineAnnealingLR(o, 4),
        lambda o: T.CosineAnnealingLR(o, 4, eta_min=0.1),
        lambda o: T.PolynomialLR(o, 4),
        lambda o: T.LinearLR(o, 1.0, 0.0, 4),
    ],
)
def test_a_schedule_made_anew_after_its_end_begins_again(make: Any) -> None:
    o = _stepped()
    first = _rates(o, make(o), 4)
    assert first[0] == 1
    assert first[-1] <= 0.1
    assert _rates(o, make(o), 4) == first


def test_a_schedule_made_before_the_first_step_keeps_a_rate_of_zero() -> None:
    o = _stepped()
    warm = T.LambdaLR(o, lambda epoch: epoch / 10)
    T.CosineAnnealingLR(o, 4)
    assert o.param_groups[0]["lr"] == 0
    assert warm.get_last_lr() == [0]
