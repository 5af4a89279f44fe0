"""Objects that hooks refer to are freed: at once without a reference cycle, by the garbage collector with one."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from ferrograd import _core

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


@pytest.fixture(autouse=True)
def _without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Held:
    """An object for hooks to refer to."""


@every
def test_a_graph_with_hooks_is_freed_at_once(d: Dialect) -> None:
    before = _core.live_nodes()
    held = Held()
    ref = weakref.ref(held)
    x = d.leaf([1.0, 2.0])
    y = x * 2
    y.register_hook(lambda g, held=held: g)
    y.grad_fn.register_hook(lambda i, o, held=held: None)
    x.register_post_accumulate_grad_hook(lambda p, held=held: None)
    z = (y * y).sum()
    d.backward([z])
    del held, y, z
    assert ref() is not None
    del x
    assert ref() is None
    assert _core.live_nodes() == before


@every
def test_cycles_through_hooks_are_collected(d: Dialect) -> None:
    before = _core.live_nodes()
    x = d.leaf([1.0, 2.0])
    y = (x * 2).sin()
    inner, node = d.leaf(3.0) * 2, d.leaf(4.0) * 2
    noted = d.leaf(5.0) * 2
    refs = [weakref.ref(t) for t in (x, y, inner, node, noted)]
    x.register_hook(lambda g, x=x: g * x)
    y.register_hook(lambda g, y=y: g)
    inner.register_hook(lambda g, inner=inner: g)
    node.grad_fn.register_prehook(lambda g, node=node: None)
    noted.grad_fn.metadata["tensor"] = noted
    d.backward([(y * x).sum()])
    assert [values(g) for g in d.grad([inner], [inner])] == [1]
    del x, y, inner, node, noted
    assert all(ref() is not None for ref in refs[2:])
    gc.collect()
    # The graph of `y` held the node of `x` too, so it had to be freed first.
    gc.collect()
    assert [ref() for ref in refs] == [None] * 5
    assert _core.live_nodes() == before


@every
def test_a_hook_on_an_input_that_holds_a_result(d: Dialect) -> None:
    x = d.leaf(2.0)
    y = x * 3
    handle = y.register_hook(print)
    handle.remove()
    z = y * 2
    y.register_hook(lambda g, z=z: g)
    ref = weakref.ref(z)
    del y, z
    assert ref() is not None
    gc.collect()
    assert ref() is None


@every
@pytest.mark.parametrize("way", ["closure", "default", "list", "attribute", "method", "partial", "leaf", "node"])
def test_the_first_hook_on_an_input_that_holds_a_result(d: Dialect, way: str) -> None:
    class Keeper:
        def __init__(self, kept: Any) -> None:
            self.kept = kept

        def __call__(self, *g: Any) -> None:
            pass

        def hook(self, *g: Any) -> None:
            pass

    def closing(kept: Any) -> Any:
        return lambda *g: (kept, None)[1]

    before = _core.live_nodes()
    x = d.leaf(2.0)
    y = x * 3
    z = (y * 2).sin()
    hooks: dict[str, Any] = {
        "closure": closing(z),
        "default": lambda *g, z=z: None,
        "list": lambda *g, kept=[{"z": (z,)}]: None,
        "attribute": Keeper(z),
        "method": Keeper([z]).hook,
        "partial": functools.partial(lambda z, *g: None, z),
    }
    if way == "node":
        y.grad_fn.register_prehook(hooks["closure"])
    else:
        (x if way == "leaf" else y).register_hook(hooks.get(way, hooks["closure"]))
    ref = weakref.ref(z)
    del hooks, y
    gc.collect()
    assert ref() is not None
    assert values(d.grad([z], [x])[0]) is not None
    del x, z
    gc.collect()
    assert ref() is None
    assert _core.live_nodes() == before


@every
def test_objects_in_use_are_not_collected(d: Dialect) -> None:
    x, w = d.leaf(2.0), d.leaf(3.0)
    y = x * 3
    calls: list[Any] = []
    y.register_hook(lambda g, y=y: calls.append(y))
    x.register_hook(lambda g, x=x: g * x)
    z = y * w
    del y
    gc.collect()
    gc.collect()
    d.backward([z])
    assert values(x.grad) == 18
    assert len(calls) == 1


@every
def test_a_gradient_that_refers_back_to_its_tensor_is_collected(d: Dialect) -> None:
    x = d.leaf(2.0)
    d.backward([x * x])
    x.grad.stop_gradient = False
    x.grad.register_hook(lambda g, x=x: g)
    ref = weakref.ref(x)
    del x
    assert ref() is not None
    gc.collect()
    assert ref() is None


@every
def test_a_view_that_refers_back_to_its_base_is_collected(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0]) * 1
    view = x[:1]
    view.register_hook(lambda g, view=view, x=x: g)
    ref = weakref.ref(x)
    del x, view
    assert ref() is not None
    gc.collect()
    assert ref() is None


@every
def test_a_handle_keeps_nothing_alive(d: Dialect) -> None:
    held = Held()
    ref = weakref.ref(held)
    x = d.leaf(1.0)
    handle = x.register_hook(lambda g, held=held: g)
    del held, x
    assert ref() is None
    assert handle.__exit__(None, None, None) is None


@every
def test_removing_a_hook_frees_what_it_held(d: Dialect) -> None:
    held = Held()
    ref = weakref.ref(held)
    x = d.leaf(1.0)
    handle = x.register_hook(lambda g, held=held: g)
    del held
    assert ref() is not None
    handle.remove()
    assert ref() is None


@every
def test_hooks_of_several_tensors_keep_nothing_alive_after_a_pass(d: Dialect) -> None:
    import ferrograd as fg

    x = d.leaf(1.0)
    grads: list[Any] = []
    fg.register_multi_grad_hook([x], lambda found: grads.append(weakref.ref(found[0])))
    d.backward([x * 2])
    assert grads[0]() is None
