"""``TorchDispatchMode``: which ops a mode sees, with which arguments, and what it may do."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from tests.dialects import values

torch: Any = _torch
aten = torch.ops.aten


class Seen(TorchDispatchMode):
    """Lists the ops."""

    def __init__(self) -> None:
        self.ops: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("f", "ops"),
    [
        (lambda x: x + 1, "add.Tensor"),
        (lambda x: 1 - x, "rsub.Scalar"),
        (lambda x: 2 / x, "div.Tensor"),
        (lambda x: 2**x, "pow.Scalar"),
        (lambda x: x**2, "pow.Tensor_Scalar"),
        (lambda x: x > 1, "gt.Scalar"),
        (lambda x: x.clone().mul_(x), "clone.default mul_.Tensor"),
        (lambda x: x.sum() + x.sum(0), "sum.default sum.dim_IntList add.Tensor"),
        (lambda x: torch.max(x, dim=0)[0], "max.dim"),
        (lambda x: torch.var_mean(x)[0], "var_mean.correction"),
        (lambda x: x @ x, "mm.default"),
        (lambda x: x @ x[0], "mv.default"),
        (lambda x: x.expand(3, 2, 2) @ x, "expand.default mm.default"),
        (lambda x: torch.matmul(x.expand(3, 2, 2), x.expand(3, 2, 2)), "expand.default expand.default bmm.default"),
        (lambda x: x[None, None] @ x.expand(3, 2, 2), "expand.default bmm.default"),
        (lambda x: torch.nn.functional.linear(x[None], x, x[0]), "addmm.default"),
        (lambda x: torch.nn.functional.linear(x, x), "mm.default"),
        (lambda x: torch.nn.functional.conv1d(x[None], x[None], padding=1), "convolution.default"),
        (lambda x: torch.linalg.inv(x), "linalg_inv.default"),
        (lambda x: torch.nn.functional.relu(x).softmax(0), "relu.default softmax.int"),
        (lambda x: aten.sin.default(aten.cos(x)), "cos.default sin.default"),
    ],
)
def test_ops_have_their_names_and_results(f: Any, ops: str) -> None:
    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    with Seen() as mode:
        y = f(x)
    assert mode.ops == [f"aten.{op}" for op in ops.split()]
    torch.testing.assert_close(y, f(x))


def test_layers_are_seen_and_gradients_are_as_without_a_mode() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.LayerNorm(2))
    x = torch.ones(4, 3)
    with Seen() as mode:
        layers(x).sum().backward()
    assert mode.ops == ["aten.addmm.default", "aten.tanh.default", "aten.layer_norm.default", "aten.sum.default"]
    found = [p.grad.clone() for p in layers.parameters()]
    layers.zero_grad()
    layers(x).sum().backward()
    for p, g in zip(layers.parameters(), found, strict=True):
        torch.testing.assert_close(p.grad, g)


def test_an_op_is_one_object_and_a_mode_may_give_another_result() -> None:
    class Sines(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0] * 0 if func is aten.sin.default else func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Sines() as mode:
        assert _get_current_dispatch_mode() is mode
        assert values(x.sin()) == values(torch.sin(x)) == [0.0, 0.0]
        assert values(x.cos()) != [0.0, 0.0]
    assert _get_current_dispatch_mode() is None


def test_modes_nest_and_each_sees_what_the_inner_one_calls() -> None:
    x = torch.ones(2)
    with Seen() as outer, Seen() as inner:
        torch.nn.functional.dropout(x, p=0.0, training=True)
        torch.nn.functional.linear(x[None], torch.ones(2, 2))
    assert outer.ops == inner.ops == ["aten.dropout.default", "aten.ones.default", "aten.mm.default"]


def test_a_mode_defines_what_it_does() -> None:
    with pytest.raises(NotImplementedError), TorchDispatchMode():
        torch.ones(2)
    assert values(torch.ones(1)) == [1.0]
