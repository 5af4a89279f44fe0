"""Formulas that a program computes tile by tile: the bits are those of the ops applied one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

SHAPES = [(), (1,), (7,), (3, 5), (64, 33), (2, 3, 130), (5, 1, 4), (70_001,), (300, 301)]
UNARY: list[Callable[[Any], Any]] = [
    fg.sin,
    fg.tanh,
    fg.exp,
    fg.negative,
    fg.abs,
    fg.sigmoid,
    lambda x: x * 2,
    lambda x: 1 - x,
    lambda x: fg.clip(x, -0.5, 0.75),
    lambda x: x**2,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    fg.add,
    fg.subtract,
    fg.multiply,
    fg.maximum,
    fg.hypot,
    lambda x, y: fg.where(x > y, x, y * 2),
    lambda x, y: fg.lerp(x, y, 0.3),
    lambda x, y: fg.cast(fg.cast(x, "int32"), x.dtype) + y,
]


def bits(tree: Any) -> list[tuple[tuple[int, ...], bytes]]:
    return [(tuple(x.shape), x.numpy().tobytes()) for x in tree]


def formula(seed: int, rank: int) -> Callable[..., list[Any]]:
    """A random formula of arrays of one shape, which uses rows, columns, transposes and parts of them."""
    rng = random.Random(seed)
    steps = [(rng.random(), rng.random(), rng.random(), rng.choice(UNARY), rng.choice(BINARY)) for _ in range(25)]
    views: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x, lambda x: x.reshape([-1]).reshape(list(x.shape))]
    if rank:
        views += [lambda x: x[:1], lambda x: fg.flip(x, 0), lambda x: x[..., :1]]
    if rank == 2:
        views.append(lambda x: fg.swapaxes(fg.swapaxes(x, 0, 1) * 1.5, 0, 1))
    chosen = [rng.choice(views) for _ in steps]

    def run(*xs: Any) -> list[Any]:
        values = list(xs)
        for (i, j, kind, one, two), view in zip(steps, chosen, strict=True):
            x, y = values[int(i * len(values))], values[int(j * len(values))]
            values.append(one(view(x)) if kind < 0.4 else two(x, view(y)))
        return values[-6:]

    return run


def arrays(shape: tuple[int, ...], dtype: str, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [fg.tensor(rng.normal(size=shape).astype(dtype)) for _ in range(3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_random_formulas_have_the_bits_of_their_ops(shape: tuple[int, ...], dtype: str) -> None:
    for seed in range(6):
        f = formula(seed, len(shape))
        compiled = fg.compile(f, fullgraph=True)
        compiled(*arrays(shape, dtype, 0))
        xs = arrays(shape, dtype, 1)
        assert bits(compiled(*xs)) == bits(f(*xs)), f"seed {seed}"
        assert compiled.cache_info().hits == 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_random_formulas_have_the_bits_of_their_ops(shape: tuple[int, ...], dtype: str) -> None:
    for seed in range(4):
        f = formula(seed, len(shape))

        def gradient(*xs: Any, f: Any = f) -> Any:
            return func.grad(lambda *xs: sum((y * y).sum() for y in f(*xs)), (0, 1, 2))(*xs)

        compiled = fg.compile(gradient, fullgraph=True)
        compiled(*arrays(shape, dtype, 0))
        xs = arrays(shape, dtype, 1)
        assert bits(compiled(*xs)) == bits(gradient(*xs)), f"seed {seed}"


def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: func.grad(lambda x: f(x).sum())(x)


#: Programs that compute tanh and its derivative at the same numbers: one after the other, together, or once for all.
TANGENTS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: (fg.tanh(x), derivative(fg.tanh)(x)),
    "second": lambda x: (derivative(fg.tanh)(x), derivative(derivative(fg.tanh))(x)),
    "third": lambda x: [derivative(derivative(derivative(fg.tanh)))(x)],
    "loss of itself": lambda x: func.value_and_grad(lambda x: ((fg.tanh(x * 3) - x) ** 2).sum())(x),
    "branches": lambda x: func.value_and_grad(lambda x: sum((fg.tanh(x * k) * x).sum() for k in range(1, 9)))(x),
    "a fold of the value alone": lambda x: func.value_and_grad(lambda x: 3 * fg.tanh(x * 2).sum())(x),
    "folds of both": lambda x: [fg.tanh(x).sum(), derivative(fg.tanh)(x).sum(), (fg.tanh(x) * x).mean()],
    "one number": lambda x: func.value_and_grad(lambda a: (fg.tanh(a.sum()) * a).sum())(x),
    "nested": lambda x: func.value_and_grad(lambda x: fg.tanh(fg.tanh(x) * fg.tanh(x * x)).sum())(x),
}


@pytest.mark.parametrize("name", TANGENTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 3001])
def test_tanh_and_its_derivative_have_the_bits_of_their_ops(name: str, dtype: str, n: int) -> None:
    f = TANGENTS[name]
    compiled = fg.compile(f, fullgraph=True)
    compiled(fg.ones([n], dtype))
    rng = np.random.default_rng(0)
    odd = np.resize([-0.0, 1e-30, 7.8, -7.9, 8.1, 9.1, -44.0, 60.0, np.inf, -np.inf], n)
    for numbers in (rng.normal(size=n), rng.normal(size=n) * 10, odd):
        x = fg.tensor(numbers.astype(dtype))
        for found, wanted in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_more_values_than_registers() -> None:
    def f(x: Any, count: int) -> Any:
        values = [fg.sin(x * k) - x for k in range(count)]
        total = values[0]
        for a, b in zip(values, values[::-1], strict=True):
            total = total + -a * b
        return total

    for dtype in ("float64", "complex128"):
        for n, count in ((1, 2000), (1000, 300)):
            compiled = fg.compile(f, fullgraph=True)
            compiled(fg.ones([n], dtype), count)
            x = fg.cast(fg.linspace(0, 1, n), dtype)
            assert bits([compiled(x, count)]) == bits([f(x, count)])


def test_equal_expressions_and_transposed_results() -> None:
    def f(x: Any, y: Any) -> Any:
        a, b = fg.exp(x) * y, fg.exp(x) * y
        t = fg.swapaxes(x, 0, 1)
        return a + b, fg.tanh(t), fg.tanh(t) + fg.swapaxes(y, 0, 1), (x @ t) + (x @ t), a.real

    compiled = fg.compile(f, fullgraph=True)
    compiled(fg.ones([4, 6]), fg.ones([4, 6]))
    xs = arrays((4, 6), "float32", 3)[:2]
    found, wanted = compiled(*xs), f(*xs)
    assert bits(found) == bits(wanted)
    assert compiled.explain().count(" exp ") == 1


def test_equal_ops_with_equal_fields_run_once() -> None:
    def f(x: Any, y: Any) -> Any:
        def part(axis: int, factor: float) -> Any:
            return fg.cumsum(fg.stack([x, y * factor]), axis).sum(axis)

        drawn = fg.stack([fg.randn(3), fg.randn(3)])
        return part(0, 2.0) + part(0, 2.0), part(1, 2.0), part(0, 3.0), drawn

    compiled = fg.compile(f, fullgraph=True)
    xs = arrays((3, 6), "float32", 3)[:2]
    for _ in range(2):
        fg.manual_seed(1)
        found = compiled(*xs)
        fg.manual_seed(1)
        assert bits(found) == bits(f(*xs))
    assert [compiled.explain().count(f" {name} ") for name in ("stack", "cumsum", "randn")] == [3, 3, 2]


def test_arguments_that_repeat_their_elements() -> None:
    def f(x: Any, y: Any) -> Any:
        return fg.tanh(x), x * y + 1, fg.where(x > 0, y, x)

    row = fg.broadcast_to(fg.tensor([1.0, -2.0, 3.0]), [4, 3])
    column = fg.broadcast_to(fg.tensor([[1.0], [2.0], [-3.0], [4.0]]), [4, 3])
    compiled = fg.compile(f, fullgraph=True)
    compiled(row, column)
    assert bits(compiled(row * 1, column * 2)) == bits(f(row * 1, column * 2))
    assert bits(compiled(row, column)) == bits(f(row, column))


# Rows and their lengths: within a tile, over several tiles, over leaves of 4096 elements, over parts of 131072.
FOLDED = [(1, 2), (3, 7), (200, 64), (2, 1000), (1, 1500), (3, 2048), (3, 4096), (3, 5000), (1, 20_000), (20, 8192)]
LONG = [(1, (1 << 17) + 500), (1, (1 << 17) + 3000), (2, 1 << 18), (300, 1300)]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9, 33])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_broadcast_operands_with_rows_of_any_length(k: int, dtype: str) -> None:
    rng = np.random.default_rng(k)
    x, y, z, w = (fg.tensor(rng.normal(size=s).astype(dtype)) for s in [(37, k), (41, k), (37, 41), (k, 41, 37)])

    def run(x: Any, y: Any, z: Any, w: Any) -> list[Any]:
        turned = w.permute_dims([2, 1, 0])
        apart = x[:, None] - y[None]
        return [fg.tanh(apart * z[..., None] + turned), x[:, None] * fg.flip(turned, 2) > y, z[:, :, None] + y[0]]

    assert bits(fg.compile(run, fullgraph=True)(x, y, z, w)) == bits(run(x, y, z, w))


@pytest.mark.parametrize("inner", [(2, 2), (2, 4), (3, 2), (4, 8), (2, 2, 2), (9, 8), (1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex128"])
def test_operands_with_several_short_axes_in_another_order(inner: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(len(inner))

    def value(*shape: int) -> Any:
        return fg.tensor((rng.normal(size=shape) * 9).astype(dtype))

    n, rank = 1031, len(inner)
    x, y = value(n, *inner), value(*inner[::-1], n)
    rows, last, part = value(n, *inner[1:]), value(*inner[:-1], n, inner[-1]), value(n + 2, *(2 * d for d in inner))

    def run(x: Any, y: Any, rows: Any, last: Any, part: Any) -> list[Any]:
        inside = part[(slice(1, -1), *(slice(None, None, 2) for _ in inner))]
        turned = fg.permute(last, [rank - 1, *range(rank - 1), rank])
        a = x * fg.permute(y, list(range(rank + 1))[::-1]) + rows[:, None]
        return [a - inside, turned * x + a, fg.flip(x, -1) * turned]

    given = x, y, rows, last, part
    assert bits(fg.compile(run, fullgraph=True)(*given)) == bits(run(*given))


@pytest.mark.parametrize("shape", FOLDED + LONG, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32"])
def test_folds_of_what_a_cluster_computes_have_the_bits_of_their_ops(shape: tuple[int, int], dtype: str) -> None:
    def f(x: Any, y: Any) -> Any:
        a, b = x * y + x, x - y
        rows = (a * b).sum(1)
        return rows, a.sum(), fg.mean(b, -1, keepdims=True), b * 2, (b * 2).sum(1) + rows, (a.T * 3).sum(), a.sum(0)

    rng = np.random.default_rng(5)

    def values() -> list[Any]:
        return [fg.cast(fg.tensor(rng.normal(size=shape) * 9), dtype) for _ in range(2)]

    compiled = fg.compile(f, fullgraph=True)
    compiled(*values())
    xs = values()
    wanted = bits(f(*xs))
    before = fg.get_num_threads()
    try:
        for threads in (1, 2, 5):
            fg.set_num_threads(threads)
            assert bits(compiled(*xs)) == wanted, threads
    finally:
        fg.set_num_threads(before)
    assert compiled.cache_info().hits == 3


def test_a_fold_runs_with_the_cluster_whose_results_it_folds() -> None:
    x = fg.ones([50, 64])
    for f, passes in ((lambda x: (fg.tanh(x) * x).sum(), 1), (lambda x: (fg.tanh(x) * x).sum(1) + 1, 2)):
        compiled = fg.compile(f, fullgraph=True)
        compiled(x)
        assert f"{passes} passes" in compiled.explain().replace("1 pass ", "1 passes ")

    # Rows that a tile cannot hold, in a cluster that needs many registers, are folded afterwards.
    def wide(x: Any) -> Any:
        values = [fg.sin(x * k) for k in range(40)]
        total = sum(a * b for a, b in zip(values, values[::-1], strict=True))
        return [(total * v).sum(-1) for v in values]

    compiled = fg.compile(wide, fullgraph=True)
    x = fg.linspace(0, 1, 6000).reshape([3, 2000])
    compiled(x)
    assert bits(compiled(x * 2)) == bits(wide(x * 2))


def test_any_number_of_threads_gives_the_same_bits() -> None:
    x = fg.linspace(-3, 3, 200_000)
    compiled = fg.compile(lambda x: fg.sin(x) * fg.exp(x) + x, fullgraph=True)
    before = fg.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            fg.set_num_threads(threads)
            found.append(bits([compiled(x)]))
        assert found[0] == found[1] == found[2] == bits([fg.sin(x) * fg.exp(x) + x])
    finally:
        fg.set_num_threads(before)


ARITHMETIC: list[Callable[[Any, Any], Any]] = [fg.add, fg.subtract, fg.multiply]


def strange(n: int, dtype: str, seed: int) -> Any:
    """Numbers of which many are infinite, zero, or NaN of several kinds, which tell where a result comes from."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n).astype(dtype)
    kinds = np.frombuffer(
        np.array([0x7FC00001, 0xFFC00002, 0x7F800000, 0xFF800000, 0, 0x80000000], "u4").tobytes()
        if dtype == "float32"
        else np.array([0x7FF8 << 48 | 1, 0xFFF8 << 48 | 2, 0x7FF0 << 48, 0xFFF0 << 48, 0, 1 << 63], "u8").tobytes(),
        dtype,
    )
    return fg.tensor(np.where(rng.random(n) < 0.6, kinds[rng.integers(0, len(kinds), n)], x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [3, 7, 8, 13, 16, 33, 1000, 70_001])
def test_two_formulas_of_arithmetic_in_one_loop(dtype: str, n: int) -> None:
    """Each formula rounds its result, and of two operands that are NaN the result is the same one as eagerly."""
    arrays = [strange(n, dtype, seed) for seed in range(3)]
    numbers = [strange(1, dtype, 10 + seed) for seed in range(6)]
    for first in ARITHMETIC:
        for then in ARITHMETIC:

            def chain(
                a: Any, b: Any, c: Any, one: Any = first, two: Any = then
            ) -> tuple[Any, Any]:  # The result of the first formula is an operand of each kind of the second one.
                return two(one(a, b), c), two(c, one(b, a))

            run = fg.compile(chain)
            for given in (
                arrays,
                [arrays[0], numbers[0], arrays[1]],
                [arrays[0], arrays[1], numbers[1]],
                [numbers[2], arrays[1], numbers[3]],
                [numbers[4], arrays[0], arrays[1]],
                [arrays[0], arrays[0], arrays[0]],
                [arrays[0], numbers[5], numbers[5]],
            ):
                want = bits(chain(*given))
                assert bits(run(*given)) == want
                assert bits(run(*given)) == want


def test_a_result_that_is_read_elsewhere_too() -> None:
    """A formula whose result is an output, is folded, or is read twice is computed on its own."""
    x, y, z = (fg.tensor(np.random.default_rng(seed).standard_normal(1000)) for seed in range(3))
    functions: list[Callable[[Any, Any, Any], Any]] = [
        lambda x, y, z: ((t := x * y) + z, t),
        lambda x, y, z: ((t := x * y) + z, fg.sum(t)),
        lambda x, y, z: ((t := x * y) + t, z),
        lambda x, y, z: ((t := x * y) + z, t - z),
        lambda x, y, z: (fg.sum(x * y + z), fg.sum(x * y * z)),
        lambda x, y, z: (x * y + z + x * z + y + x - z * y, z),
        lambda x, y, z: (fg.tanh(x * y + z) * x * y, fg.sin(x) * z + y),
    ]
    for f in functions:
        run = fg.compile(f)
        assert bits(run(x, y, z)) == bits(run(x, y, z)) == bits(f(x, y, z))
