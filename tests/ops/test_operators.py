"""Python's operators with tensors, numbers, NumPy scalars and arrays on either side."""

import operator
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

A = np.array([[-3.5, 2.0], [1.5, 4.0]])
WHOLE = np.array([[-7, 3], [2, 5]])

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def same(t: Any, a: Any) -> None:
    assert isinstance(t, fg.Tensor)
    np.testing.assert_allclose(np.asarray(t), a, rtol=1e-15)


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS], ids=lambda o: o.__name__)
@pytest.mark.parametrize(
    "other", [2.5, 2, np.float64(2.5), np.int64(2), A.T, fg.tensor(A.T)], ids=lambda o: type(o).__name__
)
def test_floats(op: Callable[..., Any], other: Any) -> None:
    x = fg.tensor(A)
    same(op(x, other), op(A, np.asarray(other)))
    if not isinstance(other, np.ndarray):
        same(op(other, x), op(np.asarray(other), A))


@pytest.mark.parametrize("op", [*ARITHMETIC[:3], *ARITHMETIC[4:], *COMPARISONS, *BITS], ids=lambda o: o.__name__)
@pytest.mark.parametrize("other", [3, np.int64(3), np.abs(WHOLE.T)], ids=lambda o: type(o).__name__)
def test_integers(op: Callable[..., Any], other: Any) -> None:
    same(op(fg.tensor(WHOLE), other), op(WHOLE, np.asarray(other)))
    if not isinstance(other, np.ndarray):
        same(op(other, abs(fg.tensor(WHOLE))), op(np.asarray(other), np.abs(WHOLE)))


def test_power() -> None:
    x = fg.tensor(np.abs(A))
    same(x**2, A**2)
    same(2**x, 2 ** np.abs(A))
    same(pow(x, 0.5), np.abs(A) ** 0.5)
    with pytest.raises(TypeError):
        pow(x, 2, 3)


def test_divmod() -> None:
    q, r = divmod(fg.tensor(A), 2)
    same(q, A // 2)
    same(r, A % 2)
    q, r = divmod(7, fg.tensor(WHOLE))
    same(q, 7 // WHOLE)
    same(r, 7 % WHOLE)
    with pytest.raises(TypeError):
        divmod(fg.tensor(A), "x")


def test_unary() -> None:
    x = fg.tensor(A)
    same(-x, -A)
    same(+x, A)
    same(abs(x), abs(A))
    same(~fg.tensor(WHOLE), ~WHOLE)
    same(round(x), np.round(A))
    same(round(x / 3, 2), np.round(A / 3, 2))


def test_matmul() -> None:
    same(fg.tensor(A) @ A, A @ A)
    same(fg.tensor(A) @ fg.tensor(A), A @ A)


def test_operators_return_not_implemented_for_other_types() -> None:
    x: Any = fg.tensor(A)
    for op in (*ARITHMETIC, operator.pow, operator.lt, operator.and_):
        with pytest.raises(TypeError):
            op(x, "text")
        with pytest.raises(TypeError):
            op(object(), x)
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711


def test_a_tensor_is_a_key() -> None:
    x, y = fg.tensor(A), fg.tensor(A)
    table = {x: 1, y: 2}
    assert table[x] == 1
    assert table[y] == 2
    assert len({x, y, x}) == 2
    assert x in [x]
    assert hash(x) == hash(x)


def test_operators_are_differentiable() -> None:
    x = fg.tensor([2.0], requires_grad=True)
    (g,) = fg.grad(3 / x + 2**x - (1 - x) * x % 5 + abs(-x), [x])
    np.testing.assert_allclose(np.asarray(g), [-3 / 4 + 4 * np.log(2) - (1 - 4) + 1], rtol=1e-6)


def test_out_is_written_to() -> None:
    add: Any = fg.add
    target = fg.zeros(3)
    assert add(fg.ones(3), 2.0, out=target) is target
    assert target.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(fg.ShapeError, match="has shape"):
        add(fg.ones(3), 2.0, out=fg.zeros(2))
    with pytest.raises(fg.ArgumentError, match="out takes a tensor"):
        add(fg.ones(3), 2.0, out=np.zeros(3))
