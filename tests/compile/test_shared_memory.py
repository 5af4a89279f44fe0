"""Compiled functions whose tensors share memory, numbers or a history."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func


def state(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def read(x: Any, part: Any) -> Any:
    return (x * 2).sum() + (part * part).sum()


def write_whole(x: Any, part: Any) -> Any:
    x.mul_(2)
    return (part + 1).sum()


def write_part(x: Any, part: Any) -> Any:
    part.mul_(3)
    return (x * x).sum() + part.sum()


def write_both(x: Any, part: Any) -> Any:
    part.add_(1)
    x.mul_(2)
    part.mul_(x.sum())
    return x.sum() * 1 + part.sum()


PAIRS: dict[str, Callable[[Any, int], tuple[Any, Any]]] = {
    "whole and part": lambda x, i: (x, x[i : i + 3]),
    "part and whole": lambda x, i: (x[i : i + 3], x),
    "parts that overlap": lambda x, i: (x[i : i + 4], x[i + 2 : i + 6]),
    "parts beside each other": lambda x, i: (x[:4], x[4:]),
    "a part alone": lambda x, i: (fg.ones(3, dtype="float64"), x[i : i + 3]),
    "views of all": lambda x, i: (x, x.view(8)),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("f", [read, write_whole, write_part, write_both])
def test_arguments_that_are_parts(f: Callable[..., Any], pair: str) -> None:
    compiled = fg.compile(f)
    with warnings.catch_warnings():
        # A part that is written to and has its memory alone is not compiled.
        warnings.simplefilter("ignore")
        for seed, i in enumerate([0, 0, 2, 1, 0]):
            x, same = (fg.tensor(state(8, seed=seed)) for _ in range(2))
            assert compiled(*PAIRS[pair](same, i)).item() == f(*PAIRS[pair](x, i)).item()
            assert same.tolist() == x.tolist()


def test_where_a_part_lies_does_not_matter_if_it_is_alone() -> None:
    compiled = fg.compile(lambda x: (x * 2).sum())
    data = fg.tensor(state(20))
    for i in range(10):
        compiled(data[i : i + 4])
    assert compiled.cache_info().hits == 9


def test_an_argument_that_is_part_of_a_tensor_that_the_function_finds() -> None:
    def written(data: Any) -> Any:
        return lambda part: (data.add_(1), (part * 2).sum())[1]

    def writes(data: Any) -> Any:
        return lambda part: (part.add_(1), (data * 2).sum())[1]

    for make in (written, writes):
        results = []
        for wrap in (lambda f: f, fg.compile):
            data = fg.tensor(state(8))
            other = fg.tensor(state(8, seed=1))
            g = wrap(make(data))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [g(x).item() for x in (other[:3], other[:3], data[:3], data[2:5], other[:3])]
            results.append((found, data.tolist(), other.tolist()))
        assert results[0] == results[1]


def test_tensors_with_equal_numbers_are_told_apart() -> None:
    compiled = fg.compile(lambda a, b: ((a * 2).sum(), (b * 3).sum()))
    a, b = fg.ones(4), fg.zeros(4)
    b.set_value(a)
    assert [x.item() for x in compiled(a, b)] == [8, 12]
    assert [x.item() for x in compiled(a, fg.full([4], 5.0))] == [8, 60]
    assert compiled.cache_info().hits == 1
    with_b = fg.compile(lambda x: ((a * x).sum(), (b * x * 3).sum()))
    b.set_value(a)
    assert [y.item() for y in with_b(fg.ones(4))] == [4, 12]
    b.set_value(fg.full([4], 5.0))
    assert [y.item() for y in with_b(fg.ones(4))] == [4, 60]


HISTORIES: dict[str, Callable[[Any], Any]] = {
    "product": lambda y: y * 2,
    "view": lambda y: y[:],
    "detached": lambda y: y.detach(),
    "part": lambda y: fg.concat([y[1:], y[:1]]),
}


@pytest.mark.parametrize("make", HISTORIES.values(), ids=HISTORIES)
def test_gradients_by_arguments_one_of_which_depends_on_the_other(make: Callable[[Any], Any]) -> None:
    def f(y: Any, z: Any) -> Any:
        return (y * y * z).sum()

    compiled = fg.compile(f)
    for seed in range(3):
        found = []
        for g in (f, compiled):
            y = fg.tensor(state(3, seed=seed), requires_grad=True)
            (plain,) = fg.grad(g(y, make(y)), [y])
            (first,) = fg.grad(g(y, make(y)), [y], create_graph=True)
            (second,) = fg.grad(first.sum(), [y])
            found.append([g.detach().numpy() for g in (plain, first, second)])
        # The sum of the two ways to ``y`` may begin with the other one.
        np.testing.assert_allclose(found[1], found[0], rtol=1e-14)


def test_gradients_by_an_argument_that_depends_on_a_tensor_that_the_function_finds() -> None:
    w = fg.tensor(state(3), requires_grad=True)

    def f(z: Any) -> Any:
        return (w * z * z).sum()

    compiled = fg.compile(f)
    for _ in range(3):
        assert fg.grad(compiled(w * 2), [w])[0].tolist() == fg.grad(f(w * 2), [w])[0].tolist()
    assert compiled.cache_info().misses == 1


class Holder:
    """Holds a tensor that a compiled function finds."""

    def __init__(self) -> None:
        self.w = fg.tensor(state(3), requires_grad=True)


def test_a_tensor_of_which_only_a_detached_one_is_read() -> None:
    holder = Holder()

    @fg.compile
    def f(x: Any) -> Any:
        return (holder.w.detach() * x).sum()

    for i in range(4):
        with fg.no_grad():
            holder.w.add_(1.0)
        x = fg.full([3], float(i), dtype="float64")
        assert f(x).item() == (holder.w.detach() * x).sum().item()
    assert f.cache_info().hits == 3


def test_gradients_that_are_set_to_none_first() -> None:
    holder = Holder()

    @fg.compile
    def step(x: Any) -> Any:
        holder.w.grad = None
        (holder.w * x).sum().backward()

    for i in range(6):
        step(fg.full([3], float(i), dtype="float64"))
        assert holder.w.grad.tolist() == [i] * 3
    assert step.cache_info().hits == 4


def test_views_that_a_function_closes_over() -> None:
    whole = fg.tensor(state(3, 4))
    row, column = whole[1], whole[:, 2]
    compiled = fg.compile(lambda x: (x * row).sum() + column.sum(), fullgraph=True)
    for i in range(3):
        x = fg.tensor(state(4, seed=i))
        assert compiled(x).item() == ((x * row).sum() + column.sum()).item()
        assert compiled(row).item() == ((row * row).sum() + column.sum()).item()
        # The next call sees the new numbers.
        whole.mul_(2)
    assert compiled.cache_info().misses == 2


def test_a_view_that_a_function_closes_over_is_written_to() -> None:
    whole, same = fg.tensor(state(3, 4)), fg.tensor(state(3, 4))

    def step(row: fg.Tensor, x: fg.Tensor) -> fg.Tensor:
        row.add_(x)
        return (row * x).sum()

    (row, other) = (whole[1], same[1])
    compiled = fg.compile(lambda x: step(row, x), fullgraph=True)
    for i in range(3):
        x = fg.tensor(state(4, seed=i))
        assert compiled(x).item() == step(other, x).item()
        assert whole.tolist() == same.tolist()


def test_an_argument_is_after_a_trace_what_it_was_before() -> None:
    """The trace shares its memory with the program for a while."""

    def changed(x: Any) -> Any:
        x[0] = 5.0
        return x * 2

    functions: list[Callable[[Any], Any]] = [lambda x: x * 2, changed, lambda x: x * 2 if x.sum() > 0 else x * 3]
    for f in functions:
        found = []
        for function in (f, fg.compile(f)):
            x = fg.tensor(state(3))
            x.add_(1.0)
            part, whole = x[1:], x.detach()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = [function(x).tolist() for _ in range(3)]
                x.mul_(2)
                results += [function(x).tolist(), part.tolist(), whole.tolist()]
                alone = fg.tensor(state(3))
                alone.add_(1.0)
                results.append(function(alone).tolist())
                alone.requires_grad_()
                with fg.no_grad():
                    results.append(function(alone).tolist())
                results.append(func.grad(lambda y: (y * y).sum())(alone).tolist())
            # The trace writes once more than the function.
            writes = None if f is changed else (x.inplace_version, alone.inplace_version)
            found.append((results, writes, alone.is_leaf))
        assert found[0] == found[1]


def test_parameters_that_become_tracked_are_seen() -> None:
    class Held:
        w = fg.tensor(state(3))

        def __call__(self, x: Any) -> Any:
            return x * self.scaled()

        def scaled(self) -> Any:
            return vars(Held)["w"] * 2

    held, x = Held(), fg.tensor(state(3, seed=1))
    f = fg.compile(held)
    for _ in range(4):
        assert f(x).tolist() == held(x).tolist()
    Held.w.requires_grad_()
    assert f(x).requires_grad
    Held.w.detach().mul_(2)
    assert f(x).tolist() == held(x).tolist()
