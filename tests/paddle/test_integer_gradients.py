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
    (paddle.max, [0, 0, 1]),
    (paddle.amin, [1, 0, 0]),
    (lambda i: paddle.max(i % 2), [0, 0, 0]),
    (paddle.prod, [6, 3, 2]),
    (lambda i: paddle.prod(i - 1), [2, 0, 0]),
    (lambda i: paddle.cumprod(i, 0), [9, 4, 2]),
    (lambda i: i**3, [3, 12, 27]),
    (lambda i: (i - 1) ** 0, [0, 0, 0]),
    (lambda i: 2**i, [1, 2, 5]),
    (paddle.square, [2, 4, 6]),
    (lambda i: i.clip(0, 2), [1, 1, 0]),
    (lambda i: paddle.clip(i, paddle.to_tensor(2), paddle.to_tensor(5)), [0, 1, 1]),
    (lambda i: paddle.maximum(i, paddle.full([3], 2, "int64")), [0, 0, 1]),
    (lambda i: paddle.minimum(i, paddle.full([3], 2, "int64")), [1, 0, 0]),
    (lambda i: paddle.fmax(i, paddle.full([3], 2, "int64")), [0, 1, 1]),
    (lambda i: i @ i, [2, 4, 6]),
    (lambda i: paddle.to_tensor([[1, 2, 3], [4, 5, 6]]) @ i, [5, 7, 9]),
    (lambda i: paddle.einsum("i,j->ij", i, i), [12, 12, 12]),
    (lambda i: paddle.max(i * i) * i.sum(), [9, 9, 45]),
    (F.relu, [1, 1, 1]),
    (paddle.mean, [0, 0, 0]),
    (lambda i: paddle.cross(i, paddle.to_tensor([3, 2, 1])), [1, -2, 1]),
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


def test_gradients_of_broadcast_operands_are_rounded_before_they_are_summed() -> None:
    i, j = leaf([[2], [1]]), leaf([2, 2, 1])
    paddle.maximum(i, j).sum().backward()
    # The halves of ties are rounded to 0 each.
    assert (i.grad.tolist(), j.grad.tolist()) == ([[1], [0]], [1, 1, 0])
    flags = leaf([True, False], "bool")
    (flags.reshape([2, 1]) * leaf([[1.0, 2.0], [3.0, 4.0]], "float32")).sum().backward()
    assert flags.grad.tolist() == [True, True]
    for spread in (flags.expand([3, 2]), paddle.tile(flags, [3]), paddle.kron(flags, paddle.to_tensor([1, 2]))):
        flags.clear_gradient(set_to_zero=False)
        spread.astype("float32").sum().backward()
        assert flags.grad.tolist() == [True, True]


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
    for y in (i.argmax(), i.argsort(), i > 1, i // 2, i & 1, paddle.unique(i), paddle.sign(i), i.nonzero(), i.floor()):
        assert y.stop_gradient
    assert paddle.count_nonzero(i).stop_gradient


def test_other_functions_of_integers_refuse_a_gradient() -> None:
    i = leaf([[[[1, 2], [3, 4]]]])
    y = F.conv2d(i, i)
    assert y.item() == 30
    with pytest.raises(fg.DtypeError, match="it has no gradient for integers: cast them to float32"):
        y.sum().backward()


def test_recorded_gradients_that_read_results_are_refused() -> None:
    i = leaf([1, 2, 3])
    (g,) = paddle.grad((i**3).sum(), i, create_graph=True)
    assert g.tolist() == [3, 12, 27]
    (second,) = paddle.grad(g.sum(), i)
    assert second.tolist() == [6, 12, 18]
    y = paddle.cumprod(i, 0).sum()
    with pytest.raises(fg.DtypeError, match="it has no gradient for integers"):
        paddle.grad(y, i, create_graph=True)


#: Integers that are made of the floats [1.5, 2, 3], and the gradients of their sum.
CASTS: list[tuple[Callable[[Any], Any], list[float]]] = [
    (lambda x: x.astype("int32"), [1, 1, 1]),
    (lambda x: paddle.cast(x, "int64") * 5, [5, 5, 5]),
    (lambda x: x.to("uint8").astype("float32"), [1, 1, 1]),
    (lambda x: x.astype("int32").astype("float32") * 0.5, [0, 0, 0]),
    (lambda x: x.astype("int32").astype("float32") * -1.5, [-1, -1, -1]),
    (lambda x: x.astype("bool").astype("float32") * 0.5, [1, 1, 1]),
    (lambda x: x.astype("int64") ** 2, [2, 4, 6]),
    (lambda x: x.astype("int64").clip(2, 5) * x, [2 + 0, 4, 6]),
    (lambda x: paddle.where(x > 2, x.astype("int64"), 0), [0, 0, 1]),
    (lambda x: (x.astype("int64") // 2).astype("float32") + x, [1, 1, 1]),
    (lambda x: x[(x - 1).astype("int64")], [1, 1, 1]),
    (lambda x: paddle.sum(x * 1.5, dtype="int32"), [1.5, 1.5, 1.5]),
    (lambda x: x.prod(dtype="int64"), [6, 3, 2]),
    (lambda x: paddle.cumsum(x, dtype="int64"), [3, 2, 1]),
    (lambda x: paddle.cumprod(x, 0, dtype="int64"), [9, 4, 2]),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("f", "wanted"), CASTS)
def test_gradients_go_through_casts_to_integers(f: Callable[[Any], Any], wanted: list[float], dtype: str) -> None:
    x = leaf([1.5, 2.0, 3.0], dtype)
    y = f(x)
    assert not y.stop_gradient
    y.astype("float64").sum().backward()
    assert x.grad.dtype == x.dtype
    assert x.grad.tolist() == wanted


def test_casts_to_integers_are_tracked_in_compiled_functions_and_under_vmap() -> None:
    def f(x: Any) -> Any:
        return (x.astype("int32") * 3).astype("float32") * x

    x = leaf([1.5, 2.0], "float32")
    paddle.jit.to_static(f)(x).sum().backward()
    assert x.grad.tolist() == [3 + 3 * 1, 6 + 3 * 2]
    x.clear_grad()
    fg.func.vmap(f)(x).sum().backward()
    assert x.grad.tolist() == [6, 12]
    with paddle.no_grad():
        assert x.astype("int32").stop_gradient
    assert x.detach().astype("int32").stop_gradient


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_custom_functions_give_integers_a_history(dtype: str) -> None:
    class Cast(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> tuple[Any, Any]:
            chosen = x.argmax()
            ctx.mark_non_differentiable(chosen)
            return x.astype(dtype), chosen

        @staticmethod
        def backward(ctx: Any, g: Any, unused: Any) -> Any:
            assert str(g.dtype) == f"paddle.{dtype}"
            return g.astype("float32") * 3

    x = leaf([1.0, 0.0], "float32")
    y, chosen = Cast.apply(x)
    assert (y.stop_gradient, chosen.stop_gradient) == (False, True)
    y.astype("float32").sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_layers_of_numbers_that_are_cast_to_indices() -> None:
    x, w = leaf([0.5, 1.5], "float32"), leaf([[1.0, 2.0], [3.0, 4.0]], "float32")
    F.embedding(x.astype("int64"), w).sum().backward()
    assert x.grad is None
    assert w.grad.tolist() == [[1, 1], [1, 1]]


def test_other_dialects_track_no_integers() -> None:
    with pytest.raises(fg.DtypeError, match="floating point"):
        torch.tensor([1], requires_grad=True)
    with pytest.raises(fg.DtypeError, match="floating point"):
        fg.tensor([1], requires_grad=True)
