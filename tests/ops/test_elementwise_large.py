"""Element-wise functions of arrays large enough for vectors and threads, against NumPy where NumPy is exact."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.cases import rng

WHOLE = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
ALL = ["bool", *WHOLE, "float32", "float64"]
N = 70_001


def floats(dtype: str) -> np.ndarray:
    """Floats of every size, around the bounds of every integer type, and NaN."""
    random = rng()
    ends = [
        s * (2.0**k + d) for k in (0, 7, 8, 15, 16, 31, 32, 52, 63, 64) for d in (-1, -0.5, 0, 0.5) for s in (1, -1)
    ]
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e300, *ends]
    sizes = random.normal(size=N) * 2.0 ** random.integers(-10, 70, N)
    sizes[: len(special)] = special
    # Also blocks in which all numbers are small.
    sizes[N // 2 :] = random.normal(size=N - N // 2) * 100
    with np.errstate(over="ignore"):
        return sizes.astype(dtype)


def saturated(x: np.ndarray, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    out = np.zeros(x.shape, dtype)
    wide = x.astype(np.float64)
    out[wide >= float(limits.max)] = limits.max
    out[wide <= float(limits.min)] = limits.min
    inside = (wide > float(limits.min)) & (wide < float(limits.max))
    out[inside] = wide[inside].astype(dtype)
    return out


def wrapped(x: np.ndarray, dtype: str, bits: int) -> np.ndarray:
    """The numbers that an integer of ``bits`` bits holds, modulo the range of the dtype; the others are 0."""
    wide = x.astype(np.float64)
    return np.where(np.abs(wide) < 2.0 ** (bits - 1), wide, 0).astype("int64").astype(dtype)


def converted(x: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in ("int32", "int64"):
        return saturated(x, dtype)
    if dtype == "uint64":
        return np.where(x < 0, wrapped(x, dtype, 64), saturated(x, dtype))
    return wrapped(x, dtype, 64 if dtype == "uint32" else 32)


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("to", WHOLE)
def test_casts_of_floats_to_integers_wrap_or_saturate(of: str, to: str) -> None:
    x = floats(of)
    x = x[~(x < -(2.0**62))] if to == "uint64" else x
    want = converted(x, to)
    np.testing.assert_array_equal(fg.cast(fg.tensor(x), to).numpy(), want)
    np.testing.assert_array_equal(fg.cast(fg.tensor(x)[::-3], to).numpy(), want[::-3])


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("to", WHOLE)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="C leaves open what processors make of such numbers")
def test_casts_of_floats_beyond_the_range_are_numpys(of: str, to: str) -> None:
    x = floats(of)
    x = x[np.abs(x) < (2.0**62 if to in ("int64", "uint64") else 2.0**30)]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(fg.cast(fg.tensor(x), to).numpy(), x.astype(to))


@pytest.mark.parametrize("of", ALL)
@pytest.mark.parametrize("to", ALL)
def test_casts_of_floats_that_fit_are_numpys(of: str, to: str) -> None:
    a = rng().integers(0, 127, (300, 70)).astype(of)
    x = fg.tensor(a)
    np.testing.assert_array_equal(fg.cast(x, to).numpy(), a.astype(to), strict=True)
    np.testing.assert_array_equal(fg.cast(x.T, to).numpy(), a.T.astype(to), strict=True)
    np.testing.assert_array_equal(fg.cast(x[:, ::7], to).numpy(), a[:, ::7].astype(to), strict=True)
    np.testing.assert_array_equal(fg.cast(x[:0], to).numpy(), a[:0].astype(to), strict=True)
    np.testing.assert_array_equal(fg.cast(x[0, 0], to).numpy(), a[0, 0].astype(to), strict=True)
    some = fg.broadcast_to(x[:1], (3, 70))
    np.testing.assert_array_equal(fg.cast(some, to).numpy(), np.repeat(a[:1], 3, 0).astype(to), strict=True)


@pytest.mark.parametrize("of", WHOLE)
@pytest.mark.parametrize("to", ALL)
def test_casts_of_integers_are_numpys(of: str, to: str) -> None:
    limits = np.iinfo(of)
    a = rng().integers(limits.min, limits.max, N, dtype=of, endpoint=True)
    # A 64-bit integer is rounded once.
    np.testing.assert_array_equal(fg.cast(fg.tensor(a), to).numpy(), a.astype(to), strict=True)


def quotients(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    random = rng()
    x, y = random.normal(size=(2, N)) * 2.0 ** random.integers(-60, 60, (2, N))
    x[: N // 2], y[: N // 2] = random.normal(size=(2, N // 2)) * 10
    x[:20_000] = np.round(x[:20_000] * 10)
    y[:20_000] = np.round(y[:20_000])
    special = [0.0, -0.0, 1.0, -1.0, 0.1, -3.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e-45, 1e300, -1e38]
    pairs = np.array(list(itertools.product(special, special))).T
    x[-pairs.shape[1] :], y[-pairs.shape[1] :] = pairs
    with np.errstate(over="ignore"):
        return x.astype(dtype), y.astype(dtype)


def floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """NumPy's quotient, and the floor of the quotient where an operand is infinite."""
    return np.where(np.isinf(x) | np.isinf(y), np.floor(x / y), np.floor_divide(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact(dtype: str) -> None:
    x, y = quotients(dtype)
    with np.errstate(all="ignore"):
        rest, floor = np.remainder(x, y), floor_divide(x, y)
        fmod, fmod_by_three = np.fmod(x, y), np.fmod(x, np.dtype(dtype).type(-3))
        by_three, floor_by_three = np.remainder(x, np.dtype(dtype).type(3)), floor_divide(x, np.dtype(dtype).type(3))
    for got, want in (
        (fg.remainder(fg.tensor(x), fg.tensor(y)), rest),
        (fg.floor_divide(fg.tensor(x), fg.tensor(y)), floor),
        (fg.remainder(fg.tensor(x), 3.0), by_three),
        (fg.floor_divide(fg.tensor(x), 3.0), floor_by_three),
        (fg.remainder(fg.tensor(x)[::-2], fg.tensor(y)[::-2]), rest[::-2]),
        (fg.fmod(fg.tensor(x), fg.tensor(y)), fmod),
        (fg.fmod(fg.tensor(x), -3.0), fmod_by_three),
    ):
        np.testing.assert_array_equal(got.numpy(), want)
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got.numpy()[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8"])
def test_integer_remainders_are_exact(dtype: str) -> None:
    random, limits = rng(), np.iinfo(dtype)
    x, y = random.integers(limits.min, limits.max, (2, N), dtype=dtype, endpoint=True)
    # Blocks of small numbers, and blocks of pairs of a large and a small number.
    x[: N // 2] >>= np.array(limits.bits // 2 - 1, dtype)
    y[N // 4 :] >>= np.array(limits.bits - 5, dtype)
    y[y == 0] = 1
    # The last block has numbers close to the largest of the dtype.
    x[-600:], y[-600:] = np.array(limits.max, dtype) - x[-600:] % 7, np.array(limits.max, dtype) - y[-600:] % 5
    with np.errstate(over="ignore"):
        rest, floor = np.remainder(x, y), np.floor_divide(x, y)
    np.testing.assert_array_equal(fg.remainder(fg.tensor(x), fg.tensor(y)).numpy(), rest)
    np.testing.assert_array_equal(fg.floor_divide(fg.tensor(x), fg.tensor(y)).numpy(), floor)
    for op in (fg.remainder, fg.floor_divide):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert not op(fg.tensor(x), fg.tensor(np.zeros(1, dtype))).numpy().any()


TRIPLES: dict[str, Callable[..., Any]] = {
    "lerp": fg.lerp,
    "lerp by a number": lambda x, y, z: fg.lerp(x, y, 0.3) + 0 * z,
    "addcmul": lambda x, y, z: fg.addcmul(x, y, z, 0.7),
    "addcmul of one": fg.addcmul,
    "addcdiv": lambda x, y, z: fg.addcdiv(x, y, z, -2),
    "clip": fg.clip,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TRIPLES)
def test_one_pass_over_three_gives_the_bits_of_many(name: str, dtype: str) -> None:
    odd = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310]
    x, y, z = np.array(list(itertools.product(odd, odd, odd)), dtype).T
    large = rng().normal(size=(3, 300, 200)).astype(dtype)
    for a, b, c in (
        (x, y, z),
        (large[0], large[1], large[2]),
        (large[0].T, large[1].T, large[2].T),
        (large[0], large[1, 0], large[2, :, :1]),
        (large[0][:, ::2], large[1][:, ::2], large[2, 0, 0]),
        (large[0][:0], large[1][:0], large[2][:0]),
    ):
        alone = TRIPLES[name](*map(fg.tensor, (a, b, c)))
        followed = TRIPLES[name](*(fg.tensor(v, requires_grad=True) for v in (a, b, c)))
        np.testing.assert_array_equal(alone.numpy(), followed.detach().numpy(), strict=True)


def test_sums_at_indices_have_the_same_bits_for_any_number_of_threads() -> None:
    random, before = rng(), fg._core.num_threads()
    calls: list[tuple[Callable[..., Any], np.ndarray, int, np.ndarray]] = []
    flat = random.normal(size=200_000)
    for f in (fg.index_add, fg.scatter_add):
        calls.append((f, flat, 0, random.integers(0, 3000, 200_000)))
    for x in (random.normal(size=(500, 600)), random.normal(size=(40, 50, 60))):
        for axis, n in enumerate(x.shape):
            calls.append((fg.index_add, x, axis, random.integers(-n, n, n)))
            calls.append((fg.scatter_add, x, axis, random.integers(-n, n, x.shape)))
            calls.append((fg.scatter_add, x, axis, random.integers(-n, n, x.shape)[:30, :40]))
    try:
        for f, x, axis, at in calls:
            fg._core.set_num_threads(1)
            source = x if at.ndim == 1 else x[tuple(map(slice, at.shape))]
            alone = f(fg.tensor(x), axis, fg.tensor(at), fg.tensor(source)).numpy()
            for threads in (2, 3):
                fg._core.set_num_threads(threads)
                many = f(fg.tensor(x), axis, fg.tensor(at), fg.tensor(source)).numpy()
                assert many.tobytes() == alone.tobytes()
            want = x.copy()
            grid: list[np.ndarray] = list(np.indices(source.shape))
            grid[axis] = at.reshape([-1 if a == axis else 1 for a in range(x.ndim)]) if at.ndim == 1 else at
            np.add.at(want, tuple(grid), source)
            np.testing.assert_array_equal(alone, want)
    finally:
        fg._core.set_num_threads(before)
