"""The order of elements in memory: formats, and the strides of results, which in the tables are those of PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import ferrograd.torch
import numpy as np
import pytest
from ferrograd import ArgumentError

# The type checker knows the core's functions, whose arguments are others.
torch: Any = ferrograd.torch
nn = torch.nn
F = torch.nn.functional

#: The order of axes in memory, the outermost first, of images and of volumes with their channels last.
LAST, VOLUMES = (0, 2, 3, 1), (0, 2, 3, 4, 1)


def laid(order: tuple[int, ...], *shape: int) -> Any:
    """A tensor of random numbers with its axes in an order in memory."""
    return torch.rand(*(shape[i] for i in order)).permute(*(order.index(i) for i in range(len(order))))


#: What makes a tensor or copies one.
MADE: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: torch.empty(2, 3, 4, 5, memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.empty(2, 3, 2, 4, 5, memory_format=torch.channels_last_3d), (120, 1, 60, 15, 3)),
    (lambda: torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 3, 2, 4, 5).to(memory_format=torch.channels_last_3d), (120, 1, 60, 15, 3)),
    (lambda: torch.ones(2, 3, 4, 5).to(torch.float64, memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 3, 4, 5).clone(memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.ones(1, 3, 4, 5).to(memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.ones(1, 3, 1, 5).clone(memory_format=torch.channels_last), (15, 1, 15, 3)),
    (lambda: torch.zeros_like(torch.ones(2, 3, 4, 5), memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: torch.rand_like(torch.ones(2, 3, 4, 5), memory_format=torch.channels_last), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).contiguous(), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).to(memory_format=torch.contiguous_format), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).clone(), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).clone(memory_format=torch.contiguous_format), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).to(torch.float32, copy=True), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5)[:, 1:].clone(), (40, 1, 10, 2)),
    (lambda: laid(LAST, 2, 3, 4, 5)[:, 1:].double(), (40, 1, 10, 2)),
    (lambda: laid((1, 0), 3, 4).clone(), (1, 3)),
    (lambda: laid((1, 0), 3, 4)[::2].clone(), (1, 2)),
    (lambda: torch.ones(3, 1).expand(3, 4).clone(), (4, 1)),
    (lambda: torch.zeros_like(laid(LAST, 2, 3, 4, 5)), (60, 1, 15, 3)),
    (lambda: torch.ones_like(laid(LAST, 2, 3, 4, 5), dtype=torch.int64), (60, 1, 15, 3)),
    (lambda: torch.empty_like(laid(VOLUMES, 2, 3, 2, 4, 5)), (120, 1, 60, 15, 3)),
    (lambda: torch.full_like(laid((2, 0, 1), 2, 3, 4), 7), (3, 1, 6)),
    (lambda: torch.rand_like(laid(LAST, 2, 3, 4, 5)[..., ::2]), (36, 1, 9, 3)),
    (lambda: torch.randn_like(laid((1, 0), 3, 4)), (1, 3)),
    (lambda: torch.randint_like(laid((1, 0), 3, 4), 9), (1, 3)),
    (lambda: torch.zeros_like(laid(LAST, 2, 3, 4, 5), memory_format=torch.contiguous_format), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).new_zeros(2, 3, 4, 5), (60, 20, 5, 1)),
]
#: What is computed element by element.
ELEMENTS: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: laid(LAST, 2, 3, 4, 5) + 1, (60, 1, 15, 3)),
    (lambda: 2 - laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: -laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5) > 0.5, (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).exp(), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5)[:, 1:].exp(), (40, 1, 10, 2)),
    (lambda: laid(LAST, 2, 3, 4, 5)[:, 1:] + 1, (40, 1, 10, 2)),
    (lambda: laid((1, 0), 3, 4) * 2, (1, 3)),
    (lambda: laid((2, 0, 1), 2, 3, 4).sin(), (3, 1, 6)),
    (lambda: laid(VOLUMES, 2, 3, 2, 4, 5).relu(), (120, 1, 60, 15, 3)),
    (lambda: F.gelu(laid(LAST, 2, 3, 4, 5)), (60, 1, 15, 3)),
    (lambda: F.dropout(laid(LAST, 2, 3, 4, 5)), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).clamp(0.1, 0.5), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).half(), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5) + laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5) + torch.ones(2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 3, 4, 5) + laid(LAST, 2, 3, 4, 5), (60, 20, 5, 1)),
    (lambda: torch.ones(2, 3, 4, 5).mul(laid(LAST, 2, 3, 4, 5)), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5) - laid((3, 2, 1, 0), 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5) + torch.ones(3, 1, 1), (60, 1, 15, 3)),
    (lambda: torch.ones(3, 1, 1) + laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: torch.ones(5) * laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 3, 1, 1) * laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: torch.ones(2, 1, 4, 5) * laid(LAST, 2, 3, 4, 5), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 1, 4, 5) + laid(LAST, 2, 3, 1, 1), (60, 20, 5, 1)),
    (lambda: torch.ones(3, 1) + laid((1, 0), 3, 4), (1, 3)),
    (lambda: laid((1, 0), 3, 4) + torch.ones(4), (1, 3)),
    (lambda: laid((1, 0), 3, 1) + torch.ones(1, 4), (4, 1)),
    (lambda: torch.ones(3, 4) + laid((1, 0), 3, 4), (4, 1)),
    (lambda: laid((1, 0), 3, 4) ** torch.ones(3, 4), (1, 3)),
    (lambda: torch.where(laid(LAST, 2, 3, 4, 5) > 0.5, torch.ones(2, 3, 4, 5), 0.0), (60, 1, 15, 3)),
    (lambda: torch.where(torch.ones(2, 3, 4, 5) > 0.5, laid(LAST, 2, 3, 4, 5), 0.0), (60, 20, 5, 1)),
    (lambda: torch.addcmul(laid(LAST, 2, 3, 4, 5), torch.ones(2, 3, 4, 5), torch.ones(3, 1, 1)), (60, 1, 15, 3)),
    (lambda: torch.lerp(torch.ones(2, 3, 4, 5), laid(LAST, 2, 3, 4, 5), 0.5), (60, 20, 5, 1)),
    (lambda: torch.maximum(laid((1, 0), 3, 4), torch.ones(3, 4)), (1, 3)),
    (lambda: F.mse_loss(laid(LAST, 2, 3, 4, 5), torch.ones(2, 3, 4, 5), reduction="none"), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5) - laid(LAST, 2, 3, 4, 5).mean(1, keepdim=True), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).flip(1), (60, 1, 15, 3)),
    (lambda: laid((1, 0), 3, 4).sort(0).values, (1, 3)),
]
#: What is computed of images and volumes, and what forgets the order.
IMAGES: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: F.conv2d(laid(LAST, 2, 3, 4, 5), torch.ones(4, 3, 3, 3), padding=1), (80, 1, 20, 4)),
    (lambda: F.conv2d(torch.ones(2, 3, 4, 5), laid(LAST, 4, 3, 3, 3), torch.ones(4)), (24, 1, 12, 4)),
    (lambda: F.conv2d(laid(LAST, 2, 4, 4, 5), torch.ones(4, 2, 1, 1), groups=2), (80, 1, 20, 4)),
    (lambda: F.conv2d(torch.ones(2, 3, 4, 5), torch.ones(4, 3, 3, 3)), (24, 6, 3, 1)),
    (lambda: F.conv_transpose2d(laid(LAST, 2, 3, 4, 5), torch.ones(3, 4, 2, 2)), (120, 1, 24, 4)),
    (lambda: F.conv3d(laid(VOLUMES, 2, 3, 3, 4, 5), torch.ones(4, 3, 3, 3, 3)), (24, 1, 24, 12, 4)),
    (lambda: F.max_pool2d(laid(LAST, 2, 3, 4, 6), 2), (18, 1, 9, 3)),
    (lambda: F.max_pool2d(laid(LAST, 2, 3, 4, 6), 2, return_indices=True)[1], (18, 1, 9, 3)),
    (lambda: F.avg_pool2d(laid(LAST, 2, 3, 4, 6), 2), (18, 1, 9, 3)),
    (lambda: F.adaptive_avg_pool2d(laid(LAST, 2, 3, 4, 5), 2), (12, 1, 6, 3)),
    (lambda: F.adaptive_max_pool2d(laid(LAST, 2, 3, 4, 5), 2), (12, 1, 6, 3)),
    (lambda: F.max_pool3d(laid(VOLUMES, 2, 3, 4, 4, 6), 2), (36, 1, 18, 9, 3)),
    (lambda: F.batch_norm(laid(LAST, 2, 3, 4, 5), None, None, training=True), (60, 1, 15, 3)),
    (
        lambda: F.batch_norm(laid(LAST, 2, 3, 4, 5), torch.zeros(3), torch.ones(3), torch.ones(3), torch.ones(3)),
        (60, 1, 15, 3),
    ),
    (lambda: F.group_norm(laid(LAST, 2, 4, 4, 5), 2), (80, 1, 20, 4)),
    (lambda: F.layer_norm(laid(LAST, 2, 3, 4, 5), [5]), (60, 20, 5, 1)),
    (lambda: F.instance_norm(laid(LAST, 2, 3, 4, 5)), (60, 20, 5, 1)),
    (lambda: F.interpolate(laid(LAST, 2, 3, 4, 5), scale_factor=2), (240, 1, 30, 3)),
    (lambda: F.interpolate(laid(LAST, 2, 3, 4, 5), scale_factor=2, mode="bilinear"), (240, 1, 30, 3)),
    (lambda: F.interpolate(laid(LAST, 2, 3, 4, 5), (2, 2), mode="area"), (12, 1, 6, 3)),
    (lambda: F.interpolate(laid(VOLUMES, 2, 3, 2, 4, 5), scale_factor=2), (960, 1, 240, 30, 3)),
    (lambda: F.pixel_shuffle(laid(LAST, 2, 8, 4, 5), 2), (160, 1, 20, 2)),
    (lambda: F.pixel_unshuffle(laid(LAST, 2, 3, 4, 6), 2), (72, 1, 36, 12)),
    (lambda: F.pad(laid(LAST, 2, 3, 4, 5), (1, 1)), (84, 1, 21, 3)),
    (lambda: F.pad(laid(LAST, 2, 3, 4, 5), (1, 1, 1, 1), mode="reflect"), (126, 1, 21, 3)),
    (lambda: F.pad(laid(LAST, 2, 3, 4, 5), (1, 1, 1, 1), mode="replicate"), (126, 1, 21, 3)),
    (lambda: F.pad(laid(LAST, 2, 3, 4, 5), (1, 1, 1, 1), mode="circular"), (126, 42, 7, 1)),
    (lambda: F.dropout2d(laid(LAST, 2, 3, 4, 5)), (60, 1, 15, 3)),
    (lambda: F.prelu(laid(LAST, 2, 3, 4, 5), torch.ones(3)), (60, 1, 15, 3)),
    (lambda: torch.cat([laid(LAST, 2, 3, 4, 5), laid(LAST, 2, 3, 4, 5)], 1), (120, 1, 30, 6)),
    (lambda: torch.cat([laid(LAST, 2, 3, 4, 5), torch.ones(2, 3, 4, 5)], 1), (120, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).roll(1, 1), (60, 1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5).softmax(1), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).cumsum(1), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).sum(1, keepdim=True), (20, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).amax((2, 3)), (3, 1)),
    (lambda: laid((1, 0), 3, 4) @ torch.ones(4, 4), (4, 1)),
    (lambda: laid((1, 0), 4, 4) @ laid((1, 0), 4, 4), (4, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).masked_fill(torch.ones(5) > 0, 0.0), (60, 20, 5, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5).repeat(1, 1, 1, 2), (120, 40, 10, 1)),
    (lambda: laid(LAST, 2, 3, 4, 5)[0], (1, 15, 3)),
    (lambda: laid(LAST, 2, 3, 4, 5)[:, 1], (60, 15, 3)),
]


@pytest.mark.parametrize(("f", "strides"), [*MADE, *ELEMENTS, *IMAGES])
def test_strides_are_those_of_pytorch(f: Any, strides: tuple[int, ...]) -> None:
    assert f().stride() == strides


FUNCTIONS: list[Any] = [
    lambda x: x + 1,
    lambda x: x.exp(),
    lambda x: x + torch.ones(2, 3, 4, 6),
    lambda x: torch.ones(3, 1, 1) * x,
    lambda x: F.conv2d(x, torch.arange(108.0).reshape(4, 3, 3, 3), torch.ones(4), padding=1),
    lambda x: F.conv2d(torch.ones(1, 3, 5, 7), x),
    lambda x: F.max_pool2d(x, 2),
    lambda x: F.batch_norm(x, None, None, training=True),
    lambda x: F.group_norm(x, 3, torch.arange(3.0), torch.ones(3)),
    lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: F.pixel_unshuffle(x, 2),
    lambda x: F.pad(x, (1, 0, 2, 1), mode="reflect"),
    lambda x: torch.cat([x, x * 2], 1),
    lambda x: x.softmax(1),
    lambda x: x.clone(memory_format=torch.contiguous_format),
    lambda x: x.to(torch.float64, memory_format=torch.channels_last),
    lambda x: x.flip(2).roll(1, 3),
    lambda x: torch.where(x > 0.5, x, torch.ones(2, 3, 4, 6)),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_gradients_are_those_in_c_order(f: Any) -> None:
    x = laid(LAST, 2, 3, 4, 6).requires_grad_()
    same = x.detach().contiguous().requires_grad_()
    found, wanted = f(x), f(same)
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)
    (found * found).sum().backward()
    (wanted * wanted).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), same.grad.numpy(), rtol=1e-4, atol=1e-5)
    assert x.grad.stride() == x.stride()
    assert same.grad.stride() == same.stride()


def test_a_result_keeps_its_strides_when_it_is_shared_or_written_to() -> None:
    y = laid(LAST, 2, 3, 4, 5) + 1
    strides, before = y.stride(), y.detach().clone()
    first = y[0]
    assert y._base is None
    assert first._base is y
    y.mul_(2)
    y[1] = 7.0
    y.add_(torch.ones(2, 3, 4, 5))
    assert y.stride() == strides == y.detach().stride()
    assert first.stride() == (1, 15, 3)
    assert torch.equal(first, before[0] * 2 + 1)
    assert torch.equal(y[1], torch.full((3, 4, 5), 8.0))
    y.zero_()
    assert y.stride() == strides
    assert not first.any()


def test_what_kernels_leave_in_another_order_is_in_c_order_for_all_others() -> None:
    x = torch.rand(2, 3, 4)
    y = F.softmax(x, 1)
    for z in (y, y + 1, y.detach(), y.clone()):
        assert z.is_contiguous()
        assert z.stride() == (12, 4, 1)
        assert z.view(-1).shape == (24,)
    w = torch.rand(2, 3, requires_grad=True)
    w.sum().backward()
    assert w.grad.stride() == (3, 1)
    assert w.grad.view(-1).tolist() == [1.0] * 6


def test_gradients_flow_through_writes_in_another_order() -> None:
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    y = x.to(memory_format=torch.channels_last) * 2
    view = y[0, 1]
    y[0, 0] = 0.0
    view.mul_(3)
    y.add_(1)
    assert y.stride() == (24, 1, 8, 2)
    (y * y).sum().backward()
    wanted = torch.zeros(1, 2, 3, 4)
    wanted[0, 1] = 12 * (6 * x.detach()[0, 1] + 1)
    assert torch.equal(x.grad, wanted)
    assert x.grad.stride() == x.stride()


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 4, 5), (2, 3, 1, 5)])
def test_formats_are_told_by_strides(shape: tuple[int, ...]) -> None:
    x = torch.rand(*shape)
    y = x.to(memory_format=torch.channels_last)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert not y.is_contiguous()
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert y.contiguous(memory_format=torch.channels_last) is y.to(memory_format=torch.channels_last) is y
    assert x.contiguous() is x.to(memory_format=torch.contiguous_format) is x
    assert torch.equal(x, y)
    assert torch.equal(x, y.contiguous())
    assert not torch.ones(2, 3).is_contiguous(memory_format=torch.channels_last)


def test_formats_refuse_what_pytorch_refuses() -> None:
    x = torch.ones(2, 3)
    for convert in (
        x.contiguous,
        x.to,
        x.clone,
        lambda memory_format: torch.zeros_like(x, memory_format=memory_format),
    ):
        with pytest.raises(ArgumentError, match="required rank 4"):
            convert(memory_format=torch.channels_last)
    with pytest.raises(ArgumentError, match="preserve memory format is unsupported"):
        x.contiguous(memory_format=torch.preserve_format)
    with pytest.raises(ArgumentError, match="no memory format"):
        x.to(memory_format="channels_last")
    with pytest.raises(ArgumentError, match="required rank 5"):
        torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last_3d)


def test_gradients_have_the_strides_of_their_tensors() -> None:
    weight = torch.rand(4, 3, 3, 3).to(memory_format=torch.channels_last).requires_grad_()
    for _ in range(2):
        F.conv2d(torch.ones(2, 3, 5, 5), weight).sum().backward()
        assert weight.grad.stride() == weight.stride() == (27, 1, 9, 3)
    rows = torch.rand(3, 4, requires_grad=True)
    (rows.T * laid((1, 0), 4, 3)).sum().backward()
    assert rows.grad.stride() == (4, 1)
    part = torch.rand(3, 8)[:, ::2].requires_grad_()
    (part.T * 2).sum().backward()
    assert part.grad.stride() == (4, 1)


def _network() -> Any:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Conv2d(4, 2, 1),
    )


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
        lambda p: torch.optim.RMSprop(p, 0.01),
    ],
)
def test_a_module_with_channels_last_trains_as_one_without(optimizer: Any) -> None:
    plain = _network()
    last = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    assert last[0].weight.stride() == (27, 1, 9, 3)
    assert last[0].weight.is_leaf
    assert last[0].weight.requires_grad
    steps = [optimizer(plain.parameters()), optimizer(last.parameters())]
    for _ in range(3):
        x = torch.rand(2, 3, 4, 5)
        for model, step in zip((plain, last), steps, strict=True):
            step.zero_grad()
            y = model(x)
            (y * y).mean().backward()
            step.step()
        assert y.stride() == (40, 1, 10, 2)
    for one, other in zip(plain.parameters(), last.parameters(), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-6)
    assert last[0].weight.stride() == last[0].weight.grad.stride() == (27, 1, 9, 3)
    assert copy.deepcopy(last)[0].weight.stride() == (27, 1, 9, 3)
    again = last.to(torch.float64, memory_format=torch.contiguous_format)
    assert again[0].weight.stride() == (27, 9, 3, 1)
    assert again[0].weight.dtype == torch.float64


def test_copies_and_files_keep_the_strides() -> None:
    x = laid(LAST, 2, 3, 4, 5).requires_grad_()
    file = io.BytesIO()
    torch.save({"x": x, "p": torch.nn.Parameter(x.detach())}, file)
    file.seek(0)
    saved = torch.load(file)
    copies = [saved["x"], saved["p"], copy.copy(x), copy.deepcopy(x), copy.deepcopy(torch.nn.Parameter(x.detach()))]
    copies += [pickle.loads(pickle.dumps(x, protocol)) for protocol in (2, 5)]
    copies.append(pickle.loads(pickle.dumps(torch.nn.Parameter(x.detach()))))
    for y in copies:
        assert y.stride() == x.stride()
        assert y.requires_grad
        assert y.is_leaf
        assert torch.equal(x, y)
    half = pickle.loads(pickle.dumps(x.detach().bfloat16()))
    assert half.stride() == x.stride()
    assert half.dtype == torch.bfloat16


def test_arrays_of_numpy_see_the_strides() -> None:
    x = laid(LAST, 2, 3, 4, 5) + 1
    a = x.numpy()
    assert a.strides == tuple(4 * s for s in x.stride())
    a[0, 0] = 5.0
    assert (x[0, 0] == 5).all()
    fortran = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    for made in (torch.from_numpy(fortran) * 2, torch.exp(torch.from_numpy(fortran))):
        assert made.stride() == (1, 3)


def test_modes_keep_the_strides() -> None:
    x = laid(LAST, 2, 3, 4, 5)
    weight = torch.rand(4, 3, 1, 1, requires_grad=True)
    with torch.no_grad():
        assert F.conv2d(x, weight).relu().stride() == (80, 1, 20, 4)
    with torch.inference_mode():
        assert (F.conv2d(x, weight) + torch.ones(2, 4, 4, 5)).stride() == (80, 1, 20, 4)
    with torch.autocast("cpu"):
        y = F.conv2d(x, weight)
    assert y.dtype == torch.bfloat16
    assert y.stride() == (80, 1, 20, 4)
    assert (
        torch.utils.checkpoint.checkpoint(lambda x: F.conv2d(x, weight), x, use_reentrant=False).stride() == y.stride()
    )


def test_transforms_and_compiled_functions_take_every_order() -> None:
    x = laid(LAST, 2, 3, 4, 5)

    def f(x: Any) -> Any:
        return (F.relu(x + torch.ones(3, 4, 5)) * x).to(memory_format=torch.channels_last) + 1

    compiled = torch.compile(f)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), f(x))
    rows = torch.func.vmap(lambda row: row.exp() + torch.ones(3, 4, 5))(x)
    torch.testing.assert_close(rows, x.exp() + 1)
    slope = torch.func.grad(lambda x: f(x).sum())(x)
    torch.testing.assert_close(slope, 2 * x + 1)
    value, tangent = torch.func.jvp(f, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(value, f(x))
    torch.testing.assert_close(tangent, 2 * x + 1)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("size", [(8, 8), (8, 5), (4, 8)])
def test_images_of_other_sizes_keep_the_order_along_each_axis(dtype: Any, size: tuple[int, int]) -> None:
    for form in (torch.contiguous_format, torch.channels_last):
        x = (10 * torch.arange(120.0).reshape(2, 3, 4, 5) % 256).to(dtype).contiguous(memory_format=form)
        y = F.interpolate(x, size, mode="bilinear", antialias=True)
        assert y.is_contiguous(memory_format=form)
        if size[0] == 4:
            rows = [F.interpolate(x[:, :, i : i + 1], (1, 8), mode="bilinear", antialias=True) for i in range(4)]
            torch.testing.assert_close(y, torch.cat(rows, 2))


#: Pools of images and of volumes, with windows that differ at the edges.
POOLS: list[Any] = [
    lambda x: F.max_pool2d(x, 2),
    lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    lambda x: F.max_pool2d(x, (2, 3), 1, dilation=2, return_indices=True),
    lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True, return_indices=True),
    lambda x: F.max_pool2d(x, (5, 19), return_indices=True),
    lambda x: F.avg_pool2d(x, 3, 2, 1),
    lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.avg_pool2d(x, (5, 20), ceil_mode=True),
    lambda x: F.adaptive_avg_pool2d(x, (4, 7)),
    lambda x: F.adaptive_max_pool2d(x, (4, 7), return_indices=True),
]
VOLUME_POOLS: list[Any] = [
    lambda x: F.max_pool3d(x, 2, return_indices=True),
    lambda x: F.avg_pool3d(x, 2, 1, 1),
    lambda x: F.adaptive_avg_pool3d(x, (2, 3, 2)),
]


@pytest.mark.parametrize("channels", [1, 3, 4, 17])
@pytest.mark.parametrize(
    ("pool", "order"), [*((pool, LAST) for pool in POOLS), *((pool, VOLUMES) for pool in VOLUME_POOLS)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pools_have_the_same_bits_in_every_order(pool: Any, order: Any, channels: int, dtype: Any) -> None:
    torch.manual_seed(0)
    sizes = (11, 23) if order is LAST else (5, 4, 6)
    x = torch.randn(2, channels, *sizes, dtype=dtype)
    # Equal numbers, zeros of both signs, and NaN.
    x = torch.where(x > 1, torch.tensor(0.5, dtype=dtype), x)
    x[0, 0, 0, 0], x[0, -1, 3, 1], x[1, 0, 2] = -0.0, float("nan"), 0.0
    y = x.permute(order).contiguous().permute([order.index(i) for i in range(x.dim())])
    results = []
    for leaf, in_order in ((x.detach().requires_grad_(), range(x.dim())), (y.detach().requires_grad_(), order)):
        out = pool(leaf)
        values, *positions = out if isinstance(out, tuple) else (out,)
        (values * torch.linspace(0, 1, values.numel(), dtype=dtype).reshape(values.shape)).sum().backward()
        results.append([z.detach().numpy().tobytes() for z in (values, *positions, leaf.grad)])
        # Of volumes PyTorch pools some to C order.
        assert values.permute(*in_order).is_contiguous() or order is VOLUMES
    assert results[0] == results[1]


#: By function: the shape of the images, the shape of the weight, and the other arguments.
CONVOLUTIONS: list[tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (F.conv2d, (3, 5, 9, 13), (32, 5, 3, 3), {"padding": 1}),
    (F.conv2d, (2, 16, 7, 6), (16, 16, 1, 1), {}),
    (F.conv2d, (1, 3, 20, 31), (48, 3, 5, 4), {"stride": (2, 3), "padding": (2, 0)}),
    (F.conv2d, (2, 16, 12, 12), (64, 8, 3, 2), {"groups": 2, "dilation": (2, 3), "padding": 2}),
    (F.conv2d, (2, 170, 4, 5), (16, 170, 3, 3), {"padding": "same"}),
    (F.conv2d, (2, 16, 6, 6), (16, 1, 3, 3), {"groups": 16, "padding": 1}),
    (F.conv2d, (3, 24, 19, 20), (24, 1, 5, 4), {"groups": 24, "padding": 3, "stride": (2, 3)}),
    (F.conv2d, (2, 16, 9, 8), (16, 1, 3, 3), {"groups": 16, "dilation": 2, "stride": 2}),
    (F.conv2d, (2, 4, 6, 6), (7, 4, 3, 3), {"padding": 1}),
    (F.conv_transpose2d, (2, 16, 5, 6), (16, 32, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    (F.conv_transpose2d, (2, 16, 5, 6), (16, 16, 2, 2), {"stride": 3, "groups": 2}),
    (F.conv3d, (2, 4, 5, 6, 7), (16, 4, 3, 3, 2), {"padding": (1, 2, 0), "stride": (1, 2, 1)}),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("special", [None, float("inf"), float("nan")])
def test_convolutions_have_the_same_bits_in_every_order(case: Any, dtype: Any, special: float | None) -> None:
    f, sizes, weights, options = case
    torch.manual_seed(0)
    order = LAST if len(sizes) == 4 else VOLUMES
    last = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    x, w = torch.randn(*sizes, dtype=dtype), torch.randn(*weights, dtype=dtype)
    if special is not None:
        w[0, 0, 0, 0], x[0, 0, 1, 1] = special, special
    results = []
    for images, weight in ((None, None), (last, None), (last, last), (None, last)):
        leaves = [
            (t if format is None else t.contiguous(memory_format=format)).clone().requires_grad_()
            for t, format in ((x, images), (w, weight))
        ]
        y = f(*leaves, **options)
        if f is F.conv2d and images is not None:
            assert y.permute(order).is_contiguous()
        (y * torch.linspace(-1, 1, y.numel(), dtype=dtype).reshape(y.shape)).sum().backward()
        bits = [np.nan_to_num(t.detach().numpy(), nan=7.0).tobytes() for t in (y, leaves[0].grad)]
        results.append((bits, leaves[1].grad))
    for bits, of_weight in results[1:]:
        assert bits == results[0][0]
        # Where channels are last, the pixels are summed in another order.
        torch.testing.assert_close(of_weight, results[0][1], rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("channels", [2, 8, 100, 700])
@pytest.mark.parametrize("sizes", [(1, 2), (5, 7), (40, 30)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_normalization_keeps_channels_last(channels: int, sizes: tuple[int, int], dtype: Any) -> None:
    torch.manual_seed(0)
    x, w, b = torch.randn(3, channels, *sizes, dtype=dtype) + 3, torch.randn(channels), torch.randn(channels)
    results = []
    for format in (torch.contiguous_format, torch.channels_last):
        leaves = [t.clone().requires_grad_() for t in (x.contiguous(memory_format=format), w.to(dtype), b.to(dtype))]
        y = F.batch_norm(leaves[0], None, None, *leaves[1:], training=True)
        assert y.is_contiguous(memory_format=format)
        cotangent = torch.linspace(-1, 1, y.numel(), dtype=dtype).reshape(y.shape)
        gradients = torch.autograd.grad((y * cotangent).sum(), leaves, create_graph=True)
        second = torch.autograd.grad((gradients[0] * cotangent.cos()).sum(), leaves[:2])
        results.append([y, *gradients, *second])
    tolerance = 1e-3 if dtype is torch.float32 else 1e-10
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_of_channels_last_do_not_depend_on_threads(threads: int) -> None:
    def step() -> list[bytes]:
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.Conv2d(32, 32, 3, groups=32), nn.Conv2d(32, 16, 1)
        )
        net = net.to(memory_format=torch.channels_last)
        net(torch.randn(4, 3, 40, 40).to(memory_format=torch.channels_last)).square().mean().backward()
        return [p.grad.numpy().tobytes() for p in net.parameters()]

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    first = step()
    try:
        torch.set_num_threads(threads)
        assert step() == first
    finally:
        torch.set_num_threads(before)


def test_a_new_axis_has_the_step_over_those_that_follow() -> None:
    """An image taken out of a batch and put into one of its own: what is computed with numbers keeps its strides.

    What is computed of windows is in C order, which PyTorch's own tests call unexpected.
    """
    image = torch.rand(1, 3, 6, 5).contiguous(memory_format=torch.channels_last)[0]
    for x in (image[None], image.unsqueeze(0), image.reshape(1, 3, 6, 5)):
        assert x.stride() == (3, 1, 15, 3)
        assert x.is_contiguous(memory_format=torch.channels_last)
        for y in (x + 1, x * 2.0, x.clone(), x.double(), torch.empty_like(x), torch.zeros_like(x)):
            assert y.stride() == (3, 1, 15, 3)
        assert torch.relu(x).stride() == (90, 1, 15, 3)
        for size in ((4, 4), (8, 9)):
            assert F.interpolate(x, size, mode="bilinear", antialias=True).is_contiguous()
        assert F.conv2d(x, torch.rand(4, 3, 3, 3)).is_contiguous()
    assert torch.rand(2, 3, 4).transpose(0, 1)[:, :, :, None].stride() == (4, 12, 1, 1)
    assert torch.rand(2, 3, 4).transpose(0, 1)[:, None].stride() == (4, 24, 12, 1)
