"""Results with gradients that share memory with each other, with arguments, or with parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest

from tests.compile.test_closed_door import bits
from tests.compile.test_programs import array

W = torch.tensor(array(4, seed=9), requires_grad=True)


def product(x: Any) -> Any:
    return (x * W).tanh()


def whole_and_views(x: Any) -> Any:
    y = product(x)
    return y, y[0], y.t(), y.view(-1), y.detach()


def view_first(x: Any) -> Any:
    y = product(x)
    return y[1], y


def detached_first(x: Any) -> Any:
    y = product(x)
    return y.detach()[1], y * 2, y


def several_memories(x: Any) -> Any:
    y, z = product(x), x.exp()
    return [y[0], z, {"same": y, "rows": z.unbind()}, y[0]]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "chunks": lambda x: product(x).chunk(2, -1),
    "chunks of a transposed": lambda x: product(x).t().chunk(2),
    "unbound": lambda x: torch.unbind(product(x), 1),
    "twice": lambda x: (lambda y: (y, y))(product(x)),
    "whole and views": whole_and_views,
    "view first": view_first,
    "detached first": detached_first,
    "several memories": several_memories,
    "view of the argument": lambda x: (x.view(-1), product(x), x),
    "detached argument": lambda x: (product(x), x.detach(), x.detach()[0]),
    "views of a parameter": lambda x: (product(x), W[:2], W.detach(), W),
    "complex": lambda x: (lambda z: (z, z.real))(torch.complex(product(x), x)),
}


def tensors(result: Any) -> list[Any]:
    parts = result.values() if isinstance(result, dict) else result
    return [result] if isinstance(result, torch.Tensor) else [x for part in parts for x in tensors(part)]


def sums(results: list[Any]) -> Any:
    """A number in which every element counts, each by a factor of its own."""
    parts = [x.real if x.is_complex() else x for x in results if x.requires_grad]
    return sum(
        ((k + 1) * torch.arange(1, x.numel() + 1).reshape(x.shape) * (x * x + x)).sum() for k, x in enumerate(parts)
    )


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients(f: Callable[[Any], Any]) -> None:
    compiled = fg.compile(f, fullgraph=True)

    def run(f: Callable[[Any], Any], i: int) -> Any:
        x = torch.tensor(array(3, 4, seed=i), requires_grad=True)
        results = tensors(f(x))
        loss = sums(results if i < 3 else results[:1] + results[2:])
        first = torch.autograd.grad(loss, [x, W], create_graph=i == 2, allow_unused=True)
        same = [[a is b or a is x or a is W for a in results] for b in results]
        found = bits([x, *results, *(g for g in first if g is not None)]), same
        second = torch.autograd.grad(first[0].sum(), x) if i == 2 and first[0].requires_grad else ()
        return found, second

    for i in range(4):
        (mine, second), (wanted, other) = run(compiled, i), run(f, i)
        assert mine == wanted
        assert len(second) == len(other)
        torch.testing.assert_close(second, other)
    assert compiled.cache_info().hits == 3


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_write_is_seen_by_what_shares_the_memory(f: Callable[[Any], Any]) -> None:
    compiled = fg.compile(f, fullgraph=True)

    def run(f: Callable[[Any], Any]) -> Any:
        x = torch.tensor(array(3, 4, seed=1), requires_grad=True)
        results = tensors(f(x))
        with torch.no_grad():
            before = W.clone()
            for k, y in enumerate(results):
                y.add_(k + 1)
            found = bits([x, W, *(y.detach() for y in results)])
            W.copy_(before)
        return found

    for _ in range(3):
        assert run(compiled) == run(f)


def test_a_file_does_not_hold_them() -> None:
    compiled = fg.compile(FUNCTIONS["chunks"])
    compiled(torch.tensor(array(3, 4), requires_grad=True))
    with pytest.raises(fg.ArgumentError, match="share memory"):
        compiled.save("never.program")


OUTSIDE = torch.ones(3, dtype=torch.complex64) * (1 + 2j)
PARTS: dict[str, Callable[[Any], Any]] = {
    "of a result": lambda x: (x * 2, (x * 2).real),
    "of a result, both": lambda x: (lambda z: (z, z.real, z.imag))(x * 2),
    "of an argument": lambda x: (x.real,),
    "of what nobody sees": lambda x: ((x * 2).real,),
    "of a tensor outside": lambda x: (OUTSIDE.imag, x * 2),
    "as pairs": lambda x: (lambda z: (torch.view_as_real(z), z))(x * 2),
}


@pytest.mark.filterwarnings("ignore:compile. .* runs uncompiled")
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("f", PARTS.values(), ids=PARTS)
def test_a_write_to_a_part_reaches_what_it_is_of(f: Callable[[Any], Any], recorded: bool) -> None:
    # Pairs of untracked numbers are read in a trace, so they are not compiled.
    compiled = fg.compile(f, fullgraph=recorded)

    def run(f: Callable[[Any], Any]) -> Any:
        x = (torch.ones(3, requires_grad=recorded) * (1 + 2j)).to(torch.complex64)
        before = OUTSIDE.clone()
        results = f(x)
        for k, y in enumerate(results):
            y.mul_(k + 3)
        found = bits([y.detach() for y in (x, OUTSIDE, *results)])
        OUTSIDE.copy_(before)
        return found

    for _ in range(3):
        assert run(compiled) == run(f)
