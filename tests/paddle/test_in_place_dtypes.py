"""In-place functions in Paddle's way: the tensor takes the dtype of the result."""

from __future__ import annotations

import pickle
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import pytest

paddle: Any = _paddle


def of(dtype: str) -> Any:
    return paddle.to_tensor([3.0, 1.0]).astype(dtype)


@pytest.mark.parametrize("name", ["add_", "subtract_", "multiply_", "divide_", "pow_", "remainder_", "maximum_"])
@pytest.mark.parametrize(("own", "other"), [("float16", "float32"), ("float32", "float64"), ("float64", "float32")])
def test_arithmetic_promotes(name: str, own: str, other: str) -> None:
    x, wanted = of(own), getattr(of(own), name[:-1])(of(other))
    assert getattr(x, name)(of(other)) is x
    assert x.dtype == wanted.dtype == (of(own) + of(other)).dtype
    assert x.tolist() == wanted.tolist()
    assert x.inplace_version == 1


@pytest.mark.parametrize("name", ["add_", "subtract_", "multiply_", "divide_"])
def test_complex_operands_make_a_complex_tensor(name: str) -> None:
    for own in ("int64", "float32", "float64"):
        x, y = of(own), paddle.to_tensor([1.0 + 2.0j, 1.0j])
        wanted = getattr(x, name[:-1])(y)
        getattr(x, name)(y)
        assert x.dtype == wanted.dtype
        assert x.dtype.kind == "c"
        assert x.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "name", ["equal_", "less_than_", "greater_equal_", "not_equal_", "logical_and_", "logical_xor_"]
)
@pytest.mark.parametrize("own", ["bool", "int32", "float32", "float64"])
def test_comparisons_make_truth_values(name: str, own: str) -> None:
    x, wanted = of(own), getattr(of(own), name[:-1])(of(own))
    getattr(x, name)(of(own))
    assert x.dtype == paddle.bool
    assert x.tolist() == wanted.tolist()


def test_one_operand() -> None:
    assert of("float32").logical_not_().dtype == paddle.bool
    assert paddle.to_tensor([3.0 + 4.0j]).abs_().dtype == paddle.float32
    assert of("float32").abs_().dtype == paddle.float32
    x = of("float32")
    assert paddle.where_(paddle.to_tensor([True, False]), x, of("float64")).dtype == paddle.float64


def test_integers_take_no_floats() -> None:
    x = of("int64")
    with pytest.raises(fg.DtypeError, match="can't be cast"):
        x.add_(of("float32"))
    with pytest.raises(fg.DtypeError, match="can't be cast"):
        x.multiply_(1.5)
    assert x.dtype == paddle.int64


@pytest.mark.parametrize("recorded", [False, True])
def test_the_gradient_passes_the_change(recorded: bool) -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 3
    y.multiply_(paddle.to_tensor([2.0, 4.0], dtype="float64"))
    assert y.dtype == paddle.float64
    (gradient,) = paddle.grad((y * y).sum(), x, create_graph=recorded)
    assert gradient.dtype == paddle.float32
    assert gradient.tolist() == [72.0, 576.0]
    if recorded:
        assert paddle.grad(gradient.sum(), x)[0].tolist() == [72.0, 288.0]


def test_truth_values_have_no_history() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 3
    y.greater_than_(x)
    assert y.stop_gradient
    assert y.dtype == paddle.bool


def test_a_leaf_is_refused_as_before() -> None:
    x = paddle.to_tensor([1.0], stop_gradient=False)
    for write in (lambda: x.add_(of("float64")), lambda: x.equal_(x), x.logical_not_):
        with pytest.raises(ValueError, match="Leaf Var that doesn't stop gradient"):
            write()
    with paddle.no_grad():
        x.add_(paddle.ones([1], dtype="float64"))
    assert x.dtype == paddle.float64
    assert not x.stop_gradient
    (x * x).backward()
    assert x.grad.tolist() == [4.0]


def test_borders() -> None:
    empty = paddle.zeros([0])
    assert empty.add_(paddle.zeros([0], dtype="float64")).dtype == paddle.float64
    number = paddle.to_tensor(2.0)
    assert number.equal_(paddle.to_tensor(2.0)).item() is True
    turned = paddle.ones([2, 3]).t()
    turned.add_(paddle.ones([3, 2], dtype="float64"))
    assert turned.tolist() == [[2.0, 2.0]] * 3
    assert pickle.loads(pickle.dumps(turned)).dtype == paddle.float64
    nan = paddle.to_tensor([float("nan"), float("inf")])
    assert nan.equal_(nan).tolist() == [False, True]
    with pytest.raises(ValueError, match="shape"):
        paddle.ones([1]).add_(paddle.ones([2], dtype="float64"))


def test_compiled_and_batched() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y.add_(paddle.ones([2], dtype="float64"))
        return y

    x = paddle.to_tensor([1.0, 2.0])
    wanted = f(x)
    with pytest.warns(UserWarning, match="sets the data"):
        assert fg.compile(f)(x).tolist() == wanted.tolist()
    batched = fg.func.vmap(lambda x: x * 2 > 3)(x)
    assert batched.tolist() == [False, True]
    batched = fg.func.vmap(f)(paddle.ones([3, 2]))
    assert batched.dtype == paddle.float64
    assert batched.tolist() == [[3.0, 3.0]] * 3


def test_set() -> None:
    x = paddle.zeros([3])
    source = paddle.arange(6.0)
    assert x.set_(source, [2, 2]) is x
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.set_(source, [2], [3], 1).tolist() == [1.0, 4.0]
    assert x.set_(source).tolist() == source.tolist()
    assert x.set_().shape == [0]
    assert x.data_ptr() == 0


def test_the_real_part_of_complex_numbers_is_written_and_has_a_gradient() -> None:
    z = paddle.to_tensor([1.0 + 2.0j, 3.0 - 1.0j])
    z.stop_gradient = False
    y = paddle.zeros([3])
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        y[1:] = z
    assert y.tolist() == [0.0, 1.0, 3.0]
    (y * paddle.to_tensor([1.0, 2.0, 4.0])).sum().backward()
    assert z.grad.tolist() == [2.0, 4.0]
    with pytest.raises(fg.DtypeError, match="imaginary"):
        y[0] = 1.0j


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_cast_of_complex_numbers_takes_their_real_part(dtype: str) -> None:
    z = paddle.to_tensor([1.0 + 2.0j])
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        y = z.astype(dtype)
    assert (y.dtype, y.tolist()) == (dtype, [1])
    assert z.cast("bool").tolist() == [True]
    with pytest.raises(fg.DtypeError, match="imaginary"):
        fg.cast(fg.tensor([1.0j]), dtype)
