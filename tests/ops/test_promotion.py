"""Type promotion: NumPy's within a kind, the stronger kind's dtype across kinds, and weak Python numbers."""

import operator
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch

BOOL = ["bool"]
INTS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float32", "float64"]
DTYPES = BOOL + INTS + FLOATS


def kind(dtype: str) -> int:
    return next(i for i, group in enumerate((BOOL, INTS, FLOATS)) if dtype in group)


def promoted(a: str, b: str) -> str:
    if kind(a) != kind(b):
        return max(a, b, key=kind)
    return np.promote_types(a, b).name


def tensor(dtype: str) -> Any:
    return fg.tensor(np.ones(2, dtype))


@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("a", DTYPES)
def test_pairs(a: Any, b: Any) -> None:
    x, y = tensor(a), tensor(b)
    want = promoted(a, b)
    assert (x + y).dtype == want
    assert (x * y).dtype == want
    assert fg.maximum(x, y).dtype == want
    assert fg.where(fg.tensor([True, False]), x, y).dtype == want
    assert (x / y).dtype == (want if want in FLOATS else "float32")
    assert (x == y).dtype == "bool"
    if want == "bool":
        for refused in (operator.sub, operator.floordiv, operator.mod, operator.pow):
            with pytest.raises(fg.DtypeError):
                refused(x, y)
    else:
        for op in (operator.sub, operator.floordiv, operator.mod, operator.pow):
            assert op(x, y).dtype == want
    if want in FLOATS:
        with pytest.raises(fg.DtypeError):
            x & y
    else:
        assert (x & y).dtype == (x | y).dtype == (x ^ y).dtype == want
    # NumPy arrays take part with their dtype, on either side and 0-d too.
    assert (x + np.ones(2, b)).dtype == want
    assert (x + np.ones((), b)).dtype == want
    assert (x + fg.tensor(np.ones((), b))).dtype == want


WEAK = {
    "bool": [True, np.True_],
    "int": [1, np.int8(1), np.int64(1), np.uint64(1)],
    "float": [1.0, np.float32(1), np.float64(1)],
}


@pytest.mark.parametrize(("weak", "number"), [(k, n) for k, group in WEAK.items() for n in group])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_weak(dtype: str, weak: Any, number: Any) -> None:
    x = tensor(dtype)
    stronger = {"bool": 0, "int": 1, "float": 2}[weak] > kind(dtype)
    want = {"int": "int64", "float": "float32"}[weak] if stronger else dtype
    if isinstance(number, np.float64) and dtype not in FLOATS:
        # NumPy's scalar says how exact it is, and beside integers it counts.
        want = "float64"
    assert (x + number).dtype == want
    assert (x * number).dtype == want
    assert (number + x).dtype == want
    assert fg.maximum(x, number).dtype == want
    assert (number * x).dtype == fg.multiply(number, x).dtype == want
    assert (x / number).dtype == (want if want in FLOATS else "float32")
    assert (x < number).dtype == "bool"


@pytest.mark.parametrize("dialect", [paddle, torch])
def test_a_scalar_of_numpys_is_a_number_of_pythons_in_a_dialect(dialect: Any) -> None:
    x = dialect.ones([2], dtype="int64")
    assert (x * np.float64(0.5)).dtype == dialect.float32


def test_a_scalar_of_numpys_beside_integers_in_a_transform() -> None:
    counts = fg.tensor(np.array([3, 70000001]))
    want = np.array([3, 70000001]) * 0.1

    def scaled(n: Any) -> Any:
        return n * np.float64(0.1)

    for f in (scaled, fg.compile(scaled), func.vmap(scaled)):
        assert f(counts).dtype == np.float64
        np.testing.assert_array_equal(f(counts).numpy(), want)
    assert (counts * np.complex128(1j)).dtype == np.complex128
    assert (counts * np.longdouble(2)).dtype == np.float64
    assert fg.where(counts > 5, counts, np.float64(0.5)).dtype == np.float64


