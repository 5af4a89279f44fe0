"""Custom functions (``Function``): structures, higher orders, transforms, threads, depth and memory."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

from tests.native.functions import Cube, leaf


class Round(fg.Function):
    """A step function with the gradient of the identity."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return fg.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Clamp(fg.Function):
    """Clamps values; passes gradients that lead back into the bounds."""

    @staticmethod
    def forward(ctx: Any, x: Any, low: float, high: float) -> Any:
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return fg.clip(x, low, high)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        inside = fg.logical_and(x >= ctx.low, x <= ctx.high)
        return fg.where(inside, g, fg.zeros_like(g)), None, None


class SinCos(fg.Function):
    """A function with two results whose rules call the function itself."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return fg.sin(x), fg.cos(x)

    @staticmethod
    def backward(ctx: Any, gs: Any, gc: Any) -> Any:
        sin, cos = SinCos.apply(*ctx.saved_tensors)
        return gs * cos - gc * sin


def test_orders() -> None:
    x = leaf(3.0)
    y = Cube.apply(x)
    found = []
    for _ in range(4):
        y = fg.grad(y, x, create_graph=True)
        found.append(y.item())
    assert found == [27.0, 18.0, 6.0, 0.0]


def test_a_rule_that_calls_its_function() -> None:
    x = leaf(0.4)
    y = SinCos.apply(x)[0]
    found = []
    for _ in range(5):
        y = fg.grad(y, x, create_graph=True)
        found.append(y.item())
    np.testing.assert_allclose(found, [np.cos(0.4), -np.sin(0.4), -np.cos(0.4), np.sin(0.4), np.cos(0.4)])


class Pair(NamedTuple):
    first: Any
    second: Any


def test_structures_of_arguments_and_results() -> None:
    class Mix(fg.Function):
        @staticmethod
        def forward(ctx: Any, parts: Any, scale: float, named: Any) -> Any:
            assert ctx.needs_input_grad == ([True, [True, False]], False, {"z": True, "w": False})
            ctx.save_for_backward(parts[0], parts[1][0], parts[1][1], named["z"])
            x, (y, _k), z = parts[0], parts[1], named["z"]
            return {"sum": x + y + z, "rest": Pair(x * y * scale, "text")}

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, _, _ = ctx.saved_tensors
            gs, (gp, nothing) = g["sum"], g["rest"]
            assert nothing is None
            return [gs + gp * y * 2, (gs + gp * x * 2, None)], None, {"z": gs}

    x, y, z = leaf(2.0), leaf(3.0), leaf(4.0)
    out = Mix.apply([x, (y, fg.tensor(1.0))], 2.0, OrderedDict(z=z, w="w"))
    assert isinstance(out["rest"], Pair)
    assert out["rest"].second == "text"
    dx, dy, dz = fg.grad(out["sum"] + 10 * out["rest"].first, (x, y, z))
    assert (dx.item(), dy.item(), dz.item()) == (61.0, 41.0, 1.0)


def test_keyword_arguments() -> None:
    class Scale(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any = None) -> Any:
            ctx.save_for_backward(x, k)
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, k = ctx.saved_tensors
            return g * k, g * x

    x, k = leaf(2.0), leaf(5.0)
    assert [g.item() for g in fg.grad(Scale.apply(x, k=k), [x, k])] == [5.0, 2.0]


def test_straight_through_and_clamp() -> None:
    x = leaf([0.2, 0.6, 1.7])
    assert fg.grad((Round.apply(x) * fg.tensor([1.0, 2.0, 3.0])).sum(), x).tolist() == [1.0, 2.0, 3.0]
    assert fg.grad(Clamp.apply(x, 0.0, 1.0).sum(), x).tolist() == [1.0, 1.0, 0.0]


def test_forward_mode_is_derived_from_backward() -> None:
    one = fg.ones((), dtype=fg.float64)
    assert func.jvp(Cube.apply, (leaf(3.0),), (one,))[1].item() == 27.0
    assert func.jvp(Round.apply, (leaf(0.3),), (one * 5,))[1].item() == 5.0, "the tangent follows backward, not forward"

    def slope(f: Any) -> Any:
        return lambda x: func.jvp(f, (x,), (one,))[1]

    assert slope(slope(slope(Cube.apply)))(leaf(3.0)).item() == 6.0
    assert slope(lambda x: fg.grad(Cube.apply(x), x, create_graph=True))(leaf(3.0)).item() == 18.0
    x = leaf(3.0)
    assert fg.grad(slope(Cube.apply)(x), x).item() == 18.0
    values, moved = func.jvp(SinCos.apply, (leaf(0.4),), (one,))
    np.testing.assert_allclose([m.item() for m in moved], [np.cos(0.4), -np.sin(0.4)])
    assert len(values) == 2


def test_a_custom_jvp() -> None:
    seen: list[Any] = []

    class Product(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, k: float) -> Any:
            ctx.save_for_forward(x, y)
            ctx.k = k
            return x * y * k

        @staticmethod
        def jvp(ctx: Any, tx: Any, ty: Any, nothing: None) -> Any:
            x, y = ctx.saved_tensors
            seen.append((tx.item(), ty.item(), nothing))
            return (tx * y + x * ty) * ctx.k

    x, y = leaf(2.0), fg.tensor(3.0, dtype=fg.float64)
    one = fg.ones((), dtype=fg.float64)
    assert func.jvp(lambda x: Product.apply(x, y, 10.0), (x,), (one,))[1].item() == 30.0
    assert seen == [(1.0, 0.0, None)]
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        fg.grad(Product.apply(x, y, 1.0), x)


def test_modes_and_threads() -> None:
    x = leaf([1.0, 2.0])
    with fg.no_grad():
        assert not Cube.apply(x).requires_grad
    assert not Cube.apply(x.detach()).requires_grad
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                dx = fg.grad(Cube.apply(x).sum(), x, create_graph=True)
                assert fg.grad(dx.sum(), x).tolist() == [6.0, 12.0]
        except BaseException as error:  # The main thread reports it.
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_on_several_threads_of_the_engine() -> None:
    x = leaf(np.linspace(0, 1, 40_000))
    branches = [Cube.apply(fg.sin(x) * k).sum() for k in range(1, 9)]
    total = branches[0]
    for b in branches[1:]:
        total = total + b
    wanted = sum(3 * k**3 for k in range(1, 9)) * np.sin(x.numpy()) ** 2 * np.cos(x.numpy())
    np.testing.assert_allclose(fg.grad(total, x).numpy(), wanted)


@pytest.mark.parametrize("keep", ["saved", "input", "output", "nothing"])
def test_a_long_chain(keep: str) -> None:
    class Same(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 1
            if keep == "saved":
                ctx.save_for_backward(x, y)
            elif keep == "input":
                ctx.x = x
            elif keep == "output":
                ctx.y = y
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    gc.collect()
    before = fg._core.live_nodes()
    for run in range(3):
        x = leaf(1.0)
        y = x
        for _ in range(20_000):
            y = Same.apply(y)
        if run:
            assert fg.grad(y, x, create_graph=run == 2).item() == 1.0
        del x, y
        assert fg._core.live_nodes() == before, "freed without the garbage collector"


def test_a_context_in_a_cycle_is_collected() -> None:
    class Holder:
        loss: Any

    class Keeps(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, holder: Any) -> Any:
            ctx.holder, ctx.x = holder, x
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    gc.collect()
    before = fg._core.live_nodes()
    x, holder = leaf(1.0), Holder()
    y = Keeps.apply(x, holder)
    holder.loss = (y * y + y).sum()
    seen = weakref.ref(holder)
    del holder
    gc.collect()
    assert seen() is not None, "in use, so not collected"
    assert fg.grad(y, x, retain_graph=True).item() == 2.0
    del y
    gc.collect()
    assert seen() is None
    del x
    assert fg._core.live_nodes() == before


def test_references_are_dropped_early() -> None:
    class Thing:
        pass

    thing = Thing()
    seen = weakref.ref(thing)

    class Keeps(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, thing: Any) -> Any:
            ctx.thing = thing
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    x = leaf(1.0)
    y = fg.exp(Keeps.apply(x, thing))
    del thing
    fg.grad(y, x)
    assert seen() is not None
    del y
    assert seen() is None


def test_attributes_of_the_context() -> None:
    class Exp(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.y = fg.exp(x)
            return ctx.y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert not hasattr(ctx, "z")
            y = ctx.y
            ctx.y = None
            ctx.y = y
            return g * y

    x = leaf(0.5)
    y = Exp.apply(x)
    for _ in range(3):
        y = fg.grad(y, x, create_graph=True)
        np.testing.assert_allclose(y.item(), np.exp(0.5))


def test_an_exception_in_forward_records_nothing() -> None:
    class Fails(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            raise KeyError("forward")

    x = leaf(1.0)
    before = fg._core.live_nodes()
    with pytest.raises(KeyError, match="forward"):
        Fails.apply(x)
    assert fg.is_grad_enabled()
    assert fg._core.live_nodes() == before


def test_only_arguments_can_be_marked_dirty() -> None:
    class Other(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 3
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    x = fg.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        y = Other.apply(x)
    assert fg.grad(y, x).tolist() == [3.0]
