"""Hooks on tensors: behaviour that every namespace shares."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


def times(k: float) -> Any:
    return lambda g: g * k


@every
def test_grad_returns_the_gradient_after_the_hooks(d: Dialect) -> None:
    x = d.leaf(1.0)
    y = x * 2
    y.register_hook(times(10))
    out = y * y
    assert values(d.grad([out], [y], retain_graph=True)[0]) == 40
    assert [values(g) for g in d.grad([out], [x, y])] == [80, 40]


@every
def test_a_hook_on_a_leaf_applies_to_backward_and_except_in_paddle_to_grad(d: Dialect) -> None:
    x = d.leaf(1.0)
    x.register_hook(times(10))
    assert values(d.grad([x * x], [x])[0]) == (2 if d.name == "paddle" else 20)
    d.backward([x * x])
    assert values(x.grad) == 20


@every
def test_retain_grads_keeps_the_gradient_before_hooks_and_retain_grad_after(d: Dialect) -> None:
    for spelling, kept in (("retain_grads", 3), ("retain_grad", 6)):
        x, y, z = d.leaf(1.0), d.leaf(2.0), d.leaf(3.0)
        w = x + y
        getattr(w, spelling)()
        handle = w.register_hook(times(2))
        d.backward([z * w])
        assert [values(t.grad) for t in (w, x, y)] == [kept, 6, 6]
        handle.remove()
        for t in (w, x, y, z):
            t.clear_gradient(False)
        d.backward([z * (x + y)])
        assert [values(t.grad) for t in (w, x, y)] == [None, 3, 3]


@every
def test_a_hook_sees_the_summed_gradient_once(d: Dialect) -> None:
    x, seen = d.leaf(1.0), []
    x.register_hook(lambda g: seen.append(values(g)))
    d.backward([x * 3 + x * 4])
    assert seen == [7]
    assert values(x.grad) == 7


@every
def test_hooks_run_in_order_until_they_are_removed(d: Dialect) -> None:
    x = d.leaf(1.0)
    y = x * 1
    handles = [y.register_hook(times(2)) for _ in range(3)]
    for factor, handle in zip((8, 4, 2, 1), [*handles, None], strict=True):
        assert values(d.grad([y], [x], retain_graph=True)[0]) == factor
        if handle is not None:
            handle.remove()
    x, log = d.leaf(1.0), []

    def doubles(g: Any) -> Any:
        log.append(values(g))
        return g * 2

    x.register_hook(doubles)
    x.register_hook(lambda g: log.append(values(g)))
    d.backward([x * 3])
    assert log == [3, 6]
    assert values(x.grad) == 6


@every
def test_a_handle_removes_once(d: Dialect) -> None:
    x = d.leaf(1.0)
    handle = x.register_hook(times(2))
    assert handle.remove() is (None if d.name == "torch" else True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert handle.remove() is (None if d.name == "torch" else False)
    assert [w.category for w in found] == ([] if d.name == "torch" else [RuntimeWarning])
    y = x * 1
    with y.register_hook(times(2)) as handle:
        assert values(d.grad([y], [x], retain_graph=True)[0]) == 2
        handle.remove()
    assert values(d.grad([y], [x])[0]) == 1


@every
def test_an_untracked_tensor_takes_no_hook(d: Dialect) -> None:
    text = r"Cannot register hook on a tensor that stop gradient.*doesn't require gradient"
    with pytest.raises(RuntimeError, match=text):
        d.tensor(1.0).register_hook(print)
    with pytest.raises(TypeError, match="a hook is something to be called, not int"):
        d.leaf(1.0).register_hook(3)
    x = d.tensor(1.0)
    if d.name == "paddle":
        x.retain_grads()
        assert x.grad is None
        return
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        x.retain_grad()


@every
def test_the_result_of_a_hook_is_checked(d: Dialect) -> None:
    def run(hook: Any) -> None:
        y = d.leaf([1.0, 2.0]) * 2
        y.register_hook(hook)
        d.backward([y.sum()])

    def shrink(g: Any) -> Any:
        return g[:1]

    with pytest.raises(RuntimeError, match=r"hook 'shrink' has changed the size of value \(was \[2\] got \[1\]\)"):
        run(shrink)
    with pytest.raises(RuntimeError, match=r"has changed the type of value \(was float32 got float64\)"):
        run(lambda g: g.astype("float64"))
    with pytest.raises(TypeError, match="expected Tensor but hook returned int"):
        run(lambda g: 1)

    error = KeyError("mine")

    def fails(g: Any) -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        run(fails)
    assert caught.value is error
    note = error.__notes__[0]
    name = {"native": "multiply", "paddle": "MultiplyGradNode", "torch": "MulBackward0"}[d.name]
    assert note.startswith(f"a hook on the gradient of {name}, made at ")
    assert __file__ in note


@every
def test_a_hook_is_called_only_where_a_gradient_is_computed(d: Dialect) -> None:
    called: list[Any] = []
    x = d.leaf([1.0, 2.0, 3.0, 4.0])
    x.register_hook(called.append)
    a, b = x[:2], x[2:]
    seed = d.tensor([1.0, 2.0])
    ga, gb = d.grad([a + b * 2], [a, b], [seed])
    assert (values(ga), values(gb)) == ([1, 2], [2, 4])
    assert called == []
    assert x.grad is None
    x = d.leaf([1.0, 2.0, 3.0])
    parts = x.unbind()
    parts[0].register_hook(called.append)
    for i in (1, 2):
        d.backward([parts[i]], retain_graph=True)
    # As in PyTorch, a hook of torch is called with None where a gradient arrives at other results of the call.
    assert called == ([None, None] if d.name == "torch" else [])
    assert values(x.grad) == [0, 1, 1]
    d.backward([parts[0]])
    assert values(called[-1]) == 1


@every
def test_a_hook_may_write_into_what_it_is_given(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * 3
    seed = d.tensor([1.0, 1.0])

    def clears(g: Any) -> None:
        g[0] = 0.0

    y.register_hook(clears)
    assert values(d.grad([y], [x], [seed])[0]) == [0, 3]
    assert values(seed) == [1, 1]


@every
def test_computations_in_hooks_are_recorded_under_create_graph(d: Dialect) -> None:
    x = d.leaf(3.0)
    modes = []

    def hook(g: Any) -> Any:
        modes.append(d.module.is_grad_enabled())
        return g * x

    y = x * x
    y.register_hook(hook)
    first = d.grad([y], [x], create_graph=True)[0]
    second = d.grad([first], [x], create_graph=True)[0]
    # 2 x², and its derivatives: the hook multiplies once.
    assert [values(first), values(second)] == [18, 12]
    assert values(d.grad([second], [x])[0]) == 4
    assert modes == [True]
    d.grad([y], [x], retain_graph=True)
    assert modes == [True, False]
    assert d.module.is_grad_enabled()


@every
def test_a_hook_may_differentiate(d: Dialect) -> None:
    x, w = d.leaf(3.0), d.leaf(2.0)

    def hook(g: Any) -> Any:
        with d.module.enable_grad():
            d.backward([w * w])
            return g * d.grad([x * x * x], [x])[0]

    y = x * 1
    y.register_hook(hook)
    assert values(d.grad([y], [x])[0]) == 27
    assert values(w.grad) == 4


@every
def test_hooks_are_added_and_removed_while_a_pass_runs(d: Dialect) -> None:
    x, log = d.leaf(1.0), []
    y = x * 2
    handles: list[Any] = []

    def once(g: Any) -> None:
        log.append("y")
        handles[0].remove()
        handles.append(x.register_hook(lambda g: log.append("x")))

    handles.append(y.register_hook(once))
    for _ in range(2):
        d.backward([y], retain_graph=True)
    assert log == ["y", "x", "x"]


@every
def test_a_failed_hook_leaves_gradients_and_graph_unchanged(d: Dialect) -> None:
    x, w = d.leaf(2.0), d.leaf(3.0)
    d.backward([x * w])
    y = x * x
    y.retain_grad()
    z = y * w

    def fails(g: Any) -> None:
        raise KeyError("mine")

    handle = x.register_hook(fails)
    with pytest.raises(KeyError):
        d.backward([z], retain_graph=True)
    assert (values(x.grad), values(w.grad), values(y.grad)) == (3, 2, None)
    handle.remove()
    d.backward([z])
    assert (values(x.grad), values(w.grad), values(y.grad)) == (15, 6, 3)


@every
def test_hooks_run_on_the_calling_thread(d: Dialect) -> None:
    before = fg.get_num_threads()
    helped = False
    try:
        fg.set_num_threads(2)
        # On a busy machine the first passes may be over before another thread begins.
        while not helped:
            idents: list[int] = []
            x = d.leaf(np.linspace(0.1, 1, 30_000))
            total: Any = 0
            for k in range(24):
                y = (x * (k + 1)).sin()
                if k % 2:
                    y.register_hook(lambda g, idents=idents: idents.append(threading.get_ident()))
                total = total + (y * x).sum()
            x.register_hook(lambda g, idents=idents: idents.append(threading.get_ident()))
            d.backward([total])
            assert idents == [threading.get_ident()] * 13
            helped = _core.threads_of_last_run() > 1
    finally:
        fg.set_num_threads(before)


@every
def test_a_leaf_keeps_its_hooks_while_it_is_untracked(d: Dialect) -> None:
    x = d.leaf(1.0)
    handle = x.register_hook(times(2))
    x.stop_gradient = True
    x.stop_gradient = False
    d.backward([x * 3])
    assert values(x.grad) == 6
    handle.remove()
    d.backward([x * 3])
    assert values(x.grad) == 9


@every
def test_kept_gradients_add_up_and_move_with_writes(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    out = (y * y).sum()
    for k in (1, 2):
        d.backward([out], retain_graph=True)
        assert values(y.grad) == [6 * k, 12 * k]
    x.retain_grad()
    assert not x.retains_grad
    y = x * 3
    y.retain_grad()
    y[0] = 5.0
    y[1] = 7.0
    d.backward([(y * 2).sum()])
    assert values(y.grad) == [2, 2]
    # A gradient that is both an input and retained is added once.
    y = x * 3
    y.retain_grad()
    out = (y * 2).sum()
    if d.name != "paddle":
        d.backward([out], inputs=[y])
        assert values(y.grad) == [2, 2]


@every
def test_a_gradient_that_is_not_kept(d: Dialect) -> None:
    y = d.leaf(1.0) * 2
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert y.grad is None
    if d.name == "paddle":
        assert not found
    else:
        assert found[0].category is UserWarning
        assert "not a leaf Tensor is being accessed" in str(found[0].message)
        assert found[0].filename == __file__
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None
        assert d.leaf(1.0).grad is None
        assert d.tensor(1.0).grad is None


@every
def test_hooks_of_several_tensors(d: Dialect) -> None:
    a, b = d.leaf(2.0), d.leaf(3.0)
    c, e = a * b, a * b
    calls: list[Any] = []
    handle = fg.register_multi_grad_hook([a, b, c, e], calls.append)
    d.backward([c], retain_graph=True)
    assert [[values(g) for g in call] for call in calls] == [[3, 2, 1, None]]
    d.backward([c + e], retain_graph=True)
    assert [values(g) for g in calls[1]] == [6, 4, 1, 1]
    handle.remove()
    d.backward([c])
    assert len(calls) == 2
    with fg.register_multi_grad_hook((a, d.tensor(1.0), b), calls.append, mode="any"):
        d.backward([a * 1 + b * 2])
    assert len(calls) == 3
    assert values(calls[2]) in (1, 2)
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        fg.register_multi_grad_hook([a], calls.append, mode="some")
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        fg.register_multi_grad_hook([d.tensor(1.0)], calls.append)


@every
def test_under_vmap_a_hook_sees_one_sample(d: Dialect) -> None:
    if d.name != "native":
        pytest.skip("transforms are tested in the native namespace")
    shapes = []

    def tenfold(g: Any) -> Any:
        shapes.append(tuple(g.shape))
        return g * 10

    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(tenfold)
        return fg.grad(y, x)

    x = d.leaf([1.0, 2.0])
    assert values(fg.func.vmap(f)(x)) == [20, 40]
    assert shapes == [()]
    y = x * x
    y.register_hook(times(10))
    seeds = d.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert values(fg.grad(y, x, seeds, is_grads_batched=True)) == [[20, 0], [0, 40]]
