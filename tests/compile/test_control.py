"""Loops and branches as single ops: of a graph, and of a compiled program."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func, paddle
from ferrograd._kit import tree as _tree
from ferrograd.func import cond, scan, while_loop

from tests.compile.test_closed_door import bits, outcome

N = 12


def x(i: int, *shape: int) -> Any:
    return fg.tensor(np.random.default_rng(i).normal(size=shape or (3,)))


W = x(99, 3, 3)


@pytest.fixture(autouse=True)
def _loops_of_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrograd.func._control._FEW", 4)


def cell(h: Any, row: Any) -> tuple[Any, Any]:
    h = fg.tanh(W @ h + row)
    return h, {"square": h * h, "sign": h > 0}


def unrolled(f: Callable[..., Any], h: Any, rows: Any) -> tuple[Any, Any]:
    made = []
    for row in rows:
        h, y = f(h, row)
        made.append(_tree.leaves(y))
    return h, [fg.stack(list(y)) for y in zip(*made, strict=True)]


def total(result: Any) -> Any:
    return sum(((y * y).sum() for y in _tree.leaves(result) if y.dtype.kind == "f"), fg.tensor(0.0, dtype="float64"))


def agrees(f: Callable[..., Any], *inputs: tuple[Any, ...], fullgraph: bool = True) -> Any:
    """Compares a compiled function with the function itself at several inputs."""
    compiled = fg.compile(f, fullgraph=fullgraph)
    for given in inputs:
        assert bits(compiled(*given)) == bits(f(*given))
    return compiled


def is_close(f: Callable[..., Any], *inputs: tuple[Any, ...]) -> Any:
    """:func:`agrees` for gradients of a branch or a loop, which are summed inside of it first."""
    compiled = fg.compile(f, fullgraph=True)
    for given in inputs:
        assert np.allclose(compiled(*given), f(*given), rtol=1e-13)
    return compiled


def test_a_scan_is_one_node() -> None:
    h, rows = x(0).requires_grad_(), x(1, 1000, 3)
    before = fg._core.live_nodes()
    last, _ = scan(cell, h, rows)
    assert fg._core.live_nodes() - before < 50
    assert bits(last.detach()) == bits(unrolled(cell, h.detach(), rows)[0])


@pytest.mark.parametrize("checkpoint", [None, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_a_scan_that_reads_other_tensors(checkpoint: int | None, reverse: bool) -> None:
    def ours(h: Any, rows: Any, w: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = fg.tanh(w @ h + row)
            return h, h * w.sum()

        return total(scan(step, h, rows, reverse=reverse, checkpoint=checkpoint))

    def theirs(h: Any, rows: Any, w: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = fg.tanh(w @ h + row)
            return h, h * w.sum()

        return total(unrolled(step, h, fg.flip(rows, 0) if reverse else rows))

    def slope(f: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
        return lambda *at: total(func.grad(f, wrt)(*at))

    at = (x(0), x(1, N, 3), W)
    for transform in (
        lambda f: func.grad(f, (0, 1, 2)),
        lambda f: func.grad(slope(f, (0, 1, 2)), (0, 1, 2)),
        lambda f: func.grad(slope(slope(f, 2), 2), 2),
        lambda f: lambda *at: func.jvp(f, at, at),
        lambda f: func.hessian(f, 0),
        lambda f: func.jacrev(func.grad(f, 2), 0),
    ):
        found, wanted = transform(ours)(*at), transform(theirs)(*at)
        for a, b in zip(_tree.leaves(found), _tree.leaves(wanted), strict=True):
            assert np.allclose(a, b, rtol=1e-9, atol=1e-10)


def test_parameters_and_hooks_meet_the_gradient_of_a_scan() -> None:
    layer = torch.nn.Linear(3, 3).double()
    h, rows = torch.tensor(x(0)), torch.tensor(x(1, N, 3))

    def step(h: Any, row: Any) -> Any:
        h = torch.tanh(layer(h) + row)
        return h, h

    seen = []
    layer.weight.register_hook(lambda g: seen.append(g))
    (scan(step, h, rows)[1] ** 2).sum().backward()
    found = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    ys = []
    for row in rows:
        h, y = step(h, row)
        ys.append(y)
    (torch.stack(ys) ** 2).sum().backward()
    assert len(seen) == 2
    assert all(np.allclose(a, p.grad) for a, p in zip(found, layer.parameters(), strict=True))


def test_a_gradient_is_that_of_the_numbers_that_a_scan_read() -> None:
    for late in (True, False):
        w, scale = x(3).requires_grad_(), 2.0
        y = total(scan(lambda c, r: (c * w * scale + r, c), x(0), x(1, N, 3)))  # noqa: B023
        wanted = fg.grad(y, w)
        y = total(scan(lambda c, r: (c * w * scale + r, c), x(0), x(1, N, 3)))  # noqa: B023
        if late:
            with fg.no_grad():
                w.add_(1)
        scale = 3.0
        assert bits(fg.grad(y, w)) == bits(wanted)


def test_a_third_derivative_refuses_variables_that_have_changed() -> None:
    settings = types.SimpleNamespace(scale=2.0)
    w = x(3).requires_grad_()
    y = total(scan(lambda c, r: (c * w * settings.scale + r, c), x(0), x(1, N, 3)))
    (first,) = fg.grad(y, [w], create_graph=True)
    second = fg.grad(first.sum(), w, retain_graph=True)
    settings.scale = 3.0
    # The derivative was traced together with the gradient. That of the derivative was not.
    assert bits(fg.grad(first.sum(), w, retain_graph=True)) == bits(second)
    with pytest.raises(RuntimeError, match="has changed before it was differentiated again"):
        fg.grad(first.sum(), w, create_graph=True)


def test_steps_whose_ops_cannot_stand_for_them_run_one_by_one() -> None:
    count, seen = [0], []

    def counts(c: Any, r: Any) -> Any:
        count[0] += 1
        return c + r * count[0], c

    def keeps(c: Any, r: Any) -> Any:
        seen.append(c * 2)
        return c + r, c

    buffer = fg.zeros(3, dtype="float64")

    def writes(c: Any, r: Any) -> Any:
        buffer.add_(r)
        return c + buffer, c

    rows = x(1, N, 3)
    last, _ = scan(writes, x(0), rows)
    assert np.allclose(buffer, rows.numpy().sum(0))
    assert np.allclose(last, x(0).numpy() + rows.numpy().cumsum(0).sum(0))
    for f in (
        lambda c, r: (c + r if c.sum() > 0 else c - r, c),
        lambda c, r: (c * float(r[0]), c),
        lambda c, r: (c + r, c[c > 0].sum()),
        keeps,
    ):
        assert bits(scan(f, x(0), rows)) == bits(unrolled(f, x(0), rows))
    count[0] = 0
    first = scan(counts, x(0), rows)[0]
    steps, count[0] = count[0], 0
    assert steps >= N
    fg.manual_seed(1)
    drawn = scan(lambda c, r: (c + fg.torch.rand(3), r), x(0), rows)[0]
    assert len({*drawn.tolist()}) == 3
    assert first.shape == (3,)
    # A carry that changes its dtype or its shape.
    assert scan(lambda c, r: (c + r, c), fg.tensor(0, dtype="int64"), rows[:, 0])[0].dtype == fg.float64
    assert scan(lambda c, r: (c + r, None), fg.tensor(0.0, dtype="float64"), rows)[0].shape == (3,)


def test_compiled_scans() -> None:
    def loss(h: Any, rows: Any) -> Any:
        return total(scan(cell, h, rows))

    inputs = [(x(i), x(10 + i, N, 3)) for i in range(3)]
    for f in (
        lambda h, rows: scan(cell, h, rows),
        func.value_and_grad(loss, (0, 1)),
        func.hessian(loss),
        lambda h, rows: func.grad(lambda h: total(scan(cell, h, rows, checkpoint=4, reverse=True)))(h),
        lambda h, rows: func.vmap(lambda row: scan(cell, h, rows * row)[0])(rows),
    ):
        assert agrees(f, *inputs).cache_info().hits == 2


def growth(p: Any, rows: Any, **options: Any) -> Any:
    """A loop that reads a tensor besides its carry and its rows, whose carry begins without a batch."""

    def step(state: Any, row: Any) -> Any:
        a, b = state
        return (0.9 * a + 0.1 * p[0] * fg.sin(b) + row.sum(), b * p[1]), {"both": a * b, "same": p[2]}

    start = fg.tensor(1.0, dtype="float64"), p[0] * 0 + 0.5
    return total(scan(step, start, rows, **options))


def examples(f: Callable[..., Any], axes: Any) -> Callable[..., Any]:
    """What ``vmap`` of a function of one or two tensors gives, one example after the other."""

    def run(*batches: Any) -> Any:
        size = next(int(x.shape[axis]) for x, axis in zip(batches, axes, strict=True) if axis is not None)
        rows = [
            [x if axis is None else fg.moveaxis(x, axis, 0)[i] for x, axis in zip(batches, axes, strict=True)]
            for i in range(size)
        ]
        return fg.stack([f(*row) for row in rows])

    return run


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"checkpoint": 5}], ids=str)
@pytest.mark.parametrize("axes", [(0, None), (1, None), (None, 1), (0, 2)], ids=str)
def test_a_scan_of_a_batch_is_one_loop(options: dict[str, Any], axes: Any) -> None:
    def one(p: Any, rows: Any) -> Any:
        return growth(p, rows, **options)

    rows = x(1, N, 3, 3)
    given = x(0, 3, 3) if axes[0] is not None else x(0, 3), rows if axes[1] is not None else rows[:, 0]
    for f in (
        one,
        func.grad(one),
        func.grad(lambda p, rows: func.grad(one)(p, rows).sum()),
        lambda p, rows: func.jvp(one, (p, rows), (p, rows))[1],
    ):
        batched = func.vmap(f, axes)
        assert np.allclose(batched(*given), examples(f, axes)(*given), rtol=1e-9, atol=1e-12)
        compiled = agrees(batched, given, tuple(2 * part for part in given))
        assert "scan" in compiled.explain()
        assert int(compiled.explain().split()[3]) < 200

    def of_batches(p: Any, rows: Any) -> Any:
        return total(func.vmap(one, axes)(p, rows))

    def by_examples(p: Any, rows: Any) -> Any:
        return total(examples(one, axes)(p, rows))

    found, wanted = func.grad(of_batches, (0, 1))(*given), func.grad(by_examples, (0, 1))(*given)
    assert all(map(np.allclose, found, wanted))


def test_a_scan_in_batches_of_batches() -> None:
    rows, p, scales = x(1, N, 3), x(0, 4, 3), x(2, 2)

    def inner(scale: Any) -> Any:
        return func.vmap(lambda p: growth(p * scale, rows))(p)

    found = func.vmap(inner)(scales)
    assert np.allclose(found, examples(inner, (0,))(scales))
    slope = func.grad(lambda scale: total(inner(scale)))
    assert np.allclose(func.vmap(slope)(scales), examples(slope, (0,))(scales))
    agrees(func.vmap(slope), (scales,), (2 * scales,))
    many = func.vmap(func.vmap(lambda p: growth(p, rows)), 1, 1)
    assert np.allclose(many(x(3, 2, 4, 3)), func.vmap(func.vmap(lambda p: growth(p, rows)))(x(3, 2, 4, 3)))


def test_a_scan_is_one_instruction() -> None:
    f = fg.compile(func.grad(lambda h, rows: total(scan(cell, h, rows))), fullgraph=True)
    for _ in range(2):
        f(x(0), x(1, 10_000, 3))
    # The second call runs no step in Python.
    assert f.cache_info().hits == 1
    assert f.explain().count("  scan  ") == 2
    assert int(f.explain().split()[3]) < 40


def test_compiled_branches() -> None:
    w = x(5).requires_grad_()

    def f(a: Any) -> Any:
        return cond(a.sum() > 0, lambda a: (fg.sin(a) * w, a), lambda a: (a * a, -a), a)

    inputs = [(x(0),), (-x(0),), (x(1),), (-x(1),)]
    assert agrees(lambda a: [y.detach() for y in f(a)], *inputs).cache_info().hits == 3
    for g in (
        lambda a: func.grad(lambda a: total(f(a)))(a).detach(),
        lambda a: func.grad(lambda a: total(func.grad(lambda a: total(f(a)))(a)))(a).detach(),
        lambda a: fg.grad(total(f(a)) + w.sum(), w),
    ):
        assert is_close(g, *inputs).cache_info().hits == 3
    compiled = fg.compile(lambda a: total(f(a)), fullgraph=True)
    for (a,) in inputs:
        found = fg.grad(compiled(a) + w.sum(), w)
        assert np.allclose(found, fg.grad(total(f(a)) + w.sum(), w), rtol=1e-14)


@pytest.mark.parametrize("other", [lambda a: a[:1], lambda a: a > 0, lambda a: (a, a)])
@pytest.mark.filterwarnings("ignore:compile")
def test_branches_that_no_program_can_choose_from(other: Callable[..., Any]) -> None:
    def f(a: Any) -> Any:
        return cond(a.sum() > 0, lambda a: a, other, a)

    compiled = fg.compile(f)
    for a in (x(0), -x(0), x(1)):
        assert outcome(partial(compiled, a)) == outcome(partial(f, a))


def test_compiled_loops_take_as_many_steps_as_they_need() -> None:
    scale = fg.tensor(1.0, dtype="float64").requires_grad_()

    def root(a: Any) -> Any:
        return while_loop(lambda v: abs(v * v - a) > 1e-12 * a, lambda v: (v + scale * a / v) / 2, a)

    inputs = [(fg.tensor(v, dtype="float64"),) for v in (2.0, 1.0, 400.0, 3e6)]
    assert agrees(lambda a: root(a).detach(), *inputs).cache_info().hits == 3
    for f in (
        lambda a: func.grad(root)(a).detach(),
        lambda a: fg.grad(root(a) + scale, scale),
    ):
        assert is_close(f, *inputs).cache_info().hits == 3
    slope = fg.compile(lambda a: func.grad(root)(a).detach(), fullgraph=True)
    assert np.isclose(slope(fg.tensor(4.0, dtype="float64")).item(), 0.25)
    # A second derivative is computed step by step.
    second = fg.compile(lambda a: func.grad(func.grad(root))(a).detach())
    with pytest.warns(UserWarning, match="differentiates a while_loop twice"):
        found = second(fg.tensor(4.0, dtype="float64"))
    assert np.isclose(found.item(), -1 / 32)


def scanned(x: Any, v: Any, rows: Any) -> Any:
    return scan(lambda c, r: (fg.tanh(c * r + x * v.sum()), None), x * 0, rows)[0].sum()


SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "a view": lambda x, rows: func.grad(lambda v: scanned(x, v, rows))(x[1:]),
    "all of it": lambda x, rows: func.grad(lambda v: scanned(x, v, rows))(x),
    "a view of what was made": lambda x, rows: func.grad(lambda v: scanned(x * 2, v, rows))((x * 2)[1:]),
    "a loop in a loop": lambda x, rows: func.grad(
        lambda v: scan(lambda c, r: (c * 0.9 + scanned(x * r, v, rows) + v.sum() * x.sum(), None), x[0], rows[:, 0])[0]
    )(x[1:]),
    "a branch": lambda x, rows: func.grad(lambda v: cond(x.sum() > 0, lambda: (x * v.sum()).sum(), lambda: v.sum()))(
        x[1:]
    ),
    "a while_loop": lambda x, rows: func.grad(
        lambda v: while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + x.sum() ** 2 + v.sum() ** 2, v).sum()
    )(x[1:]),
    "the second derivative": lambda x, rows: func.grad(
        lambda w: func.grad(lambda v: scanned(x, v, rows) * w.sum())(w[1:]).sum()
    )(x),
}


@pytest.mark.parametrize("name", SHARED)
def test_tensors_that_share_numbers_inside_of_a_loop(name: str) -> None:
    rows = x(9, N, 3) * 0.1
    is_close(SHARED[name], *((x(seed), rows) for seed in range(4)))
    if name in ("a branch", "a while_loop"):
        # One is linear in the rest of x, and the other is differentiated once in a program.
        return
    w = x(5).requires_grad_()
    compiled = fg.compile(SHARED[name], fullgraph=True)
    slopes = [fg.grad(f(w, rows).sum(), w) for f in (compiled, SHARED[name])]
    assert np.allclose(slopes[0], slopes[1], rtol=1e-12)


@pytest.mark.parametrize("share", [lambda w, v: w * v, lambda w, v: (fg.sin(v), w * w)[1]])
def test_examples_that_take_branches_with_tensors_that_share_numbers(share: Callable[[Any, Any], Any]) -> None:
    def slope(w: Any) -> Any:
        return func.grad(lambda v: cond(w > 0, lambda: share(w, v) * w, lambda: v * 3))(w)

    agrees(func.vmap(slope), (x(1, 5),), (x(2, 5),), (-abs(x(3, 5)),))


def test_what_a_branch_reads_and_does_not_use_besides_what_was_computed_of_it() -> None:
    def f(x: Any) -> Any:
        exponent = fg.exp(x)
        sine = fg.sin(exponent)

        def first(y: Any) -> Any:
            fg.cos(exponent)
            return y * sine

        return cond(x.sum() > 0, first, lambda y: y - sine, x).sum()

    is_close(func.grad(f), (x(1),), (-x(1),), (x(2),))


@pytest.mark.parametrize("ops", [fg, torch, paddle], ids=lambda ops: ops.__name__)
def test_loops_and_branches_of_each_dialect(ops: Any) -> None:
    def f(x: Any, rows: Any) -> Any:
        chosen = cond(x.sum() > 3, ops.sin, lambda y: y * rows[0], x)
        last, sums = scan(lambda c, r: (ops.tanh(c + r), c.sum()), chosen, rows)
        return while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + 1, last), sums

    rows = ops.ones([N, 3])
    compiled = fg.compile(f, fullgraph=True)
    for k in (0.5, 1.5, -2.0):
        found, wanted = compiled(rows[0] * k, rows), f(rows[0] * k, rows)
        assert [x.tolist() for x in found] == [x.tolist() for x in wanted]
        assert isinstance(found[0], type(rows))
    assert compiled.cache_info()[:2] == (2, 1)


def test_loops_and_branches_of_whole_batches() -> None:
    rows, weights = x(0, 4, 3), x(1, 3)
    limits = fg.tensor([2.0, 3.0, 5.0, 70.0], dtype="float64")

    def grown(limit: Any, w: Any) -> Any:
        begin = fg.ones_like(w) * 0.1, fg.zeros_like(limit)
        return while_loop(
            lambda s: fg.sum(s[0]) < limit, lambda s: (s[0] * 1.5 + fg.sin(w) * 0.1 + limit, s[1] + 1), begin
        )

    def closed(limit: Any) -> Any:
        return while_loop(lambda s: fg.sum(s) < limit * weights[0], lambda s: s * 1.5 + fg.exp(-weights), weights * 0)

    def branch(w: Any, row: Any) -> Any:
        return cond(fg.sum(w) > 0, lambda y: fg.sqrt(y * y + 1) * w[0], lambda y: y * 0 + w[1], row)

    def sums(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *a: sum(fg.sum(leaf) for leaf in _tree.leaves(f(*a)))

    for f, given in (
        ((grown, (0, 0)), (limits, rows)),
        ((grown, (0, None)), (limits, weights)),
        ((grown, (None, 0)), (limits[3], rows)),
        ((closed, (0,)), (limits,)),
        ((branch, (None, 0)), (weights, rows)),
        ((branch, (None, 0)), (-weights, rows)),
    ):
        function, axes = f
        batched, by = func.vmap(function, in_axes=axes), tuple(range(len(axes)))
        agrees(batched, given)
        agrees(func.vmap(func.grad(sums(function), argnums=by), in_axes=axes), given)
        agrees(func.grad(sums(batched), argnums=by), given)

    def of_weights(w: Any, limits: Any) -> Any:
        def one(limit: Any, v: Any) -> Any:
            return while_loop(
                lambda s: fg.sum(s) < limit * w[0] ** 2, lambda s: s * 1.5 + fg.exp(-v) * limit * w, v * 0.1
            )

        return fg.sum(func.vmap(one, in_axes=(0, None))(limits, fg.sin(w)))

    agrees(func.grad(of_weights, argnums=(0, 1)), (weights, limits))
    agrees(func.vmap(func.jacfwd(lambda limit: grown(limit, weights)[0])), (limits,))
    second = func.hessian(lambda w: of_weights(w, limits))
    with pytest.warns(UserWarning, match="differentiates a while_loop twice"):
        found = fg.compile(second)(weights)
    assert np.allclose(found.numpy(), second(weights).numpy())


def test_derivatives_in_forward_mode_of_a_while_loop_are_loops() -> None:
    weights = x(3, 3)

    def root(a: Any) -> Any:
        return while_loop(lambda v: abs(v * v - a) > 1e-12 * a, lambda v: (v + a / v) / 2, a)

    def grown(v: Any) -> Any:
        return while_loop(
            lambda s: s[2] < 5,
            lambda s: (s[0] * 1.5 + fg.exp(-weights) * v + s[1], s[1] * v, s[2] + 1),
            (weights, v, v * 0),
        )[:2]

    def pushed(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda v: func.jvp(f, (v,), (fg.ones_like(v),))[1]

    numbers = [(fg.tensor(v, dtype="float64"),) for v in (2.0, 0.7, 50.0)]
    for f in (root, grown):
        assert agrees(pushed(f), *numbers).cache_info().hits == 2
        assert agrees(pushed(pushed(f)), *numbers).cache_info().hits == 2
        is_close(func.grad(partial(lambda f, v: total(pushed(f)(v)), f)), *numbers)
    assert np.isclose(fg.compile(pushed(pushed(root)))(*numbers[0]).item(), -0.25 * 2**-1.5)
    tracked = weights.clone().requires_grad_()

    def of_tracked(v: Any) -> Any:
        return while_loop(lambda s: fg.sum(s * s) < 30, lambda s: s * 1.5 + fg.sin(tracked) * v + 1, tracked * v)

    slopes = (fg.grad(total(pushed(of_tracked)(v)), tracked) for (v,) in numbers)
    compiled = fg.compile(lambda v: total(pushed(of_tracked)(v)), fullgraph=True)
    for (v,), slope in zip(numbers, slopes, strict=True):
        assert np.allclose(fg.grad(compiled(v), tracked), slope, rtol=1e-12)


def test_loops_and_branches_read_parts_of_larger_tensors() -> None:
    weights, rows = x(0, 5, 3, 3), x(1, 5, 3)

    def looped(w: Any, h: Any) -> Any:
        return scan(lambda s, _: (fg.tanh(w @ s + h), None), h * 0, None, N)[0]

    def nested(w: Any, h: Any) -> Any:
        def step(s: Any, _: Any) -> Any:
            return scan(lambda q, z: (fg.tanh(w @ q + z * h), None), s, fg.ones([N], dtype="float64"))[0], h.sum()

        return scan(step, h, None, N)[0]

    def branch(w: Any, h: Any) -> Any:
        return cond(h.sum() > 0, lambda: w @ h, lambda: h - w.sum())

    def repeated(w: Any, h: Any) -> Any:
        return while_loop(lambda s: fg.sum(s * s) < 50 + h.sum(), lambda s: s * 1.3 + fg.sin(w @ h) + 2, h * 0)

    parts = [(weights[i], rows[i]) for i in (0, 3, 1, 4)]
    for f in (looped, nested, branch, repeated):
        loss = partial(lambda f, w, h: f(w, h).sum(), f)
        assert agrees(f, *parts, (weights[2].T, weights[1, :, 0])).cache_info().hits >= 3
        assert is_close(func.grad(loss), *parts).cache_info().hits == 3
        assert is_close(func.grad(loss, argnums=1), *parts).cache_info().hits == 3
        tracked = weights.detach().requires_grad_()
        compiled = fg.compile(loss, fullgraph=True)
        for i in (0, 3):
            slope = fg.grad(loss(tracked[i], rows[i]), tracked)
            assert slope.numpy().any()
            assert np.allclose(slope, fg.grad(compiled(tracked[i], rows[i]), tracked), rtol=1e-12)


def test_an_endless_loop_hears_an_interrupt() -> None:
    import _thread
    import signal
    import threading

    f = fg.compile(lambda a: while_loop(lambda v: v > 0, lambda v: v * 1.0, a))
    assert f(fg.tensor(-1.0)).item() == -1
    timer = threading.Timer(0.5, _thread.interrupt_main)

    def run() -> None:
        timer.start()
        f(fg.tensor(1.0))

    # A shell that starts pytest in the background has it ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert f(fg.tensor(-2.0)).item() == -2


def singular(h: Any, rows: Any) -> list[Any]:
    """Gradients at zero of results that are not all used, beside derivatives that are infinite there."""

    def slope(step: Callable[..., Any], used: Callable[..., Any]) -> Any:
        return func.grad(lambda h, rows: used(*scan(step, h, rows)).sum(), (0, 1))(h, rows)

    return [
        slope(lambda c, r: (c + r, fg.sqrt(c)), lambda c, ys: c),
        slope(lambda c, r: (fg.sqrt(r), r * c.detach()), lambda c, ys: ys),
        slope(lambda c, r: (fg.sqrt(r), c), lambda c, ys: c),
        slope(lambda c, r: (r + 0 * fg.sqrt(c.detach()), c), lambda c, ys: c),
        func.grad(lambda h: scan(lambda c, r: ((c[1], fg.sqrt(c[0])), r), (h, h + 1), rows)[0][1].sum())(h),
        func.grad(lambda h: scan(lambda c, r: (c + r, fg.sqrt(h) * c), h.detach(), rows)[0].sum() + h.sum())(h),
    ]


@pytest.mark.parametrize("reverse", [False, True])
def test_zeros_of_unused_results_meet_no_infinite_derivative(monkeypatch: pytest.MonkeyPatch, reverse: bool) -> None:
    if reverse:
        monkeypatch.setitem(globals(), "scan", partial(scan, reverse=True))
    h, rows = fg.zeros(3, dtype="float64"), fg.zeros((N, 3), dtype="float64")
    rows[0 if reverse else -1] = 1.0
    found = singular(h, rows)
    monkeypatch.setattr("ferrograd.func._control._FEW", N + 1)
    for a, b in zip(_tree.leaves(found), _tree.leaves(singular(h, rows)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_unused_results_of_branches_and_of_a_while_loop() -> None:
    def branch(h: Any, p: Any) -> Any:
        return cond(p > 0, lambda h: (h * 2, fg.sqrt(h)), lambda h: (h, h), h)[0].sum()

    def loop(h: Any, p: Any) -> Any:
        start = (fg.tensor(0), h, h)
        return while_loop(lambda v: v[0] < 3 * p, lambda v: (v[0] + 1, v[1] * 2, fg.sqrt(v[1])), start)[1].sum()

    zero = fg.zeros(2, dtype="float64")
    for f in (branch, loop):
        agrees(func.grad(f), *((zero, fg.tensor(p)) for p in (1.0, -1.0)))


def test_a_while_loop_whose_steps_do_not_read_all_that_the_last_one_made() -> None:
    """Before the last step the root has no gradient, where zeros times its derivative would be NaN."""

    def root(v: Any) -> Any:
        return v[0] + 1, v[1] + 1, fg.sqrt(v[1]), v[2]

    def loop(h: Any, p: Any) -> Any:
        last = while_loop(lambda v: v[0] < p, root, (fg.tensor(0.0), h, h + 1, h + 2))
        return (last[1] * last[2]).sum()

    def turned(h: Any, p: Any) -> Any:
        last = while_loop(lambda v: v[0] < p, lambda v: (v[0] + 1, v[2] + 1, fg.sqrt(v[1]) + 1), (p * 0, h, h + 1))
        return last[1].sum()

    for f in (loop, turned):
        steps = [(fg.zeros(2, dtype="float64"), fg.tensor(p)) for p in (5.0, 2.0, 3.0, 6.0)]
        compiled = agrees(func.grad(f), *steps)
        assert compiled.cache_info().hits == 3
        assert not fg.any(fg.isnan(compiled(*steps[0])))


def test_what_is_read_through_derivatives_that_are_zero() -> None:
    """A sign passes no gradient on, where zeros times the derivative of the root would be NaN."""

    def step(v: Any) -> Any:
        return v[0] + 1, fg.sign(v[1]) * fg.sqrt(v[2]), fg.ones(3, dtype="float64") * v[0] + 1

    def steps(h: Any, w: Any) -> Any:
        v = fg.tensor(0.0, dtype="float64"), h, w
        for _ in range(N):
            v = step(v)
        return v[1].sum()

    def scanned(h: Any, w: Any) -> Any:
        return scan(lambda v, _: (step(v), None), (fg.tensor(0.0, dtype="float64"), h, w), length=N)[0][1].sum()

    def repeated(h: Any, w: Any) -> Any:
        return while_loop(lambda v: v[0] < N, step, (fg.tensor(0.0, dtype="float64"), h, w))[1].sum()

    h, w = x(1), fg.zeros(3, dtype="float64")
    expected = [g.tolist() for g in func.grad(steps, argnums=(0, 1))(h, w)]
    for f in (scanned, repeated):
        gradient: Callable[..., Any] = func.grad(f, argnums=(0, 1))
        assert [g.tolist() for g in gradient(h, w)] == expected
        compiled = fg.compile(gradient, fullgraph=True)
        for _ in range(2):
            assert [g.tolist() for g in compiled(h, w)] == expected
    h.requires_grad_()
    assert fg.grad(scanned(h, w), h).tolist() == expected[0]


def test_what_decides_by_numbers_is_no_part_of_a_loop_or_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of a determinant takes other ops where the matrix is singular."""
    singular, regular = fg.ones((2, 2), dtype="float64"), fg.tensor([[2.0, 1.0], [1.0, 3.0]], dtype="float64")
    taken: Callable[[Any], Any] = func.grad(lambda a: cond(a.sum() > 0, fg.linalg.det, fg.sum, a))
    repeated: Callable[[Any], Any] = func.grad(
        lambda a: while_loop(lambda v: v[0] < 2, lambda v: (v[0] + 1, fg.linalg.det(a) + v[1]), (a[0, 0] * 0, a[0, 0]))[
            1
        ]
    )
    for f in (taken, repeated):
        compiled = fg.compile(f)
        with pytest.warns(UserWarning, match="runs uncompiled"):
            compiled(singular)
        for a in (regular, singular):
            np.testing.assert_array_equal(compiled(a), f(a))

    def steps(a: Any) -> Any:
        return scan(lambda c, k: (c + fg.linalg.det(a * k), c), a[0, 0], fg.tensor([0.0, 1.0, 2.0, 3.0, 0.0]))[0]

    found = [func.grad(steps)(a) for a in (regular, singular)]
    compiled = fg.compile(func.grad(steps))
    for a, expected in zip((regular, singular), found, strict=True):
        with pytest.warns(UserWarning, match="records each of 5 steps by itself because it .*asks for numbers"):
            np.testing.assert_array_equal(compiled(a), expected)
        np.testing.assert_array_equal(compiled(a), expected)
    monkeypatch.setattr("ferrograd.func._control._FEW", N)
    for a, expected in zip((regular, singular), found, strict=True):
        np.testing.assert_array_equal(func.grad(steps)(a), expected)


