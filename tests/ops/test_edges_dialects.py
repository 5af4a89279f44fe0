"""Answers at the edges of functions: orders of norms, counts, numbers for vectors, outcomes without probability."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch
from ferrograd.testing import gradcheck, gradgradcheck

INF = float("inf")


@pytest.mark.parametrize(("module", "axes"), [("torch", 1), ("torch", 2), ("torch", 3), ("paddle", 1), ("paddle", 2)])
@pytest.mark.parametrize("order", [INF, -INF])
def test_pools_of_infinite_order_take_the_largest_or_the_smallest(module: str, axes: int, order: float) -> None:
    functional: Any = torch.nn.functional if module == "torch" else paddle.nn.functional
    data = np.arange(4.0**axes, dtype=np.float32).reshape(1, 1, *[4] * axes) - 5
    x = torch.tensor(data, requires_grad=True) if module == "torch" else paddle.to_tensor(data, stop_gradient=False)
    y = getattr(functional, f"lp_pool{axes}d")(x, order, 2)
    blocks = data.reshape([n for _ in range(axes) for n in (2, 2)]).transpose(
        [2 * i for i in range(axes)] + [2 * i + 1 for i in range(axes)]
    )
    flat = blocks.reshape([2] * axes + [-1])
    np.testing.assert_array_equal(np.asarray(y.detach())[0, 0], flat.max(-1) if order > 0 else flat.min(-1))
    y.sum().backward()
    assert np.asarray(x.grad).sum() == 2**axes
    with pytest.raises(fg.ArgumentError):
        getattr(functional, f"lp_pool{axes}d")(x, 0, 2)


@pytest.mark.parametrize("order", [INF, -INF, 0])
def test_norms_of_special_orders(order: float) -> None:
    data = np.array([[3.0, -4.0, 0.0], [1.0, -2.0, -5.0]])
    wanted = np.linalg.norm(data, order, axis=1)
    zeros = np.zeros_like(data)
    found = [
        fg.norm(fg.tensor(data), order, 1),
        fg.linalg.vector_norm(fg.tensor(data), ord=order, axis=1),
        torch.norm(torch.tensor(data), order, 1),
        torch.linalg.vector_norm(torch.tensor(data), order, 1),
        paddle.norm(paddle.to_tensor(data), order, 1),
        func.vmap(lambda x: fg.norm(x, order))(fg.tensor(data)),
        fg.compile(lambda x: fg.norm(x, order, 1))(fg.tensor(data)),
    ]
    if order != -INF:
        found.append(torch.cdist(torch.tensor(data), torch.tensor(zeros), order)[:, 0])
        found.append(torch.nn.functional.pairwise_distance(torch.tensor(data), torch.tensor(zeros), order, 0.0))
    for one in found:
        np.testing.assert_array_equal(np.asarray(one), wanted)


def test_kl_div_of_outcomes_without_probability() -> None:
    x, label = [-INF, -1.0, 0.5, 1.0], [0.0, 0.0, 1.0, -2.0]
    given = paddle.to_tensor(x, stop_gradient=False), paddle.to_tensor(label, stop_gradient=False)
    loss = paddle.nn.functional.kl_div(*given, reduction="none")
    assert loss.tolist() == [0, 0, -0.5, 0]
    loss.sum().backward()
    assert given[0].grad.tolist() == [0, 0, -1, 0]
    assert given[1].grad.tolist() == [0, 0, 0.5, 0]
    assert paddle.nn.KLDivLoss(reduction="sum")(*given).item() == -0.5
    assert fg.kl_div(fg.tensor(x[:3]), fg.tensor(label[:3]), "none").tolist() == [0, 0, -0.5]
    slope = func.grad(lambda x: fg.kl_div(x, fg.tensor(label[:3]), "sum"))(fg.tensor(x[:3]))
    assert slope.tolist() == [0, 0, -1]
    assert torch.nn.functional.kl_div(torch.tensor(x[:3]), torch.tensor(label[:3]), reduction="sum").item() == -0.5


@pytest.mark.parametrize("count", [3, 63, 64, 65, 1000])
def test_counts_of_repeats_are_no_shape(count: int) -> None:
    times = np.full(count, 2)
    wanted = np.repeat(np.arange(count), times)
    found = [
        fg.repeat(fg.arange(count), times),
        fg.repeat(fg.arange(count), fg.tensor(times)),
        torch.repeat_interleave(torch.arange(count), torch.full((count,), 2)),
        torch.repeat_interleave(torch.full((count,), 2)),
        torch.arange(count).repeat_interleave(torch.full((count,), 2)),
        paddle.repeat_interleave(paddle.arange(count), paddle.full([count], 2, "int64")),
        np.repeat(fg.arange(count), times),
    ]
    for one in found:
        np.testing.assert_array_equal(np.asarray(one), wanted)
    with pytest.raises(fg.ShapeError):
        fg.repeat(fg.arange(2), [1, -1])
    with pytest.raises(MemoryError):
        fg.repeat(fg.arange(2), [2**62, 2**62])


def test_numbers_in_the_place_of_vectors_and_matrices() -> None:
    products: list[tuple[Any, Any]] = [
        (fg.vecdot, fg.tensor),
        (torch.linalg.vecdot, torch.tensor),
        (paddle.vecdot, paddle.to_tensor),
    ]
    for vecdot, tensor in products:
        two, vector = tensor(2.0), tensor([1.0, 2.0, 3.0])
        assert [vecdot(*pair).item() for pair in ((two, vector), (vector, two), (two, two))] == [12, 12, 4]
    assert func.grad(lambda x: fg.vecdot(x, fg.ones(3)))(fg.tensor(2.0)).item() == 3
    assert fg.vecdot(fg.tensor(1j), fg.tensor([1j, 1j])).item() == 2
    exponentials: list[tuple[Any, Any]] = [
        (fg.linalg.matrix_exp, fg.tensor),
        (torch.matrix_exp, torch.tensor),
        (paddle.linalg.matrix_exp, paddle.to_tensor),
    ]
    for matrix_exp, tensor in exponentials:
        assert matrix_exp(tensor(1.0)).item() == pytest.approx(np.e)
    assert paddle.einsum("i->ii", paddle.to_tensor([1.0, 2.0])).tolist() == [[1, 0], [0, 2]]
    assert paddle.einsum("...i->i...i", paddle.ones([2, 3])).shape == [3, 2, 3]
    assert paddle.einsum("i,j->iji", paddle.ones([2]), paddle.ones([3]))[1, 2].tolist() == [0, 1]
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    paddle.einsum("i->ii", x).sum().backward()
    assert x.grad.tolist() == [1, 1]
    for module in (fg, torch):
        with pytest.raises(fg.ArgumentError, match="twice"):
            module.einsum("i->ii", module.ones(2))


def test_ormqr_of_an_economy_q() -> None:
    rng = np.random.default_rng(0)
    a = torch.tensor(rng.normal(size=(2, 5, 3)))
    h, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(h, tau)
    few, rows = torch.tensor(rng.normal(size=(2, 3, 4))), torch.tensor(rng.normal(size=(2, 4, 3)))
    np.testing.assert_allclose(np.asarray(torch.ormqr(h, tau, few)), np.asarray(q @ few), atol=1e-12)
    found = torch.ormqr(h, tau, rows, False, True)
    np.testing.assert_allclose(np.asarray(found), np.asarray(rows @ q.mT), atol=1e-12)
    whole = torch.tensor(rng.normal(size=(2, 5, 4)))
    np.testing.assert_allclose(np.asarray(torch.ormqr(h, tau, whole, True, True)[:, :3]), np.asarray(q.mT @ whole))
    x = fg.tensor(rng.normal(size=(3, 2)))
    fg.testing.check(lambda x: fg.ormqr(fg.tensor(h[0].numpy()), fg.tensor(tau[0].numpy()), x), [x], order=2)


@pytest.mark.filterwarnings("error")
def test_gradcheck_at_infinity_does_not_warn() -> None:
    x = fg.tensor([-INF, 1.0], dtype="float64", requires_grad=True)
    for f in (fg.exp, fg.sigmoid, lambda x: x * 2, lambda x: fg.softmax(x, 0)):
        for options in ({}, {"fast_mode": True}, {"check_forward_ad": True}):
            assert gradcheck(f, (x,), **options)
    assert gradgradcheck(fg.exp, (x,))
    with pytest.raises(fg.testing.GradcheckError):
        gradcheck(lambda x: fg.exp(x) * x[1].detach(), (x,))


def test_a_module_casts_itself_without_to() -> None:
    class Wrapped(torch.nn.Linear):
        def to(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("PyTorch's casts do not call it")

    module = Wrapped(2, 2)
    for name, dtype in (("double", torch.float64), ("half", torch.float16), ("float", torch.float32)):
        assert getattr(module, name)().weight.dtype == dtype
    assert module.bfloat16().weight.dtype == torch.bfloat16


def test_arguments_that_pytorch_refuses() -> None:
    functional: Any = torch.nn.functional
    x, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    for eps in (0.0, -1.0):
        with pytest.raises(ValueError, match="eps must be positive"):
            functional.batch_norm(x, None, None, training=True, eps=eps)
        with pytest.raises(ValueError, match="eps must be positive"):
            torch.nn.BatchNorm1d(3, eps=eps)(x)
    with pytest.raises(TypeError, match="delta must be a float or int"):
        torch.nn.HuberLoss(delta=1j)
    with pytest.raises(RuntimeError, match="ignore_index is not supported"):
        torch.nn.CrossEntropyLoss(ignore_index=1)(x, torch.softmax(x, 1))
    assert torch.nn.CrossEntropyLoss(ignore_index=-1)(x, torch.softmax(x, 1)).ndim == 0
    with pytest.raises(fg.DtypeError, match="Long or Byte"):
        torch.nn.NLLLoss()(x, labels.to(torch.int32))
    with pytest.raises(fg.DtypeError, match="log-probabilities are floats"):
        functional.nll_loss(torch.ones(4, 3, dtype=torch.int64), labels)
    with pytest.raises(fg.DtypeError, match="weight is of"):
        functional.nll_loss(x, labels, torch.ones(3, dtype=torch.float64))
    assert functional.nll_loss(x, labels.to(torch.uint8)).item() == functional.nll_loss(x, labels).item()
    with pytest.raises(ValueError, match="eps must be non-negative"):
        functional.cosine_similarity(x, x, eps=-1.0)
