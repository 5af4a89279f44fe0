"""What a custom function computes in forward and keeps: its derivative is right or an error, and never left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch

from tests.dialects import ALL, Dialect, values
from tests.native.functions import leaf

every = pytest.mark.parametrize("d", ALL, ids=repr)
BASES: dict[str, Any] = {"native": fg.Function, "paddle": paddle.autograd.PyLayer, "torch": torch.autograd.Function}
LOST = "computed from an argument and kept"


def made(forward: Any, backward: Any, base: Any = fg.Function, **rules: Any) -> Any:
    """A custom function with these methods."""
    methods = {"forward": forward, "backward": backward, **rules}
    return type("F", (base,), {name: staticmethod(f) for name, f in methods.items()})


def saving(square: Callable[[Any], Any]) -> Any:
    """A cube that saves what ``square`` gives."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(square(x))
        return x**3

    return made(forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0])


def keeping(keep: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    """A cube that keeps something on the context."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.kept = keep(x)
        return x**3

    return made(forward, lambda ctx, g: 3 * g * read(ctx.kept))


def written(x: Any) -> Any:
    part = fg.zeros((2,), dtype=x.dtype)
    part[1] = x * x
    return part[1]


def in_a_graph_of_its_own(x: Any) -> Any:
    with fg.enable_grad():
        inner = x.detach().requires_grad_()
        return fg.grad(inner**3, inner) / 3


def by_an_inner_graph() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with fg.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x**3
        return ctx.y.detach()

    return made(forward, lambda ctx, g: fg.grad(ctx.y, ctx.x, g, create_graph=True))


def by_setup_context() -> Any:
    return made(
        lambda x: x**3,
        lambda ctx, g: 3 * g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0] ** 2),
    )


def with_a_jvp() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x * x)
        ctx.save_for_forward(x * x)
        return x**3

    def rule(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0]

    return made(forward, rule, jvp=rule)


LOSING: dict[str, Callable[[], Any]] = {
    "a saved product": lambda: saving(lambda x: x * x),
    "an attribute": lambda: keeping(lambda x: x * x, lambda kept: kept),
    "an attribute in containers": lambda: keeping(lambda x: {"a": [x * x]}, lambda kept: kept["a"][0]),
    "a value written in place": lambda: saving(written),
    "of a detached argument": lambda: saving(lambda x: x.detach() ** 2),
    "a view": lambda: keeping(lambda x: x.reshape(1), lambda kept: kept[0] ** 2),
    "by NumPy": lambda: saving(lambda x: fg.tensor(np.square(x.numpy()))),
    "a gradient in forward": lambda: saving(in_a_graph_of_its_own),
    "by a program": lambda: saving(fg.compile(lambda x: x * x)),
    "an inner graph": by_an_inner_graph,
    "by setup_context": by_setup_context,
    "by a jvp": with_a_jvp,
    "by another function": lambda: saving(lambda x: saving(lambda x: x).apply(x) / x),
}


def taken_twice(f: Any) -> dict[str, Callable[[], Any]]:
    """Ways to a second derivative."""
    x, one = fg.tensor(2.0, dtype=fg.float64), fg.ones((), dtype=fg.float64)

    def beside_another_term() -> Any:
        z = leaf(2.0)
        return fg.grad(fg.grad(f(z), z, create_graph=True) + z * z, z)

    return {
        "hessian": lambda: func.hessian(f)(x),
        "grad(grad)": lambda: func.grad(func.grad(f))(x),
        "hvp": lambda: func.hvp(f, x, one)[1],
        "vhp": lambda: func.vhp(f, x, one)[1],
        "jacfwd(jacfwd)": lambda: func.jacfwd(func.jacfwd(f))(x),
        "jacrev(jacrev)": lambda: func.jacrev(func.jacrev(f))(x),
        "a part": beside_another_term,
        "vmap": lambda: func.vmap(func.grad(func.grad(f)))(fg.stack([x, x])),
        "compiled": lambda: fg.compile(func.grad(func.grad(f)))(x),
        "torch": lambda: torch.autograd.functional.hessian(f, torch.tensor(2.0)),
        "torch, hvp": lambda: torch.autograd.functional.hvp(f, torch.tensor(2.0), torch.tensor(1.0)),
    }


@pytest.mark.parametrize("name", LOSING)
def test_a_second_derivative_through_what_forward_kept_is_refused(name: str) -> None:
    f = LOSING[name]().apply
    x = fg.tensor(2.0, dtype=fg.float64)
    assert func.grad(f)(x).item() == 12
    assert func.jvp(f, x, fg.ones((), dtype=fg.float64))[1].item() == 12
    z = leaf(2.0)
    assert fg.grad(f(z), z, create_graph=True).item() == 12, "a bare create_graph does not raise"
    for way, second in taken_twice(f).items():
        with pytest.raises(fg.NotDifferentiableError, match=LOST):
            pytest.fail(f"{way}: {second()}")


@every
def test_the_dialects_refuse_it_too(d: Dialect) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x * x)
        return x**3

    def backward(ctx: Any, g: Any) -> Any:
        (square,) = ctx.saved_tensor() if d.name == "paddle" else ctx.saved_tensors
        return 3 * g * square

    f = made(forward, backward, BASES[d.name]).apply
    x = d.leaf(2.0)
    (dx,) = d.grad([f(x)], [x], create_graph=True)
    assert values(dx) == 12
    with pytest.raises(NotImplementedError, match=LOST):
        d.grad([dx], [x])
    if d.name == "paddle":
        with pytest.raises(NotImplementedError, match=LOST):
            print(paddle.incubate.autograd.Hessian(lambda x: f(x).sum(), d.leaf([2.0]))[:])


def masked(mask: Callable[[Any], Any]) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, mask(x))
        return x**3

    def backward(ctx: Any, g: Any) -> Any:
        x, mask = ctx.saved_tensors
        return 3 * g * x * x * mask

    return made(forward, backward)


ALLOWED: dict[str, Callable[[], Any]] = {
    "a mask": lambda: masked(lambda x: x > 0),
    "a mask of floats": lambda: masked(lambda x: fg.cast(x > 0, x.dtype)),
    "a chosen number": lambda: masked(lambda x: fg.where(x > 0, 1.0, 0.0)),
    "a sign": lambda: masked(fg.sign),
    "an index": lambda: masked(lambda x: fg.argmax(fg.stack([x * 0, x]))),
    "a constant": lambda: masked(lambda x: fg.ones_like(x)),
    "arguments and results": lambda: made(
        lambda ctx, x: (ctx.save_for_backward(x, y := x**3), y)[1],
        lambda ctx, g: 3 * g * ctx.saved_tensors[1] / ctx.saved_tensors[0],
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_has_no_derivative_is_not_refused(name: str) -> None:
    for way, second in taken_twice(ALLOWED[name]().apply).items():
        found = np.asarray(second()) if "hvp" not in way or "torch" not in way else np.asarray(second()[1])
        wanted = 16 if way == "a part" else 12
        np.testing.assert_allclose(found, np.full_like(found, wanted), rtol=1e-6, err_msg=way)


def test_what_is_detached_in_backward_is_a_constant() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x * x)
        return x**3

    f = made(forward, lambda ctx, g: g * (ctx.saved_tensors[1].detach() * 2 + ctx.saved_tensors[0] ** 2)).apply
    assert func.grad(func.grad(f))(fg.tensor(2.0)).item() == 4


def test_it_is_refused_for_the_arguments_that_it_depends_on() -> None:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y, x * x)
        return x**2 * y

    def backward(ctx: Any, g: Any) -> Any:
        x, y, square = ctx.saved_tensors
        return g * 2 * x * y, g * square

    f = made(forward, backward).apply
    x, y = leaf(2.0), leaf(3.0)
    dx, dy = fg.grad(f(x, y), [x, y], create_graph=True)
    assert fg.grad(dx, [x, y], retain_graph=True)[1].item() == 4
    assert fg.grad(dy * dy + y, y, retain_graph=True).item() == 1
    with pytest.raises(fg.NotDifferentiableError, match=LOST):
        fg.grad(dy, x)


def test_a_second_function_computes_the_derivative_of_what_is_kept() -> None:
    class Slope(fg.Function):
        @staticmethod
        def forward(ctx: Any, g: Any, x: Any, square: Any) -> Any:
            ctx.save_for_backward(g, x, square)
            return 3 * g * square

        @staticmethod
        def backward(ctx: Any, h: Any) -> Any:
            g, x, square = ctx.saved_tensors
            return 3 * h * square.detach(), 6 * h * g * x, None

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x * x)
        return x**3

    f = made(forward, lambda ctx, g: Slope.apply(g, *ctx.saved_tensors)).apply
    assert func.grad(func.grad(f))(fg.tensor(2.0)).item() == 12


def test_running_values_of_an_earlier_call_are_constants() -> None:
    mean = fg.zeros((), dtype=fg.float64)

    def forward(ctx: Any, x: Any, update: bool) -> Any:
        if update:
            mean[...] = x * x
        ctx.save_for_backward(x, mean)
        return x**3 * mean.detach()

    def backward(ctx: Any, g: Any) -> Any:
        x, mean = ctx.saved_tensors
        return 3 * g * x * x * mean, None

    f = made(forward, backward).apply
    with pytest.raises(fg.NotDifferentiableError, match=LOST):
        func.grad(func.grad(lambda x: f(x, True)))(leaf(2.0))
    assert func.grad(func.grad(lambda x: f(x, False)))(leaf(2.0)).item() == 48


def test_a_forward_that_closes_over_what_is_differentiated() -> None:
    def of(w: Any, x: Any) -> Any:
        return made(lambda ctx, x: x * w, lambda ctx, g: g * 1).apply(x)

    with pytest.raises(fg.UnusedInputError, match="none of its arguments and that grad differentiates"):
        func.grad(of)(fg.tensor(2.0), fg.tensor(3.0))
    with pytest.raises(fg.UnusedInputError, match=r"detach\(\)"):
        func.jvp(lambda w: of(w * w, fg.tensor(3.0)), fg.tensor(2.0), fg.tensor(1.0))
    with pytest.raises(fg.UnusedInputError):
        func.vmap(func.grad(of))(fg.ones(2), fg.ones(2))
    x, w = leaf(3.0), leaf(2.0)
    assert func.grad(lambda x: of(w, x))(x).item() == 1, "nobody differentiates with respect to w"
    assert func.grad(lambda w: of(w.detach(), x) * w)(w).item() == 6
    assert fg.grad(of(w, x), x).item() == 1


def test_a_forward_that_returns_what_is_differentiated() -> None:
    def of(w: Any, x: Any) -> Any:
        return made(lambda ctx, x: w, lambda ctx, g: g * 1).apply(x)

    with pytest.raises(fg.UnusedInputError, match="none of its arguments and that grad differentiates"):
        func.grad(lambda w: of(w, w * 2))(fg.tensor(2.0))
    assert func.grad(lambda w: of(w, fg.tensor(3.0)))(fg.tensor(2.0)).item() == 1, "it keeps its own history"
    assert func.grad(lambda x: of(fg.tensor(3.0), x))(fg.tensor(2.0)).item() == 1
    assert func.grad(lambda w: of(w.detach(), w * 2))(fg.tensor(2.0)).item() == 2
