"""Branches and loops as functions: values, gradients of any order, batches, compiled programs, mistakes."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func
from ferrograd._kit import tree as _tree
from ferrograd.func import cond, scan, while_loop


def cell(h: Any, x: Any) -> tuple[Any, Any]:
    h = fg.tanh(0.5 * h + x)
    return h, h * h


def loop(h: Any, xs: Any) -> tuple[Any, Any]:
    ys = []
    for x in xs:
        h, y = cell(h, x)
        ys.append(y)
    return h, fg.stack(ys)


X = fg.linspace(-1.0, 1.0, 21, dtype="float64").reshape([7, 3])
H = fg.tensor([0.1, 0.2, 0.3], dtype="float64")


@pytest.mark.parametrize("checkpoint", [None, 1, 3, 7, 100])
def test_scan_is_a_loop_with_all_its_derivatives(checkpoint: int | None) -> None:
    def of(run: Any) -> Any:
        return lambda h, xs: sum(part.sum() for part in run(h, xs))

    def scanned(h: Any, xs: Any) -> Any:
        return scan(cell, h, xs, checkpoint=checkpoint)

    for ours, theirs in zip(scanned(H, X), loop(H, X), strict=True):
        assert np.array_equal(ours, theirs)
    for transform in (func.grad, func.hessian, lambda f, at: func.jacfwd(func.grad(f, at), at)):
        ours, theirs = transform(of(scanned), (0, 1))(H, X), transform(of(loop), (0, 1))(H, X)
        assert all(map(np.allclose, _tree.leaves(ours), _tree.leaves(theirs)))
    t = (fg.ones_like(H), fg.ones_like(X))
    assert np.allclose(func.jvp(of(scanned), (H, X), t)[1], func.jvp(of(loop), (H, X), t)[1])


def test_scan_of_structures_backwards_and_in_batches() -> None:
    def f(carry: Any, x: Any) -> Any:
        return {"n": carry["n"] + 1, "s": carry["s"] * x["a"] + x["b"][0]}, (carry["s"], None)

    xs = {"a": X[:, 0], "b": [X[:, 1]]}
    last, (seen, nothing) = scan(f, {"n": fg.tensor(0), "s": fg.tensor(1.0, dtype="float64")}, xs, reverse=True)
    s, before = 1.0, []
    for a, b in X.numpy()[::-1, :2]:
        before.append(s)
        s = s * a + b
    assert last["n"].item() == 7
    assert np.isclose(last["s"].item(), s)
    assert nothing is None
    assert np.allclose(seen, before[::-1])
    batch = fg.stack([H, 2 * H])
    together = func.vmap(lambda h: scan(cell, h, X)[0])(batch)
    assert all(np.allclose(together[i], scan(cell, batch[i], X)[0]) for i in range(2))


def test_scan_without_xs_or_steps_and_of_arrays() -> None:
    last, ys = scan(lambda c, _: (c * 2, None), fg.tensor(1.0), length=10)
    assert (last.item(), ys) == (1024.0, None)
    last, ys = scan(cell, H, X[:0])
    assert last is H
    assert ys.shape == (0, 3)
    assert np.allclose(scan(cell, H, X.numpy())[1], scan(cell, H, X)[1])
    last, ys = scan(lambda c, x: (c + x, c), torch.tensor(0.0), torch.ones(3))
    assert isinstance(ys, torch.Tensor)
    assert ys.tolist() == [0.0, 1.0, 2.0]


def test_a_checkpointed_scan_keeps_few_values() -> None:
    def kept(checkpoint: int | None) -> int:
        x = fg.ones([400, 1000], dtype="float64")
        h = fg.ones([1000], dtype="float64").requires_grad_()
        saved = []

        def note(t: Any) -> Any:
            saved.append(t.size)
            return t

        with fg.saved_tensors_hooks(note, lambda t: t):
            scan(lambda h, x: (fg.sin(h) + x, None), h, x, checkpoint=checkpoint)
        return sum(saved)

    assert kept(20) < kept(None) / 10


def test_a_compiled_scan_has_the_same_bits() -> None:
    f = func.grad(lambda h, xs: scan(cell, h, xs)[0].sum(), (0, 1))
    compiled = fg.compile(f, fullgraph=True)
    compiled(H, X)
    ours, theirs = compiled(2 * H, X), f(2 * H, X)
    assert all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(ours, theirs, strict=True))
    assert compiled.cache_info().hits == 1


def test_cond_takes_one_branch_and_each_example_its_own() -> None:
    def f(x: Any) -> Any:
        return cond(x > 0, lambda x: (x**2, x), lambda x: (-x, 3 * x), x)

    for v in (2.0, -2.0):
        x = fg.tensor(v, dtype="float64")
        assert func.grad(lambda x: sum(f(x)))(x).item() == (2 * v + 1 if v > 0 else 2.0)
    xs = fg.tensor([2.0, -2.0, 3.0])
    assert func.vmap(func.grad(lambda x: sum(f(x))))(xs).tolist() == [5.0, 2.0, 7.0]
    assert cond(True, lambda: 1, lambda: 2) == 1
    with pytest.raises(fg.ArgumentError, match="cond: one value is expected"):
        func.vmap(lambda x: cond(x > 0, lambda x: x, lambda x: (x, x), x))(xs)


def test_while_loop_is_recorded() -> None:
    def root(a: Any) -> Any:
        return while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    a = fg.tensor(2.0, dtype="float64")
    assert np.isclose(func.grad(root)(a).item(), 0.5 / np.sqrt(2))
    assert np.isclose(func.jvp(root, (a,), (fg.ones_like(a),))[1].item(), 0.5 / np.sqrt(2))
    state = while_loop(
        lambda s: s["i"] < 5, lambda s: {"i": s["i"] + 1, "x": s["x"] * 2}, {"i": 0, "x": fg.tensor(1.0)}
    )
    assert state["x"].item() == 32.0


def test_each_example_of_a_vmap_takes_the_steps_of_its_own_while_loop() -> None:
    def root(a: Any) -> Any:
        return while_loop(lambda x: abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a)

    a = fg.tensor([1.0, 4.0, 9.0, 1e4], dtype="float64")
    for f in (root, func.grad(root), func.grad(func.grad(root)), lambda x: func.jvp(root, (x,), (x,))[1]):
        one_by_one = [f(x).item() for x in a]
        assert func.vmap(f)(a).tolist() == one_by_one
        assert func.vmap(func.vmap(f))(a.reshape([2, 2])).reshape([4]).tolist() == one_by_one
    assert func.vmap(root)(a[:0]).shape == (0,)

    def doubled(a: Any) -> Any:
        # Numbers come in that are the same for all examples until the loop has begun.
        return while_loop(lambda s: s[0] < a, lambda s: (s[0] * 2, s[1] + 1), (1.0, 0))

    assert [found.tolist() for found in func.vmap(doubled)(a)] == [[1.0, 4.0, 16.0, 16384.0], [0, 2, 4, 14]]
    with pytest.raises(fg.ShapeError, match=r"while_loop: a step returns shape \(2,\) for \(\)"):
        func.vmap(lambda a: while_loop(lambda x: x.sum() < a, lambda x: fg.stack([x, x]), a * 0))(a)
    with pytest.raises(fg.ArgumentError, match="one value is expected"):
        func.vmap(lambda a: while_loop(lambda x: x < 9, lambda x: (x, x), a))(a)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: scan(cell, H), "length"),
        (lambda: scan(cell, H, fg.tensor(1.0)), "no axis"),
        (lambda: scan(cell, H, X, length=3), r"\[3, 7\]"),
        (lambda: scan(cell, H, (X, X[:2])), r"\[2, 7\]"),
        (lambda: scan(cell, H, X, checkpoint=0), "positive"),
        (lambda: scan(lambda c, x: c, H, X), "next carry and y, not"),
        (lambda: scan(lambda c, x: ((c, c), x), H, X), "one value is expected"),
        (lambda: while_loop(lambda x: True, lambda x: (x, x), H), "one value is expected"),
    ],
)
def test_mistakes(call: Any, text: str) -> None:
    with pytest.raises(fg.FerrogradError, match=text):
        call()


A2 = fg.tensor([[0.5, -0.25], [0.125, 0.75]], dtype="float64")

#: Steps of a few numbers, which run without arrays: a carry, columns, and what the steps read of each.
SMALL: dict[str, tuple[Any, Any, Any]] = {
    "a planet": (
        lambda c, _: ((c[0] + 0.1 * c[1], c[1] - 0.1 * c[0] / (c[0] * c[0]).sum().sqrt()), c[0]),
        (fg.tensor([1.0, 0.0]), fg.tensor([0.0, 1.0])),
        None,
    ),
    "the parts of the carry change places": (
        lambda c, x: ((c[1], c[0] + x), (c[0], x, fg.ones(2) * 3)),
        (fg.tensor(1.0), fg.tensor(2.0)),
        fg.linspace(0, 1, 300),
    ),
    "a part of the carry stays": (lambda c, x: ((c[0], c[0] * x), c[1]), (fg.tensor(2.0), fg.tensor(0.0)), X[:, 0]),
    "matrices and views": (
        lambda c, x: (A2 @ c + x[:2], (c.T, c.reshape([4])[1:3], x)),
        fg.eye(2, dtype="float64"),
        X,
    ),
    "integers and truth values": (
        lambda c, x: ((c[0] + 1, c[1] != (x > 0), c[2] * x), c),
        (fg.tensor(0), fg.tensor(True), fg.tensor(1.0)),
        fg.linspace(-1, 1, 300),
    ),
    "a constant carry": (lambda c, x: (fg.zeros(2), c * x), fg.ones(2), fg.linspace(-1, 1, 5)),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_of_a_few_numbers_are_those_of_a_loop(name: str, reverse: bool) -> None:
    step, carry, xs = SMALL[name]
    length = len(xs) if xs is not None else 300

    def looped(carry: Any, xs: Any) -> Any:
        rows: list[Any] = [None] * length
        for i in reversed(range(length)) if reverse else range(length):
            carry, rows[i] = step(carry, None if xs is None else xs[i])
        columns = [fg.stack(list(parts)) for parts in zip(*map(_tree.leaves, rows), strict=True)]
        return _tree.leaves(carry), columns

    def scanned(carry: Any, xs: Any) -> Any:
        carry, columns = scan(step, carry, xs, None if xs is not None else length, reverse=reverse)
        return _tree.leaves(carry), _tree.leaves(columns)

    def total(run: Any) -> Any:
        def of(*given: Any) -> Any:
            carry = _tree.rebuilt(SMALL[name][1], iter(given)) if isinstance(SMALL[name][1], tuple) else given[0]
            parts = [part for parts in run(carry, xs) for part in parts]
            return sum((part * (k + 1)).sum() for k, part in enumerate(parts) if part.dtype.kind == "f")

        return of

    for ours, theirs in zip(_tree.leaves(scanned(carry, xs)), _tree.leaves(looped(carry, xs)), strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    given = [x for x in _tree.leaves(carry)]
    wrt = tuple(i for i, x in enumerate(given) if x.dtype.kind == "f")
    for ours, theirs in zip(*(func.grad(total(run), wrt)(*given) for run in (scanned, looped)), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-5)
