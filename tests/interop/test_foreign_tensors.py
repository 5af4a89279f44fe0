"""Columns of pandas are arrays, and tensors of other packages are refused with a word about where they are from."""

from collections.abc import Callable
from typing import Any

import ferrograd
import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch


class Column:
    """What a column of pandas is to this library: an array by ``__array__``, with operators of its own."""

    __pandas_priority__ = 3000

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self.values if dtype is None else self.values.astype(dtype)

    def __mul__(self, other: Any) -> Any:
        # pandas asks so whether it leaves an operator to the other operand.
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Column(self.values * np.asarray(other))

    def __rmul__(self, other: Any) -> Any:
        return Column(np.asarray(other) * self.values)


COLUMN: Any = Column([1.0, 2.0, 4.0])


@pytest.mark.parametrize("product", [lambda x: x * COLUMN, lambda x: COLUMN * x, lambda x: fg.multiply(x, COLUMN)])
def test_a_product_with_a_column_is_tracked(product: Callable[[Any], Any]) -> None:
    x = fg.tensor(np.array([3.0, 5.0, 7.0]), requires_grad=True)
    assert isinstance(product(x), fg.Tensor)
    assert fg.grad(product(x).sum(), x).tolist() == [1.0, 2.0, 4.0]
    assert func.jvp(product, (x.detach(),), (fg.ones(3),))[1].tolist() == [1.0, 2.0, 4.0]
    assert func.vmap(lambda x: product(x).sum())(fg.ones((2, 3))).tolist() == [7.0, 7.0]


