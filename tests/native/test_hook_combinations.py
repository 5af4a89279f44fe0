"""Hooks together with custom functions, in-place writes, views and batched gradients."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


def function_of(d: Dialect) -> Any:
    """The base class of custom functions."""
    return {
        "native": fg.Function,
        "paddle": fg.paddle.autograd.PyLayer,
        "torch": fg.torch.autograd.Function,
    }[d.name]


def noted(log: list[Any], entry: Any, result: Any) -> Any:
    log.append(entry)
    return result


def triple(d: Dialect, log: list[Any] | None = None) -> Any:
    """A custom function: 3x."""

    class Triple(function_of(d)):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.held = []
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if log is not None:
                log.append(("rule", values(g)))
            return g * 3

    return Triple


@every
def test_a_custom_function_takes_hooks_like_any_op(d: Dialect) -> None:
    log: list[Any] = []
    x = d.leaf([1.0, 2.0])
    y = triple(d, log).apply(x)
    y.register_hook(lambda g: noted(log, ("tensor", values(g)), g * 2))
    y.grad_fn.register_prehook(lambda gs: noted(log, ("before", values(gs[0])), (gs[0] * 10,)))
    y.grad_fn.register_hook(lambda ins, outs: log.append(("after", values(ins[0]), values(outs[0]))))
    x.register_hook(lambda g: log.append(("leaf", values(g))))
    y.retain_grad()
    d.backward([y.sum()])
    assert log == [
        ("tensor", [1, 1]),
        ("before", [2, 2]),
        ("rule", [20, 20]),
        ("after", [60, 60], [20, 20]),
        ("leaf", [60, 60]),
    ]
    assert (values(x.grad), values(y.grad)) == ([60, 60], [2, 2])


@every
def test_custom_rules_and_hooks_run_on_one_thread(d: Dialect) -> None:
    threads: set[int] = set()

    def seen(*_: Any) -> None:
        threads.add(threading.get_ident())

    total: Any = 0
    x = d.leaf(np.linspace(0.1, 1, 30_000))
    function = triple(d)
    for k in range(12):
        y = function.apply(x * (k + 1))
        y.grad_fn.register_hook(seen)
        y.register_hook(seen)
        total = total + y.sin().sum()
    d.backward([total])
    assert threads == {threading.get_ident()}


@every
def test_a_hook_stays_with_the_value_it_was_registered_on(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * 2
    log: list[Any] = []
    y.register_hook(lambda g: log.append(("old", values(g))))
    old = y.grad_fn
    y.multiply_(d.tensor(5.0)) if d.name == "paddle" else y.mul_(5)
    y.register_hook(lambda g: log.append(("new", values(g))))
    assert y.grad_fn is not old
    assert y.grad_fn.next_functions[0] == (old if d.name == "paddle" else (old, 0))
    d.backward([y.sum()])
    assert log == [("new", [1, 1]), ("old", [5, 5])]
    assert values(x.grad) == [10, 10]


@every
def test_a_hook_on_a_base_and_a_write_through_a_view(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * 2
    log: list[Any] = []
    y.register_hook(lambda g: log.append(("old", values(g))))
    view = y[:1]
    view.register_hook(lambda g: log.append(("view", values(g))))
    view[...] = d.tensor([7.0])
    y.register_hook(lambda g: log.append(("new", values(g))))
    d.backward([(y * d.tensor([3.0, 4.0])).sum()])
    assert log == [("new", [3, 4]), ("old", [0, 4])]
    assert values(x.grad) == [0, 8]


@every
def test_a_hook_sees_a_batch_of_gradients_at_once(d: Dialect) -> None:
    if d.name == "paddle":
        pytest.skip("Paddle's grad takes no batches")
    x = d.leaf([1.0, 2.0])
    y = triple(d).apply(x)
    shapes: list[Any] = []
    y.register_hook(lambda g: noted(shapes, tuple(g.shape), g * 10))
    seeds = d.tensor([[1.0, 0.0], [0.0, 1.0]])
    (found,) = d.grad([y], [x], [seeds], is_grads_batched=True)
    assert values(found) == [[30, 0], [0, 30]]
    assert shapes == [(2,)]


@every
def test_cycles_of_functions_and_hooks_are_collected(d: Dialect) -> None:
    gc.collect()
    before = _core.live_nodes()
    x = d.leaf([1.0, 2.0])
    y = triple(d).apply(x)
    y.register_hook(lambda g, y=y: g)
    z = triple(d).apply(y)
    z.grad_fn.register_hook(lambda i, o, z=z: None)
    z.grad_fn.metadata["result"] = z
    x.register_hook(lambda g, x=x: g)
    d.backward([z.sum()], retain_graph=True)
    gc.collect()
    assert values(x.grad) == [9, 9], "in use, so not collected"
    refs = [weakref.ref(t) for t in (x, y, z)]
    del x, y, z
    for _ in range(4):
        gc.collect()
    assert [ref() for ref in refs] == [None] * 3
    assert _core.live_nodes() == before
