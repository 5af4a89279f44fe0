"""Tensors made from lists of tensors keep the graph, and NumPy arrays of any layout become tensors."""

import copy
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import ferrograd as fg
import ferrograd.paddle
import ferrograd.torch
import numpy as np
import pytest
from ferrograd.torch._base import warned

MAKERS = [fg.tensor, fg.asarray, fg.paddle.to_tensor]
TORCH_MAKERS = [fg.torch.tensor, fg.torch.as_tensor, fg.torch.FloatTensor, fg.torch.ones(1).new_tensor]


@pytest.mark.parametrize("make", MAKERS)
def test_a_list_of_tracked_numbers_is_stacked_with_its_graph(make: Any) -> None:
    x: Any = make([1.0, 2.0])
    x.requires_grad = True
    y = make([[x[1], -x[0]], [3, x[0] * x[1]]])
    assert type(y) is type(x)
    np.testing.assert_array_equal(y.detach(), [[2.0, -1.0], [3.0, 2.0]])
    (g,) = fg.grad(y.sum(), [x])
    np.testing.assert_array_equal(g, [1.0, 2.0])


@pytest.mark.parametrize("make", TORCH_MAKERS)
def test_torch_takes_the_numbers_of_a_list(make: Any) -> None:
    x: Any = fg.torch.tensor([1.0, 2.0], requires_grad=True)
    warned._given.clear()
    with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
        y = make([[x[1], -x[0]], [3, x[0] * x[1]]])
    assert not y.requires_grad
    np.testing.assert_array_equal(y.numpy(), [[2.0, -1.0], [3.0, 2.0]])
    # The warning is given once a process.
    assert not make([x[0]]).requires_grad


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_a_list_of_torch_can_become_a_leaf() -> None:
    x: Any = fg.torch.tensor([1.0, 2.0], requires_grad=True)
    w: Any = fg.torch.tensor([x[0], x[1] * 3], requires_grad=True)
    assert w.is_leaf
    (w * w).sum().backward()
    np.testing.assert_array_equal(w.grad, [2.0, 12.0])
    assert x.grad is None


@pytest.mark.parametrize("make", [fg.tensor, fg.torch.tensor])
def test_the_jacobian_of_a_field_written_as_a_list(make: Any) -> None:
    def field(v: Any) -> Any:
        return make([v[1], -v[0] * v[1]])

    x = make([3.0, 2.0])
    want = [[0.0, 1.0], [-2.0, -3.0]]
    np.testing.assert_array_equal(fg.func.jacrev(field)(x), want)
    np.testing.assert_array_equal(fg.func.jacfwd(field)(x), want)
    np.testing.assert_array_equal(fg.func.vmap(field)(make([[3.0, 2.0], [0.0, 1.0]])), [[2, -6], [1, 0]])


def test_a_write_of_a_list_keeps_the_graph() -> None:
    x: Any = fg.tensor([1.0, 2.0], requires_grad=True)
    y: Any = fg.zeros(2)
    y[:] = [x[0] * 2, 5.0]
    np.testing.assert_array_equal(fg.grad(fg.sum(y), [x])[0], [2.0, 0.0])


def test_dtypes_and_shapes_of_the_elements() -> None:
    x: Any = fg.tensor([1.0, 2.0], requires_grad=True)
    assert fg.tensor([x[0], np.float64(2.0)]).dtype == fg.float64
    assert fg.tensor([x[0], 2], dtype=fg.float64).dtype == fg.float64
    assert fg.tensor([[x], [x]]).shape == (2, 1, 2)
    assert not fg.tensor([x[0] > 0, True]).requires_grad
    with fg.no_grad():
        assert not fg.tensor([x[0], x[1]]).requires_grad
    for ragged in ([x[0], x], [x, [x[0]]], [[x[0]], [x[0], 1.0]]):
        with pytest.raises(ValueError, match="no common shape"):
            fg.tensor(ragged)
    with pytest.raises(TypeError):
        fg.tensor([x[0], "word"])


