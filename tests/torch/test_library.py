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


def test_functions_of_all_devices_are_differentiated_as_they_are() -> None:
    torch.library.define("tests::doubled", "(Tensor x) -> Tensor")
    torch.library.impl("tests::doubled", "CompositeImplicitAutograd", lambda x: 2 * x)
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests.doubled(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.fixture
def vision() -> Any:
    with pytest.raises(OSError, match="compiled for PyTorch"):
        torch.ops.load_library("site-packages/torch_scatter/_scatter_cpu.so")
    torch.ops.load_library("site-packages/torchvision/_C.so")
    assert "site-packages/torchvision/_C.so" in torch.ops.loaded_libraries
    return torch.ops.torchvision


def test_ops_of_torchvision_on_boxes(vision: Any) -> None:
    boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 3], [5, 5, 6, 6]])
    assert vision.nms(boxes, torch.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert vision.nms.default(boxes[:0], torch.ones(0), 0.5).shape == (0,)
    with pytest.raises(ValueError, match="2d tensor"):
        vision.nms(boxes[0], torch.ones(1), 0.5)
    with pytest.raises(NotImplementedError, match="qnms"):
        vision.qnms(boxes, torch.ones(3), 0.5)
    assert vision._cuda_version() == -1


def test_ops_of_torchvision_in_boxes(vision: Any) -> None:
    images = torch.arange(2 * 4 * 16.0, dtype=torch.float64).reshape(2, 4, 4, 4).requires_grad_()
    rois = torch.tensor([[1.0, 0, 0, 3, 3], [0, 1, 1, 2, 3], [1, 9, 9, 9, 9]], dtype=torch.float64)
    pooled, places = vision.roi_pool(images, rois, 1.0, 2, 2)
    assert pooled[0, 0].tolist() == [[69.0, 71.0], [77.0, 79.0]]
    assert places[0, 0].tolist() == [[5, 7], [13, 15]]
    assert places.dtype == torch.int32
    assert pooled[2].tolist() == torch.zeros(4, 2, 2).tolist()
    assert places[2].unique().tolist() == [-1]
    # A bin of one sample at the middle of four pixels has their mean.
    box = torch.tensor([[0.0, 1, 1, 2, 2]], dtype=torch.float64)
    assert vision.roi_align(images, box, 1.0, 1, 1, 1, False)[0, :, 0, 0].tolist() == [7.5, 23.5, 39.5, 55.5]
    assert vision.roi_align(images, box, 1.0, 1, 1, 1, True)[0, 0].item() == 5.0
    by_place, channels = vision.ps_roi_align(images, box, 1.0, 2, 2, 2)
    whole = vision.roi_align(images, box, 1.0, 2, 2, 2, True)[0]
    assert by_place[0, 0].tolist() == [[whole[0, 0, 0].item(), whole[1, 0, 1].item()], [whole[2, 1, 0], whole[3, 1, 1]]]
    assert channels[0, 0].tolist() == [[0, 1], [2, 3]]
    # The last row and column of an image belong to no bin.
    means, _ = vision.ps_roi_pool(images, rois[:1], 1.0, 2, 2)
    assert means[0, 0].tolist() == [[66.5, 83.5], [102.5, 119.5]]

    def all_of_them(x: Any) -> Any:
        return (
            vision.roi_align(x, rois, 0.5, 2, 3, -1, False),
            vision.ps_roi_align(x, rois, 1.0, 2, 2, -1)[0],
            vision.ps_roi_pool(x, rois, 1.0, 2, 2)[0],
            vision.roi_pool(x, rois, 1.0, 2, 2)[0],
        )

    assert torch.autograd.gradcheck(all_of_them, (images,))
    with torch.autocast("cpu"):
        assert vision.roi_align(images.float(), rois.float(), 1.0, 1, 1, 1, False).dtype == torch.float32
    with pytest.raises(ValueError, match=r"Tensor\[K, 5\]"):
        vision.roi_align(images, box[:, :4], 1.0, 1, 1, 1, False)
    with pytest.raises(ValueError, match="multiple"):
        vision.ps_roi_pool(images, rois, 1.0, 3, 1)
    with pytest.raises(ValueError, match="image 7"):
        vision.roi_pool(images, box + 7, 1.0, 1, 1)


def test_deformed_convolutions_of_torchvision(vision: Any) -> None:
    x, weight, bias = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 2, 2), torch.randn(3)
    still, ones = torch.zeros(1, 8, 3, 3), torch.ones(1, 4, 3, 3)
    options = (1, 1, 0, 0, 1, 1, 1, 1)
    found = vision.deform_conv2d(x, weight, still, ones / 2, bias, *options, True)
    expected = torch.nn.functional.conv2d(x, weight) / 2 + bias[:, None, None]
    assert torch.allclose(found, expected, atol=1e-5)
    assert torch.allclose(
        vision.deform_conv2d(x, weight, still, ones / 2, bias, *options, False),
        torch.nn.functional.conv2d(x, weight, bias),
        atol=1e-5,
    )
