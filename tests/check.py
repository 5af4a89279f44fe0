"""What a row of the table is checked for."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np

from tests.cases import Case


def function(op: str) -> Any:
    """The native function of that name."""
    place: Any = fg
    for part in op.split("."):
        place = getattr(place, part)
    return place


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def tensors(case: Case, track: bool = False) -> list[Any]:
    """The row's inputs as tensors, the differentiated ones tracked."""
    wrt = differentiated(case)

    def one(i: int, a: Any) -> Any:
        if isinstance(a, list):
            return [one(i, part) for part in a]
        t = fg.tensor(np.asarray(a))
        if track and i in wrt:
            t.requires_grad = True
        return t

    return [one(i, a) for i, a in enumerate(case.inputs)]


def differentiated(case: Case) -> tuple[int, ...]:
    if case.order == 0:
        return ()
    if case.wrt is not None:
        return case.wrt
    first = [a[0] if isinstance(a, list) else a for a in case.inputs]
    return tuple(i for i, a in enumerate(first) if np.asarray(a).dtype.kind == "f")


def leaves(case: Case, args: list[Any]) -> list[Any]:
    return [t for i in differentiated(case) for t in (args[i] if isinstance(args[i], list) else [args[i]])]


def call(case: Case, args: list[Any]) -> list[Any]:
    """The differentiable outputs of the row's op on these arguments."""
    return flat(case.pick(function(case.op)(*case.lead, *args, **case.kw)))


def value(case: Case) -> None:
    """Values, shapes and dtypes against NumPy."""
    if case.ref is None:
        assert case.note, f"{case.id}: a row without an oracle says why"
        return
    got = flat(function(case.op)(*case.lead, *tensors(case), **case.kw))
    want = flat(case.ref(*case.lead, *case.inputs, **case.kw))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        g = np.asarray(g)
        w = np.asarray(w)
        assert g.shape == w.shape, f"{case.id}: shape {g.shape}, NumPy has {w.shape}"
        assert g.dtype == w.dtype, f"{case.id}: dtype {g.dtype}, NumPy has {w.dtype}"
        np.testing.assert_allclose(g, w, rtol=case.rtol, atol=case.rtol, err_msg=case.id)


def run(outputs: list[Any], inputs: list[Any], seeds: list[Any] | None = None, create_graph: bool = False) -> list[Any]:
    """Gradients; zeros where nothing arrives."""
    seeds = seeds or [None] * len(outputs)
    tracked = [(o, s) for o, s in zip(outputs, seeds, strict=True) if not o.stop_gradient]
    if not tracked:
        return [fg.zeros(x.shape, dtype=x.dtype) for x in inputs]
    outs, seeds = zip(*tracked, strict=True)
    found = fg._core.run(list(outs), inputs, list(seeds), 1, retain_graph=True, create_graph=create_graph)
    return [fg.zeros(x.shape, dtype=x.dtype) if g is None else g for g, x in zip(found, inputs, strict=True)]


def inner(outs: list[Any], weights: list[np.ndarray]) -> Any:
    """The inner product of results with constants: one number to differentiate."""
    parts = [(o * fg.tensor(w)).sum() for o, w in zip(outs, weights, strict=True)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    return total


def gradients(case: Case) -> None:
    """Derivatives of every order asked for, along random directions, against central differences of the order below."""
    generator = np.random.default_rng(7)
    args = tensors(case, track=True)
    xs = leaves(case, args)
    outs = call(case, args)
    weights = [generator.normal(size=o.shape) for o in outs]
    directions = [[generator.normal(size=x.shape) for x in xs] for _ in range(case.order)]

    def at(shift: float, along: list[np.ndarray], order: int) -> float:
        """The derivative of an order at shifted inputs, as one number."""
        moved = tensors(case, track=True)
        found = leaves(case, moved)
        fresh = [fg.tensor(np.asarray(x) + shift * d, requires_grad=True) for x, d in zip(found, along, strict=True)]
        stand = iter(fresh)
        wrt = differentiated(case)
        moved = [
            ([next(stand) for _ in a] if isinstance(a, list) else next(stand)) if i in wrt else a
            for i, a in enumerate(moved)
        ]
        s = inner(call(case, moved), weights)
        for k in range(order):
            s = inner(run([s], fresh, create_graph=True), directions[k])
        return float(s.item())

    s = inner(outs, weights)
    for order in range(case.order):
        grads = run([s], xs, create_graph=True)
        exact = inner(grads, directions[order])
        h = 1e-5
        d = directions[order]
        numeric = (8 * (at(h, d, order) - at(-h, d, order)) - (at(2 * h, d, order) - at(-2 * h, d, order))) / (12 * h)
        scale = max(1.0, abs(numeric))
        assert abs(exact.item() - numeric) <= case.grad_tol * scale, (
            f"{case.id}: derivative {order + 1} is {exact.item()}, differences say {numeric}"
        )
        s = exact
