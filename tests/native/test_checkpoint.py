"""Checkpoints: gradients of any order, nesting, randomness, transforms, checks, memory."""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func
from ferrograd.paddle.distributed.fleet.utils import recompute
from ferrograd.torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.dialects import ALL, Dialect
from tests.native.functions import Cube, leaf


def deep(x: Any, times: int = 5) -> Any:
    for _ in range(times):
        x = fg.sin(x) * x + fg.exp(-x)
    return x


@pytest.mark.parametrize("dialect", ALL, ids=str)
def test_gradients(dialect: Dialect) -> None:
    call = {"native": fg.checkpoint, "paddle": recompute, "torch": checkpoint}[dialect.name]
    x, w = dialect.leaf([0.5, 1.5]), dialect.leaf([2.0, 3.0])
    calls = []

    def f(x: Any, k: float, *, scale: float) -> Any:
        calls.append(k)
        return (x * w * w).sum() * scale  # w is not an argument.

    y = call(f, x, 2.0, scale=3.0, use_reentrant=False, preserve_rng_state=True)
    assert calls == [2.0]
    dx, dw = dialect.grad([y], [x, w])
    assert calls == [2.0, 2.0]
    assert (dx.tolist(), dw.tolist()) == ([12.0, 27.0], [6.0, 27.0])
    call(f, x, 2.0, scale=1.0, use_reentrant=True).backward()
    assert x.grad.tolist() == [4.0, 9.0]
    assert w.grad.tolist() == [2.0, 9.0]


def test_orders() -> None:
    x = leaf([0.3, 0.7])
    plain, packed = deep(x).sum(), fg.checkpoint(deep, x).sum()
    for _ in range(3):
        plain = fg.grad(plain, x, create_graph=True).sum()
        packed = fg.grad(packed, x, create_graph=True).sum()
        np.testing.assert_allclose(packed.item(), plain.item())
    inner = fg.checkpoint(lambda x: fg.grad(deep(x).sum(), x, create_graph=True).sum(), x)
    np.testing.assert_allclose(
        fg.grad(inner, x).tolist(), fg.grad(fg.grad(deep(x).sum(), x, create_graph=True).sum(), x).tolist()
    )


def test_nested() -> None:
    calls = []

    def inner(x: Any) -> Any:
        calls.append("inner")
        return deep(x, 2)

    def outer(x: Any) -> Any:
        calls.append("outer")
        return fg.checkpoint(inner, fg.checkpoint(inner, x * 2) + 1) * x

    x = leaf([0.3, 0.7])
    y = fg.checkpoint(outer, x)
    plain = deep(deep(x * 2, 2) + 1, 2) * x
    np.testing.assert_allclose(y.tolist(), plain.tolist())
    first = fg.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(first.tolist(), fg.grad(plain.sum(), x, create_graph=True).tolist())
    assert calls.count("outer") == 2
    second = fg.grad(first.sum(), x)
    wanted = fg.grad(fg.grad((deep(deep(x * 2, 2) + 1, 2) * x).sum(), x, create_graph=True).sum(), x)
    np.testing.assert_allclose(second.tolist(), wanted.tolist())


def test_recomputation_draws_the_same_random_numbers() -> None:
    x = leaf(np.ones(100))

    def noisy(x: Any) -> Any:
        return x * fg.rand((100,)) * fg.exp(x)

    fg.manual_seed(3)
    y = fg.checkpoint(noisy, x)
    fg.rand((5,))
    state = fg.get_rng_state().tolist()
    g = fg.grad(y.sum(), x)
    assert fg.get_rng_state().tolist() == state
    np.testing.assert_allclose(g.numpy(), 2 * y.numpy())
    y = fg.checkpoint(noisy, x, preserve_rng_state=False)
    assert abs(fg.grad(y.sum(), x).numpy() - 2 * y.numpy()).max() > 1e-3


def test_arguments_keep_their_values_under_later_writes() -> None:
    x = leaf([2.0])
    z = x * 1

    def f(z: Any) -> Any:
        out = z * z
        z.mul_(10)
        return out

    y = fg.checkpoint(f, z)
    z.add_(5)
    assert fg.grad(y, x).tolist() == [4.0]


def test_structures_modes_and_results() -> None:
    x, y = leaf([1.0]), leaf([2.0])
    out = fg.checkpoint(lambda parts: {"p": parts["x"] * parts["ys"][0], "n": 3}, {"x": x, "ys": [y]})
    assert out["n"] == 3
    assert [g.tolist() for g in fg.grad(out["p"], [x, y])] == [[2.0], [1.0]]
    with fg.no_grad():
        assert not fg.checkpoint(deep, x).requires_grad
    assert fg.checkpoint(lambda: 5) == 5
    unused = fg.checkpoint(lambda x, y: x * 2, x, y)
    assert fg.grad(unused, [x, y], allow_unused=True)[1] is None