def test_a_scalar_of_numpys_that_meets_no_tensor_says_how_exact_it_is() -> None:
    half = np.float64(0.1)
    made: list[Any] = [
        fg.hypot(half, 2.0),
        fg.add(half, half),
        fg.maximum(1, half),
        fg.full((2,), half),
        fg.linspace(half, 1.0, 3),
        fg.linspace(0, half, 3),
        fg.arange(np.float64(3.0)),
        fg.arange(0, 1, half),
        fg.logspace(half, 1.0, 3),
    ]
    assert [x.dtype for x in made] == [np.float64] * len(made)
    assert fg.full((1,), half).item() == 0.1
    assert fg.full((1,), np.complex128(0.1j)).dtype == np.complex128
    # A dtype that is given counts, and so do a tensor's and the default where the numbers are Python's.
    assert fg.full((1,), half, dtype="float32").dtype == fg.full((1,), 0.1).dtype == np.float32
    assert fg.full_like(fg.ones(1), half).dtype == fg.full((1,), np.float32(0.1)).dtype == np.float32
    assert torch.full([1], half).dtype == torch.float32
    assert paddle.full([1], half).dtype == paddle.float32


@pytest.mark.parametrize("dtype", BOOL + INTS)
@pytest.mark.parametrize("f", [fg.sin, fg.exp, fg.sqrt, fg.sigmoid, fg.gelu, fg.softplus, fg.leaky_relu])
def test_float_functions_of_integers_give_the_default_float(f: Callable[..., Any], dtype: str) -> None:
    assert f(tensor(dtype)).dtype == np.float32


def test_truth_values() -> None:
    t, f = fg.tensor([True, True, False]), fg.tensor([True, False, False])
    assert np.asarray(t + f).tolist() == [True, True, False]
    assert np.asarray(t * f).tolist() == [True, False, False]
    assert np.asarray(fg.maximum(t, f)).tolist() == [True, True, False]
    assert np.asarray(fg.minimum(t, f)).tolist() == [True, False, False]
    wrong: list[Callable[[], Any]] = [lambda: t - f, lambda: -t, lambda: abs(t), lambda: t << f]
    for refused in wrong:
        with pytest.raises(fg.DtypeError):
            refused()
    assert np.asarray(~t).tolist() == [False, False, True]


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_around_as_numpys(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, info.max, 3], dtype)
    b = np.array([info.max, info.max, 2, 5], dtype)
    x, y = fg.tensor(a), fg.tensor(b)
    with np.errstate(all="ignore"):
        for op in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
            assert np.asarray(op(x, y)).tolist() == op(a, b).tolist()
        assert np.asarray(x ** fg.tensor(np.array(3, dtype))).tolist() == (a ** np.array(3, dtype)).tolist()
        assert np.asarray(-x).tolist() == (-a).tolist()
        assert np.asarray(abs(x)).tolist() == abs(a).tolist()
    shift = np.array([0, 1, info.bits, 3], dtype)
    assert np.asarray(x << fg.tensor(shift)).tolist() == (a << shift).tolist()
    assert np.asarray(x >> fg.tensor(shift)).tolist() == (a >> shift).tolist()


def test_the_smallest_integer_divided_by_minus_one_does_not_trap() -> None:
    x = fg.tensor(np.array([-(2**63)]))
    assert np.asarray(x // -1).tolist() == [-(2**63)]
    assert np.asarray(x % -1).tolist() == [0]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.asarray(x // 0).tolist() == [0]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.asarray(x % 0).tolist() == [0]


def test_numbers_that_do_not_fit() -> None:
    x = fg.tensor(np.array([0, 255], np.uint8))
    wrong: list[Callable[[], Any]] = [lambda: x + 256, lambda: x * -1, lambda: fg.tensor([1]) + 2**63]
    for refused in wrong:
        with pytest.raises(fg.ArgumentError, match="does not fit"):
            refused()
    assert np.asarray(x < 256).tolist() == [True, True]
    assert np.asarray(x > -1).tolist() == [True, True]
    assert np.asarray(x == 256).tolist() == [False, False]
    assert np.asarray(x >= 254.5).tolist() == [False, True]
    assert np.asarray(fg.greater(300, x)).tolist() == [True, True]
    assert np.asarray(fg.tensor([2**62 + 1]) == 2.0**62).tolist() == [True]
    assert np.asarray(fg.clip(x, -1, 300)).tolist() == [0, 255]
    assert fg.clip(x, 0.5, None).dtype == np.float32
