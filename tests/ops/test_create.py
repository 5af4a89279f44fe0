"""Creation functions: dtypes, errors, the default dtype."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "float32"),
        (2, "int64"),
        (True, "bool"),
        (np.float32(1), "float32"),
        (np.float64(1), "float64"),
        (np.int8(1), "int64"),
    ],
)
def test_full_takes_the_dtype_of_its_value(value: Any, dtype: str) -> None:
    assert fg.full((2,), value).dtype == np.dtype(dtype)


def test_full_of_a_tensor() -> None:
    v = fg.tensor(3.0, requires_grad=True)
    (g,) = fg.grad(fg.full((2, 3), v).sum(), [v])
    assert g.item() == 6
    assert fg.full((2,), fg.tensor(3)).dtype == np.int64


def test_arange_forms() -> None:
    assert np.asarray(fg.arange(3)).tolist() == [0, 1, 2]
    assert np.asarray(fg.arange(1, 3)).tolist() == [1, 2]
    assert np.asarray(fg.arange(5, 1, -2)).tolist() == [5, 3]
    assert fg.arange(3, 1).shape == (0,)
    assert fg.arange(3.0).dtype == np.float32
    assert fg.arange(0, 1, 0.25).shape == (4,)
    assert np.asarray(fg.arange(2**63 - 3, 2**63 - 1)).tolist() == [2**63 - 3, 2**63 - 2]
    assert np.asarray(fg.full((1,), 2**64 - 1, dtype="uint64")).tolist() == [2**64 - 1]
    assert np.asarray(fg.arange(-(2**63), 2**63 - 1, 2**62)).tolist() == [-(2**63), -(2**62), 0, 2**62]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fg.arange(),
        lambda: fg.arange(1, 5, 0),
        lambda: fg.arange(1, 5, 0.0),
        lambda: fg.arange(0.0, float("nan")),
        lambda: fg.arange(0, float("inf"), float("inf")),
        lambda: fg.arange(300, dtype="uint8"),
        lambda: fg.arange(3, dtype="bool"),
        lambda: fg.zeros((-1,)),
        lambda: fg.linspace(0, 1, -1),
        lambda: fg.eye(-1),
        lambda: fg.full((2,), 300, dtype="uint8"),
        lambda: fg.full((2,), fg.ones((3,))),
        lambda: fg.set_default_dtype("int32"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[], Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        wrong()


@pytest.mark.parametrize(
    "large",
    [
        lambda: fg.zeros((10**13,)),
        lambda: fg.ones((2**62, 4)),
        lambda: fg.full((2**32, 2**32), 1),
        lambda: fg.empty((2**40, 2**10)),
        lambda: fg.arange(2**62),
        lambda: fg.arange(0.0, 1e300),
        lambda: fg.arange(0.0, float("inf")),
        lambda: fg.arange(10**38),
        lambda: fg.linspace(0, 1, 2**62),
        lambda: fg.eye(2**31),
    ],
)
def test_too_large(large: Callable[[], Any]) -> None:
    with pytest.raises(MemoryError):
        large()


def test_linspace_ends_at_its_stop() -> None:
    x = np.asarray(fg.linspace(-1e308, 1e308, 5, dtype="float64"))
    assert x.tolist() == [-1e308, -5e307, 0, 5e307, 1e308]
    assert np.asarray(fg.linspace(0.1, 0.7, 50, dtype="float64"))[-1] == 0.7


def test_sizes_one_by_one() -> None:
    zeros: Any = fg.zeros
    rand: Any = fg.rand
    assert zeros(2, 3).shape == (2, 3)
    assert fg.ones(4).shape == (4,)
    assert rand(2, 3, 4).shape == (2, 3, 4)
    assert fg.zeros(2, np.int32).dtype == np.int32


def test_default_dtype() -> None:
    assert fg.get_default_dtype() == np.float32
    fg.set_default_dtype(np.float64)
    try:
        assert fg.get_default_dtype() == np.float64
        assert fg.zeros((2,)).dtype == np.float64
        assert fg.tensor([1.5]).dtype == np.float64
        assert fg.sin(fg.tensor([1])).dtype == np.float64
        assert (fg.tensor([1]) / fg.tensor([2])).dtype == np.float64
        assert (fg.tensor([1]) * 1.5).dtype == np.float64
    finally:
        fg.set_default_dtype("float32")


def test_like_functions_return_constants() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    for made in (fg.zeros_like(x), fg.ones_like(x), fg.full_like(x, 3), fg.empty_like(x)):
        assert made.stop_gradient
        assert made.dtype == x.dtype


@pytest.mark.parametrize(
    ("word", "dtype"),
    [
        *[(float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")],
        *[
            ("f8", "float64"),
            ("<f4", "float32"),
            ("=i4", "int32"),
            ("u1", "uint8"),
            ("?", "bool"),
            ("c16", "complex128"),
        ],
        *[("float", "float64"), ("int", "int64"), ("double", "float64"), ("half", "float16"), ("d", "float64")],
    ],
)
def test_dtypes_have_numpys_names(word: Any, dtype: str) -> None:
    made: list[Any] = [
        fg.zeros(2, dtype=word),
        fg.tensor([1, 0], dtype=word),
        fg.asarray([1, 0], dtype=word),
        fg.ones(2).astype(word),
        fg.tensor([1.0, 0.0]).to(word),
        fg.sum(fg.ones(2), dtype=word) if dtype != "uint8" else fg.zeros(2, dtype=word),
    ]
    assert {str(x.dtype) for x in made} == {dtype}


def test_pythons_float_has_64_bits_in_every_namespace() -> None:
    for dialect in (paddle, torch):
        assert dialect.zeros([2], dtype=float).dtype == dialect.float64
        assert dialect.ones([2]).to(float).dtype == dialect.float64
    assert paddle.to_tensor([1], dtype="f4").dtype == paddle.float32
    # In torch the word is the name of a dtype of 32 bits.
    assert torch.zeros([2], dtype="float").dtype == torch.float32


@pytest.mark.parametrize("word", [">f8", "f3", "S4", "O", "float63", "M8[s]"])
def test_other_words_are_no_dtypes(word: str) -> None:
    with pytest.raises(fg.FerrogradError, match=r"is no dtype|must be a dtype|no dtype of tensors"):
        fg.tensor([1.0], dtype=word)
