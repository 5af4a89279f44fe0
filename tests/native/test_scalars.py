"""Tensors of one element as Python's numbers, and what Python's containers ask of tensors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

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