def test_transforms() -> None:
    x = leaf([[0.1, 0.2], [0.3, 0.4]])
    rows = func.vmap(lambda row: fg.checkpoint(deep, row).sum())
    np.testing.assert_allclose(fg.grad(rows(x).sum(), x).numpy(), fg.grad(deep(x).sum(), x).numpy())
    each = func.vmap(lambda row: fg.grad(fg.checkpoint(deep, row).sum(), row))
    np.testing.assert_allclose(each(x).numpy(), fg.grad(deep(x).sum(), x).numpy())
    inside = fg.checkpoint(func.vmap(deep), x)
    np.testing.assert_allclose(fg.grad(inside.sum(), x).numpy(), fg.grad(deep(x).sum(), x).numpy())
    ones = fg.ones_like(x)
    np.testing.assert_allclose(
        func.jvp(lambda x: fg.checkpoint(deep, x), (x,), (ones,))[1].numpy(), func.jvp(deep, (x,), (ones,))[1].numpy()
    )


def test_hooks_and_custom_functions_inside() -> None:
    x = leaf([3.0])
    y = fg.checkpoint(lambda x: fg.exp(Cube.apply(x)) * Cube.apply(x), x)
    plain = fg.exp(x**3) * x**3
    np.testing.assert_allclose(fg.grad(y, x).tolist(), fg.grad(plain, x).tolist())


def test_a_recomputation_that_differs_raises() -> None:
    state = {"n": 0}

    def more(x: Any) -> Any:
        state["n"] += 1
        return deep(x, state["n"])

    x = leaf([0.5])
    with pytest.raises(fg.CheckpointError, match="different number of tensors"):
        fg.grad(fg.checkpoint(more, x), x)

    def other(x: Any) -> Any:
        state["n"] += 1
        return fg.sin(x if state["n"] % 2 else x.astype(np.float32)).astype(np.float64)

    with pytest.raises(fg.CheckpointError, match="different metadata"):
        fg.grad(fg.checkpoint(other, x), x)
    error = KeyError("again")

    def fails(x: Any) -> Any:
        state["n"] += 1
        if state["n"] > 1:
            raise error
        return fg.sin(x)

    state["n"] = 0
    y = fg.checkpoint(fails, x)
    with pytest.raises(KeyError) as caught:
        fg.grad(y, x)
    assert caught.value is error
    with pytest.raises(ValueError, match="determinism_check"):
        fg.checkpoint(fails, x, determinism_check="maybe")


def test_a_second_run_ends_where_all_is_there() -> None:
    ends = []

    def f(x: Any) -> Any:
        y = fg.exp(fg.sin(x))
        z = fg.checkpoint(lambda y: fg.cos(y) * y, y, early_stop=True)
        ends.append("inside")
        z = fg.sin(z)
        ends.append("end")
        return z

    x = leaf([0.5, 1.5])
    wanted = fg.grad(f(x).sum(), x).tolist()
    for stops, found in ((True, ["inside", "end", "inside"]), (False, ["inside", "end"] * 2)):
        ends.clear()
        y = fg.checkpoint(f, x, early_stop=stops)
        np.testing.assert_allclose(fg.grad(y.sum(), x).tolist(), wanted)
        assert ends == found
    # A gradient that is computed inside the call needs what the first run has not saved yet.
    again = fg.checkpoint(lambda x: fg.grad(deep(x).sum(), x, create_graph=True), x, early_stop=True)
    np.testing.assert_allclose(
        fg.grad(again.sum(), x).tolist(), fg.grad(fg.grad(deep(x).sum(), x, create_graph=True).sum(), x).tolist()
    )


def test_a_run_that_stops_early_may_save_more_and_an_error_in_it_is_raised() -> None:
    state = {"n": 0}

    def more(x: Any) -> Any:
        state["n"] += 1
        return deep(x, state["n"])

    x = leaf([0.5])
    first = fg.grad(deep(x, 1), x).tolist()
    assert fg.grad(fg.checkpoint(more, x, early_stop=True), x).tolist() == first

    def fails(x: Any) -> Any:
        state["n"] += 1
        y = fg.sin(x)
        if state["n"] % 2 == 0:
            raise KeyError("again")
        return fg.cos(y)

    state["n"] = 0
    y = fg.checkpoint(fails, x, early_stop=True)
    with pytest.raises(KeyError, match="again"):
        fg.grad(y, x)


