"""The ops that torchvision brings compiled, in Python, under its names: ``torch.ops.torchvision.nms``.

They are defined when torchvision loads its compiled library, and differentiated as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._autograd.autocast import Autocast, in_float32
from ferrograd._core import ShapeError
from ferrograd._functions import detection
from ferrograd.torch import library
from ferrograd.torch._tensor import Tensor

#: Ops that torchvision names and nobody calls here: of quantized tensors, of gradients, and of turned boxes.
_WITHOUT = (
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align(Tensor input, Tensor rois) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    *(f"_{name}_backward(Tensor grad) -> Tensor" for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")),
    "_deform_conv2d_backward(Tensor grad) -> Tensor",
)


def define() -> None:
    """Defines the ops."""
    for schema in _WITHOUT:
        library.define(f"torchvision::{schema.partition('(')[0]}", schema)
    for function in (nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d, _cuda_version):
        library.define(f"torchvision::{function.__name__}", "() -> Tensor")
        library.impl(f"torchvision::{function.__name__}", "CompositeImplicitAutograd", function)


def _cuda_version() -> int:
    """-1: there is no GPU."""
    return -1


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Any:
    """The indices of boxes [count, 4] that overlap with no better one beyond a threshold, the best first."""
    if dets.ndim != 2 or dets.shape[1] != 4 or tuple(scores.shape) != tuple(dets.shape[:1]):
        raise ShapeError(
            f"nms: boxes should be a 2d tensor [count, 4] with a score for each, not {list(dets.shape)} and "
            f"{list(scores.shape)}"
        )
    kept = detection.apart(dets.detach().numpy(), scores.detach().numpy(), iou_threshold)
    return detection.made(np.array(kept, np.int64), None, dets)


def _boxes(name: str, x: Tensor, rois: Tensor, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """The images of boxes [count, 5], and their corners."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeError(
            f"{name}: rois must have shape as Tensor[K, 5], for images [batch, channels, height, width]: they are "
            f"{list(rois.shape)}, for {list(x.shape)}"
        )
    if x.shape[1] % parts:
        raise ShapeError(f"{name}: input channels must be a multiple of pooling height * pooling width, {parts}")
    given = rois.detach().numpy()
    images = given[:, 0].astype(np.int64)
    if len(images) and not 0 <= images.min() <= images.max() < x.shape[0]:
        raise ShapeError(f"{name}: boxes of image {images.max()} among {x.shape[0]}")
    return images, given[:, 1:].astype(np.float64)


def _places(x: Tensor, rois: Tensor, rows: int, columns: int) -> Any:
    """For a result whose channels have places of their own: the channel of the images that each element comes from."""
    channels = np.arange(x.shape[1]).reshape(1, -1, rows, columns)
    return detection.made(np.repeat(channels, rois.shape[0], 0), np.dtype(np.int32), x)


def _rounded(corners: np.ndarray) -> np.ndarray:
    """The nearest integers, halves away from zero."""
    return (np.sign(corners) * np.floor(np.abs(corners) + 0.5)).astype(int)


def _read(name: str, x: Tensor, rois: Tensor, scale: float, sizes: tuple[int, int], ratio: int, half: bool) -> Any:
    """The means of what is read in each bin; ``half`` says that pixels lie around their centers."""
    by_place = name == "ps_roi_align"
    images, corners = _boxes(name, x, rois, sizes[0] * sizes[1] if by_place else 1)
    corners = corners * scale - (0.5 if half else 0)
    spans = corners[:, 2:] - corners[:, :2]
    spans = spans if half else np.maximum(spans, 1)
    across, down = (
        detection.read_weights(corner, span, bins, n, ratio)
        for corner, span, bins, n in zip(corners.T[:2], spans.T, sizes[::-1], x.shape[:1:-1], strict=True)
    )
    with Autocast(None):
        return detection.summed_in_boxes(x, images, down, across, by_place)


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Any:
    """The parts of images in boxes ``image, x1, y1, x2, y2``, interpolated to one size."""
    sizes = pooled_height, pooled_width
    found = in_float32(_read)("roi_align", input, rois, spatial_scale, sizes, sampling_ratio, aligned)
    return found.to(input.dtype)


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Any, Any]:
    """:func:`roi_align` with channels of their own for each place of the result, and the numbers of these channels."""
    sizes = pooled_height, pooled_width
    found = _read("ps_roi_align", input, rois, spatial_scale, sizes, sampling_ratio, True)
    return found, _places(input, rois, *sizes)


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Any, Any]:
    """The largest elements of images in the parts of boxes; and where they are in the image."""
    images, corners = _boxes("roi_pool", input, rois, 1)
    corners = _rounded(corners * spatial_scale)
    return detection.largest_in_boxes(input, images, corners, pooled_height, pooled_width)


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Any, Any]:
    """The means of images in the parts of boxes, with channels of their own for each part, and the numbers of these
    channels.
    """
    sizes = pooled_height, pooled_width
    images, corners = _boxes("ps_roi_pool", input, rois, pooled_height * pooled_width)
    corners = _rounded(corners * spatial_scale)
    spans = np.maximum(corners[:, 2:] - corners[:, :2], 1)
    across, down = (
        detection.mean_weights(corner, span, bins, n)
        for corner, span, bins, n in zip(corners.T[:2], spans.T, sizes[::-1], input.shape[:1:-1], strict=True)
    )
    with Autocast(None):
        return detection.summed_in_boxes(input, images, down, across, True), _places(input, rois, *sizes)


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Any:
    """A convolution whose kernel reads at places that are moved by ``offset``, with factors if ``use_mask`` is true."""
    steps, edges, gaps = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    factor = mask if use_mask else None
    with Autocast(None):
        return detection.deform_conv2d(input, offset, weight, bias, factor, steps, edges, gaps, groups, offset_groups)
