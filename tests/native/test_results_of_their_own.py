"""Functions that have nothing to do: their result is a node of its own, or the operand itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch

NOTHING_TO_DO: dict[str, Callable[[Any], Any]] = {
    "concat": lambda x: fg.concat([x]),
    "hstack": lambda x: fg.hstack([x]),
    "roll": lambda x: fg.roll(x, 2, 0),
    "einsum": lambda x: fg.einsum("ij->ij", x),
    "matrix_power": lambda x: fg.linalg.matrix_power(x, 1),
    "diff": lambda x: fg.diff(x, 0),
    "dropout": lambda x: fg.dropout(x, 0.5, False),
    "cast": lambda x: fg.cast(x, x.dtype),
    "broadcast_tensors": lambda x: fg.broadcast_tensors([x, x])[1],
    "resolve_conj": fg.resolve_conj,
    "real": fg.real,
    "tile": lambda x: fg.tile(x, []),
    "reshape": lambda x: fg.reshape(x, [2, 2]),
    "expand": lambda x: fg.broadcast_to(x, [2, 2]),
    "squeeze": fg.squeeze,
    "permute_dims": lambda x: fg.permute_dims(x, [0, 1]),
    "flatten": lambda x: fg.flatten(x, 1),
}
# Of a tensor of torch's these give the tensor itself, as torch does.
GIVEN_BACK = ("dropout", "resolve_conj", "real", "flatten")
namespaces = pytest.mark.parametrize("module", [fg, torch, paddle], ids=["native", "torch", "paddle"])


def leaf(module: Any) -> Any:
    if module is paddle:
        return paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    return module.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@namespaces
@pytest.mark.parametrize("inner", [False, True], ids=["of a leaf", "of a result"])
@pytest.mark.parametrize("function", NOTHING_TO_DO)
def test_hooks_and_gradients_are_those_of_the_result(function: str, inner: bool, module: Any) -> None:
    x = leaf(module)
    source = x * 1.5 if inner else x
    y = NOTHING_TO_DO[function](source)
    if module is torch and function in GIVEN_BACK:
        assert y is source
        return
    assert y is not source
    assert not y.is_leaf
    assert y.grad_fn != source.grad_fn
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    scale = 1.5 if inner else 1.0
    (y * y + source).sum().backward()
    value = np.asarray(source.detach())
    np.testing.assert_array_equal(np.asarray(y.grad.detach()), 4 * value)
    np.testing.assert_array_equal(np.asarray(x.grad.detach()), scale * (4 * value + 1))
    # The hook is none of the operand.
    np.testing.assert_array_equal(np.asarray(fg.grad([(x * 3).sum()], [x])[0]), np.full((2, 2), 3.0))


def test_the_result_is_written_in_place() -> None:
    x = leaf(torch)
    y = torch.cat([x]).mul_(2)
    assert y.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_derivatives_of_all_orders(create_graph: bool) -> None:
    x = leaf(fg)
    (g,) = fg.grad([(fg.concat([x]) ** 3).sum()], [x], create_graph=create_graph)
    np.testing.assert_allclose(np.asarray(g.detach()), 3 * np.asarray(x.detach()) ** 2)
    if create_graph:
        np.testing.assert_allclose(np.asarray(fg.grad([g.sum()], [x])[0]), 6 * np.asarray(x.detach()))


def test_transforms() -> None:
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    f = fg.func.grad(lambda row: (fg.concat([row]) * fg.roll(row, 0)).sum())
    assert fg.func.vmap(f)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert fg.compile(lambda t: fg.concat([t]) * 2)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_without_a_graph_nothing_is_recorded() -> None:
    x = leaf(fg)
    with fg.no_grad():
        assert not fg.concat([x]).requires_grad
        assert fg.reshape(x, [2, 2]).grad_fn is None


@pytest.mark.parametrize("tracked", [False, True])
def test_torch_gives_the_operand_back(tracked: bool) -> None:
    x, v = torch.ones(2, 2, requires_grad=tracked), torch.ones(2, requires_grad=tracked)
    dropout = torch.nn.functional.dropout
    given = [
        dropout(x, 0.5, False),
        torch.dropout(x, 0.5, False),
        dropout(x, 0.0),
        torch.nn.Dropout().eval()(x),
        x.type(x.dtype),
        torch.resolve_conj(x),
        x.resolve_neg(),
        torch.conj_physical(x),
        torch.real(x),
        torch.atleast_2d(x),
    ]
    assert all(y is x for y in given)
    cube = torch.ones(1, 2, 1)
    assert torch.atleast_3d(cube) is cube
    assert torch.flatten(v) is v
    assert v.flatten() is v
    assert torch.t(v) is not v
    assert torch.t(v)._base is v


def test_paddle_gives_the_operand_back() -> None:
    x = leaf(paddle)
    assert x.astype("float32") is x
    assert paddle.cast(x, "float32") is not x
    assert paddle.nn.functional.dropout(x, 0.0) is x
    assert paddle.atleast_2d(x) is x
