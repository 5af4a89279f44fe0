"""Programs of arithmetic, which are machine code where that is to be had: the bits are those of the ops."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

#: Of Linux: memory that a process has written to is not executed from then on.
PR_SET_MDWE, REFUSE = 65, 1
#: Whether all numbers are. Loops without vectors do not promise which of two NaN a sum or product gives.
IS_FINITE = os.environ.get("FERROGRAD_CPU") == "baseline"
#: Whether all NaN are alike. In loops for ARM it depends on where an element is which of two NaN its product with a
#: number is, and a product with a negated factor has the other sign.
IS_ALIKE = platform.machine().lower() in {"aarch64", "arm64"}


def values(n: int, dtype: str, seed: int) -> Any:
    """Numbers of all sizes, and zeros, infinities and NaN with bits of their own unless all are finite."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
    if IS_FINITE:
        return fg.tensor(x.astype(dtype))
    x[rng.random(n) < 0.2] = rng.choice([0.0, -0.0, np.inf, -np.inf, 1.0])
    x = x.astype(dtype)
    own = x.view("int32" if dtype == "float32" else "int64")
    own[rng.random(n) < 0.1] = np.array(np.nan, dtype).view(own.dtype) + rng.integers(1, 1000)
    return fg.tensor(x)


def arithmetic(x: Any, y: Any, a: Any) -> list[Any]:
    """All formulas of arithmetic, each returned and read by others, and more values than a processor has registers."""
    made = [x, y, x + y, x - y, x * y, x / y, -x, fg.abs(y), fg.sqrt(fg.abs(x)), fg.square(y)]
    made += [x**2, y**3, x**4, fg.abs(y) ** 1.5, a * x, x + a, y - a, a / x, a - y]
    sums = [made[i] + made[-i - 1] * made[(7 * i) % len(made)] for i in range(len(made))]
    while len(sums) > 1:
        sums = [p * 0.5 - q for p, q in zip(sums[::2], sums[1::2], strict=False)] + sums[len(sums) // 2 * 2 :]
    return [*made[2:], *sums]


def bits(tree: Any) -> list[bytes]:
    arrays = [x.numpy() for x in tree]
    if IS_ALIKE:
        arrays = [np.where(np.isnan(x), np.array(np.nan, x.dtype), x) for x in arrays]
    return [x.tobytes() for x in arrays]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 10, 15, 16, 17, 31, 33, 64, 100, 1000, 5000])
