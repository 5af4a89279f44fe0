"""Tensors from Python's numbers, nested lists and objects that provide an array."""

import array
import enum
from fractions import Fraction
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.5, "float32", ()),
        (2, "int64", ()),
        (True, "bool", ()),
        (np.float64(2), "float64", ()),
        (np.float32(2), "float32", ()),
        (np.int8(2), "int8", ()),
        (np.bool_(True), "bool", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([[[]]], "float32", (1, 1, 0)),
        ([1, 2], "int64", (2,)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([True, False], "bool", (2,)),
        ([True, 0.5], "float32", (2,)),
        ([[1, 2], [3, 4.0]], "float32", (2, 2)),
        (((1, 2), [3, 4]), "int64", (2, 2)),
        (range(3), "int64", (3,)),
        ([np.float64(1), 2.0], "float64", (2,)),
        ([1.0, np.float32(2)], "float32", (2,)),
        ([np.int8(1), 2], "int8", (2,)),
        ([np.int8(1), 2.5], "float32", (2,)),
        ([np.int8(1), np.int16(2)], "int16", (2,)),
        ([np.ones(2), np.zeros(2, np.float32)], "float64", (2, 2)),
        (np.ones((2, 3), np.float64), "float64", (2, 3)),
        (memoryview(b"abc"), "uint8", (3,)),
        (array.array("d", [1, 2]), "float64", (2,)),
        (bytearray(b"ab"), "uint8", (2,)),
    ],
)
def test_dtype_and_shape(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    t = fg.tensor(data)
    assert t.dtype == dtype
    assert t.shape == shape
    np.testing.assert_array_equal(t, np.array(data, dtype))


def test_lists_of_tensors_are_stacked_and_a_lone_tensor_is_copied() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    t = fg.tensor([x, x * 2])
    assert t.tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert t.requires_grad
    assert not fg.tensor([x.detach(), [3.0, 4.0]]).requires_grad
    mixed = fg.tensor([x.sum(), 4.0])
    assert mixed.dtype == np.float32
    assert mixed.tolist() == [3.0, 4.0]
    assert fg.tensor(x).tolist() == [1.0, 2.0]
    assert not fg.tensor(x).requires_grad


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("data", [[0, 1, 2], [0.5, 1.5], [True, False], 1, 1.5, True, [[]], np.arange(3), [np.int8(3)]])
def test_dtype_option(data: Any, dtype: str) -> None:
    t = fg.tensor(data, dtype=dtype)
    assert t.dtype == dtype
    np.testing.assert_array_equal(t, np.array(data).astype(dtype))


def test_float64_keeps_every_bit() -> None:
    assert fg.tensor([0.1], dtype="float64").item() == 0.1
    assert fg.tensor(0.1, dtype="float64").item() == 0.1
    assert fg.tensor(np.float64(0.1)).item() == 0.1
    assert fg.tensor([2**62 + 1]).item() == 2**62 + 1
    assert fg.tensor([2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]
    assert fg.tensor(2**64 - 1, dtype="uint64").item() == 2**64 - 1
    assert fg.tensor([2**64 - 1], dtype="uint64").item() == 2**64 - 1


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1, [2]], [[1], 2], [[1, 2], []], [[[1]], [2]], [np.ones(2), [1.0]]])
def test_ragged(data: Any) -> None:
    with pytest.raises(_core.ShapeError):
        fg.tensor(data)


def test_the_error_for_ragged_lists() -> None:
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        fg.tensor([[1, 2], [3]])


@pytest.mark.parametrize("data", ["abc", ["a"], b"ab", None, [None], object(), {1}, {"a": 1}, [object()], iter([1])])
def test_data_that_are_not_numbers(data: Any) -> None:
    with pytest.raises(TypeError, match="Could not infer dtype of"):
        fg.tensor(data)


@pytest.mark.parametrize("data", [2**64, [2**70], [1, 2**63], 2**63, [[-(2**64)]], [np.int8(1), 2**70]])
def test_integers_beyond_64_bits(data: Any) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        fg.tensor(data)


def test_a_list_within_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="deeper"):
        fg.tensor(endless)
    deep: Any = 1.0
    for _ in range(64):
        deep = [deep]
    assert fg.tensor(deep).ndim == 64
    with pytest.raises(ValueError, match="deeper"):
        fg.tensor([deep])


def test_subclasses_of_numbers() -> None:
    class Color(enum.IntEnum):
        RED = 3

    class Real(float):
        pass

    assert fg.tensor([Color.RED]).dtype == np.int64
    assert fg.tensor(Real(2)).dtype == np.float32


def test_objects_with_only_an_array_method() -> None:
    class Carrier:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return np.arange(3, dtype=np.int16)

    assert fg.tensor(Carrier()).dtype == np.int16
    assert fg.tensor([Carrier(), Carrier()]).shape == (2, 3)
    with pytest.raises(TypeError):
        fg.tensor(Fraction(1, 2))


def test_strides_and_records() -> None:
    record = np.zeros(4, [("a", "u1"), ("b", "f8")])
    record["b"] = [1, 2, 3, 4]
    assert fg.tensor(record["b"]).tolist() == [1.0, 2.0, 3.0, 4.0]
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (a[::-1], a[:, ::2, 1:], a.T, a[:, :0], np.broadcast_to(a[0, 0], (5, 4))):
        np.testing.assert_array_equal(fg.tensor(view), view)
    unaligned = np.frombuffer(bytes(1) + np.arange(3.0).tobytes(), np.uint8)[1:].view(np.float64)
    assert fg.tensor(unaligned).tolist() == [0.0, 1.0, 2.0]
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert bytes(fg.tensor(odd)) == b"\0\1\1\1"


def test_the_tensor_owns_its_values() -> None:
    a = np.zeros(3)
    t = fg.tensor(a)
    a[0] = 1
    assert t.tolist() == [0.0, 0.0, 0.0]