LOOPS: list[Callable[[Any, Any], Any]] = [
    lambda step, h: scan(lambda c, r: (step(c) * r, None), h, fg.ones(N, dtype="float64"))[0],
    lambda step, h: while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, step(v[1])), (fg.tensor(0.0), h))[1],
    lambda step, h: cond(h.sum() > 0, step, lambda h: h - step(h), h),
]


@pytest.mark.parametrize("loop", LOOPS)
def test_gradients_of_loops_that_read_what_the_function_has_made(loop: Callable[[Any, Any], Any]) -> None:
    def f(h: Any, w: Any) -> Any:
        scale = fg.sin(w)
        parts: list[Any] = [w * 2, {"shift": w + 1}]
        return loop(lambda c: fg.tanh(c * scale + parts[0]) + parts[1]["shift"], h)

    compiled = fg.compile(f, fullgraph=True)
    for i in range(4):
        found = []
        for function in (f, compiled):
            h, w = x(i).requires_grad_(), x(i + 9).requires_grad_()
            y = function(h, w)
            found.append([y.tolist(), *(g.tolist() for g in fg.grad((y * y).sum(), [h, w]))])
        np.testing.assert_allclose(found[0][1:], found[1][1:], rtol=1e-12)
        assert found[0][0] == found[1][0]
    assert compiled.cache_info().hits > 1


