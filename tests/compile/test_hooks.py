"""Hooks, gradients and writes around compiled functions are those of the functions themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest

from tests.compile.test_closed_door import bits
from tests.compile.test_programs import array

#: Makes a function of a number of the call from what compiles a part of it.
Play = Callable[[Callable[..., Any]], Callable[[int], Any]]


def same(play: Play, calls: int = 5) -> None:
    """Compares what a play does with a compiled part and without."""
    plain, compiled = play(lambda f: f), play(fg.compile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(calls):
            assert bits(compiled(i)) == bits(plain(i))


def leaf(seed: int, n: int = 5) -> Any:
    return torch.tensor(array(n, seed=seed), requires_grad=True)


def test_a_hook_on_a_parameter_is_called_once_for_a_gradient() -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        w = leaf(1)
        w.register_hook(lambda g: g * 3)
        loss = compiled(lambda x: torch.tanh(w * x).sum())

        def call(i: int) -> Any:
            x = leaf(i)
            if i > 1:
                x.register_hook(lambda g: g * 7)
            loss(x).backward()
            return w.grad.clone(), x.grad

        return call

    same(play)


@pytest.mark.parametrize("accumulates", [True, False])
def test_hooks_that_come_and_go_are_seen(accumulates: bool) -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        w, hooks = leaf(1), []

        def step(x: Any) -> Any:
            loss = (w * x).sum()
            if not accumulates:
                return torch.autograd.grad(loss, [w])[0]
            loss.backward()
            return w.grad * 1

        step = compiled(step)

        def call(i: int) -> Any:
            if i == 2:
                hooks.append(w.register_hook(lambda g: g * 5))
            if i == 4:
                hooks.pop().remove()
            return step(torch.tensor(array(5, seed=i)))

        return call

    same(play, 6)


def test_variables_that_hooks_read_are_looked_at_in_each_call() -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        w, scale = leaf(1), [1.0]
        w.register_hook(lambda g: g * scale[0])
        step = compiled(lambda x: torch.autograd.grad((w * x).sum(), [w])[0])

        def call(i: int) -> Any:
            scale[0] = float(i // 2)
            return step(torch.tensor(array(5, seed=i)))

        return call

    same(play, 6)


def test_a_hook_on_an_argument_is_seen_by_the_gradients_inside() -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        slope = compiled(lambda x: torch.autograd.grad((x * x).sum(), [x])[0])

        def call(i: int) -> Any:
            x = leaf(i)
            if i > 1:
                x.register_hook(lambda g: g * 7)
            return slope(x)

        return call

    same(play)


@pytest.mark.parametrize("inside", [True, False])
def test_retained_gradients_of_arguments(inside: bool) -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        w = leaf(1)

        def loss(x: Any) -> Any:
            y = torch.tanh(w * x).sum()
            if inside:
                y.backward()
            return y

        loss = compiled(loss)

        def call(i: int) -> Any:
            z = leaf(i)
            x = z * 2
            x.retain_grad()
            y = loss(x)
            if not inside:
                y.backward()
            return w.grad.clone(), x.grad, z.grad

        return call

    same(play)


def test_a_write_to_a_tracked_argument_has_its_gradient() -> None:
    def play(compiled: Callable[..., Any]) -> Callable[[int], Any]:
        square = compiled(lambda x: x.mul_(x))

        def call(i: int) -> Any:
            x = leaf(i)
            y = x * 1
            square(y).sum().backward()
            return x.grad, y.detach()

        return call

    same(play)


def test_a_part_of_a_tensor_that_is_written_and_returned_is_the_argument() -> None:
    def double(x: Any) -> Any:
        return x.mul_(2)

    compiled = fg.compile(double)
    base = torch.tensor(array(5))
    for k in range(1, 4):
        part = base[1:]
        with pytest.warns(UserWarning, match="runs uncompiled") if k == 1 else fg.no_grad():
            assert compiled(part) is part
        assert base.tolist() == [array(5)[0], *(array(5)[1:] * 2**k)]


def test_an_error_leaves_the_writes_to_a_part_of_a_tensor() -> None:
    def fail(x: Any) -> None:
        x.mul_(2)
        raise KeyError("mine")

    base = torch.ones(3)
    with pytest.raises(KeyError):
        fg.compile(fail)(base[1:])
    assert base.tolist() == [1, 2, 2]


def test_the_gradient_of_a_tensor_made_inside_is_no_reason_to_trace_again() -> None:
    w = leaf(1)

    def penalty(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(torch.tanh(x * w).sum(), [x], create_graph=True)
        (g.norm() - 1).square().backward()
        result, w.grad = w.grad, None
        return result

    compiled = fg.compile(penalty, fullgraph=True)
    for i in range(4):
        x = torch.tensor(array(5, seed=i))
        assert bits(compiled(x)) == bits(penalty(x))
    assert compiled.cache_info().misses == 1


def test_memory_of_another_tensor() -> None:
    w = torch.tensor(array(5), requires_grad=True)

    def scaled(x: Any) -> Any:
        w.data = w.data * 2
        return (w * x).detach()

    compiled = fg.compile(scaled)
    x = torch.ones(5)
    with pytest.warns(UserWarning, match="it sets the data of a tensor to those of another; write to them with copy_"):
        found = [compiled(x).tolist() for _ in range(3)]
    assert found == [(array(5) * k).tolist() for k in (2, 4, 8)]
