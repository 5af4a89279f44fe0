"""Functions defined with NumPy inside compiled functions: the program calls them at their place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

from tests.compile.test_closed_door import bits, outcome
from tests.compile.test_programs import array


class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.tensor(np.sinh(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g[0] * torch.tensor(np.cosh(x.detach().numpy()))


class Scaled(fg.Function):
    """Two results, a number and a list among the arguments."""

    @staticmethod
    def forward(ctx: Any, pair: Any, k: float) -> Any:
        x, y = (t.detach().numpy() for t in pair)
        ctx.save_for_backward(*pair)
        ctx.k = k
        return fg.tensor(x * k * y), fg.tensor(y**2)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        x, y = (t.detach().numpy() for t in ctx.saved_tensors)
        return [g[0] * ctx.k * fg.tensor(y), g[0] * ctx.k * fg.tensor(x) + g[1] * 2 * fg.tensor(y)], None


class Strict(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.numpy()[0] > 1:
            raise ValueError("too large")
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return g[0]


def agrees(f: Callable[..., Any], inputs: list[Any]) -> Any:
    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in inputs:
            assert outcome(partial(compiled, x)) == outcome(partial(f, x))
    return compiled


INPUTS = [torch.tensor(array(5, seed=i)) for i in range(4)]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Sinh.apply(x * 2) * x,
        func.grad(lambda x: (Sinh.apply(x * 2) * x).sum()),
        func.grad(lambda x: (Scaled.apply([x * 2, x], 3.0)[0] * x).sum()),
        lambda x: Scaled.apply([x, x * 2], 3.0),
        lambda x: func.vmap(lambda x: Sinh.apply(x) * x)(x),
    ],
    ids=["value", "gradient", "list", "two results", "batch"],
)
def test_a_program_calls_what_reads_numbers(f: Callable[..., Any]) -> None:
    assert agrees(f, INPUTS).cache_info().hits == 3


def test_gradients_of_parameters_and_of_results() -> None:
    w = torch.tensor(array(5, seed=9), requires_grad=True)

    def step(x: Any) -> Any:
        (Sinh.apply(x * w) * x).sum().backward()
        result, w.grad = w.grad, None
        return result

    assert agrees(step, INPUTS).cache_info().hits == 3
    f = fg.compile(lambda x: Sinh.apply(x * w).sum())
    for x in INPUTS:
        assert bits(fg.grad(f(x), w)) == bits(fg.grad(Sinh.apply(x * w).sum(), w))
    assert f.cache_info().misses == 1


def test_errors_and_shapes_of_functions_that_read_numbers() -> None:
    compiled = agrees(Strict.apply, [torch.tensor([v]) for v in (0.0, 0.5, 2.0, 0.1)])
    assert compiled.cache_info().hits == 2
    second = func.grad(func.grad(lambda x: Sinh.apply(x * x)))
    assert agrees(second, [torch.tensor(v) for v in (1.0, 2.0)]).cache_info().hits == 0


def test_a_function_that_reads_no_numbers_is_traced_through() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return g[0] * 3 * ctx.saved_tensors[0] ** 2

    compiled = fg.compile(func.grad(lambda x: Cube.apply(x).sum()), fullgraph=True)
    for x in INPUTS:
        assert bits(compiled(x)) == bits(func.grad(lambda x: Cube.apply(x).sum())(x))
    assert compiled.cache_info().hits == 3


class Noisy(torch.autograd.Function):
    """Draws numbers in a function that reads others."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        noise = torch.rand(x.shape) * float(np.abs(x.detach().numpy()).max())
        ctx.save_for_backward(noise)
        return x * noise

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return g[0] * ctx.saved_tensors[0]


def drawn_between(x: Any) -> Any:
    first = torch.rand(5)
    Noisy.apply(x)
    return first + Noisy.apply(x) * torch.rand(5) + Noisy.apply(x)


t: Any = torch.distributions
DRAWS: dict[str, Callable[[Any], Any]] = {
    "Function": lambda x: Noisy.apply(x * 2) * x,
    "drawn between": drawn_between,
    "Gamma": lambda x: t.Gamma(x.abs() + 0.5, 2.0).rsample((3,)) * torch.rand(5),
    "Beta": lambda x: t.Beta(x.abs() + 0.5, x * x + 1).rsample(),
    "StudentT": lambda x: t.StudentT(x.abs() + 3).rsample() * x,
    "Poisson": lambda x: t.Poisson(x.abs()).sample((3,)) * x,
    "Binomial": lambda x: t.Binomial(5, torch.sigmoid(x)).sample() * x,
    "NegativeBinomial": lambda x: t.NegativeBinomial(5.0, logits=x).sample() * x,
    "Categorical": lambda x: (lambda d: d.log_prob(d.sample((4,))))(t.Categorical(logits=x)),
    "Multinomial": lambda x: (lambda d: d.log_prob(d.sample()))(t.Multinomial(4, logits=x)),
    "VonMises": lambda x: t.VonMises(x, x.abs() + 1).sample() * x,
    "LKJCholesky": lambda x: t.LKJCholesky(3, x.abs() + 1).sample().sum((-1, -2)) * x,
    "multinomial": lambda x: torch.multinomial(torch.softmax(x, 0), 3) * x[:3],
    "poisson": lambda x: torch.poisson(x.abs()) * x,
}


@pytest.mark.parametrize("f", DRAWS.values(), ids=DRAWS)
def test_numbers_that_numpy_draws(f: Callable[[Any], Any]) -> None:
    compiled = fg.compile(f, fullgraph=True)

    def run(f: Callable[[Any], Any], i: int) -> Any:
        torch.manual_seed(i)
        x = torch.tensor(array(5, seed=i), requires_grad=True)
        y = f(x)
        (g,) = torch.autograd.grad(y.sum(), x)
        return bits([y, g, torch.rand(2)])

    for i in range(4):
        assert run(compiled, i) == run(f, i)
    assert compiled.cache_info().hits == 3