@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_loop_reads_and_somebody_else_keeps(loop: Callable[[Any, Any], Any]) -> None:
    kept: list[Any] = []

    def keeps_tensor(h: Any) -> Any:
        scale = fg.sin(h)
        kept.append(scale)
        return loop(lambda c: c * scale, h)

    def keeps_function(h: Any) -> Any:
        scale = fg.sin(h)

        def step(c: Any) -> Any:
            return c * scale

        kept.append(step)
        return loop(step, h)

    def keeps_list(h: Any) -> Any:
        scales = [fg.sin(h)]
        kept.append(scales)
        return loop(lambda c: c * scales[0], h)

    for f in (keeps_tensor, keeps_function, keeps_list):
        compiled = fg.compile(f)
        with pytest.warns(UserWarning, match="is kept after it has returned"):
            list(map(compiled, (x(i).requires_grad_() for i in range(4))))


def test_branches_that_return_other_values_than_tensors() -> None:
    def same(h: Any, p: Any) -> Any:
        return cond(p > 0, lambda h: (h * 2, None, 3, "a", 0.5), lambda h: (h, None, 3, "a", 0.5), h)

    assert agrees(same, *((x(1), fg.tensor(p)) for p in (1.0, -1.0))).cache_info().hits == 1
    others: list[tuple[Any, Any]] = [(3, 4), ("a", "b"), (None, 1.0), (0.0, -0.0), ([1], (1,))]
    for yes, no in others:
        f = lambda h, p: cond(p > 0, lambda h: (h * 2, yes), lambda h: (h, no), h)  # noqa: B023, E731
        with pytest.warns(UserWarning, match="its numbers are read"):
            agrees(f, *((x(1), fg.tensor(p)) for p in (1.0, -1.0)), fullgraph=False)


