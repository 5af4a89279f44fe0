"""The checks that every row of the table of cases passes."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import _core
from ferrograd.func import vmap

from tests.cases import Case


def function(op: str) -> Any:
    """The native function with this name. What PyTorch's stream gives is below the core alone."""
    place: Any = _core.native if op.startswith("mersenne.") else fg
    for part in op.split("."):
        place = getattr(place, part)
    return place


def seed(number: int) -> None:
    """Seeds all streams of random numbers, that of PyTorch's numbers too."""
    fg.manual_seed(number)
    _core.native.mersenne.seed(number)


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
    return tuple(i for i, a in enumerate(first) if np.asarray(a).dtype.kind in "fc")


def leaves(case: Case, args: list[Any]) -> list[Any]:
    return [t for i in differentiated(case) for t in (args[i] if isinstance(args[i], list) else [args[i]])]


def call(case: Case, args: list[Any]) -> list[Any]:
    """The differentiable outputs of the row's op on these arguments."""
    return flat(case.pick(function(case.op)(*case.lead, *case.prepare(*args), **case.kw)))


def value(case: Case) -> None:
    """Values, shapes and dtypes against NumPy."""
    if case.ref is None:
        assert case.note, f"{case.id}: a row without a reference says why in its note"
        return
    got = flat(function(case.op)(*case.lead, *case.prepare(*tensors(case)), **case.kw))
    want = flat(case.ref(*case.lead, *case.prepare(*case.inputs), **case.kw))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        g = np.asarray(g)
        w = np.asarray(w)
        assert g.shape == w.shape, f"{case.id}: shape {g.shape}, NumPy has {w.shape}"
        assert g.dtype == w.dtype, f"{case.id}: dtype {g.dtype}, NumPy has {w.dtype}"
        np.testing.assert_allclose(g, w, rtol=case.rtol, atol=case.rtol, err_msg=case.id)


def run(outputs: list[Any], inputs: list[Any], seeds: list[Any] | None = None, create_graph: bool = False) -> list[Any]:
    """Gradients, with zeros for inputs that no gradient reaches."""
    seeds = seeds or [None] * len(outputs)
    tracked = [(o, s) for o, s in zip(outputs, seeds, strict=True) if not o.stop_gradient]
    if not tracked:
        return [fg.zeros(x.shape, dtype=x.dtype) for x in inputs]
    outs, starts = zip(*tracked, strict=True)
    found = fg._core.grad(list(outs), inputs, list(starts), 1, retain_graph=True, create_graph=create_graph)
    return [fg.zeros(x.shape, dtype=x.dtype) if g is None else g for g, x in zip(found, inputs, strict=True)]


def inner(outs: list[Any], weights: list[np.ndarray]) -> Any:
    """The inner product of results and constants: a real scalar that can be differentiated.

    A complex number counts as a pair of floats, so that a gradient times a direction is a derivative.
    """
    parts = [(o * fg.tensor(np.conj(w))).sum() for o, w in zip(outs, weights, strict=True)]
    parts = [fg.real(part) for part in parts]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    return total


def drawn(generator: np.random.Generator, like: Any) -> np.ndarray:
    """Normal numbers in the shape of a tensor, complex if it is."""
    real = generator.normal(size=tuple(like.shape))
    return real + 1j * generator.normal(size=tuple(like.shape)) if like.dtype.kind == "c" else real


def gradients(case: Case) -> None:
    """Derivatives up to the row's order along random directions, against central differences of the order below."""
    generator = np.random.default_rng(7)
    args = tensors(case, track=True)
    xs = leaves(case, args)
    outs = call(case, args)
    weights = [drawn(generator, o) for o in outs]
    directions = [[drawn(generator, x) for x in xs] for _ in range(case.order)]

    def at(shift: float, along: list[np.ndarray], order: int) -> float:
        """The derivative of an order along the directions, at inputs shifted by ``shift * along``."""
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