def test_arrays(n: int, dtype: str) -> None:
    x, y, a = values(n, dtype, 1), values(n, dtype, 2), values(1, dtype, 3).reshape([])
    assert bits(fg.compile(arithmetic)(x, y, a)) == bits(arithmetic(x, y, a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [16, 40, 1000])
def test_gradients(n: int, dtype: str) -> None:
    x, y = fg.abs(values(n, dtype, 4)), values(n, dtype, 5)

    def total(x: Any, y: Any) -> Any:
        return fg.sum(x**2 * y + x**3 + y**4 * x + x**1.5 * y + fg.sqrt(x) / y)

    own = func.grad(total, (0, 1))
    second = func.grad(lambda x, y: fg.sum(own(x, y)[0] * y), (0, 1))
    for f in (own, second):
        assert bits(fg.compile(f)(x, y)) == bits(f(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [3, 24, 100, 300])
def test_loops(length: int, dtype: str) -> None:
    rows = fg.tensor(np.random.default_rng(6).normal(size=length).astype(dtype))
    start = fg.tensor(np.array([0.5, -1.0, 2.0], dtype))

    def step(carry: Any, row: Any) -> Any:
        u, v, w = carry
        near = fg.where(u < v, u * 0.5, fg.where(w <= u, w, v))
        r = u * u + v * v + 0.1
        u = u + 0.01 * (v - near * row) / (r * fg.sqrt(r))
        v = v - 0.01 * fg.sin(u) + w * row
        return (u, v, fg.abs(0.5 * w - 0.1 * u**3) ** 1.5), near

    def run(start: Any, rows: Any) -> Any:
        carry, out = func.scan(step, (start[0], start[1], start[2]), rows)
        return [*carry, out]

    wanted = run(start, rows)
    assert all(np.isfinite(x.numpy()).all() for x in wanted)
    assert bits(fg.compile(run)(start, rows)) == bits(wanted)
    gradient = func.grad(lambda start, rows: sum(fg.sum(x) for x in run(start, rows)), (0, 1))
    assert bits(fg.compile(gradient)(start, rows)) == bits(gradient(start, rows))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_of_two_types(seed: int) -> None:
    """More numbers than a processor has registers, of which some wait while others of another type are computed."""

    def run(a: Any, b: Any) -> list[Any]:
        rng = np.random.default_rng(seed)
        made = {"float32": [a, a * 0.5], "float64": [b, b * 0.7]}
        for kind in rng.integers(0, 7, 80):
            dtype, other = rng.permutation(["float32", "float64"])
            x, y = (made[dtype][-rng.integers(1, min(len(made[dtype]), 30) + 1)] for _ in range(2))
            if kind < 2:
                made[dtype].append(x * y - x)
            elif kind < 4:
                made[dtype].append(x * 0.9 + y * 0.1)
            elif kind == 4:
                made[dtype].append(fg.sin(x))
            else:
                made[other].append(fg.cast(x, str(other)))
        return [made["float32"][-1], made["float64"][-1], made["float32"][-2], made["float64"][-2]]

    given = fg.tensor(np.array(0.3, "float32")), fg.tensor(np.array(0.7123456789))
    assert bits(fg.compile(run)(*given)) == bits(run(*given))


def sums_of_products(x: Any, y: Any, z: Any, a: Any) -> list[Any]:
    """Sums of products that nothing else reads."""
    return [x * y + z, z + y * a, x * z - y, y - x * a, a - y * z, x * x + y, z - y * y, z * z - a, z + x * (y + z)]


@pytest.mark.parametrize("n", [1, 3, 8, 15, 16, 33, 100, 3000])
def test_fast_rounds_a_product_and_its_sum_once(n: int) -> None:
    rng = np.random.default_rng(7)
    given = [rng.normal(size=size).astype("float32") for size in (n, n, n, ())]
    tensors = [fg.tensor(x) for x in given]
    # Products of float32 are exact in float64.
    x, y, z, a = (np.asarray(x, "float64") for x in given)
    inner = (y + z).astype("float32").astype("float64")
    exact = [x * y + z, z + y * a, x * z - y, y - x * a, a - y * z, x * x + y, z - y * y, z * z - a, z + x * inner]
    twice = sums_of_products(*tensors)
    assert bits(fg.compile(sums_of_products)(*tensors)) == bits(twice)
    for got, wanted, other in zip(fg.compile(sums_of_products, fast=True)(*tensors), exact, twice, strict=True):
        once = wanted.astype("float32")
        # Without machine code the bits are those of the ops.
        assert (got.numpy() == once).all() or (got.numpy() == other.numpy()).all()


def test_fast_is_near() -> None:
    start = fg.tensor(np.array([1.0, 0.0, 0.2, 1.0]))

    def run(start: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            x, y, u, v = carry
            r = x * x + y * y
            u, v = u - 0.01 * x / (r * fg.sqrt(r)), v - 0.01 * y / (r * fg.sqrt(r))
            return (x + 0.01 * u, y + 0.01 * v, u, v), r

        carry, rs = func.scan(step, (start[0], start[1], start[2], start[3]), fg.zeros([200]))
        return fg.sum(rs) + carry[0]

    both = func.value_and_grad(run)
    for got, wanted in zip(fg.compile(both, fast=True)(start), both(start), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-11)
    again = pickle.loads(pickle.dumps(fg.compile(fg.sin, fast=True)))
    assert bits([again(start)]) == bits([fg.sin(start)])


#: A program that prints nothing if compiled functions give the bits of the ops.
SAME = """
import numpy as np
import ferrograd as fg
from tests.compile import test_machine_code as own

own.IS_FINITE = True
for dtype in ("float32", "float64"):
    for n in (5, 100):
        own.test_arrays(n, dtype)
    own.test_gradients(40, dtype)
    own.test_loops(100, dtype)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_processors_with_less(level: str) -> None:
    environment = {**os.environ, "FERROGRAD_CPU": level}
    subprocess.run([sys.executable, "-c", SAME], env=environment, check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system refuses it for one process")
def test_a_system_that_gives_no_memory_for_code() -> None:
    refuse = f"""
import ctypes

if ctypes.CDLL(None).prctl({PR_SET_MDWE}, {REFUSE}, 0, 0, 0):
    raise SystemExit(77)
"""
    done = subprocess.run([sys.executable, "-c", refuse + SAME], check=False)
    if done.returncode == 77:
        pytest.skip("a kernel before Linux 6.3 cannot refuse it for one process")
    assert done.returncode == 0