def test_arrays_whose_strides_are_no_multiple_of_the_element() -> None:
    records = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    records["b"] = [1.0, 2.0, 3.0]
    one = np.lib.stride_tricks.as_strided(np.arange(3.0), (1, 2), (3, 8))
    for array in (records["b"], records["b"][::-1], records["b"][:1], records["b"][:0], one, one[:, :0]):
        np.testing.assert_array_equal(fg.tensor(array), array)


FUNCTIONS = [fg.sin, fg.linalg.inv, fg.torch.exp, fg.paddle.linalg.cholesky, fg.paddle.tanh]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_functions_pickle_by_name(f: Any) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(f, protocol)) is f
    assert copy.deepcopy(f) is f
    assert f.__module__.startswith("ferrograd.")


def public_functions() -> Iterator[tuple[str, Any]]:
    """The functions of all public modules, with the names that they have there."""
    modules, seen = [fg, fg.torch, fg.paddle], set()
    while modules:
        module = modules.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name)
            # What HIPS autograd has is made of functions of NumPy and SciPy; its own are not pickled either.
            if isinstance(value, ModuleType) and re.match(r"ferrograd(?!\.autograd)", value.__name__):
                modules.append(value)
            elif isinstance(value, FunctionType | BuiltinFunctionType) and value.__module__.startswith("ferrograd"):
                yield f"{module.__name__}.{name}", value


def test_every_public_function_pickles() -> None:
    functions = dict(public_functions())
    lost = [name for name, f in functions.items() if not is_pickled_by_name(f)]
    assert len(functions) > 3000
    assert not lost


def is_pickled_by_name(f: Any) -> bool:
    try:
        return pickle.loads(pickle.dumps(f)) is f
    except pickle.PicklingError:
        return False


def test_a_function_runs_in_another_process() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        (y,) = pool.map(fg.cos, [fg.zeros(2)])
    np.testing.assert_array_equal(y, [1.0, 1.0])


@pytest.mark.parametrize("make", [fg.tensor, fg.torch.tensor, fg.paddle.to_tensor])
@pytest.mark.parametrize(
    ("number", "dtype"),
    [(300, "uint8"), (-1, "uint8"), (128, "int8"), (2**40, "int32"), (-1, "uint64"), (256.0, "uint8"), (1e30, "int64")],
)
def test_a_number_that_an_integer_dtype_cannot_hold_is_refused(make: Any, number: Any, dtype: str) -> None:
    for given in (number, [number], [[0, number], [1, 2]], [0.5, number]):
        with pytest.raises(fg.ArgumentError, match=f"does not fit into {dtype}"):
            make(given, dtype=dtype)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), -1e19])
def test_no_integer_is_made_of_a_number_that_is_not_finite(number: float) -> None:
    x = fg.tensor([1, 2])
    fits = "does not fit into int64"
    with pytest.raises(fg.ArgumentError, match=fits):
        fg.full((2,), number, dtype="int64")
    with pytest.raises(fg.ArgumentError, match=fits):
        x[0] = number
    with pytest.raises(fg.ArgumentError, match=fits):
        x.fill_(number)
    with pytest.raises(fg.ArgumentError, match=fits):
        fg.tensor([1, number], dtype="int64")
    assert x.tolist() == [1, 2]


def test_the_largest_numbers_of_integer_dtypes_are_held() -> None:
    for dtype in ("uint8", "int8", "int16", "int32", "int64"):
        info = np.iinfo(dtype)
        both = [int(info.min), int(info.max)]
        assert fg.tensor(both, dtype=dtype).tolist() == both
        assert [fg.tensor(i, dtype=dtype).item() for i in both] == both
    assert fg.tensor([2**64 - 1], dtype="uint64").item() == 2**64 - 1
    assert fg.tensor([255.9], dtype="uint8").item() == 255
