"""Results that share memory with arguments and with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest

from tests.compile.test_closed_door import bits
from tests.compile.test_programs import array


def views(x: Any) -> Any:
    return x.t(), x[0], x.reshape(-1), x


def parts_of_a_result(x: Any) -> Any:
    y = x * 2
    return y, y, y.view(-1), y[0], y.T


@pytest.mark.parametrize("f", [views, parts_of_a_result])
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