def test_an_error_in_a_branch_that_is_not_taken() -> None:
    def singular_matrix(h: Any) -> Any:
        return fg.linalg.inv(fg.zeros((3, 3), dtype="float64")) @ h

    def f(h: Any, p: Any) -> Any:
        return cond(p > 0, singular_matrix, lambda h: h + 1, h)

    compiled = fg.compile(f)
    with pytest.warns(UserWarning, match="its numbers are read"):
        assert bits(compiled(x(1), fg.tensor(-1.0))) == bits(x(1) + 1)
    with pytest.raises(fg.LinAlgError):
        compiled(x(1), fg.tensor(1.0))

    def loop(h: Any) -> Any:
        return while_loop(lambda h: h.sum() < -9e9, singular_matrix, h)

    with pytest.warns(UserWarning, match="its numbers are read"):
        agrees(loop, (x(1),), (x(2),), fullgraph=False)


def test_the_carry_keeps_its_structure() -> None:
    for n in (2, N):
        last, _ = scan(lambda c, r: ([c[0] + r, c[1]], None), (x(0), x(1)), x(2, n, 3))
        assert type(last) is tuple
    assert type(while_loop(lambda c: c[0].sum() < 5, lambda c: [c[0] + 1], (fg.zeros(1),))) is tuple


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"checkpoint": 5}, {"checkpoint": 5, "reverse": True}])
@pytest.mark.parametrize("start", [fg.ones(2, dtype="float32"), fg.ones((), dtype="float64")])
def test_first_steps_that_change_the_dtype_or_the_shape_of_the_carry(start: Any, options: Any) -> None:
    def loop(rows: Any) -> Any:
        return scan(lambda c, r: (c * r + 1, c.sum() * r), start, rows, **options)

    def one_by_one(rows: Any) -> Any:
        c, ys = start, []
        for r in reversed(list(rows)) if options.get("reverse") else rows:
            c, y = c * r + 1, c.sum() * r
            ys.append(y)
        return c, fg.stack(ys[::-1] if options.get("reverse") else ys)

    def summed(f: Any) -> Any:
        return lambda rows: f(rows)[0].sum() + f(rows)[1].sum()

    rows = x(4, 20, 2)
    compiled = fg.compile(loop, fullgraph=True)
    for got in (loop(rows), compiled(rows), compiled(rows)):
        assert [bits(a) for a in got] == [bits(a) for a in one_by_one(rows)]
    [program] = [line for line in compiled.explain().splitlines() if line.startswith("a program of")]
    assert int(program.split()[3]) < 60
    transforms: list[Any] = [func.grad, lambda f: func.vmap(func.grad(f))]
    for transform in transforms:
        given = fg.stack([rows, rows * 2]) if transform is not func.grad else rows
        a, b = (transform(summed(f))(given) for f in (loop, one_by_one))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
    t = func.jvp(loop, (rows,), (rows + 1,))[1]
    for a, b in zip(t, func.jvp(one_by_one, (rows,), (rows + 1,))[1], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_a_carry_that_grows_in_each_step_is_unrolled() -> None:
    f = fg.compile(lambda c, rows: scan(lambda c, r: (fg.concat([c, r]), None), c, rows)[0])
    with pytest.warns(UserWarning, match=r"records each of 18 steps by itself because it changes the shape"):
        assert f(x(1, 2), x(2, 20, 2)).shape == (42,)


def test_steps_that_draw_are_unrolled_with_a_warning() -> None:
    def f(c: Any, rows: Any) -> Any:
        return scan(lambda c, r: (c + fg.randn(2) * r, c), c, rows)

    with pytest.warns(UserWarning, match="records each of 20 steps by itself because it draws") as found:
        fg.compile(f)(x(1, 2), x(2, 20, 2))
    assert found[0].filename == __file__


@pytest.mark.parametrize("context", [fg.safe_gradients, fg.debug_nans, fg.detect_anomaly])
def test_contexts_that_look_at_numbers_end_a_trace_and_say_so(context: Any) -> None:
    def f(v: Any) -> Any:
        with context():
            return func.grad(lambda v: (v**3).sum())(v)

    compiled = fg.compile(f)
    with pytest.warns(UserWarning, match=rf"{context.__name__} looks at the numbers of gradients at .*test_control"):
        assert bits(compiled(x(1))) == bits(f(x(1)))
    assert bits(context()(f)(x(1))) == bits(f(x(1)))


def solved(p: Any) -> Any:
    """A curve that an adaptive solver follows to time 1."""

    def step(state: Any) -> Any:
        t, y = state
        size = fg.minimum(0.1 / (1 + abs(fg.sin(p * y)).max()), 1 - t + 1e-9)
        return t + size, y + size * fg.sin(p * y)

    return func.while_loop(lambda state: state[0] < 1, step, (p.sum() * 0, 1.5 * p))[1]


def chosen(p: Any) -> Any:
    return func.cond(p.sum() > 1, lambda p: fg.sin(p) * p[0], fg.cos, p)


@pytest.mark.parametrize("f", [solved, chosen])
def test_jacobians_of_loops_and_branches_are_programs(f: Any) -> None:
    for derivative in (
        func.jacrev(f),
        func.jacfwd(f),
        func.jacfwd(func.jacfwd(f)),
        lambda p: func.vmap(func.jacrev(f))(fg.stack([p, 2 * p])),
        lambda p: func.vmap(lambda g: func.vjp(f, p)[1](g)[0])(fg.stack([p, p * p])),
    ):
        is_close(derivative, (x(0, 3),), (x(1, 3),), (-x(0, 3),))


def test_the_derivative_of_a_jacobian_of_a_loop_ends_the_trace() -> None:
    for derivative in (func.jacrev(func.jacrev(solved)), func.hessian(solved)):
        compiled = fg.compile(derivative)
        with pytest.warns(UserWarning, match="differentiates a while_loop twice"):
            first = compiled(x(0, 3))
        assert np.allclose(first, derivative(x(0, 3)), rtol=1e-12, atol=1e-14)
        assert np.allclose(compiled(x(1, 3)), derivative(x(1, 3)), rtol=1e-12, atol=1e-14)


#: By name: a derivative of a function of a number.
OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (x,))[1],
    "grad": func.grad,
    "grad of grad": lambda f: func.grad(func.grad(f)),
    "jacfwd of grad": lambda f: func.jacfwd(func.grad(f)),
    "grad of jacfwd": lambda f: func.grad(func.jacfwd(f)),
}


