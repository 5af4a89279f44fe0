"""Small arrays, which a program computes as single numbers: bits and layouts are those of the ops one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

from tests.compile.test_closed_door import agree

# Each takes small arrays x [2, 3], y [3, 2] and z [3] and returns one of these shapes.
STEPS: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("x", lambda x, y, z: x + z),
    ("x", lambda x, y, z: fg.stack([z * 2, x[1]])),
    ("x", lambda x, y, z: y.T - 1),
    ("x", lambda x, y, z: (x @ y) @ x),
    ("x", lambda x, y, z: fg.roll(x, 1, 1) * x),
    ("x", lambda x, y, z: fg.where(x > 0.1, x, z)),
    ("x", lambda x, y, z: fg.tanh(x) / 2),
    ("x", lambda x, y, z: fg.concat([x[:1], z.reshape([1, 3])])),
    ("x", lambda x, y, z: fg.cast(fg.cast(x, "int32"), x.dtype) + y[0, 0]),
    ("y", lambda x, y, z: fg.sin(y) + x.T),
    ("y", lambda x, y, z: y @ fg.stack([z[:2], z[1:]])),
    ("y", lambda x, y, z: fg.flip(y, 0) - z.reshape([3, 1])),
    ("y", lambda x, y, z: fg.exp(-fg.abs(y))),
    ("y", lambda x, y, z: fg.outer(z, x[:, 0])),
    ("z", lambda x, y, z: fg.sum(x * x, 0)),
    ("z", lambda x, y, z: fg.sum(y, 1) - z),
    ("z", lambda x, y, z: fg.mean(x, 0)),
    ("z", lambda x, y, z: y @ x[:, 1]),
    ("z", lambda x, y, z: z / (1 + fg.sum(z * z))),
    ("z", lambda x, y, z: fg.linalg.cross(z, x[0])),
    ("z", lambda x, y, z: fg.pad(z[1:], [(1, 0)]) + z),
    ("z", lambda x, y, z: fg.cumulative_sum(z)),
    ("z", lambda x, y, z: fg.max(x, axis=0)),
    ("z", lambda x, y, z: fg.diagonal(fg.outer(z, z) * (y @ x))),
]


def formula(seed: int) -> Callable[..., list[Any]]:
    """A random formula of small arrays."""
    rng = random.Random(seed)
    chosen = [rng.choice(STEPS) for _ in range(20)]

    def run(x: Any, y: Any, z: Any) -> list[Any]:
        now = {"x": x, "y": y, "z": z}
        for name, step in chosen:
            now[name] = step(now["x"], now["y"], now["z"])
        return [now["x"], now["y"], now["z"], now["x"][0, 1] * now["z"][2], now["y"].T]

    return run


def arrays(rng: np.random.Generator, dtype: str) -> list[Any]:
    return [fg.tensor(rng.standard_normal(d).astype(dtype)) for d in [(2, 3), (3, 2), (3,)]]


def bits(tree: Any) -> list[tuple[tuple[int, ...], tuple[int, ...], bytes]]:
    return [(tuple(x.shape), x.numpy().strides, x.numpy().tobytes()) for x in tree]


@pytest.mark.parametrize("seed", range(60))
def test_programs_of_small_arrays_have_eagers_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = ["float64", "float32"][seed % 2]
    f = formula(seed)
    compiled = fg.compile(f, fullgraph=True)
    for _ in range(3):
        args = arrays(rng, dtype)
        assert bits(compiled(*args)) == bits(f(*args))


@pytest.mark.parametrize("seed", range(30))
def test_their_gradients_have_eagers_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = formula(seed)

    def loss(*args: Any) -> Any:
        return sum((fg.sum(v) for v in f(*args)[:3]), fg.tensor(0.0, dtype="float64"))

    first = func.grad(loss, argnums=(0, 1, 2))

    def second(*args: Any) -> Any:
        return func.grad(lambda *a: fg.sum(first(*a)[0] * 1.5), argnums=(0, 2))(*args)

    compiled = [fg.compile(first, fullgraph=True), fg.compile(second, fullgraph=True)]
    for _ in range(2):
        args = arrays(rng, "float64")
        for c, g in zip(compiled, [first, second], strict=True):
            assert [v for _, _, v in bits(c(*args))] == [v for _, _, v in bits(g(*args))]


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, -1.5]


def numbers(tree: Any) -> list[bytes]:
    """The bits, with one NaN for all: which of two NaNs their sum or product is depends on the compiler."""
    return [np.where(np.isnan(x.numpy()), np.nan, x.numpy()).tobytes() for x in tree]


def test_special_numbers_keep_their_bits() -> None:
    rng = np.random.default_rng(0)

    def f(x: Any, y: Any) -> list[Any]:
        product = x @ y
        sums = [fg.sum(x, 0), fg.sum(x, 1), fg.sum(x)]
        return [
            product,
            *sums,
            x[0] * y[:, 1],
            fg.stack([x[0, 0], y[1, 1]]),
            -x,
            x.T @ x,
            fg.sum(-x[:0], 0),
            x[0] @ y[:, 0],
            fg.sum(x * x, 1) + 0.0,
            fg.sum(fg.abs(x), 0) + fg.sum(fg.square(y), 0),
            fg.concat([x[0], fg.zeros(1, dtype=x.dtype)]) + fg.concat([fg.zeros(1, dtype=x.dtype), y[0]]),
            x**2 + 0.0,
            x**1.5,
            func.grad(lambda x: fg.sum((x - y) ** 2 + x**1.5))(x),
            fg.where(x < y, x, y),
        ]

    compiled = fg.compile(f, fullgraph=True)
    for _ in range(200):
        args = [fg.tensor(rng.choice(SPECIAL, size=(2, 2))) for _ in range(2)]
        assert numbers(compiled(*args)) == numbers(f(*args))


def test_numbers_and_larger_arrays_use_each_other() -> None:
    def f(x: Any, big: Any) -> list[Any]:
        small = x @ x + 1
        wide = big * small[0, 1] + fg.sum(small)
        again = fg.stack([wide[0], wide[5]]) * small[0]
        return [fg.sum(wide * wide), again, wide[:3] * again[1], fg.matmul(big.reshape([50, 2]), small)]

    compiled = fg.compile(f, fullgraph=True)
    rng = np.random.default_rng(3)
    for _ in range(3):
        x, big = fg.tensor(rng.standard_normal((2, 2))), fg.tensor(rng.standard_normal(100))
        assert bits(compiled(x, big)) == bits(f(x, big))


def test_a_written_argument_and_a_result_that_is_only_moved() -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * 2
        return fg.roll(x, 1, 0), fg.concat([x, fg.zeros(2, dtype=x.dtype)])

    ours, theirs = fg.tensor([1.0, 2.0, 3.0]), fg.tensor([1.0, 2.0, 3.0])
    compiled = fg.compile(f, fullgraph=True)
    for _ in range(3):
        assert bits([*compiled(ours), ours]) == bits([*f(theirs), theirs])


def test_a_vmapped_and_a_scanned_program_of_small_arrays() -> None:
    def step(p: Any, z: Any) -> tuple[Any, Any]:
        gain = p[:, 0] / (p[0, 0] + 0.1)
        return p - gain.reshape([2, 1]) * p[:1] + 0.01 * fg.eye(2, dtype=p.dtype), fg.sum(gain) * z

    def f(p: Any, zs: Any) -> list[Any]:
        last, out = func.scan(step, p, zs)
        return [last, out, func.vmap(lambda z: step(p, z)[0])(zs)]

    compiled = fg.compile(f, fullgraph=True)
    p, zs = fg.tensor([[1.0, 0.5], [0.5, 2.0]]), fg.linspace(0, 1, 4)
    assert bits(compiled(p, zs)) == bits(f(p, zs)) == bits(compiled(p, zs))


def test_wide_numbers_and_empty_arrays_beside_small_ones() -> None:
    def f(c: Any, x: Any, none: Any) -> list[Any]:
        size = fg.abs(c * c)
        return [c * c, x * 2, size * x, fg.sum(x) * c, fg.var(none, axis=1), fg.linalg.cross(none, none), size + 1]

    compiled = fg.compile(f, fullgraph=True)
    args = [fg.tensor(1 + 2j, dtype="complex128"), fg.tensor([1.0, 2.0], dtype="float64"), fg.zeros((0, 3))]
    for _ in range(2):
        assert bits(compiled(*args)) == bits(f(*args))


def test_powers_of_arrays_of_exponents() -> None:
    rng = np.random.default_rng(0)
    x, y = fg.tensor(np.abs(rng.standard_normal(9)) * 2), fg.tensor(rng.integers(-4, 5, 9).astype(float))

    def loss(x: Any, y: Any) -> Any:
        return fg.sum(x**y)

    def f(x: Any, y: Any) -> list[Any]:
        return [x**y, x ** y[3], 1.5**y, *func.grad(loss, argnums=(0, 1))(x, y)]

    assert bits(fg.compile(f, fullgraph=True)(x, y)) == bits(f(x, y))


def test_a_file_keeps_them(tmp_path: Path) -> None:
    whole = formula(5)

    def f(*args: Any) -> list[Any]:
        return [fg.clone(v) for v in whole(*args)]

    compiled = fg.compile(f, fullgraph=True)
    args = arrays(np.random.default_rng(1), "float64")
    compiled(*args)
    compiled.save(tmp_path / "small.fgp")
    loaded = fg.load_compiled(tmp_path / "small.fgp")
    assert bits(loaded(*args)) == bits(f(*args))


def test_a_step_that_is_computed_number_by_number_is_named_once() -> None:
    def f(x: Any) -> Any:
        return fg.sin(x @ x) + 1

    compiled = fg.compile(f, fullgraph=True)
    compiled(fg.ones((2, 2), dtype="float64"))
    text = str(compiled.explain())
    assert [text.count(name) for name in (" matmul ", " sin ", " add ")] == [1, 1, 1]
    assert " 1 passes" in text


def test_parts_of_complex_numbers_beside_other_numbers() -> None:
    def f(z: Any, x: Any) -> list[Any]:
        return [
            fg.stack([-fg.real(z), x[0] * 2]),
            fg.roll(fg.imag(z).reshape([1]) - 1, 0),
            fg.stack([x[1], fg.exp(fg.imag(z))]),
        ]

    def slope(z: Any, x: Any) -> Any:
        return func.grad(lambda x: fg.sum(fg.real(1 / (1 + (z - 1) * x[1:]))))(x)

    rng = np.random.default_rng(4)
    compiled = [fg.compile(f, fullgraph=True), fg.compile(slope, fullgraph=True)]
    for dtype in ["complex128", "complex64"] * 2:
        z, x = fg.tensor(rng.standard_normal(2).astype(dtype))[0], fg.tensor(rng.standard_normal(2))
        assert bits(compiled[0](z, x)) == bits(f(z, x))
        assert bits([compiled[1](z.reshape([1]), x)]) == bits([slope(z.reshape([1]), x)])


#: Functions of a few columns of a matrix p [n, 4] and of vectors q [n] and r [n]. The gradient of a column is a matrix
#: of zeros but for that column.
COLUMNS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "each column": lambda p, q, r: p[:, 0] * q - p[:, 1] * r + p[:, 2] * p[:, 3] * q * r,
    "some often": lambda p, q, r: fg.sin(p[:, 1] * q) * p[:, 1] + p[:, 3] * p[:, 1],
    "one alone": lambda p, q, r: (p[:, 2] * q + r) * p[:, 2] * p[:, 2],
    "stacked": lambda p, q, r: (fg.stack([p[:, 3], q, p[:, 3] * r, p[:, 0]], -1) * p + p[:, 1:2])[:, 1:3].sum(1),
    "stacked twice": lambda p, q, r: fg.stack([fg.stack([q, r], 1) + p[:, :2], p[:, 2:]], 1)[:, 1, 0] * p[:, 3],
    "signs": lambda p, q, r: fg.abs(p[:, 0]) * q + fg.sign(p[:, 1]) * p[:, 0] - p[:, 2] * 0.0,
    "reversed": lambda p, q, r: fg.stack([fg.flip(p, 0)[:, 1], q[::-1], p[:, 0], r], 1)[:, :2].sum(1) + p[::-1, 3] * q,
    "squares": lambda p, q, r: (
        (fg.pad((p[:, 2:3] * p[:, 2:3]), [(0, 0), (1, 0)]) + fg.stack([q * 0.0, r], 1))[:, 1] * q
    ),
    "rows too": lambda p, q, r: p[:, 0] * q + p[0, 1] * r + p[1] @ p[2] * p[:, 1],
}


@pytest.mark.parametrize("n", [8, 9, 64, 700])
@pytest.mark.parametrize("name", COLUMNS)
def test_gradients_of_columns(name: str, n: int) -> None:
    def loss(p: Any, q: Any, r: Any) -> Any:
        return (COLUMNS[name](p, q, r) * q).sum() + (COLUMNS[name](p * 0.5, r, q)[::2]).sum()

    def args(seed: int, dtype: str) -> list[Any]:
        rng = np.random.default_rng(seed)
        made = [rng.standard_normal(d).astype(dtype) for d in [(n, 4), (n,), (n,)]]
        for a in made:
            a[rng.random(a.shape) < 0.2] = rng.choice([0.0, -0.0])
        return [fg.tensor(a) for a in made]

    for dtype in ["float64", "float32"]:
        agree(func.grad(loss, (0, 1, 2)), args(0, dtype), args(1, dtype))
    agree(
        func.vmap(func.grad(lambda p, q: (p[0] * q + p[1]) * p[0] * p[3])),
        args(0, "float64")[:2],
        args(1, "float64")[:2],
    )
    agree(COLUMNS[name], args(0, "float64"), args(1, "float64"))


@pytest.mark.parametrize("exponent", [2.0, -2.0, 0.5, -0.5, 3.0, 1.5])
def test_powers_of_columns_of_one_exponent_are_those_of_the_array(exponent: float) -> None:
    def f(x: Any, y: Any, z: Any) -> list[Any]:
        exponents = fg.stack([y.expand(500), z.expand(500)], 1)
        powers = x.reshape([500, 1]) ** exponents
        return [powers[:, 0] * 2, powers[:, 1] * 3, fg.roll(powers, 1, 1)[:, 0] + exponents[:, 0]]

    x = fg.tensor(np.abs(np.random.default_rng(0).standard_normal(500)))
    y, z = fg.tensor(exponent, dtype="float64"), fg.tensor(1.3, dtype="float64")
    assert bits(fg.compile(f, fullgraph=True)(x, y, z)) == bits(f(x, y, z))


def test_columns_that_are_only_moved_take_no_pass() -> None:
    def f(x: Any, y: Any) -> Any:
        pair = fg.roll(fg.stack([x, y, x[::-1]], 1), 1, 1)
        return fg.sin(pair[:, 0] * pair[:, 1]) + fg.pad(pair[:, 1:], [(0, 0), (1, 0)])[:, 2]

    rng = np.random.default_rng(0)
    args = [fg.tensor(rng.standard_normal(50)) for _ in range(2)]
    compiled = fg.compile(f, fullgraph=True)
    assert bits([compiled(*args)]) == bits([f(*args)])
    assert " 1 passes" in str(compiled.explain())


def test_gradients_of_parameters_in_batches_of_loops() -> None:
    def one(p: Any, a: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            u, v = c
            return (u + 0.1 * (p[0] * u - p[1] * u * v), v + 0.1 * (p[2] * u * v - p[3] * v)), u * p[0]

        (u, v), ys = func.scan(step, (a, a * 0.5), None, 40)
        return u * v + ys.sum()

    rng = np.random.default_rng(0)
    first, second = ([fg.tensor(np.abs(rng.standard_normal(d)) * 0.3) for d in ((24, 4), (24,))] for _ in range(2))
    agree(func.vmap(func.grad(one, (0, 1))), first, second)
