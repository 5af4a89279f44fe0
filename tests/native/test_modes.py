"""Grad modes and ``.grad``: behaviour that every namespace shares."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


@every
def test_contexts_nest(d: Dialect) -> None:
    m = d.module
    flags = [m.is_grad_enabled()]
    with m.enable_grad():
        flags.append(m.is_grad_enabled())
        with m.no_grad():
            flags.append(m.is_grad_enabled())
            with m.enable_grad():
                flags.append(m.is_grad_enabled())
            flags.append(m.is_grad_enabled())
        flags.append(m.is_grad_enabled())
    assert flags == [True, True, False, True, False, True]
    assert m.is_grad_enabled()


@every
def test_one_context_entered_twice(d: Dialect) -> None:
    off = d.module.no_grad()
    with off:
        with off:
            assert not d.module.is_grad_enabled()
        assert not d.module.is_grad_enabled()
    assert d.module.is_grad_enabled()


@every
def test_an_exception_restores_the_mode(d: Dialect) -> None:
    with pytest.raises(KeyError), d.module.no_grad():
        raise KeyError
    assert d.module.is_grad_enabled()


@every
def test_decorators(d: Dialect) -> None:
    m = d.module

    @m.no_grad()
    def called() -> bool:
        return bool(m.is_grad_enabled())

    @m.no_grad
    def bare() -> bool:
        return bool(m.is_grad_enabled())

    @m.set_grad_enabled(False)
    def switched() -> bool:
        return bool(m.is_grad_enabled())

    assert m.is_grad_enabled()
    assert (called(), bare(), switched()) == (False, False, False)
    assert called.__name__ == "called"
    assert m.is_grad_enabled()


@every
def test_a_decorated_class_warns(d: Dialect) -> None:
    m = d.module
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @m.no_grad()
        class Made:
            def __init__(self) -> None:
                self.while_made = bool(m.is_grad_enabled())

            def later(self) -> bool:
                return bool(m.is_grad_enabled())

    made = Made()
    assert (made.while_made, made.later()) == (False, True)


@every
def test_a_generator_is_in_the_mode_only_while_it_runs(d: Dialect) -> None:
    m = d.module
    seen: list[tuple[Any, bool]] = []

    @m.no_grad()
    def steps() -> Iterator[bool]:
        try:
            got = yield m.is_grad_enabled()
            seen.append((got, m.is_grad_enabled()))
            yield m.is_grad_enabled()
        finally:
            seen.append(("end", m.is_grad_enabled()))

    g: Any = steps()
    assert next(g) is False
    assert m.is_grad_enabled()
    assert g.send("x") is False
    with m.enable_grad(), pytest.raises(KeyError):
        g.throw(KeyError())
    assert m.is_grad_enabled()
    assert seen == [("x", False), ("end", False)]
    g = steps()
    next(g)
    g.close()
    assert m.is_grad_enabled()
    assert seen == [("x", False), ("end", False), ("end", False)]


@every
def test_a_coroutine_is_in_the_mode_only_while_it_runs(d: Dialect) -> None:
    m = d.module
    seen = []

    @m.no_grad()
    async def quiet() -> str:
        for _ in range(3):
            seen.append(m.is_grad_enabled())
            await asyncio.sleep(0)
        return "done"

    async def loud() -> None:
        for _ in range(3):
            assert m.is_grad_enabled()
            await asyncio.sleep(0)

    async def both() -> Any:
        return await asyncio.gather(quiet(), loud())

    assert list(asyncio.run(both())) == ["done", None]
    assert seen == [False] * 3


@every
def test_set_grad_enabled_as_a_call(d: Dialect) -> None:
    m = d.module
    m.set_grad_enabled(False)
    try:
        assert not m.is_grad_enabled()
    finally:
        m.set_grad_enabled(True)
    with m.set_grad_enabled(False):
        assert not m.is_grad_enabled()
    assert m.is_grad_enabled()


@every
def test_a_new_thread_records(d: Dialect) -> None:
    seen = []
    with d.module.no_grad():
        thread = threading.Thread(target=lambda: seen.append(d.module.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not d.module.is_grad_enabled()
    assert seen == [True]


@every
def test_results_inside_no_grad(d: Dialect) -> None:
    x = d.leaf([1.0])
    with d.module.no_grad():
        y = x * x
    assert y.stop_gradient
    assert y.is_leaf
    assert not x.stop_gradient


@every
def test_a_gradient_that_was_set_is_added_to(d: Dialect) -> None:
    x = d.leaf(3.0)
    x.grad = d.tensor(5.0)
    (x * x).backward()
    assert values(x.grad) == 11


@every
def test_gradients_add_up_in_place(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0, 3.0, 4.0, 5.0])
    d.backward([x * x])
    a = x.grad
    before = np.asarray(a).copy()
    used = a * 1
    d.backward([x * x])
    assert x.grad is a
    assert np.array_equal(np.asarray(a), 2 * before)
    assert np.array_equal(np.asarray(used), before)


@every
def test_with_create_graph_gradients_add_up_in_a_new_tensor(d: Dialect) -> None:
    if d.name == "paddle":
        pytest.skip("Paddle's backward has no create_graph")
    x = d.leaf(3.0)
    (x * x * x).backward(create_graph=True)
    a = x.grad
    assert a.requires_grad
    (x * x * x).backward(create_graph=True)
    assert x.grad is not a
    assert (values(a), values(x.grad)) == (27, 54)
    assert values(d.grad([x.grad], [x])[0]) == 36


@every
def test_gradients_without_elements(d: Dialect) -> None:
    a, b = d.leaf(np.ones((4, 0), np.float32)), d.leaf(np.ones((4, 1), np.float32))
    (a + b).sum().backward()
    assert tuple(a.grad.shape) == (4, 0)
    assert values(b.grad) == [[0], [0], [0], [0]]


@every
def test_detach(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    c = y.detach()
    assert (c.stop_gradient, c.is_leaf) == (True, True)
    assert type(c) is type(x)
    assert values(c) == 9


@every
def test_threads_accumulate_into_one_leaf(d: Dialect) -> None:
    x = d.leaf(np.ones(1000, np.float32))
    seed = d.tensor(np.ones(1000, np.float32))

    def work() -> None:
        for _ in range(10):
            d.backward([x * 3], [seed])

    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert np.all(np.asarray(x.grad) == 480)


@every
def test_a_deep_chain(d: Dialect) -> None:
    x = d.leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + x
    y.backward()
    assert values(x.grad) == 100_001
    del y


@every
def test_a_pass_leaves_no_reference_cycle(d: Dialect) -> None:
    import weakref

    x = d.leaf(3.0)
    d.grad([x * x * x], [x], create_graph=True)
    (x * x * x).backward()
    gone = weakref.ref(x)
    del x
    assert gone() is None


@every
def test_tensors_are_keys(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([1.0, 2.0])
    assert len({x: 1, y: 2}) == 2
    assert x in {x}


@pytest.mark.parametrize("wrong", [5, 0, "no", None, [True]])
def test_a_mode_is_a_truth_value(wrong: Any) -> None:
    for name in ("set_grad_enabled", "inference_mode"):
        with pytest.raises(fg.ArgumentError, match=f"{name}: mode is True or False, not {type(wrong).__name__}"):
            getattr(fg, name)(wrong)
        assert fg.is_grad_enabled()
    with fg.set_grad_enabled(np.bool_(False)):  # type: ignore[arg-type]
        assert not fg.is_grad_enabled()
