"""Gradients of integers and truth values, which are of their dtype, as in Paddle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import ferrograd.torch as torch
import pytest

paddle: Any = _paddle
F: Any = _paddle.nn.functional

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


def leaf(data: Any, dtype: str = "int64") -> Any:
    return paddle.to_tensor(data, dtype=dtype, stop_gradient=False)


#: Functions of [1, 2, 3], and their gradients.
FUNCTIONS: list[tuple[Callable[[Any], Any], list[int]]] = [
    (lambda i: i * 3, [3, 3, 3]),
    (lambda i: 7 - i, [-1, -1, -1]),
    (lambda i: -i - 5 + (7 - i), [-2, -2, -2]),
    (lambda i: i * i * i, [3, 12, 27]),
    (lambda i: abs(i - 2), [-1, 0, 1]),
    (lambda i: i % 2, [1, 1, 1]),
    (lambda i: 7 % i, [-7, -3, -2]),
    (lambda i: i.cumsum(), [3, 2, 1]),
    (lambda i: i[paddle.to_tensor([2, 2, 0])], [1, 0, 2]),
    (lambda i: i[1:] * 2, [0, 2, 2]),
    (lambda i: paddle.concat([i, i * 2]), [3, 3, 3]),
    (lambda i: paddle.where(i > 1, i, i * 2), [2, 1, 1]),
    (lambda i: i.reshape([3, 1]).expand([3, 4]).t(), [4, 4, 4]),
    (lambda i: i.sort(descending=True)[0], [0, 0, 1]),
    (lambda i: i.topk(2)[0], [0, 1, 1]),
    (lambda i: i * 2.75, [2, 2, 2]),
    (lambda i: i.astype("float32") / 2, [0, 0, 0]),
]


@pytest.mark.parametrize(("f", "wanted"), FUNCTIONS)
def test_integers_have_gradients_of_integers(f: Callable[[Any], Any], wanted: list[int]) -> None:
    i = leaf([1, 2, 3])
    y = f(i)
    assert not y.stop_gradient
    y.sum().backward()
    assert i.grad.dtype == paddle.int64
    assert i.grad.tolist() == wanted
    assert paddle.grad(f(i), i)[0].tolist() == wanted


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_gradient_has_the_dtype_of_its_tensor(dtype: str) -> None:
    i = leaf([1, 2], dtype)
    (i * i).sum().backward()
    assert i.grad.dtype == i.dtype
    assert i.grad.tolist() == [2, 4]


def test_gradients_of_integers_are_differentiated_again() -> None:
    i = leaf([1, 2, 3])
    (g,) = paddle.grad(i * i * i, i, create_graph=True)
    g.sum().backward()
    assert i.grad.tolist() == [6, 12, 18]


def test_truth_values_have_gradients_of_truth_values() -> None:
    b = leaf([True, False, True], "bool")
    x = b.astype("float32")
    (x * paddle.to_tensor([0.5, 0.0, 3.0]) + x * paddle.to_tensor([0.0, 0.0, 1.0])).sum().backward()
    assert b.grad.dtype == paddle.bool
    assert b.grad.tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_integers_written_into_floats_have_gradients(dtype: str) -> None:
    i = leaf([[1], [0]], dtype)
    x = paddle.zeros([3, 4])
    x[paddle.to_tensor([2, 0])] = i
    x.sum().backward()
    assert i.grad.dtype == i.dtype
    assert i.grad.astype("int64").tolist() == ([[1], [1]] if dtype == "bool" else [[4], [4]])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_go_through_vmap(dtype: str) -> None:
    i, j = leaf([1, 2, 3], dtype), leaf([4, 5], dtype)
    (fg.func.vmap(lambda row: row * j)(i)).sum().backward()
    assert (i.grad.tolist(), j.grad.tolist()) == ([9, 9, 9], [6, 6])
    assert paddle.autograd.hessian((i * i).sum(), i)[:].tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]


def test_hooks_and_writes_see_integers() -> None:
    i = leaf([1, 2, 3])
    i.register_hook(lambda g: g * 10)
    y = i * 2
    y[0] = 5
    y.add_(paddle.to_tensor([1, 1, 1]))
    y.sum().backward()
    assert i.grad.tolist() == [0, 20, 20]


#: Functions of the indices [0, 1] and of a matrix.
INDEXED: list[Callable[[Any, Any], Any]] = [
    lambda i, w: w[i],
    lambda i, w: paddle.gather(w, i),
    lambda i, w: paddle.index_select(w, i),
    lambda i, w: paddle.take_along_axis(w, i.reshape([2, 1]), 1),
    lambda i, w: paddle.scatter(w, i, paddle.ones([2, 3])),
    lambda i, w: paddle.index_add(w, i, 0, paddle.ones([2, 3])),
    lambda i, w: paddle.put_along_axis(w, i.reshape([2, 1]), 1.0, 1),
    F.embedding,
    lambda i, w: F.cross_entropy(w, i),
    lambda i, w: F.one_hot(i, 3) * w,
    lambda i, w: paddle.repeat_interleave(w, i, 0),
]


@pytest.mark.parametrize("f", INDEXED)
def test_indices_are_constants(f: Callable[[Any, Any], Any]) -> None:
    plain = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert f(leaf([0, 1]), plain).stop_gradient
    w, i = plain.clone(), leaf([0, 1])
    w.stop_gradient = False
    f(i, w).sum().backward()
    assert i.grad is None
    same = plain.clone()
    same.stop_gradient = False
    f(i.detach(), same).sum().backward()
    assert w.grad.tolist() == same.grad.tolist()


def test_steps_cut_integers_off() -> None:
    i = leaf([3, 1, 2])
    for y in (i.argmax(), i.argsort(), i > 1, i // 2, i & 1, paddle.unique(i), paddle.sign(i), i.nonzero()):
        assert y.stop_gradient


@pytest.mark.parametrize("f", [paddle.max, paddle.prod, lambda i: i**2, lambda i: i.clip(0, 2), lambda i: i @ i])
def test_other_functions_of_integers_refuse_a_gradient(f: Callable[[Any], Any]) -> None:
    i = leaf([1, 2, 3])
    y = f(i)
    assert y.sum().item() > 0
    with pytest.raises(fg.DtypeError, match="it has no gradient for integers: cast them to float32"):
        y.sum().backward()


def test_a_cast_to_integers_ends_the_history() -> None:
    x = leaf([1.5], "float32")
    assert x.astype("int32").stop_gradient
    assert (x.astype("int32") * leaf([2], "int32")).stop_gradient is False


def test_other_dialects_track_no_integers() -> None:
    with pytest.raises(fg.DtypeError, match="floating point"):
        torch.tensor([1], requires_grad=True)
    with pytest.raises(fg.DtypeError, match="floating point"):
        fg.tensor([1], requires_grad=True)