class Series(Column):
    """A column that leaves functions of NumPy's to the other operand, as those of pandas do."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return NotImplemented


def test_a_function_of_numpys_beside_a_column_is_tracked() -> None:
    x, column = fg.tensor(np.array([3.0, 5.0, 7.0]), requires_grad=True), Series(COLUMN.values)
    for y in (np.multiply(column, x), np.multiply(x, column)):
        assert isinstance(y, fg.Tensor)
        assert fg.grad(y.sum(), x).tolist() == [1.0, 2.0, 4.0]


def test_columns_are_arguments_and_indices() -> None:
    x = fg.tensor([3.0, 5.0, 7.0])
    holds: Any = Column([True, False, True])
    objects: Any = Column(np.array(["a", None], object))
    np.testing.assert_array_equal(fg.log(COLUMN).numpy(), np.log(COLUMN.values))
    assert fg.log(COLUMN).dtype == np.float64
    assert x[holds].tolist() == [3.0, 7.0]
    assert x[Column([2, 0])].tolist() == [7.0, 3.0]
    assert fg.concatenate([x, COLUMN]).tolist() == [3.0, 5.0, 7.0, 1.0, 2.0, 4.0]
    assert fg.where(holds, x, 0.0).tolist() == [3.0, 0.0, 7.0]
    assert (x > COLUMN).tolist() == [True, True, True]
    x[0] = Column(8.0)
    assert x.tolist() == [8.0, 5.0, 7.0]
    with pytest.raises(fg.DtypeError, match="object"):
        fg.log(objects)


def test_a_column_is_a_constant_of_a_trace() -> None:
    compiled = fg.compile(lambda x: x * COLUMN)
    assert [compiled(fg.ones(3) * i).tolist() for i in (1, 2)] == [[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]]


def test_native_functions_take_numbers_and_lists() -> None:
    fg: Any = ferrograd
    assert fg.exp(0.0).dtype == np.float32
    assert fg.exp(np.float64(0.0)).dtype == np.float64
    assert fg.exp(0).item() == fg.exp(True).item() / np.float32(np.e) == 1.0
    assert fg.sum([1.0, 2.0]).item() == 3.0
    assert fg.sum([[1, 2], (3, 4)], axis=0).tolist() == [4, 6]
    assert fg.maximum([1.0, 5.0], 2.0).tolist() == [2.0, 5.0]
    assert fg.dot([1.0, 2.0], [3.0, 4.0]).item() == 11.0
    assert fg.sum([], axis=0).item() == 0.0
    x = fg.tensor(2.0, requires_grad=True)
    assert fg.grad(fg.prod([x, 3.0]), x).item() == 3.0
    for wrong in ("a", None, object(), ["a"], [[1, 2], [3]]):
        with pytest.raises(fg.FerrogradError):
            fg.sum(wrong)


@pytest.mark.parametrize("dialect", [torch, paddle])
def test_a_dialect_takes_tensors_as_its_library_does(dialect: Any) -> None:
    for wrong in (1.0, [1.0]):
        with pytest.raises(fg.ArgumentError, match="x must be a Tensor, not"):
            dialect.exp(wrong)


def tensor_of(package: str) -> Any:
    """An object of a class that another package calls Tensor."""

    def functions(cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))

    parts = {"__module__": package, "__array__": lambda self, *_, **__: np.ones(2), "ndim": 1}
    if package == "torch":
        parts["__torch_function__"] = classmethod(functions)
    return type("Parameter", (type("Tensor", (), parts),), {})()


CALLS: list[tuple[Any, str]] = [
    (lambda x: fg.sin(x), "ferrograd.tensor"),
    (lambda x: fg.ones(2) + x, "ferrograd.tensor"),
    (lambda x: fg.maximum(1.0, x), "ferrograd.tensor"),
    (lambda x: fg.concatenate([fg.ones(2), x]), "ferrograd.tensor"),
    (lambda x: fg.ones(2).dot(x), "ferrograd.tensor"),
    (lambda x: torch.nn.Linear(2, 2)(x), "ferrograd.torch.tensor"),
    (lambda x: torch.nn.functional.relu(x), "ferrograd.torch.tensor"),
    (lambda x: torch.ones(2) * x, "ferrograd.torch.tensor"),
    (lambda x: torch.cat([x, x]), "ferrograd.torch.tensor"),
    (lambda x: paddle.nn.Linear(2, 2)(x), "ferrograd.paddle.to_tensor"),
    (lambda x: paddle.tanh(x), "ferrograd.paddle.to_tensor"),
    (lambda x: paddle.ones([2]) - x, "ferrograd.paddle.to_tensor"),
    (lambda x: paddle.nn.CrossEntropyLoss()(paddle.ones([2, 2]), x), "ferrograd.paddle.to_tensor"),
    (lambda x: torch.func.grad(torch.sum)(x), "ferrograd.torch.tensor"),
    (lambda x: torch.func.vmap(torch.sin)(x), "ferrograd.torch.tensor"),
    (lambda x: torch.optim.SGD([x], lr=0.1), "ferrograd.torch.tensor"),
    (lambda x: torch.ones(2, requires_grad=True).sin().backward(x), "ferrograd.torch.tensor"),
    (lambda x: paddle.grad(paddle.ones([2]), [x]), "ferrograd.paddle.to_tensor"),
    (lambda x: paddle.grad(paddle.ones([2]), x), "ferrograd.paddle.to_tensor"),
    (lambda x: paddle.optimizer.SGD(parameters=[x]), "ferrograd.paddle.to_tensor"),
    (lambda x: func.grad(fg.sum)(x), "ferrograd.tensor"),
    (lambda x: fg.grad(fg.ones(()), x), "ferrograd.tensor"),
]


@pytest.mark.parametrize(("package", "name"), [("torch", "torch"), ("paddle.base", "paddle"), ("jaxlib._jax", "jax")])
@pytest.mark.parametrize(("call", "way_out"), CALLS)
def test_a_tensor_of_another_package(call: Callable[[Any], Any], way_out: str, package: str, name: str) -> None:
    with pytest.raises(fg.ArgumentError, match=rf"of the package '{name}': .*{way_out}\(x\)"):
        call(tensor_of(package))


@pytest.mark.parametrize("dialect", [fg, torch, paddle])
def test_an_index_of_another_package(dialect: Any) -> None:
    for key in (tensor_of("torch"), (0, tensor_of("jax"))):
        with pytest.raises(IndexError, match=r"of the package '(torch|jax)': make one of its numbers"):
            dialect.ones([2, 2])[key]


def test_a_state_of_another_package() -> None:
    with pytest.raises(RuntimeError, match="of the package 'torch': make one of its numbers"):
        torch.nn.Linear(2, 1).load_state_dict({"weight": tensor_of("torch"), "bias": torch.ones(1)})
    with pytest.raises(fg.ArgumentError, match="of the package 'torch'"):
        torch.autograd.grad(torch.ones(1, requires_grad=True), [tensor_of("torch")])


def test_a_tensor_of_another_package_becomes_one_of_ours() -> None:
    for make in (fg.tensor, torch.tensor, paddle.to_tensor):
        assert make(tensor_of("jax")).tolist() == [1.0, 1.0]


def test_a_function_in_python_says_where_a_tensor_is_from() -> None:
    with pytest.raises(fg.ArgumentError, match=r"of the package 'torch': .*ferrograd\.torch\.tensor\(x\)"):
        torch.dot(tensor_of("torch"), torch.ones(2))
    numbers: Any = [1.0]
    with pytest.raises(fg.ArgumentError, match=r"dot: input must be a Tensor, not list"):
        torch.dot(numbers, torch.ones(1))
