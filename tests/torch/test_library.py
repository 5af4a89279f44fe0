"""``torch.library``: ops of one's own."""

from __future__ import annotations

from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest
from ferrograd import ArgumentError, NotDifferentiableError

torch: Any = _torch


def defined(name: str, **options: Any) -> Any:
    @torch.library.custom_op(f"tests::{name}", **options)
    def op(x: Any, factor: float = 1.0) -> Any:
        return torch.from_numpy(np.sin(x.numpy()) * factor)

    return op


def test_an_op_with_a_gradient() -> None:
    op = defined("sine")

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos() * ctx.factor, None

    op.register_autograd(backward, setup_context=setup)
    assert op.register_fake(len) is len
    x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    op(x, factor=2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(x.detach().numpy()))
    assert torch.autograd.gradcheck(torch.ops.tests.sine, (x,))
    assert torch.ops.tests.sine.default.name() == "tests::sine"
    with pytest.raises(AttributeError, match="custom_op defines one"):
        torch.ops.tests.cosine  # noqa: B018


def test_an_op_without_a_gradient_says_so() -> None:
    op = defined("plain")
    y = op(torch.ones(2, requires_grad=True))
    with pytest.raises(NotDifferentiableError, match="tests::plain has no gradient: register_autograd"):
        y.sum().backward()
    torch.library.register_autograd("tests::plain", lambda ctx, g: (g * 3, None))
    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_ops_that_write() -> None:
    @torch.library.custom_op("tests::increment", mutates_args={"x"})
    def increment(x: Any) -> None:
        x.add_(1)

    x = torch.zeros(2)
    increment(x)
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(ArgumentError, match="x is written to"):
        increment(torch.ones(1, requires_grad=True).exp())
    everything = torch.library.custom_op("tests::all", lambda x: None, mutates_args="unknown")
    with pytest.raises(ArgumentError, match="x is written to"):
        everything(torch.ones(1, requires_grad=True))


def test_lists_of_tensors_have_no_gradient() -> None:
    total = torch.library.custom_op("tests::total", lambda xs: torch.from_numpy(sum(x.numpy() for x in xs)))
    assert total([torch.ones(1), torch.ones(1)]).item() == 2
    with pytest.raises(ArgumentError, match="xs holds several tensors, and its gradient would be lost"):
        total([torch.ones(1, requires_grad=True)])


def test_kernels_and_batches() -> None:
    op = defined("kernel")

    @op.register_kernel("cpu")
    def kernel(x: Any, factor: float = 1.0) -> Any:
        return torch.from_numpy(x.numpy() * factor)

    op.register_kernel("cuda")(len)
    assert op(torch.ones(2), 3.0).tolist() == [3.0, 3.0]

    @op.register_vmap
    def batched(info: Any, in_dims: Any, x: Any, factor: float) -> Any:
        return op(x, factor), in_dims[0]

    assert torch.vmap(op)(torch.ones(3, 2)).shape == (3, 2)


def test_wrong_definitions() -> None:
    with pytest.raises(ArgumentError, match="namespace::name"):
        torch.library.custom_op("sine", len)
    with pytest.raises(ArgumentError, match="no op 'tests::unknown'"):
        torch.library.register_fake("tests::unknown")
    by_name = torch.library.custom_op("tests::by_name", lambda x, *, y: x)
    with pytest.raises(ArgumentError, match="by name only"):
        by_name(torch.ones(1), y=2)
    assert repr(by_name) == "<CustomOpDef(tests::by_name)>"