def close(got: Any, want: Any, case: Case, what: str) -> None:
    """Equal up to rounding."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{case.id}: {what}: shape {got.shape}, not {want.shape}"
    assert got.dtype == want.dtype, f"{case.id}: {what}: dtype {got.dtype}, not {want.dtype}"
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=f"{case.id}: {what}")
        return
    tolerance = 1e-9 if want.dtype in (np.float64, np.complex128) else 1e-4
    scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, err_msg=f"{case.id}: {what}")


def weights_of(outs: list[Any], seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [drawn(generator, o).astype(o.dtype) for o in outs]


def array(t: Any) -> np.ndarray:
    """The values of a tensor, tracked or not."""
    return np.asarray(t)


def forward(case: Case) -> None:
    """The tangent rules against the gradient rules: ``<v, J u> = <J^T v, u>``, and the gradients of both sides."""
    args = tensors(case, track=True)
    xs = leaves(case, args)
    outs = call(case, args)
    u = [fg.tensor(d) for d in weights_of(xs, 1)]
    v = weights_of(outs, 2)

    def along(record: bool) -> Any:
        moved = fg._core.push(outs, xs, u, record)
        for t, y in zip(moved, outs, strict=True):
            assert t is None or (t.shape == y.shape and t.dtype == y.dtype), f"{case.id}: tangent {t} of {y}"
        return inner(
            [fg.zeros(y.shape, dtype=y.dtype) if t is None else t for t, y in zip(moved, outs, strict=True)], v
        )

    back = inner(run([inner(outs, v)], xs, create_graph=True), [array(d) for d in u])
    close(along(False), back, case, "tangent")
    if case.order > 1:
        for got, want in zip(run([along(True)], xs), run([back], xs), strict=True):
            close(got, want, case, "gradient of the tangent")


def modes(case: Case) -> None:
    """The derivative of the row's order, with each order taken in reverse or in forward mode."""
    generator = np.random.default_rng(7)
    args = tensors(case, track=True)
    xs = leaves(case, args)
    outs = call(case, args)
    value = inner(outs, [drawn(generator, o) for o in outs])
    directions = [[drawn(generator, x) for x in xs] for _ in range(case.order)]

    def taken(is_forward: list[bool]) -> float:
        s = value
        for forward, along in zip(is_forward, directions, strict=True):
            if forward:
                (tangent,) = fg._core.push([s], xs, [fg.tensor(d) for d in along], True)
                s = fg.zeros((), dtype=s.dtype) if tangent is None else tangent
            else:
                s = inner(run([s], xs, create_graph=True), along)
        return float(s.item())

    back = taken([False] * case.order)
    for first in (False, True):
        mixed = taken([first != bool(k % 2) for k in range(case.order)])
        assert abs(mixed - back) <= 1e-8 * max(1.0, abs(back)), f"{case.id}: {mixed} with both modes, {back} in reverse"


BATCH_SIZE = 3


def batch_of(a: np.ndarray) -> np.ndarray:
    """A batch of variations of an input that stay in the domain of its op."""
    if a.dtype.kind in "fc":
        return np.stack([a * np.asarray(1 - 0.01 * k, dtype=a.dtype) for k in range(BATCH_SIZE)])
    return np.stack([np.roll(a, k, axis=-1) if a.ndim else a for k in range(BATCH_SIZE)])


def batched(case: Case) -> None:
    """Batches against loops: batched cotangents, and the op and its gradients under ``vmap`` over each input."""
    args = tensors(case, track=True)
    xs = leaves(case, args)
    if case.order:
        outs = call(case, args)
        seeds = [np.stack([w * (k + 1) for k in range(BATCH_SIZE)]) for w in weights_of(outs, 3)]
        tracked = [(o, s) for o, s in zip(outs, seeds, strict=True) if not o.stop_gradient]
        together = fg._core.grad(
            [o for o, _ in tracked], xs, [fg.tensor(s) for _, s in tracked], 1, retain_graph=True, batched=True
        )
        one_by_one = [run(outs, xs, [fg.tensor(s[k]) for s in seeds]) for k in range(BATCH_SIZE)]
        for i, got in enumerate(together):
            want = np.stack([array(gs[i]) for gs in one_by_one])
            close(np.zeros_like(want) if got is None else array(got), want, case, f"batched cotangents, input {i}")
    for i, a in enumerate(case.inputs):
        for j in range(len(a)) if isinstance(a, list) else [None]:
            under_vmap(case, i, j)


def under_vmap(case: Case, i: int, j: int | None) -> None:
    """The op under ``vmap`` over input ``i`` (over its element ``j`` if it is a list) against a loop."""
    original = case.inputs[i] if j is None else case.inputs[i][j]
    stack = batch_of(np.asarray(original))

    def at(x: Any, args: list[Any]) -> list[Any]:
        moved = list(args)
        if j is None:
            moved[i] = x
        else:
            moved[i] = [x if k == j else part for k, part in enumerate(args[i])]
        return moved

    def of(x: Any, args: list[Any]) -> list[Any]:
        result = call(case, at(x, args)) if case.order else flat(function(case.op)(*case.lead, *at(x, args), **case.kw))
        return [y for y in result if isinstance(y, fg.Tensor)]

    args = tensors(case, track=True)
    track = i in differentiated(case)
    split = fg.tensor(stack, requires_grad=track)
    try:
        together = vmap(lambda x: of(x, args))(split)
    except fg.ArgumentError as refused:
        # An op whose result shape depends on values refuses vmap.
        if "vmap" not in str(refused):
            raise
        return
    parts = [fg.tensor(a, requires_grad=track) for a in stack]
    one_by_one = [of(x, args) for x in parts]
    for k, got in enumerate(together):
        close(got, np.stack([array(ys[k]) for ys in one_by_one]), case, f"vmap over input {i}, output {k}")
    if not case.order:
        return
    others = [x for x in leaves(case, args) if track is False or x is not (args[i] if j is None else args[i][j])]
    v = weights_of(together, 4)
    got = run([inner(together, v)], [split, *others] if track else others)
    loop = [inner(ys, [w[k] for w in v]) for k, ys in enumerate(one_by_one)]
    total = loop[0]
    for part in loop[1:]:
        total = total + part
    want = [array(g) for g in run([total], [*parts, *others] if track else others)]
    if track:
        want = [np.stack(want[:BATCH_SIZE]), *want[BATCH_SIZE:]]
    for g, w in zip(got, want, strict=True):
        close(g, w, case, f"gradients of vmap over input {i}")