def test_the_error_of_two_runs_lists_what_they_saved() -> None:
    state = {"n": 0}

    def other(x: Any) -> Any:
        state["n"] += 1
        return fg.sin(fg.exp(x) if state["n"] % 2 else fg.exp(x).astype(np.float32)).astype(np.float64)

    x = leaf([0.5])
    with pytest.raises(fg.CheckpointError, match="different metadata") as short:
        fg.grad(fg.checkpoint(other, x), x)
    with pytest.raises(fg.CheckpointError, match="you passed `debug=True` to checkpoint") as long:
        fg.grad(fg.checkpoint(other, x, debug=True), x)
    assert "run saved" not in str(short.value)
    assert "The first run saved:\n    0: (1,) float64" in str(long.value)


def test_retained_graphs_and_contexts() -> None:
    entered = []

    @contextlib.contextmanager
    def noted(name: str) -> Any:
        entered.append(name)
        yield

    x = leaf([0.5])
    y = fg.checkpoint(deep, x, context_fn=lambda: (noted("first"), contextlib.nullcontext()))
    first = fg.grad(y, x, retain_graph=True).tolist()
    assert fg.grad(y, x, retain_graph=True).tolist() == first
    fg.grad(y, x)
    with pytest.raises(fg.FreedGraphError):
        fg.grad(y, x)
    assert entered == ["first"]


def test_sequences() -> None:
    functions = [fg.sin, fg.exp, fg.tanh, fg.cos, fg.exp]
    x = leaf([0.5])
    plain = x
    for f in functions:
        plain = f(plain)
    for segments in (1, 2, 3, 5):
        y = checkpoint_sequential(functions, segments, x, use_reentrant=False)
        np.testing.assert_allclose(fg.grad(y, x).tolist(), fg.grad(plain, x, retain_graph=True).tolist())
    with pytest.raises(ValueError, match="6 segments"):
        checkpoint_sequential(functions, 6, x, use_reentrant=False)


class Meter:
    """The peak number of live saved arrays of a size, counted in saved-tensor hooks."""

    def __init__(self) -> None:
        self.live = self.most = 0

    def hooks(self) -> Any:
        return fg.saved_tensors_hooks(self.pack, lambda held: held[0])

    def pack(self, x: Any) -> Any:
        self.live += 1
        self.most = max(self.most, self.live)
        held = (x, object.__new__(_Held))
        weakref.finalize(held[1], self.gone)
        return held

    def gone(self) -> None:
        self.live -= 1


class _Held:
    pass


@pytest.mark.parametrize("nested", [False, True])
def test_a_checkpoint_saves_only_its_arguments(nested: bool) -> None:
    def block(x: Any) -> Any:
        return deep(x, 10)

    def blocks(x: Any, wrap: Any) -> Any:
        for _ in range(4):
            x = wrap(block, x)
        return x

    def net(x: Any, wrap: Any) -> Any:
        return fg.checkpoint(lambda x: blocks(x, wrap), x) if nested else blocks(x, wrap)

    x = leaf(np.linspace(0, 1, 10))
    kept = {}
    for name, wrap in (("plain", lambda f, x: f(x)), ("checkpoint", fg.checkpoint)):
        meter = Meter()
        with meter.hooks():
            y = (blocks if name == "plain" else net)(x, wrap)
        kept[name] = meter.live
        fg.grad(y.sum(), x)
        del y
        gc.collect()
        assert meter.live == 0
    assert kept["plain"] >= 100
    assert kept["checkpoint"] <= 4 + 1, "only the arguments of each call"


@pytest.mark.parametrize("inside", [True, False])
def test_both_runs_are_under_the_autocast_of_the_call(inside: bool) -> None:
    torch: Any = fg.torch
    runs: list[Any] = [lambda f, *args: f(*args), lambda f, *args: checkpoint(f, *args, use_reentrant=False)]
    found = []
    for run in runs:
        x, w = (torch.linspace(0.1, 1.3, 9).reshape(3, 3).requires_grad_() for _ in range(2))
        with torch.autocast("cpu", torch.bfloat16, enabled=inside):
            y = run(lambda x, w: torch.exp(x @ w), x, w).float().sum()
        with torch.autocast("cpu", torch.bfloat16, enabled=not inside):
            y.backward()
            assert torch.is_autocast_enabled("cpu") is not inside
        found.append((x.grad, w.grad))
    assert all(map(torch.equal, *found))


def test_selective_checkpoints_have_the_same_gradients() -> None:
    torch: Any = fg.torch
    from ferrograd.torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return CheckpointPolicy.MUST_SAVE

    x = torch.randn(3, 3, requires_grad=True)
    wanted = torch.autograd.grad(torch.sin(x @ x).sum(), x)[0]
    for given in (policy, [torch.ops.aten.mm.default]):
        contexts = functools.partial(create_selective_checkpoint_contexts, given)
        y: Any = checkpoint(torch.sin, x @ x, use_reentrant=False, context_fn=contexts)
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], wanted)
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]
