"""Functions that go on by what holds for the numbers of tensors: a program for each answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest
from ferrograd import func, paddle

from tests.compile.test_closed_door import bits


def are_positive(x: Any) -> bool:
    return fg.allclose(x, abs(x))


def doubled(x: Any) -> Any:
    return x * 2 if are_positive(x) else x * 3


def test_each_answer_has_a_program() -> None:
    f = fg.compile(doubled)
    for k in (1.0, 2.0, -1.0, -2.0, 3.0, -3.0):
        assert bits(f(fg.full([2], k))) == bits(doubled(fg.full([2], k)))
    assert f.cache_info()[:3] == (4, 2, 0)


def test_gradients_of_each_answer() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)

    def loss(x: Any) -> Any:
        return (w * x).sum() if are_positive(x) else (w * w * w * x).sum()

    f = fg.compile(loss)
    for k in (1.0, -1.0, 2.0, -2.0):
        found = []
        for g in (f, loss):
            (first,) = fg.grad(g(fg.full([2], k)), [w], create_graph=True)
            second = fg.grad((first * first * w).sum(), w)
            found.append((bits(first), bits(second)))
        assert found[0] == found[1]
    assert f.cache_info()[:2] == (2, 2)


def test_gradients_of_some_results_after_the_answer_has_changed() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        w = fg.tensor([1.0, 2.0], requires_grad=True)
        total = fg.zeros(2)

        def step(x: Any) -> Any:
            y = w * x
            y = y * 2 if are_positive(total - 1) else y * 0.5 + y * y
            total.add_(x)
            return y, (w * w * y).sum()

        f, found = wrap(step), []
        for k in range(6):
            total.zero_()
            results = f(fg.full([2], 0.5 + k))
            found.append(fg.grad(results[k % 2].sum(), w).tolist())
        return found

    assert run(fg.compile) == run(lambda f: f)


def test_a_hook_that_asks_the_gradient() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        w = fg.tensor([1.0, 2.0], requires_grad=True)
        w.register_hook(lambda g: g / 10 if are_positive(g.sum() - 3) else g)
        f = wrap(lambda x: (w * x).sum())
        step = wrap(lambda x: fg.grad((w * w * x).sum(), w))
        found = []
        for k in (1.0, 2.0, 0.5, 3.0):
            x = fg.full([2], k)
            found.append((fg.grad(f(x), w).tolist(), step(x).tolist()))
        return found

    assert run(fg.compile) == run(lambda f: f)


def test_what_a_run_does_before_another_answer_is_undone() -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        torch.manual_seed(0)
        total = torch.zeros(2)
        w = torch.ones(2, requires_grad=True)
        adam = torch.optim.Adam([w], 0.1)

        def step(x: Any) -> Any:
            adam.zero_grad()
            total.add_(x)
            (w * torch.rand(2) * x).sum().backward()
            adam.step()
            if torch.equal(total, abs(total)) and torch.equal(total > 2.5, total > -1):
                total.zero_()
            return torch.rand(2)

        f = wrap(step)
        return f, [(f(torch.full((2,), 0.7)).tolist(), total.tolist(), w.tolist()) for _ in range(12)]

    compiled, found = run(fg.compile)
    assert found == run(lambda g: g)[1]
    assert compiled.cache_info().eager <= 1
    assert compiled.cache_info().misses <= 4


def test_inside_of_other_functions() -> None:
    f = fg.compile(doubled)
    outer = fg.compile(lambda x: f(x) + 1)
    for k in (1.0, -1.0, 2.0):
        assert bits(outer(fg.full([2], k))) == bits(doubled(fg.full([2], k)) + 1)
    assert outer.cache_info()[:3] == (1, 2, 0)
    with pytest.raises(fg.ArgumentError, match="inside vmap"):
        func.vmap(f)(fg.ones((3, 2)))
    slope = fg.compile(lambda x: func.grad(lambda x: doubled(x).sum())(x))
    for k in (1.0, -1.0, 2.0):
        assert slope(fg.full([2], k)).tolist() == [2.0 if k > 0 else 3.0] * 2


def test_answers_in_several_threads() -> None:
    f, wrong = fg.compile(doubled), []

    def work(sign: float) -> None:
        for k in range(1, 50):
            if f(fg.full([2], sign * k)).tolist() != doubled(fg.full([2], sign * k)).tolist():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(sign,)) for sign in (1.0, -1.0, 1.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("part", ["all", "scale", "unscale", "step"])
def test_a_scaler_of_losses_counts_in_each_call(part: str) -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        sgd = torch.optim.SGD([w], 0.1, momentum=0.9)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)

        def scale(x: Any) -> None:
            sgd.zero_grad()
            scaler.scale((w * w * x).sum()).backward()

        def unscale(x: Any) -> None:
            scale(x)
            scaler.unscale_(sgd)

        def step(x: Any) -> None:
            scaler.step(sgd)
            scaler.update()

        def whole(x: Any) -> None:
            scale(x)
            step(x)

        calls = {"all": [whole], "scale": [scale, step], "unscale": [unscale, step], "step": [scale, step]}[part]
        at = calls.index(step) if part == "step" else 0
        f = calls[at] = wrap(calls[at])
        found = []
        for k in (1.0, 2.0, 3.0, 4.0, float("inf"), 1.0, float("nan"), 4.0, 5.0, 6.0, 7.0):
            for call in calls:
                call(torch.full((2,), k))
            found.append((w.tolist(), scaler.state_dict()))
        return f, found

    compiled, found = run(fg.compile)
    assert repr(found) == repr(run(lambda f: f)[1])
    assert compiled.cache_info().hits >= 7


def test_a_scaler_of_paddle_counts_in_each_call() -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        sgd = paddle.optimizer.SGD(0.1, [w])
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)

        def step(x: Any) -> None:
            loss = (w * w * x).sum()
            scaler.scale(loss).backward()
            scaler.minimize(sgd, loss)
            sgd.clear_grad()

        f, found = wrap(step), []
        for k in (1.0, 2.0, 3.0, float("inf"), 1.0, float("nan"), 4.0, 5.0, 6.0):
            f(paddle.full([2], k))
            found.append((w.tolist(), scaler.state_dict()))
        return f, found

    compiled, found = run(fg.compile)
    assert repr(found) == repr(run(lambda f: f)[1])
    assert compiled.cache_info().hits >= 5


@pytest.mark.parametrize("average", [None, torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)])
def test_a_mean_of_weights_is_updated_in_each_call(average: Any) -> None:
    def run(wrap: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(2, 2)
        mean = torch.optim.swa_utils.AveragedModel(layer, multi_avg_fn=average)
        sgd = torch.optim.SGD(layer.parameters(), 0.1)

        def step(x: Any) -> None:
            sgd.zero_grad()
            layer(x).sum().backward()
            sgd.step()
            mean.update_parameters(layer)

        f = wrap(step)
        for k in range(6):
            f(torch.full((3, 2), float(k)))
        return f, [x.tolist() for x in mean.state_dict().values()]

    compiled, found = run(fg.compile)
    assert found == run(lambda g: g)[1]
    assert compiled.cache_info().hits >= 3
