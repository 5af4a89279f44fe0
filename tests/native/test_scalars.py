"""Conversions to Python's numbers and lists, formatting, iteration, membership and hashing."""

from __future__ import annotations

import operator
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

from tests.dialects import ALL, Dialect

every = pytest.mark.parametrize("d", ALL, ids=repr)
SHAPES = [(), (1,), (1, 1), (1, 1, 1)]


@every
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("track", [False, True])
def test_a_tensor_of_one_element_converts_to_a_number(d: Dialect, shape: tuple[int, ...], track: bool) -> None:
    x = d.tensor(np.full(shape, 2.5), track)
    for f, want in ((float, 2.5), (int, 2), (bool, True), (complex, 2.5 + 0j)):
        number = f(x)
        assert type(number) is f
        assert number == want
    assert type(x.item()) is float
    assert x.item() == 2.5
    assert d.tensor(np.zeros(shape)).item() == 0
    assert not d.tensor(np.zeros(shape))
    assert type(d.tensor(np.full(shape, 3)).item()) is int
    assert type(d.tensor(np.full(shape, True)).item()) is bool
    assert operator.index(d.tensor(np.full(shape, 3))) == 3
    assert "abcd"[d.tensor(np.full(shape, 2))] == "c"


@every
@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2), (3, 0)])
def test_a_tensor_of_another_size_does_not_convert_to_a_number(d: Dialect, shape: tuple[int, ...]) -> None:
    x = d.tensor(np.ones(shape))
    for f in (float, int, bool, complex, lambda x: x.item()):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            f(x)
    with pytest.raises(TypeError):
        operator.index(d.tensor(np.ones(shape, int)))
    with pytest.raises(TypeError):
        operator.index(d.tensor(1.0))


@every
def test_lists(d: Dialect) -> None:
    assert d.tensor([[1.5, 2.5], [3.5, 4.5]]).tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert d.tensor(2.5).tolist() == 2.5
    assert d.tensor([[1, 2], [3, 4]]).T.tolist() == [[1, 3], [2, 4]]
    assert d.tensor(np.zeros((2, 0))).tolist() == [[], []]
    whole = d.tensor([1, 2]).tolist()
    assert whole == [1, 2]
    assert type(whole[0]) is int
    assert d.tensor([True]).tolist() == [True]


@every
def test_formats(d: Dialect) -> None:
    x = d.leaf(2.53125)
    assert format(x, ".3f") == "2.531"
    assert f"{x:.2f}" == "2.53"
    assert f"{x:8.1f}" == "     2.5"
    assert f"{d.tensor(7):03d}" == "007"
    assert f"{x}" == "2.53125"
    assert f"{d.tensor([1.0, 2.0])}" == str(d.tensor([1.0, 2.0]))
    with pytest.raises(TypeError):
        format(d.tensor([1.0, 2.0]), ".3f")


@every
def test_lengths_and_iteration(d: Dialect) -> None:
    x = d.leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert len(x) == 3
    rows = list(x)
    assert [r.tolist() for r in rows] == [[1, 2], [3, 4], [5, 6]]
    d.backward([(rows[1] * rows[2]).sum()])
    assert x.grad.tolist() == [[0, 0], [5, 6], [3, 4]]
    assert list(d.tensor(np.zeros((0, 2)))) == []
    for f in (len, iter, list):
        with pytest.raises(TypeError, match="0-d"):
            f(d.tensor(1.0))


@every
def test_membership_and_hash(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([1.0, 2.0])
    assert x in [x]
    assert x in [x, y]
    assert d.tensor(1.0) in [d.tensor(1.0)]
    assert d.tensor(1.0) not in [d.tensor(2.0)]
    with pytest.raises((ValueError, RuntimeError), match="ambiguous"):
        assert y in [x]
    assert {x: "x", y: "y"}[x] == "x"
    assert len({x, y, x}) == 2
    assert hash(x) == hash(x)
    alive: list[Any] = [d.tensor(1.0) for _ in range(100)]
    assert len(set(map(hash, alive))) == 100


@every
def test_elements_in_a_tensor(d: Dialect) -> None:
    x = d.tensor([1.0, 2.0])
    assert 2.0 in x
    assert 3.0 not in x


def test_types_of_native_scalars() -> None:
    assert type(fg.tensor(3).item()) is int
    assert type(fg.tensor(True).item()) is bool
    assert type(int(fg.tensor(True))) is int
    assert fg.tensor(np.uint64(2**64 - 1)).item() == 2**64 - 1
    assert not fg.tensor(0.0)
    assert fg.tensor(float("nan"))


@pytest.mark.parametrize("convert", [float, int, complex, bool, operator.index, lambda t: t.item()])
@pytest.mark.parametrize("shape", [(2, 3), (0,)])
def test_errors_of_several_elements_have_every_base(convert: object, shape: tuple[int, ...]) -> None:
    with pytest.raises(_core.ArgumentError) as e:
        convert(fg.tensor(np.zeros(shape, np.int64)))  # type: ignore[operator]
    assert str(list(shape)) in str(e.value)
    for base in (TypeError, ValueError, RuntimeError, AssertionError):
        assert isinstance(e.value, base)


def test_texts_of_errors_of_several_elements() -> None:
    t = fg.tensor([1.0, 2.0])
    for gist in ("only one element tensors can be converted to Python scalars", "only one element variable"):
        with pytest.raises(ValueError, match=gist):
            float(t)
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(t)
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        bool(fg.tensor([]))


def test_index_is_for_integers() -> None:
    for t in (fg.tensor(1.0), fg.tensor(True)):
        with pytest.raises(TypeError, match="only integer tensors"):
            operator.index(t)
    assert "abc"[fg.tensor(1)] == "b"
    assert list(range(fg.tensor([3]))) == [0, 1, 2]


def test_not_finite_integers() -> None:
    with pytest.raises(ValueError, match="NaN"):
        int(fg.tensor(float("nan")))
    with pytest.raises(OverflowError):
        int(fg.tensor(float("inf")))


def test_item_takes_positions() -> None:
    a = np.arange(6).reshape(2, 3)
    t = fg.tensor(a.T)
    assert t.item(4) == a.T.item(4)
    assert t.item(-1) == 5
    assert t.item(2, 1) == 5
    assert t.item(np.int64(0), -1) == 3
    assert fg.tensor(a).T.item(1) == 3
    for bad in [(6,), (-7,), (0, 2), (0, 0, 0), (2**62,)]:
        with pytest.raises(IndexError):
            t.item(*bad)
