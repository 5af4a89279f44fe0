"""Tensors as Python numbers, and what a tensor of several elements answers instead."""

import operator

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element_of_any_rank(shape: tuple[int, ...]) -> None:
    t = fg.tensor(np.full(shape, 2.5))
    assert float(t) == 2.5
    assert int(t) == 2
    assert complex(t) == 2.5
    assert bool(t) is True
    assert t.item() == 2.5
    assert operator.index(fg.tensor(np.full(shape, 7))) == 7


def test_types() -> None:
    assert type(fg.tensor(3).item()) is int
    assert type(fg.tensor(True).item()) is bool
    assert type(int(fg.tensor(True))) is int
    assert fg.tensor(np.uint64(2**64 - 1)).item() == 2**64 - 1
    assert not fg.tensor(0.0)
    assert fg.tensor(float("nan"))


@pytest.mark.parametrize("convert", [float, int, complex, bool, operator.index, lambda t: t.item()])
@pytest.mark.parametrize("shape", [(2, 3), (0,)])
def test_several_elements(convert: object, shape: tuple[int, ...]) -> None:
    with pytest.raises(_core.ArgumentError) as e:
        convert(fg.tensor(np.zeros(shape, np.int64)))  # type: ignore[operator]
    assert str(list(shape)) in str(e.value)
    for base in (TypeError, ValueError, RuntimeError, AssertionError):
        assert isinstance(e.value, base)


def test_gists() -> None:
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


def test_item_at() -> None:
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


def test_tolist() -> None:
    assert fg.tensor([[1, 2], [3, 4]]).T.tolist() == [[1, 3], [2, 4]]
    assert fg.tensor(2.5).tolist() == 2.5
    assert fg.tensor([]).tolist() == []
    assert type(fg.tensor([True]).tolist()[0]) is bool


def test_hash_is_identity() -> None:
    x, y = fg.tensor([1.0, 2.0]), fg.tensor([1.0, 2.0])
    assert hash(x) != hash(y)
    assert {x: 1, y: 2}[y] == 2
    assert x in {x}
