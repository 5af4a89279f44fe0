"""Hooks on saved tensors: arguments, nesting, errors, higher orders, ``vmap``, custom functions and memory."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

from tests.dialects import ALL, Dialect
from tests.native.functions import Cube, leaf


def hooks_of(dialect: Dialect) -> Any:
    module = dialect.module
    if dialect.name == "native":
        return module.saved_tensors_hooks
    return (
        module.autograd.saved_tensors_hooks if dialect.name == "paddle" else module.autograd.graph.saved_tensors_hooks
    )


class Counted:
    """Hooks that pack tensors as NumPy arrays and count their calls."""

    def __init__(self, hooks: Any = fg.saved_tensors_hooks, make: Any = fg.tensor) -> None:
        self.packed: list[Any] = []
        self.unpacked = 0
        self.make, self.hooks = make, hooks(self.pack, self.unpack)

    def pack(self, x: Any) -> Any:
        assert not x.requires_grad
        self.packed.append(x)
        return ("packed", x.numpy())

    def unpack(self, packed: Any) -> Any:
        name, x = packed
        assert name == "packed"
        self.unpacked += 1
        return self.make(x)


@pytest.mark.parametrize("dialect", ALL, ids=str)
def test_both_factors_of_a_product_are_packed(dialect: Dialect) -> None:
    counted = Counted(hooks_of(dialect), dialect.tensor)
    a, b = dialect.leaf([1.0, 2.0]), dialect.leaf([3.0, 4.0])
    with counted.hooks:
        y = a * b
        assert (len(counted.packed), counted.unpacked) == (2, 0)
    assert [type(x) for x in counted.packed] == [type(a)] * 2
    da, db = dialect.grad([y], [a, b])
    assert counted.unpacked == 2
    assert (da.tolist(), db.tolist()) == ([3.0, 4.0], [1.0, 2.0])


@pytest.mark.parametrize("dialect", ALL, ids=str)
def test_three_derivatives_under_the_hooks(dialect: Dialect) -> None:
    counted = Counted(hooks_of(dialect), dialect.tensor)
    x = dialect.leaf(2.0)
    with counted.hooks:
        (dx,) = dialect.grad([x * x * x], [x], create_graph=True)
        (ddx,) = dialect.grad([dx], [x], create_graph=True)
        (third,) = dialect.grad([ddx], [x])
    assert [g.item() for g in (dx, ddx, third)] == [12.0, 12.0, 6.0]
    assert counted.unpacked > 4


def test_only_saved_tensors_are_packed() -> None:
    counted = Counted()
    x, y = leaf([1.0]), fg.tensor([2.0])
    with counted.hooks:
        x + 1  # saves nothing
        y * y  # is not recorded
        x * y  # saves only y
        with fg.no_grad():
            x * x
    assert [p.tolist() for p in counted.packed] == [[2.0]]


def test_the_innermost_hooks_are_used() -> None:
    outer, inner = Counted(), Counted()
    x = leaf([0.5])
    with outer.hooks:
        a = fg.sin(x)
        with inner.hooks:
            b = fg.sin(a)
        c = fg.sin(b)
    assert (len(outer.packed), len(inner.packed)) == (2, 1)
    fg.grad(c, x)
    assert (outer.unpacked, inner.unpacked) == (2, 1)
    with outer.hooks, outer.hooks:
        fg.sin(x)
    fg.sin(x)
    assert len(outer.packed) == 3


def test_hooks_may_compute_and_are_not_packed_themselves() -> None:
    calls = []

    def pack(x: Any) -> Any:
        calls.append("pack")
        return fg.exp(x) * x, x

    def unpack(packed: Any) -> Any:
        return packed[1] * 1

    x = leaf([0.5])
    with fg.saved_tensors_hooks(pack, unpack):
        y = fg.sin(x)
        np.testing.assert_allclose(fg.grad(y, x).tolist(), np.cos([0.5]))
    assert calls == ["pack"]


def test_exceptions_of_hooks_arrive_unchanged() -> None:
    error = KeyError("mine")

    def fails(_: Any) -> Any:
        raise error

    x = leaf([0.5])
    before = fg._core.live_nodes()
    with pytest.raises(KeyError) as caught, fg.saved_tensors_hooks(fails, fails):
        fg.sin(x)
    assert caught.value is error
    assert fg._core.live_nodes() == before
    fg.sin(x)  # outside of the hooks
    with fg.saved_tensors_hooks(lambda x: x, fails):
        y = fg.sin(x)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            fg.grad(y, x, retain_graph=True)
        assert caught.value is error
    with fg.saved_tensors_hooks(lambda x: x, lambda x: 5):
        y = fg.sin(x)
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        fg.grad(y, x)
    with fg.saved_tensors_hooks(lambda x: x, lambda x: x[:0]):
        y = fg.sin(x)
    with pytest.raises(ValueError, match=r"of shape \[1\] .* was unpacked as one of shape \[0\]"):
        fg.grad(y, x)


def test_what_a_hook_enters_or_leaves_ends_with_it() -> None:
    x = leaf([1.0])
    calls: list[str] = []

    def told(name: str) -> Callable[[Any], Any]:
        def pack(t: Any) -> Any:
            calls.append(name)
            return t

        return pack

    other = fg.saved_tensors_hooks(told("other"), lambda t: t)

    def unpack(t: Any) -> Any:
        other.__enter__()
        return t

    def leave(t: Any) -> Any:
        hooks.__exit__()
        return t

    hooks = fg.saved_tensors_hooks(lambda t: t, unpack)
    with hooks:
        fg.backward(fg.sin(x).sum())
    with fg.saved_tensors_hooks(told("own"), leave):
        fg.backward(fg.sin(x).sum())
        fg.sin(x)
    fg.sin(x)
    assert calls == ["own", "own"]
    with pytest.raises(RuntimeError, match="no hooks on saved tensors are set"):
        hooks.__exit__()


def test_a_pack_hook_gets_a_copy_to_write_to_and_in_torch_none() -> None:
    def double(t: Any) -> Any:
        t *= 2
        return t

    x = leaf([0.5])
    with fg.saved_tensors_hooks(double, lambda t: t):
        y = fg.exp(x)
    assert y.tolist() == pytest.approx(np.exp([0.5]))
    assert fg.grad(y, x).tolist() == pytest.approx(2 * np.exp([0.5]))
    refused = pytest.raises(RuntimeError, match="pack hook is modifying its input in place")
    place = fg.torch.tensor([0.5], requires_grad=True)
    with refused, fg.torch.autograd.graph.saved_tensors_hooks(double, lambda t: t):
        place.exp()
    node: Any = place.exp().grad_fn
    with refused:
        node._raw_saved_result.register_hooks(double, lambda t: t)


def test_disabling() -> None:
    with fg.disable_saved_tensors_hooks("not now"):
        with pytest.raises(RuntimeError, match="not now"), fg.compress_saved():
            pass
        with fg.disable_saved_tensors_hooks("nor now"), pytest.raises(RuntimeError, match="nor now"):
            fg.compress_saved().__enter__()
    with fg.compress_saved(), pytest.raises(RuntimeError, match="too late"):
        fg.disable_saved_tensors_hooks("too late").__enter__()
    with fg.compress_saved():
        pass


def test_freeing_and_retaining() -> None:
    class Held:
        def __init__(self, x: Any) -> None:
            self.x = x

    seen: list[weakref.ref[Held]] = []

    def pack(x: Any) -> Held:
        held = Held(x)
        seen.append(weakref.ref(held))
        return held

    x = leaf([0.5])
    with fg.saved_tensors_hooks(pack, lambda held: held.x):
        y = fg.sin(x)
    fg.grad(y, x, retain_graph=True)
    assert seen[0]() is not None
    fg.grad(y, x)
    assert seen[0]() is None
    with pytest.raises(fg.FreedGraphError):
        fg.grad(y, x)
    with fg.saved_tensors_hooks(pack, lambda held: held.x):
        y = fg.exp(fg.sin(x))
    del y
    assert [s() for s in seen] == [None] * len(seen)


def test_a_cycle_through_a_packed_object_is_collected() -> None:
    class Held:
        result: Any

    def made(x: Any) -> Held:
        held = Held()
        with fg.saved_tensors_hooks(lambda x: (held, x), lambda packed: packed[1]):
            held.result = fg.exp(fg.sin(x))
        return held

    held = made(leaf([0.5]))
    seen = weakref.ref(held)
    gc.collect()
    assert held.result.requires_grad
    del held
    gc.collect()
    assert seen() is None


def test_under_vmap() -> None:
    counted = Counted()
    x = leaf([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    with counted.hooks:
        y = func.vmap(lambda row: fg.sin(row).sum())(x)
    np.testing.assert_allclose(fg.grad(y.sum(), x).numpy(), np.cos(x.numpy()))
    with counted.hooks:
        each = func.vmap(lambda row: fg.grad(fg.sin(row).sum(), row))(x)
    np.testing.assert_allclose(each.numpy(), np.cos(x.numpy()))
    assert all(p.shape == (3, 2) for p in counted.packed)


def test_custom_functions() -> None:
    counted = Counted()
    x = leaf(2.0)
    with counted.hooks:
        y = Cube.apply(x)
    assert len(counted.packed) == 1
    dx = fg.grad(y, x, create_graph=True)
    assert (dx.item(), fg.grad(dx, x).item()) == (12.0, 12.0)
    assert func.jvp(lambda x: _hooked(counted, lambda: Cube.apply(x)), (x,), (fg.ones_like(x),))[1].item() == 12.0


def _hooked(counted: Counted, f: Any) -> Any:
    with counted.hooks:
        return f()


def test_hooks_belong_to_their_thread() -> None:
    counted = Counted()
    x = leaf([0.5])

    def work() -> None:
        fg.sin(x)

    with counted.hooks:
        other = threading.Thread(target=work)
        other.start()
        other.join()
    assert not counted.packed


def test_on_several_threads_of_the_engine() -> None:
    counted = Counted()
    x = leaf(np.linspace(0, 1, 40_000))
    with counted.hooks:
        total = fg.stack([fg.sin(fg.exp(x) * k).sum() for k in range(1, 9)]).sum()
    plain = fg.stack([fg.sin(fg.exp(x) * k).sum() for k in range(1, 9)]).sum()
    np.testing.assert_array_equal(fg.grad(total, x).numpy(), fg.grad(plain, x).numpy())
    assert counted.unpacked == len(counted.packed)


def test_a_long_chain() -> None:
    x = leaf(0.5)
    for run in range(2):
        y = x
        with fg.saved_tensors_hooks(lambda x: x, lambda x: x):
            for _ in range(20_000):
                y = y * 1.0
        if run:
            assert fg.grad(y, x).item() == 1.0
        del y


def test_compressed_and_spilled(tmp_path: Path) -> None:
    x = leaf(np.linspace(0.0, 1.0, 1000))
    with fg.compress_saved():
        y = fg.sin(fg.exp(x)).sum()
    g = fg.grad(y, x, create_graph=True)
    exact = np.cos(np.exp(x.numpy())) * np.exp(x.numpy())
    assert 0 < abs(g.numpy() - exact).max() < 1e-6
    with fg.spill_saved(tmp_path, min_bytes=1000):
        y = (fg.sin(fg.exp(x)) * 2).sum()
    assert len(os.listdir(tmp_path)) == 2
    np.testing.assert_allclose(fg.grad(y, x).numpy(), 2 * exact)
    assert os.listdir(tmp_path) == []
    with fg.spill_saved(tmp_path, min_bytes=1000):
        y = fg.sin(x).sum()
    for name in os.listdir(tmp_path):
        (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError):
        fg.grad(y, x)
    with fg.spill_saved(tmp_path / "missing", 0), pytest.raises(FileNotFoundError):
        fg.sin(x)
    with fg.save_on_cpu():
        y = fg.sin(x).sum()
    np.testing.assert_allclose(fg.grad(y, x).numpy(), np.cos(x.numpy()))


def test_hooks_that_compose(tmp_path: Path) -> None:
    def pack(x: Any) -> Any:
        return {"halves": (x / 2, [x * 0]), "shape": tuple(x.shape)}

    def unpack(packed: Any) -> Any:
        half, (zero,) = packed["halves"]
        assert packed["shape"] == tuple(half.shape)
        return half * 2 + zero

    outer = Counted()
    x = leaf([0.5, 1.5])
    with outer.hooks, fg.saved_tensors_hooks(pack, unpack, compose=True):
        y = x * x
    assert [t.tolist() for t in outer.packed] == [[0.25, 0.75], [0.0, 0.0]] * 2
    (dx,) = fg.grad([y.sum()], [x])
    assert dx.tolist() == [1.0, 3.0]
    assert outer.unpacked == 4

    with fg.spill_saved(tmp_path, min_bytes=0), fg.compress_saved(), fg.compress_saved():
        y = fg.sin(x).sum()
    (file,) = tmp_path.iterdir()
    assert np.load(file).dtype == np.float32
    np.testing.assert_allclose(np.asarray(fg.grad([y], [x])[0]), np.cos([0.5, 1.5]), rtol=1e-7)
    # Composed hooks also work alone and with packed values that are plain objects.
    with fg.saved_tensors_hooks(lambda x: x.tolist(), lambda v: fg.tensor(v, dtype=fg.float64), compose=True):
        y = fg.sin(x).sum()
    assert fg.grad([y], [x])[0].tolist() == np.cos([0.5, 1.5]).tolist()
    with (
        outer.hooks,
        fg.saved_tensors_hooks(lambda x: 7, lambda v: fg.tensor([1.0, 1.0], dtype=fg.float64), compose=True),
    ):
        z = fg.sin(x).sum()
    assert fg.grad([z], [x])[0].tolist() == [np.cos(1.0)] * 2
    assert len(outer.packed) == 4


def test_composed_hooks_in_a_checkpoint() -> None:
    def f(x: Any) -> Any:
        with fg.compress_saved():
            return fg.exp(fg.sin(x))

    x = leaf([0.5, 1.5])
    (dx,) = fg.grad([fg.checkpoint(f, x).sum()], [x])
    np.testing.assert_allclose(np.asarray(dx), np.exp(np.sin([0.5, 1.5])) * np.cos([0.5, 1.5]), rtol=1e-6)


def test_python_numbers_are_not_packed() -> None:
    seen: list[Any] = []
    a = fg.tensor([1.0, 2.0], requires_grad=True)

    def pack(x: Any) -> Any:
        seen.append(x.shape)
        return 2 * x

    with fg.saved_tensors_hooks(pack, lambda x: x):
        y = (a**3).sum()
    (g,) = fg.grad([y], [a], create_graph=True)
    # 3 u² for the unpacked value u = 2 a; its derivative by u is 6 u.
    assert g.tolist() == [12.0, 48.0]
    assert fg.grad(g.sum(), a).tolist() == [12.0, 24.0]
    assert seen == [(2,)]


def test_what_a_hook_writes_to_the_tensor_that_is_written_is_overwritten() -> None:
    w, x = leaf([2.0, 3.0]), fg.ones(2)

    def pack(t: Any) -> Any:
        x.add_(1)
        return t

    with fg.saved_tensors_hooks(pack, lambda t: t):
        x *= w
    assert x.tolist() == [2.0, 3.0]
