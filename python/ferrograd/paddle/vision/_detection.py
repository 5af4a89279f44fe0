"""The functions of ``paddle.vision.ops`` that turn what detectors predict into boxes, and pool in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions import detection
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor


def pair(value: Any, function: str, name: str) -> tuple[int, int]:
    """Two integers, or one for both."""
    found = [value] * 2 if not isinstance(value, list | tuple) else value
    first, second = _arguments.integers(found, function, name) if len(found) == 2 else (None, None)
    if first is None or second is None:
        raise ArgumentError(f"{function}: {name} is an integer or two of them, not {value!r}")
    return first, second


def _made(values: Any, dtype: Any) -> Tensor:
    found: Tensor = _core.make(np.asarray(values), dtype, False, PADDLE)
    return found


def box_coder(
    prior_box: Tensor,
    prior_box_var: Any,
    target_box: Tensor,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    axis: int = 0,
    name: str | None = None,
) -> Tensor:
    """Boxes as offsets from prior boxes [M, 4], each ``x1, y1, x2, y2``, or the reverse.

    "encode_center_size" makes offsets [N, M, 4] of boxes [N, 4]: the distance of the centers over the size of the
    prior box, and the logarithm of the ratio of the sizes. They are divided by ``prior_box_var``, a tensor like the
    prior boxes, four numbers or None for ones. "decode_center_size" makes boxes [N, M, 4] of offsets [N, M, 4]; the
    prior boxes belong to the axis 1 of the offsets, or with ``axis`` 1 to the axis 0. Boxes that are not normalized
    include their last pixel. Gradients flow through all tensors.

    Source: S. Ren et al., "Faster R-CNN" (2015), equation 2.

    >>> import ferrograd.paddle as paddle
    >>> prior, box = paddle.to_tensor([[0.0, 0, 2, 4]]), paddle.to_tensor([[1.0, 1, 3, 5]])
    >>> paddle.vision.ops.box_coder(prior, None, box).tolist()
    [[[0.5, 0.25, 0.0, 0.0]]]
    """
    prior, target = (
        _arguments.tensor(x, "box_coder", name) for x, name in ((prior_box, "prior_box"), (target_box, "target_box"))
    )
    if code_type not in ("encode_center_size", "decode_center_size") or axis not in (0, 1):
        raise ArgumentError(f"box_coder: code_type is not {code_type!r}, or axis {axis} is not 0 or 1")
    encodes = code_type == "encode_center_size"
    if prior.ndim != 2 or prior.shape[1] != 4 or target.ndim != (2 if encodes else 3) or target.shape[-1] != 4:
        raise ShapeError(
            f"box_coder: {list(prior.shape)} and {list(target.shape)} are not the shapes of prior boxes [M, 4] and of "
            f"{'boxes [N, 4]' if encodes else 'offsets [N, M, 4]'}"
        )
    if not encodes and prior.shape[0] != target.shape[1 - axis]:
        raise ShapeError(f"box_coder: {prior.shape[0]} prior boxes for offsets {list(target.shape)} with axis {axis}")
    more = 0 if box_normalized else 1
    if prior_box_var is None:
        prior_box_var = [1.0] * 4
    spread: Any = prior_box_var if isinstance(prior_box_var, _core.Tensor) else _made(prior_box_var, prior.dtype)
    if not encodes and axis == 1:
        prior = ops.expand_dims(prior, 1)
        spread = ops.expand_dims(spread, 1) if spread.ndim == 2 else spread
    size = prior[..., 2:] - prior[..., :2] + more
    center = prior[..., :2] + size / 2
    if encodes:
        box = ops.expand_dims(target, 1)
        sizes = ops.log(ops.abs((box[..., 2:] - box[..., :2] + more) / size))
        return ops.concat([((box[..., 2:] + box[..., :2]) / 2 - center) / size, sizes], -1) / spread
    offsets = target * spread
    middle, half = offsets[..., :2] * size + center, ops.exp(offsets[..., 2:]) * size / 2
    return ops.concat([middle - half, middle + half - more], -1)


def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[Tensor, Tensor]:
    """Boxes [batch, count, 4] and scores [batch, count, class_num] of what YOLOv3 predicts on a grid.

    ``x`` is [batch, A * (5 + class_num), height, width] for A anchors, given as widths and heights in turn, and has A
    more channels at its beginning if ``iou_aware``. ``img_size`` [batch, 2] has the heights and widths of the images,
    to which ``clip_bbox`` cuts the boxes. Both results are 0 where the confidence is below ``conf_thresh``. Gradients
    flow to ``x``.

    Source: J. Redmon and A. Farhadi, "YOLOv3" (2018), section 2.1.
    """
    x = _arguments.tensor(x, "yolo_box", "x")
    sizes = _arguments.tensor(img_size, "yolo_box", "img_size")
    around = np.reshape(np.array(_arguments.integers(anchors, "yolo_box", "anchors")), (-1, 2))
    count, classes = len(around), _arguments.integer(class_num, "yolo_box", "class_num")
    channels = count * (5 + classes + bool(iou_aware))
    if x.ndim != 4 or x.shape[1] != channels or list(sizes.shape) != [x.shape[0], 2]:
        raise ShapeError(
            f"yolo_box: x is [batch, {channels}, height, width] for {count} anchors and {classes} classes, and "
            f"img_size [batch, 2], not {list(x.shape)} and {list(sizes.shape)}"
        )
    batch, _, height, width = x.shape
    # [batch, anchors, values, height, width]
    found = ops.reshape(x[:, count * bool(iou_aware) :], [batch, count, 5 + classes, height, width])
    trust = ops.sigmoid(found[:, :, 4:5])
    if iou_aware:
        overlap = ops.expand_dims(ops.sigmoid(x[:, :count]), 2)
        trust = trust ** (1 - iou_aware_factor) * overlap**iou_aware_factor
    kept = ops.cast(trust.detach() >= conf_thresh, x.dtype)
    # The widths are before the heights, as in the boxes.
    image = ops.reshape(ops.cast(sizes.detach().flip([1]), x.dtype), [batch, 1, 2, 1, 1])
    cells = _made(np.stack(np.meshgrid(np.arange(width), np.arange(height))), x.dtype)
    grid = _made(np.array([width, height])[:, None, None], x.dtype)
    middle = (cells + ops.sigmoid(found[:, :, :2]) * scale_x_y - 0.5 * (scale_x_y - 1)) * image / grid
    half = ops.exp(found[:, :, 2:4]) * _made(around[:, :, None, None], x.dtype) * image / (grid * downsample_ratio) / 2
    low, high = middle - half, middle + half
    if clip_bbox:
        low, high = ops.clip(low, 0, None), ops.minimum(high, image - 1)
    boxes, scores = ops.concat([low, high], 2) * kept, trust * ops.sigmoid(found[:, :, 5:]) * kept
    rows = [
        ops.reshape(ops.permute(part, [0, 1, 3, 4, 2]), [batch, -1, n]) for part, n in ((boxes, 4), (scores, classes))
    ]
    return rows[0], rows[1]


def roi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """The largest elements of images [batch, channels, height, width] in the parts of boxes [count, 4].

    The corners of the boxes, times ``spatial_scale``, are rounded, and each box is cut into ``output_size`` parts,
    which may overlap: [count, channels, rows, columns]. A part outside the image is 0. ``boxes_num`` says how many of
    the boxes belong to each image. The gradient flows to the images.

    Source: R. Girshick, "Fast R-CNN" (2015), section 2.1.

    >>> import ferrograd.paddle as paddle
    >>> x, box = paddle.arange(16.0).reshape([1, 1, 4, 4]), paddle.to_tensor([[0.0, 0, 3, 3]])
    >>> paddle.vision.ops.roi_pool(x, box, paddle.to_tensor([1]), 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    x, given, images = _boxes(x, boxes, boxes_num, "roi_pool")
    rows, columns = pair(output_size, "roi_pool", "output_size")
    corners = _rounded(given * spatial_scale).astype(int)
    result: Tensor = detection.largest_in_boxes(x, images, corners, rows, columns)[0]
    return result


def _boxes(x: Tensor, boxes: Tensor, boxes_num: Tensor, function: str) -> tuple[Tensor, Any, Any]:
    """The images, the numbers of the boxes [count, 4], and the image of each box."""
    x = _arguments.tensor(x, function, "x")
    given = _arguments.tensor(boxes, function, "boxes").detach().numpy()
    counts = _arguments.tensor(boxes_num, function, "boxes_num").detach().numpy()
    if x.ndim != 4 or given.shape[1:] != (4,) or counts.shape != (x.shape[0],) or counts.sum() != len(given):
        raise ShapeError(f"{function}: {counts.tolist()} boxes of {given.shape} for images of shape {list(x.shape)}")
    return x, given, np.repeat(np.arange(len(counts)), counts)


def _rounded(x: Any) -> Any:
    """The nearest whole numbers, halves away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def psroi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """Means of images [batch, channels, height, width] in the parts of boxes [count, 4], each part of its own channels.

    The corners of the boxes are rounded and multiplied by ``spatial_scale``, and each box is cut into ``output_size``
    parts, which may overlap: [count, channels / parts, rows, columns]. A part outside the image is 0. ``boxes_num``
    says how many of the boxes belong to each image. The gradient flows to the images.

    Source: J. Dai et al., "R-FCN" (2016), equation 1.

    >>> import ferrograd.paddle as paddle
    >>> x, box = paddle.arange(16.0).reshape([1, 4, 2, 2]), paddle.to_tensor([[0.0, 0, 1, 1]])
    >>> paddle.vision.ops.psroi_pool(x, box, paddle.to_tensor([1]), 2).tolist()
    [[[[0.0, 5.0], [10.0, 15.0]]]]
    """
    x, given, images = _boxes(x, boxes, boxes_num, "psroi_pool")
    rows, columns = pair(output_size, "psroi_pool", "output_size")
    if min(rows, columns) < 1 or x.shape[1] % (rows * columns):
        raise ArgumentError(f"psroi_pool: {x.shape[1]} channels are not for {rows} times {columns} parts of a box")
    corners = (_rounded(given) + np.array([0, 0, 1, 1])) * spatial_scale
    across, down = (
        _made(_shares(corner, np.maximum(end - corner, 0.1), parts, size), x.dtype)
        for corner, end, parts, size in zip(corners.T[:2], corners.T[2:], (columns, rows), x.shape[:1:-1], strict=True)
    )
    parts = ops.reshape(x, [x.shape[0], x.shape[1] // (rows * columns), rows, columns, *x.shape[2:]])[
        _made(images, None)
    ]
    result: Tensor = ops.einsum("kcpqhw,kph,kqw->kcpq", parts, down, across)
    return result


def _shares(begin: Any, span: Any, parts: int, size: int) -> Any:
    """The shares of the places of an axis in the means of the parts of boxes: [boxes, parts, size]."""
    edges = begin[:, None] + np.arange(parts + 1) * (span / parts)[:, None]
    first, last = np.floor(edges[:, :-1, None]).clip(0, size), np.ceil(edges[:, 1:, None]).clip(0, size)
    inside = (np.arange(size) >= first) & (np.arange(size) < last)
    return inside / np.maximum(last - first, 1)


def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution of images whose kernel reads at places that are moved, interpolated linearly, zero outside.

    ``x`` is [batch, in, height, width] and ``weight`` [out, in / groups, rows, columns]. For each of
    ``deformable_groups`` D of the channels, ``offset`` [batch, 2 * D * rows * columns, height', width'] moves the
    place of each element of the kernel down and to the right, and ``mask`` [batch, D * rows * columns, height',
    width'] is a factor of what is read there. Gradients flow through all tensors.

    Source: X. Zhu et al., "Deformable ConvNets v2" (2018), equation 1.

    >>> import ferrograd.paddle as paddle
    >>> x, weight = paddle.arange(4.0).reshape([1, 1, 1, 4]), paddle.ones([1, 1, 1, 1])
    >>> offset = paddle.to_tensor([[[[0.0, 0, 0, 0]], [[0.0, 0.5, 1, 2]]]])
    >>> paddle.vision.ops.deform_conv2d(x, offset, weight).tolist()
    [[[[0.0, 1.5, 3.0, 0.0]]]]
    """
    x, offset, weight = (
        _arguments.tensor(v, "deform_conv2d", name) for v, name in ((x, "x"), (offset, "offset"), (weight, "weight"))
    )
    steps, edges, gaps = (
        pair(v, "deform_conv2d", name) for v, name in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    factor = None if mask is None else _arguments.tensor(mask, "deform_conv2d", "mask")
    result: Tensor = detection.deform_conv2d(
        x, offset, weight, bias, factor, steps, edges, gaps, groups, deformable_groups
    )
    return result