@pytest.mark.filterwarnings("ignore:compile.*differentiates a while_loop twice")
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_derivatives_of_a_branch_with_a_loop_that_ends_by_a_test(name: str) -> None:
    w, derivative = fg.tensor(1.5, dtype="float64"), OF_NUMBERS[name]

    def f(x: Any) -> Any:
        grown = lambda x: while_loop(lambda v: v < 9, lambda v: v * v * w + x, x + 1)  # noqa: E731
        return cond(x > 0, grown, lambda x: x * x * w, x)

    at = fg.tensor([4.0, -4.0, 0.25, -0.5, 2.5], dtype="float64")
    expected = [derivative(f)(x).item() for x in at]
    is_whole = name in ("jvp", "grad")
    compiled = fg.compile(derivative(f), fullgraph=is_whole)
    np.testing.assert_allclose([compiled(x).item() for x in at], expected, rtol=1e-12)
    compiled = fg.compile(func.vmap(derivative(f)), fullgraph=is_whole)
    for part in (slice(None), slice(1), slice(1, 2)):
        np.testing.assert_allclose(compiled(at[part]), expected[part], rtol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_tangents_of_a_branch_that_reads_what_moves(sign: int) -> None:
    """Operands and what a branch reads may be one tensor, or parts of one, and all of them may move."""
    w, v = x(0), x(1)

    def f(q: Any, w: Any, v: Any) -> Any:
        return cond(q.sum() > 0, lambda q: fg.sin(q) * w.sum() + q * v, lambda q: (w * w).sum() * q * q, q)

    def by_numbers(q: Any, w: Any, v: Any) -> Any:
        return fg.sin(q) * w.sum() + q * v if bool(q.detach().sum() > 0) else (w * w).sum() * q * q

    makers: list[Callable[[Any], Any]] = [
        lambda f: lambda q: func.jvp(f, (q, w, v), (q, w, v))[1],
        lambda f: lambda q: func.jacfwd(lambda w: f(q, w, v))(w),
        lambda f: lambda q: func.jvp(lambda q: f(q, q, q), (q,), (v,))[1],
        lambda f: lambda q: func.jacfwd(func.grad(lambda q: f(q, q[:1], q * 2).sum()))(q),
    ]
    for maker in makers:
        q = sign * fg.tensor([1.0, 0.5, 2.0], dtype="float64")
        expected = maker(by_numbers)(q)
        functions: list[Callable[[Any], Any]] = [maker(f), fg.compile(maker(f), fullgraph=True)]
        for g in functions:
            np.testing.assert_allclose(g(q), expected, rtol=1e-12)
            np.testing.assert_allclose(func.vmap(g)(q[None])[0], expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:compile.*differentiates a while_loop twice")
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_derivatives_of_a_scan_with_a_loop_that_ends_by_a_test(name: str) -> None:
    rows, derivative = fg.linspace(0.5, 1.0, N, dtype="float64"), OF_NUMBERS[name]

    def halved(v: Any) -> Any:
        return while_loop(lambda v: v > 1, lambda v: v * 0.5, v)

    def f(x: Any) -> Any:
        return scan(lambda c, r: (halved(c * 1.5) * x + r * x * x, None), x, rows)[0]

    def by_steps(x: Any) -> Any:
        c = x
        for r in rows:
            c = c * 1.5
            while bool(c.detach() > 1):
                c = c * 0.5
            c = c * x + r * x * x
        return c

    at = fg.tensor([1.01, 0.7, 0.3], dtype="float64")
    expected = [derivative(by_steps)(x).item() for x in at]
    for g in (derivative(f), fg.compile(derivative(f))):
        np.testing.assert_allclose([g(x).item() for x in at], expected, rtol=1e-11)
    batched: list[Callable[[Any], Any]] = [func.vmap(derivative(f)), fg.compile(func.vmap(derivative(f)))]
    for g in batched:
        np.testing.assert_allclose(g(at), expected, rtol=1e-11)
