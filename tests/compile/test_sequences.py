"""Small steps of a compiled program run in memory that was planned once, with the bits of the function."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

from tests.compile.test_closed_door import agree as bits_agree, bits


def agree(f: Callable[..., Any], first: list[Any], second: list[Any]) -> Any:
    """Compares a function at two inputs with the compiled one, which is a program."""
    compiled = bits_agree(f, first, second)
    assert "passes over memory" in compiled.explain() or "pass over memory" in compiled.explain()
    return compiled


def x(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    return fg.tensor(np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype))


def both(f: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float64") -> Any:
    """Compares a function and its gradient with the compiled ones."""

    def total(*a: Any) -> Any:
        return (f(*a) * 0.3).sum()

    first, second = ([x(*s, seed=k, dtype=dtype) for s in shapes] for k in (0, 1))
    agree(func.grad(total, tuple(range(len(shapes)))), first, second)
    return agree(f, first, second)


SQUARE, TABLE, WIDE = x(20, 20), x(20), x(30, 30)
EYE = fg.tensor(np.eye(40))

PRODUCTS = [
    ((2, 3), (3, 4)),
    ((5, 5), (5, 1)),
    ((1, 5), (5, 5)),
    ((17, 9), (9, 33)),
    ((16, 32), (32, 32)),
    ((1, 20), (20, 20)),
    ((20, 20), (20, 1)),
    ((3, 2, 4), (4, 5)),
    ((3, 2, 4), (3, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4, 1, 6), (4, 6, 1)),
    ((3, 4), (2, 4, 1)),
    ((40, 40), (40, 1)),
    ((3, 40), (40, 40)),
    ((2, 1, 40), (40, 40)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("a", "b"), PRODUCTS)
def test_products_of_small_matrices(a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> None:
    both(lambda x, y: fg.tanh(fg.tanh(x) @ fg.tanh(y)), a, b, dtype=dtype)
    swapped = [(*s[:-2], s[-1], s[-2]) for s in (a, b)]
    both(lambda x, y: fg.tanh(fg.tanh(x.mT) @ y.mT), *swapped, dtype=dtype)
    both(lambda x, y: fg.tanh(x.mT @ fg.tanh(y)), swapped[0], b, dtype=dtype)
    both(lambda x, y: fg.tanh(fg.tanh(x) @ y.mT), a, swapped[1], dtype=dtype)


def test_a_product_with_a_diagonal_matrix_keeps_its_zeros() -> None:
    def f(d: Any, y: Any) -> Any:
        return fg.exp(d * EYE) @ fg.tanh(y), (d * EYE + 0.0) @ fg.tanh(y)

    infinite = x(40, 3)
    infinite[0, 0] = 400.0
    agree(f, [x(40, 40), x(40, 3)], [x(40, 40, seed=1), infinite])
    for of in (lambda d, y: fg.tanh(d) @ fg.tanh(y), lambda d, y: fg.tanh(y.T) @ fg.tanh(d)):
        diagonal, full = fg.tensor(np.diag(np.arange(-3.0, 37.0))), x(40, 40)
        agree(of, [full, x(40, 1)], [diagonal, x(40, 1, seed=1)])
        agree(of, [diagonal, x(40, 1)], [full, x(40, 1, seed=1)])


FOLDS: dict[str, Callable[[Any], Any]] = {
    "of rows": lambda x: fg.exp(x).sum(1),
    "of columns": lambda x: fg.exp(fg.exp(x).sum(0)),
    "with their axis": lambda x: fg.exp(fg.exp(x).sum(0, keepdims=True)) - x,
    "of transposed columns": lambda x: fg.exp(fg.exp(x).T.sum(1)),
    "largest": lambda x: fg.exp(fg.exp(x).max(0)),
    "product": lambda x: fg.exp(fg.cos(x).prod(0)),
    "logarithm of sums of exponentials": lambda x: fg.exp(fg.logsumexp(fg.sin(x), 0)),
    "softmax of columns": lambda x: fg.exp(fg.softmax(fg.sin(x), 0)),
    "softmax of rows": lambda x: fg.exp(fg.softmax(fg.sin(x), 1)),
    "logarithm of softmax": lambda x: fg.exp(fg.log_softmax(fg.sin(x), 1)),
    "inner products": lambda x: fg.exp(fg.vecdot(fg.sin(x), fg.cos(x))),
    "sums of products": lambda x: fg.exp(fg.vecdot(fg.sin(x), fg.cos(x), axis=0)),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("shape", [(3, 4), (5, 5), (1, 7), (7, 1), (70, 3), (4, 130), (300, 5), (200, 20), (20, 200)])
def test_folds_of_small_arrays(name: str, shape: tuple[int, ...]) -> None:
    both(FOLDS[name], shape)
    both(FOLDS[name], shape, dtype="float32")


def test_folds_over_axes_of_three() -> None:
    for axes in (0, 1, 2, (0, 1), (1, 2), (0, 2)):
        both(lambda x, axes=axes: fg.exp(fg.sin(x).sum(axes)), (3, 4, 5))
        both(lambda x, axes=axes: fg.exp(fg.permute(fg.sin(x), (2, 0, 1)).sum(axes)), (3, 4, 5))
        both(lambda x, axes=axes: fg.exp(fg.permute(fg.sin(x), (1, 0, 2)).sum(axes, keepdims=True)), (3, 1, 5))


MOVES: dict[str, Callable[[Any], Any]] = {
    "roll": lambda x: fg.sin(fg.roll(fg.sin(x), 1)) + fg.roll(fg.cos(x), -3),
    "concatenate": lambda x: fg.sin(fg.concat([fg.sin(x), x, fg.cos(x)[::-1]])),
    "stack": lambda x: fg.sin(fg.stack([fg.sin(x), fg.cos(x)], 1)),
    "reversed": lambda x: fg.sin(fg.flip(fg.sin(x))) * fg.sin(x)[::-1],
    "part": lambda x: fg.sin(fg.sin(x)[2:-1]),
    "padded": lambda x: fg.sin(fg.pad(fg.sin(x), ((2, 3),))),
    "reshaped": lambda x: fg.sin(fg.reshape(fg.reshape(fg.sin(x), (3, 4)).T, (12,))),
    "triangle": lambda x: fg.sin(fg.tril(fg.reshape(fg.sin(x), (3, 4)))),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
def test_moves_of_small_arrays(name: str, dtype: str) -> None:
    first, second = x(12).astype(dtype), x(12, seed=1).astype(dtype)
    agree(MOVES[name], [first], [second])
    if dtype.startswith("float"):
        agree(func.grad(lambda x: fg.sum(MOVES[name](x))), [first], [second])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 9), (3, 1), (50, 50), (300, 5), (5, 300), (600, 2), (3, 700)])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_logsumexp_and_its_gradient_share_their_exponentials(shape: tuple[int, int], axis: int, dtype: str) -> None:
    w = x(*shape, seed=9, dtype=dtype)

    def f(a: Any) -> Any:
        return (fg.logsumexp(a * w, axis) ** 2).sum()

    special = np.random.default_rng(0).choice(np.array([0.0, np.inf, -np.inf, np.nan, 1e30, -1.5], dtype), shape)
    special[0] = -np.inf
    for first, second in [(x(*shape, dtype=dtype), x(*shape, seed=1, dtype=dtype)), (fg.tensor(special), w)]:
        compiled = agree(func.value_and_grad(f), [first], [second])
        in_one_pass = re.search(r"(\d+)  softmax .*\n +\1  logsumexp ", compiled.explain())
        assert bool(in_one_pass) == (shape[axis] <= 256)
    both(lambda a: fg.logsumexp(a, axis), shape, dtype=dtype)


LOOKUPS: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda x, k: fg.sin(x)[k[0]],
    "rows": lambda x, k: fg.sin(x)[k],
    "a column": lambda x, k: fg.sin(x)[:, k[2]],
    "columns": lambda x, k: fg.sin(x).T[k % 3],
    "rows of a transpose": lambda x, k: fg.sin(x).T[k[:3] % 3, 1:4],
    "elements": lambda x, k: fg.sin(x)[k, k[::-1] % 3],
    "an element": lambda x, k: fg.sin(x)[k[2], -1 - k[3] % 2],
    "indices of two axes": lambda x, k: fg.sin(x)[fg.reshape(k, (2, 3))],
    "every second row": lambda x, k: fg.sin(x)[::2][k % 2],
    "positions along an axis": lambda x, k: fg.take_along_axis(fg.sin(x), fg.reshape(k % 3, (6, 1)), 1),
    "positions along the first axis": lambda x, k: fg.take_along_axis(fg.sin(x), fg.reshape(k, (2, 3)), 0),
    "the largest of each row": lambda x, k: fg.sin(x).max(1),
    "a written row": lambda x, k: fg.index_add(fg.sin(x), 0, k, fg.cos(x)),
    "lanes": lambda x, k: func.vmap(lambda row, i: fg.sin(row)[i] * row)(x, k % 3),
    "lanes with one index": lambda x, k: func.vmap(lambda row: fg.sin(row)[k % 3])(x),
    "lanes of indices": lambda x, k: func.vmap(lambda i: fg.sin(x)[i] * 2)(k),
}


@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lookups_in_small_arrays(name: str, dtype: str) -> None:
    f = LOOKUPS[name]
    first = [x(6, 3, dtype=dtype), fg.tensor(np.array([0, 5, -1, 2, 2, -6]))]
    second = [x(6, 3, seed=1, dtype=dtype), fg.tensor(np.array([3, 3, 1, 0, -2, 5]))]
    if name in ("indices of two axes", "positions along the first axis", "a written row"):
        first[1], second[1] = first[1] % 6, second[1] % 6
    agree(lambda x, k: fg.exp(f(x, k)), first, second)
    agree(func.grad(lambda x, k: fg.sum(fg.exp(f(x, k)) * 0.3)), first, second)
    agree(func.grad(lambda x, k: fg.sum(func.grad(lambda x: fg.sum(fg.exp(f(x, k))))(x) ** 2)), first, second)


def test_an_index_outside_of_its_axis_in_a_sequence() -> None:
    compiled = func.jit(lambda x, k: fg.exp(fg.sin(x)[fg.abs(k)]))
    table, k = x(4), fg.tensor(np.array(2))
    for _ in range(3):
        compiled(table, k)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4") as raised:
            compiled(table, k * -2)
        assert "test_sequences.py" in raised.value.__notes__[0]

    def step(carry: Any, k: Any) -> Any:
        return carry + fg.sin(table)[k], carry

    loop = func.jit(lambda ks: func.scan(step, fg.tensor(0.0, dtype="float64"), ks)[0])
    ks = np.arange(100) % 4
    for _ in range(3):
        loop(fg.tensor(ks))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        loop(fg.tensor(np.where(np.arange(100) == 50, 5, ks)))


def positive(a: Any) -> Any:
    return a.mT @ a + 2 * fg.tensor(np.eye(a.shape[-1]))


MATRICES: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda a, b: fg.linalg.solve(fg.sin(a), fg.sin(b)),
    "solve for a transpose": lambda a, b: fg.linalg.solve(fg.sin(a).mT, fg.sin(b).mT),
    "inverse": lambda a, b: fg.linalg.inv(fg.sin(a).mT) @ b,
    "determinant": lambda a, b: fg.linalg.det(fg.sin(a))[..., None, None] * b,
    "factor": lambda a, b: fg.linalg.cholesky(positive(a)) @ b,
    "triangle": lambda a, b: fg.linalg.solve_triangular(fg.sin(a), fg.sin(b), upper=True),
    "unit triangle": lambda a, b: fg.linalg.solve_triangular(fg.sin(a), fg.sin(b), unitriangular=True, upper=False),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2), (9,)])
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_small_matrices(name: str, lead: tuple[int, ...], n: int) -> None:
    def f(a: Any, b: Any) -> Any:
        return fg.exp(0.01 * fg.cos(MATRICES[name](a, b)))

    first, second = ([x(*lead, n, n, seed=k), x(*lead, n, n, seed=k + 5)] for k in (0, 1))
    agree(f, first, second)
    agree(func.grad(lambda a, b: fg.sum(f(a, b)), (0, 1)), first, second)


def test_a_matrix_without_an_inverse_in_a_sequence() -> None:
    compiled = fg.compile(lambda a: fg.exp(fg.linalg.inv(fg.sin(a)).sum(-1)))
    good = x(3, 2, 2)
    bad = good.clone()
    bad[1] = 0.0
    for a in (good, good):
        compiled(a)
    with pytest.raises(fg.LinAlgError, match=r"linalg.inv: the matrix at \[1\] of the batch is singular") as raised:
        compiled(bad)
    assert "test_sequences.py" in raised.value.__notes__[0]
    bad[1] = float("nan")
    found = np.isnan(compiled(bad).numpy())
    assert found.tolist() == [[False, False], [True, True], [False, False]]


def test_functions_of_arrays_read_results_of_each_other() -> None:
    def f(a: Any) -> list[Any]:
        q, r = fg.linalg.qr(fg.sort(fg.sin(a), axis=0))
        parts = fg.sort(q[1:, ::-1].T, axis=0)
        again = fg.sort(parts[1], axis=-1)
        # Some are also read by formulas, or returned.
        ends = [fg.sort(fg.sort(r.T, axis=1)[:, 0]), fg.exp(parts), q]
        return [again, fg.sort(again * 2 - fg.sort(q, axis=1)[0, 0]), *ends]

    agree(f, [x(6, 4)], [x(6, 4, seed=1)])
    agree(func.grad(lambda a: sum(fg.sum(y * y * y) for y in f(a))), [x(6, 4)], [x(6, 4, seed=1)])


def test_integers_and_truth_values_are_moved() -> None:
    def f(k: Any, b: Any) -> Any:
        return fg.concat([fg.roll(k + 1, 1), k * 2])[::-1] + 1, fg.roll(~b, 2) & fg.concat([b[1:], ~b[:1]])

    k, b = fg.tensor(np.arange(300, dtype="int16")), fg.tensor(np.arange(300) % 3 == 0)
    agree(f, [k, b], [k * 3, ~b])


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "matrix": lambda h, r: (fg.tanh(SQUARE @ h + r), h),
    "heat": lambda h, r: (h + 0.1 * (fg.roll(h, 1) - 2 * h + fg.roll(h, -1)) + 0.01 * r, h.sum()),
    "softmax": lambda h, r: (fg.softmax(h * r), fg.logsumexp(h)),
    "old carry": lambda h, r: (h * 0.9 + r, (h, h * 0.9 + r)),
    "part of the next": lambda h, r: (fg.concat([h[1:], (h * r).sum()[None]]), h[0]),
    "sort": lambda h, r: (fg.sort(h * 0.9 + r), fg.argmax(h)),
    "looked up": lambda h, r: (h + TABLE[fg.argmax(r)], h[fg.argmax(h)]),
}


#: Those that have constants of twenty elements.
OF_TWENTY = ("matrix", "looked up")
SIZES = [(name, n) for name in STEPS for n in (1, 3, 20) if n == 20 or name not in OF_TWENTY]


@pytest.mark.parametrize(("name", "n"), SIZES)
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_over_small_arrays(name: str, n: int, reverse: bool) -> None:
    step = STEPS[name]

    def f(h: Any, rows: Any) -> Any:
        return func.scan(step, h, rows, reverse=reverse)

    def unrolled(h: Any, rows: Any) -> Any:
        made = []
        for t in range(len(rows))[:: -1 if reverse else 1]:
            h, y = step(h, rows[t])
            made.append(y)
        made = made[:: -1 if reverse else 1]
        return h, tuple(map(fg.stack, zip(*made, strict=True))) if isinstance(made[0], tuple) else fg.stack(made)

    # With fewer steps a scan is unrolled.
    first, second = ([x(n, seed=k), x(66, n, seed=k)] for k in (0, 1))
    compiled = agree(f, first, second)
    assert bits(compiled(*first)) == bits(unrolled(*first))

    def loss(h: Any, rows: Any) -> Any:
        h, ys = f(h, rows)
        ys = ys[0] if isinstance(ys, tuple) else ys
        return (h * h).sum() + (ys * 0.5 if ys.dtype.kind == "f" else h).sum()

    agree(func.grad(loss, (0, 1)), first, second)


#: Steps that compute single numbers: a carry of two numbers ``a`` and ``b``, and two numbers of a row. What the next
#: step does not wait for is computed for many steps at a time.
NUMBERS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "after the carry": lambda a, b, r, s: (a * 0.9 + r, b, fg.log(a * a + 1) / (s * s + 2)),
    "before the carry": lambda a, b, r, s: (fg.exp(r) * a * 0.1 + s, fg.sqrt(fg.abs(s)) - b * 0.5, a + b),
    "a sum": lambda a, b, r, s: (a * 0.5 + r, b + a * a * s, fg.tanh(b)),
    "the number before": lambda a, b, r, s: (r * 2, a - r, a * b + s),
    "the row before": lambda a, b, r, s: (r, a + b * 0.5, a - r),
    "swapped": lambda a, b, r, s: (b * r, a + s, a - b),
    "swapped as they are": lambda a, b, r, s: (b, a, a * r + b),
    "the last two": lambda a, b, r, s: (b, a * 0.5 + fg.sin(b) * r, a * b + s),
    "the last two rows": lambda a, b, r, s: (r, a, (a - b) * s),
    "one number twice": lambda a, b, r, s: (a * r + b, a * r + b, a - s),
    "a constant": lambda a, b, r, s: (b * r, WIDE[0, 1], a + s),
    "twice": lambda a, b, r, s: (fg.sin(a + b + r), fg.sin(a + b + r), a - b),
    "it stays": lambda a, b, r, s: (a, b * a * 0.5 + r, b + a * s),
    "nothing new": lambda a, b, r, s: (a, b, a * r + fg.exp(b) * s),
    "chosen": lambda a, b, r, s: (fg.where(a < r, a + 0.5, r), fg.maximum(b * 0.9, s), fg.where(a < b, r, s)),
    "powers": lambda a, b, r, s: (a * 0.5 + r**2, b, fg.abs(a) ** 1.5 + fg.abs(r) ** -0.5 + (a * a + 1) ** 2.5),
    "whole powers": lambda a, b, r, s: (a**3 * 0.01 + r, b**4 * 0.01 - s, (a * 1e-3) ** 4 + (b * 0.1 + r) ** 3),
    "an exponent of the row": lambda a, b, r, s: (a * 0.5 + r, b, fg.abs(a) ** fg.round(s) + (r * r) ** fg.round(r)),
    "an exponent of the carry": lambda a, b, r, s: (
        fg.round(a * -0.5 + r * 2),
        b,
        (s * s + 0.5) ** a + fg.abs(r) ** b,
    ),
    "the last number second": lambda a, b, r, s: (
        r - (s - a * r) * 0.5,
        s / (1 + fg.square(r - b)),
        fg.where(r < s - a * b, r / (2 + fg.abs(s - b)), a),
    ),
    "from the last to the first": lambda a, b, r, s: (a * 0.5 + r, (b - s) * a, s - b),
    "sums": lambda a, b, r, s: (a + r * s, s + b, b * 0.5),
    "sums of sums": lambda a, b, r, s: (a + r, (a + r) + b, fg.sin(b) - a),
    "sums of the number before": lambda a, b, r, s: (a + 0.25, b + a, b + (a + 0.25)),
    "a number and itself": lambda a, b, r, s: (a * 0.5 + r, b + b, b + a * s),
    "rows alone": lambda a, b, r, s: (a + 1, b - fg.exp(r * s), fg.sin(r) * s),
    "whole numbers": lambda a, b, r, s: (fg.cast(fg.cast(a * 3 + r, "int32"), a.dtype) * 0.25, b * 0.5 + s, a + b),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("length", [70, 601])
@pytest.mark.parametrize(("dtype", "reverse"), [("float64", False), ("float64", True), ("float32", False)])
def test_loops_over_numbers(name: str, length: int, dtype: str, reverse: bool) -> None:
    def step(c: Any, row: Any) -> Any:
        a, b, y = NUMBERS[name](c[0], c[1], row[0], row[1])
        return (a, b), y

    def f(a: Any, b: Any, rows: Any) -> Any:
        return func.scan(step, (a, b), rows, reverse=reverse)

    def unrolled(a: Any, b: Any, rows: Any) -> Any:
        made = []
        for t in range(length)[:: -1 if reverse else 1]:
            (a, b), y = step((a, b), rows[t])
            made.append(y)
        return (a, b), fg.stack(made[:: -1 if reverse else 1])

    first, second = ([fg.cast(x(*d, seed=k), dtype) for d in ((), (), (length, 2))] for k in (0, 1))
    compiled = agree(f, first, second)
    assert bits(compiled(*first)) == bits(unrolled(*first))

    def loss(a: Any, b: Any, rows: Any) -> Any:
        (a, b), ys = f(a, b, rows)
        return a * b + (ys * ys).sum()

    def of_unrolled(a: Any, b: Any, rows: Any) -> Any:
        (a, b), ys = unrolled(a, b, rows)
        return a * b + (ys * ys).sum()

    compiled = agree(func.grad(loss, (0, 1, 2)), first, second)
    if length < 100:
        found, expected = compiled(*first), func.grad(of_unrolled, (0, 1, 2))(*first)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 2e-4 if dtype == "float32" else 1e-10, 1e-30)
        agree(func.grad(lambda *args: (func.grad(loss, 2)(*args) ** 2).sum(), (0, 1, 2)), first, second)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_sums_in_loops_over_numbers(dtype: str) -> None:
    def step(c: Any, r: Any) -> Any:
        wide = fg.cast(r, "float64") + c[6]
        return [c[0] + r, *(c[k] + c[k - 1] * r for k in range(1, 5)), fg.sin(r) + c[5], wide], c[2] + c[5]

    def f(rows: Any, *c: Any) -> Any:
        return func.scan(step, list(c), rows)

    def unrolled(rows: Any, *c: Any) -> Any:
        state, made = list(c), []
        for t in range(150):
            state, y = step(state, rows[t])
            made.append(y)
        return state, fg.stack(made)

    def args(seed: int) -> list[Any]:
        return [x(150, seed=seed, dtype=dtype), *[x(seed=seed, dtype=dtype)] * 6, x(seed=seed)]

    compiled = agree(f, args(0), args(1))
    assert bits(compiled(*args(0))) == bits(unrolled(*args(0)))
    agree(func.grad(lambda *a: fg.sum(f(*a)[1]), tuple(range(7))), args(0), args(1))


#: Formulas of two numbers.
FORMULAS: list[Callable[[Any, Any], Any]] = [
    lambda p, q: p + q,
    lambda p, q: p - q,
    lambda p, q: p * q,
    lambda p, q: p / (q * q + 0.5),
    lambda p, q: -p,
    lambda p, q: fg.sqrt(p * p + 0.25),
    lambda p, q: fg.square(p) - q,
    lambda p, q: fg.abs(p),
    lambda p, q: fg.abs(p) ** 1.5,
    lambda p, q: fg.where(p < q, p, q * 2),
    lambda p, q: fg.where(p <= q, q, p),
    lambda p, q: fg.sin(p),
]


@pytest.mark.parametrize("seed", range(24))
def test_loops_over_numbers_by_random_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype, length, carries = ["float64", "float32"][seed % 2], 60, 1 + seed % 7
    # Few formulas are called. The numbers of the other dtype come from those of the carry.
    chosen = [
        (FORMULAS[rng.integers(11 + seed % 2)], *rng.integers(0, carries + 2 + k, 2)) for k in range(8 + 3 * (seed % 9))
    ]

    def step(c: Any, row: Any) -> Any:
        now = [*c, row[0], row[1]]
        for formula, i, j in chosen:
            now.append(formula(now[i], now[j]))
        other = fg.cast(now[-1], "float32") * 0.5 + fg.cast(now[-2], "float32")
        # Bounded, so that the numbers of the steps differ.
        return [v / (1 + fg.abs(v)) + row[0] for v in now[-carries:]], (now[-1] * 0.1, other)

    def f(rows: Any, *c: Any) -> Any:
        return func.scan(step, list(c), rows)

    def unrolled(rows: Any, *c: Any) -> Any:
        state, made = list(c), []
        for t in range(length):
            state, y = step(state, rows[t])
            made.append(y)
        return state, tuple(fg.stack(list(ys)) for ys in zip(*made, strict=True))

    def args(k: int) -> list[Any]:
        return [fg.cast(x(*d, seed=k + j), dtype) for j, d in enumerate([(length, 2), *[()] * carries])]

    compiled = agree(f, args(0), args(1))
    assert bits(compiled(*args(0))) == bits(unrolled(*args(0)))

    def loss(run: Any) -> Callable[..., Any]:
        def total(*a: Any) -> Any:
            state, (ys, others) = run(*a)
            return sum(v * v for v in state) + fg.sum(ys * ys) + fg.cast(fg.sum(others), dtype)

        return func.grad(total, tuple(range(carries + 1)))

    compiled = agree(loss(f), args(0), args(1))
    if dtype == "float64":
        for one, other in zip(compiled(*args(0)), loss(unrolled)(*args(0)), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lookups_in_loops_over_numbers(dtype: str) -> None:
    table, pairs = x(30, dtype=dtype), x(6, 5, dtype=dtype)

    def step(c: Any, row: Any) -> Any:
        a, b = c
        i, j, r = row
        y = table[i] * a + pairs[i % 6, j % 5] * r
        return (a * 0.5 + table[j], b + y * table[i - j]), fg.sin(y)

    def f(a: Any, b: Any, *rows: Any) -> Any:
        return func.scan(step, (a, b), rows)

    def args(seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        indices = [fg.tensor(rng.integers(low, high, 500)) for low, high in [(0, 30), (-1, 29)]]
        return [*(x(seed=seed + k, dtype=dtype) for k in (0, 1)), *indices, x(500, seed=seed, dtype=dtype)]

    compiled = agree(f, args(0), args(1))

    def loss(a: Any, b: Any, *rows: Any) -> Any:
        (a, b), ys = f(a, b, *rows)
        return a * b + (ys * ys).sum()

    agree(func.grad(loss, (0, 1)), args(0), args(1))
    a, b, i, j, r = args(0)
    i[300] = 40
    with pytest.raises(IndexError, match="40 is out of bounds for axis 0 with size 30"):
        compiled(a, b, i, j, r)


@pytest.mark.parametrize("n", [300, 1900])
def test_loops_over_arrays_of_several_tiles(n: int) -> None:
    def step(h: Any, r: Any) -> Any:
        parts = [fg.sin(h * k + r) for k in range(1, 14)]
        total = parts[0]
        for part in reversed(parts):
            total = total * 0.5 + part
        return total, (h * r).sum()

    def loss(h: Any, rows: Any) -> Any:
        h, ys = func.scan(step, h, rows)
        return (h * h).sum() + (ys * ys).sum()

    first, second = ([x(n, seed=k), x(66, n, seed=k)] for k in (0, 1))
    agree(loss, first, second)
    agree(func.grad(loss, (0, 1)), first, second)


def test_loops_over_numbers_of_several_dtypes() -> None:
    def step(c: Any, row: Any) -> Any:
        count, total, is_high, bits = c
        r, mask = row
        high = r > fg.cast(total, "float64")
        count = count + fg.cast(high, "int64")
        total = total * 0.5 + fg.cast(r, "float32")
        return (count, total, high & mask, bits ^ 3), (is_high, total, fg.where(mask, r, 0.0), fg.cast(bits, "float64"))

    def f(count: Any, total: Any, is_high: Any, bits: Any, rows: Any, masks: Any) -> Any:
        return func.scan(step, (count, total, is_high, bits), (rows, masks))

    def args(seed: int) -> list[Any]:
        rows = x(333, seed=seed)
        start = [fg.tensor(seed), fg.tensor(0.25), fg.tensor(False), fg.tensor(5 + seed, dtype="int16")]
        return [*start, rows, rows > 0.3]

    agree(f, args(0), args(1))


def test_loops_over_numbers_of_small_arrays() -> None:
    def step(c: Any, row: Any) -> Any:
        q, v = c
        a = -q / (fg.sum(q * q) + 0.01) ** 1.5
        v = v + 0.1 * a * row[0, 1]
        q = q + 0.1 * v
        return (q, v), (fg.stack([fg.sum(q * q), v[0]]), row[1] * fg.exp(-q))

    def f(q: Any, v: Any, rows: Any) -> Any:
        return func.scan(step, (q, v), rows)

    first, second = ([x(2, seed=k), x(2, seed=k + 5), x(200, 2, 2, seed=k)] for k in (0, 1))
    agree(f, first, second)

    def loss(*args: Any) -> Any:
        (q, v), (ys, zs) = f(*args)
        return (q * v).sum() + (ys * zs).sum()

    agree(func.grad(loss, (0, 1, 2)), first, second)


def test_a_carry_that_is_a_part_of_what_another_carry_is() -> None:
    def step(c: Any, r: Any) -> Any:
        a, b = c
        both = fg.stack([a * r, b[1] + r])
        return (both[0], both), both[1] * r

    def f(a: Any, b: Any, rows: Any) -> Any:
        return func.scan(step, (a, b), rows)

    agree(f, [x(), x(2), x(90)], [x(seed=1), x(2, seed=1), x(90, seed=1)])


SWAPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one new": lambda a, b, c: (b, fg.sin(a), c),
    "none new": lambda a, b, c: (c, a, b),
    "a part": lambda a, b, c: (fg.concat([b, a])[3 : 3 + len(a)], a, fg.cos(a)),
    "a copy": lambda a, b, c: (b, b, a + c),
}


@pytest.mark.parametrize("n", [1, 4, 40])
@pytest.mark.parametrize("name", SWAPS)
def test_a_step_that_swaps_its_carries(name: str, n: int) -> None:
    def f(*carry: Any) -> Any:
        return func.scan(lambda c, _: (SWAPS[name](*c), c[0].sum()), carry, None, 75)

    first, second = ([x(n, seed=k) for k in range(i, i + 3)] for i in (0, 3))
    agree(f, first, second)


def test_integers_and_truth_values_of_the_steps_before() -> None:
    def step(c: Any, row: Any) -> Any:
        before, last, was, count = c
        k, b = row
        return (last, k, b, fg.where(was, count + 1, fg.cast(before, "int64"))), (before - k, was & b)

    def f(*args: Any) -> Any:
        return func.scan(step, args[:4], args[4:])

    k = fg.tensor(np.arange(300, dtype="int16") % 17)
    start = [fg.tensor(1, dtype="int16"), fg.tensor(2, dtype="int16"), fg.tensor(True), fg.tensor(5)]
    agree(f, [*start, k, k > 3], [*start[1::-1], *start[2:], k * 3, k < 9])


ONCE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number": lambda a, h, r: (h * 0.9 + fg.exp(-a[0, 0]) * r, h),
    "a matrix": lambda a, h, r: (fg.tanh(fg.linalg.inv(a @ a.mT + 9.0 * EYE[:3, :3]) @ h + r), fg.cumsum(a, 1)),
    "a view": lambda a, h, r: (fg.tanh(fg.roll(a, 1).mT @ h + r), a[0]),
    "a result": lambda a, h, r: (h * 0.9 + r, fg.exp(a)),
    "rows that are the same": lambda a, h, r: (fg.sin(h + a.sum(0)) * r, fg.softmax(a, 0)[0]),
    "a loop inside": lambda a, h, r: (
        fg.sin(h + func.scan(lambda c, x: (fg.sin(c) + x, None), a[1], fg.broadcast_to(a[2], (70, 3)))[0]) * r,
        h[0],
    ),
}


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_the_same_in_each_step(name: str, reverse: bool) -> None:
    def f(a: Any, h: Any, rows: Any) -> Any:
        return func.scan(lambda h, r: ONCE[name](a, h, r), h, rows, reverse=reverse)

    def by_steps(a: Any, h: Any, rows: Any) -> Any:
        made = []
        for t in range(len(rows))[:: -1 if reverse else 1]:
            h, y = ONCE[name](a, h, rows[t])
            made.append(y)
        return h, fg.stack(made[:: -1 if reverse else 1])

    def loss(f: Any) -> Any:
        return lambda *args: sum(((y * y).sum() for y in f(*args)), fg.tensor(0.0))

    first, second = ([x(3, 3, seed=k), x(3, seed=k), x(80, 3, seed=k)] for k in (0, 1))
    compiled = agree(f, first, second)
    assert bits(compiled(*first)) == bits(by_steps(*first))
    agree(func.grad(loss(f), (0, 1, 2)), first, second)
    pair = (func.grad(loss(g), (0, 1, 2))(*first) for g in (f, by_steps))
    for found, expected in zip(*pair, strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def test_what_is_the_same_in_each_step_is_computed_once() -> None:
    a = x(3, 3)

    def step(h: Any, _: Any) -> Any:
        return fg.linalg.inv(fg.sin(a)) @ h, None

    compiled = func.jit(lambda h: func.scan(step, h, None, 100)[0])
    for _ in range(3):
        compiled(x(3))
    with fg.profile() as found:
        compiled(x(3))
    calls = {line.split()[0]: line.split()[1] for line in str(found).splitlines()[1:]}
    assert (calls["linalg.inv"], calls["matmul"]) == ("1", "100")


def test_long_chains_use_little_memory() -> None:
    def f(h: Any) -> Any:
        for _ in range(100):
            h = fg.tanh(fg.roll(h, 1) @ WIDE) + h.sum(0)
        return h

    compiled = agree(f, [x(30, 30)], [x(30, 30, seed=1)])
    found = compiled.explain().splitlines()[1]
    most = int(found.split("at most ")[1].split(" bytes")[0].replace(",", ""))
    assert 30 * 30 * 8 <= most <= 5 * 30 * 30 * 8


def test_an_error_names_the_op_in_a_sequence() -> None:
    def f(a: Any) -> Any:
        return fg.linalg.solve(fg.sin(a) * 1.0, fg.cos(a)) @ a

    compiled = fg.compile(f)
    compiled(x(3, 3))
    with pytest.raises(fg.FerrogradError, match=r"linalg\.solve"):
        compiled(fg.zeros((3, 3), dtype="float64"))
    assert bits(compiled(x(3, 3, seed=2))) == bits(f(x(3, 3, seed=2)))


def test_a_profile_counts_the_ops_of_a_sequence() -> None:
    def f(a: Any) -> Any:
        return fg.roll(fg.softmax(fg.sin(a)), 1) @ a

    compiled = fg.compile(f)
    compiled(x(4, 4))
    with fg.profile() as found:
        compiled(x(4, 4))
    for name in ("sin", "softmax", "roll", "matmul"):
        assert name in str(found)


def test_empty_arrays_between_small_ones() -> None:
    def f(a: Any) -> Any:
        return fg.sin(fg.concat([fg.sin(a), fg.cos(a)[:0]])), fg.sin(a)[:0].sum(0) + fg.roll(a, 1)

    agree(f, [x(5)], [x(5, seed=1)])
    agree(f, [x(0)], [x(0)])


@pytest.mark.parametrize("n", [1, 2])
def test_results_of_a_loop_have_memory_of_their_own(n: int) -> None:
    """A loop may carry what it got, and give the same array twice; a program tells them apart."""
    x, rows = fg.tensor(np.arange(300.0)), fg.tensor(np.ones((n, 300)))

    def f(x: Any, rows: Any) -> Any:
        (a, b), (c, d) = func.scan(lambda c, r: ((c[0], c[1] + r), (c[0], c[1])), (x, x * 2), rows)
        return a * 2, b, c + 1, d * b, x + a

    compiled = fg.compile(f, fullgraph=True)
    for k in (1, 2):
        want, found = f(x * k, rows), compiled(x * k, rows)
        assert [y.tolist() for y in found] == [y.tolist() for y in want]
