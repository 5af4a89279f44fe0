"""Results that share memory with arguments and with each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest

from tests.compile.test_closed_door import bits, outcome
from tests.compile.test_programs import array


def views(x: Any) -> Any:
    return x.t(), x[0], x.reshape(-1), x


def parts_of_a_result(x: Any) -> Any:
    y = x * 2
    return y, y, y.view(-1), y[0], y.T


def parts_first(x: Any) -> Any:
    y = x * 2
    return y[1], y[0], y, y.T, y[1]


def parts_alone(x: Any) -> Any:
    y = x * 2
    return y[:, 1], y.T[1:], (x + 1)[1]


def the_same_twice(x: Any) -> Any:
    y, z = x * 2, x.view_as(x)
    return y, x, z, y, z, x


@pytest.mark.parametrize("f", [views, parts_of_a_result, parts_first, parts_alone, the_same_twice])
def test_a_write_to_a_result_is_seen_by_what_shares_its_memory(f: Callable[..., Any]) -> None:
    compiled = fg.compile(f, fullgraph=True)
    for i in range(4):
        found: list[Any] = []
        for run in (f, compiled):
            x = torch.tensor(array(3, 4, seed=i))
            results = run(x)
            for k, y in enumerate(results):
                y.add_(k + 1)
            found.append(bits([x, *results]))
            found[-1] = found[-1], [[a is b for a in results] for b in results]
        assert found[0] == found[1]
    assert compiled.cache_info().hits == 3


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize(
    "f", [lambda x: x[0], lambda x: x.detach()[0], lambda x: (x.mul_(2), x[0])[1], lambda x: x.mul_(2)]
)
@pytest.mark.parametrize("part", [False, True])
def test_views_that_no_program_makes_are_views_all_the_same(f: Callable[..., Any], part: bool) -> None:
    compiled = fg.compile(f)
    for i in range(4):
        found = []
        for run in (f, compiled):
            base = torch.tensor(array(4, 4, seed=i))
            x = base[1:] if part else base
            y = run(x)
            y.add_(5)
            found.append((bits([base, x, y]), y is x))
        assert found[0] == found[1]


class ViewOfExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp().reshape(1, -1)[:, 1:]
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        # The gradient of a sum is one everywhere, so that this product is `y` as it is.
        (y,) = ctx.saved_tensors
        part = (g * y).reshape(-1)
        return torch.cat([part[:1] * 0, part])


def test_a_view_of_a_product_with_one_is_a_view_of_the_other_factor() -> None:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(ViewOfExp.apply(x).sum(), x, create_graph=True)
        second = torch.autograd.grad(g.sum(), x)[0]
        return g.detach(), g.detach()[1:].flip(0), second

    compiled = fg.compile(f, fullgraph=True)
    for i in range(3):
        x = torch.tensor(array(5, seed=i))
        assert bits(compiled(x)) == bits(f(x))
    assert compiled.cache_info().hits == 2


PARTS: dict[str, Callable[[Any], Any]] = {
    "row": lambda b: b[1],
    "column": lambda b: b[:, 2],
    "transposed": lambda b: b.T,
    "expanded row": lambda b: b[0].expand(4, 6),
    "expanded column": lambda b: b[:, :1].expand(4, 6),
    "windows": lambda b: b.view(-1).unfold(0, 6, 3),
    "sliced": lambda b: b[::2, 1::2],
    "diagonal": lambda b: b[:4, :4].diagonal(),
    "empty": lambda b: b[:0],
    "element": lambda b: b[1, 2],
}


def writes_a_row(x: Any) -> Any:
    x[0] = 5.0
    return x * 2, x.sum()


def writes_through_a_view(x: Any) -> Any:
    row = x[0]
    row.add_(1)
    return x.sum(), row * 3


def fails_after_a_write(x: Any) -> Any:
    x[0] = 1.0
    raise ValueError("no")


def reads_numbers_after_a_write(x: Any) -> Any:
    x[0] = 7.0
    return x * 2 if x.sum() > 0 else x * 3


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize(
    "f",
    [
        writes_a_row,
        writes_through_a_view,
        fails_after_a_write,
        reads_numbers_after_a_write,
        lambda x: x.mul_(2).sum(),
        lambda x: (x.reshape(-1).sum(), x.cumsum(0), x.T.sum()),
        lambda x: torch.as_strided(x, (2,), (1,), 3) * 2,
        lambda x: (x.unsqueeze_(0), x * 2)[1],
    ],
)
def test_arguments_that_are_views(f: Callable[..., Any], part: Callable[[Any], Any], tracked: bool) -> None:
    compiled = torch.compile(f)
    for i in range(4):
        found = []
        for run in (f, compiled):
            leaf = torch.tensor(array(4, 6, seed=i), requires_grad=tracked)
            base = leaf * 1
            x = part(base)
            result = outcome(partial(run, x))
            grad = torch.autograd.grad((x * x).sum() + (base * base * base).sum(), leaf)[0] if tracked else None
            found.append((result, bits([x, base, grad])))
        assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:compile")
def test_an_argument_that_gets_another_shape_in_place() -> None:
    compiled: Any = torch.compile(lambda x: (x.t_(), x * 2)[1])
    for i in range(4):
        x = torch.tensor(array(2, 3, seed=i))
        assert compiled(x).tolist() == (x * 2).tolist()
        assert x.shape == (3, 2)


def test_parts_of_tensors_with_equal_numbers() -> None:
    compiled = fg.compile(lambda x, y, z: (x.sum(), (y * 3).sum(), (z * 5).sum()), fullgraph=True)
    a, b, c = fg.ones((2, 3)), fg.zeros((2, 3)), fg.zeros((2, 3))
    b.set_value(a)
    c.set_value(a)
    for value in (1.0, 2.0, 3.0):
        assert [y.item() for y in compiled(a[0], b[1], c)] == [3, 9 * value, 30]
        b.set_value(fg.full([2, 3], value + 1))
    assert compiled.cache_info().hits == 2


EXPANDED: list[Callable[[Any], Any]] = [
    lambda x: fg.broadcast_to(x * 2, (3, 2)),
    lambda x: fg.broadcast_to(x, (3, 2)),
    lambda x: fg.broadcast_to(x * 2, (3, 2)).T[::-1],
    lambda x: fg.broadcast_to(fg.ones(2, dtype="float64"), (3, 2)),
    lambda x: fg.broadcast_to(x * 2, (3, 2)) + 1,
]


@pytest.mark.parametrize("f", EXPANDED)
def test_results_some_of_whose_elements_are_in_several_places(f: Callable[[Any], Any], tmp_path: Path) -> None:
    def written(y: Any) -> Any:
        y[0, 0] = 5.0
        found = y.tolist()
        try:
            y.add_(1.0)
        except fg.ArgumentError as error:
            return found, str(error)
        return found, y.tolist()

    compiled = fg.compile(f, fullgraph=True)
    for i in range(4):
        x, z = (fg.tensor([1.0 + i, 2.0], dtype="float64") for _ in range(2))
        assert written(f(x)) == written(compiled(z))
        assert x.tolist() == z.tolist()
    if f is not EXPANDED[1]:
        compiled.save(tmp_path / "program")
        assert fg.load_compiled(tmp_path / "program")(x).tolist() == f(x).tolist()
