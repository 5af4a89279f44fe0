"""``paddle.vision.ops``: the functions on boxes that detectors use, and ``deform_conv2d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ShapeError
from ferrograd._functions import detection
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer.layers import Layer
from ferrograd.paddle.vision._detection import box_coder, deform_conv2d, psroi_pool, roi_pool, yolo_box

__all__ = [
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "box_coder",
    "deform_conv2d",
    "nms",
    "psroi_pool",
    "roi_align",
    "roi_pool",
    "yolo_box",
]


def _numbers(x: Any, function: str, name: str, shape: str) -> np.ndarray:
    found: np.ndarray = _arguments.tensor(x, function, name).detach().numpy()
    if found.ndim != shape.count(",") + 1 or (found.ndim == 2 and found.shape[1] != 4):
        raise ShapeError(f"{function}: {name} has the shape {shape}, not {list(found.shape)}")
    return found


def nms(
    boxes: Tensor,
    iou_threshold: float = 0.3,
    scores: Tensor | None = None,
    category_idxs: Tensor | None = None,
    categories: Sequence[int] | None = None,
    top_k: int | None = None,
) -> Tensor:
    """The indices of boxes [count, 4], each ``x1, y1, x2, y2``, that overlap with no better one beyond a threshold.

    Without scores the better boxes come first. With categories boxes of one category are compared, and the best
    ``top_k`` of all are given.

    >>> import ferrograd.paddle as paddle
    >>> boxes = paddle.to_tensor([[0.0, 0, 2, 2], [0, 0, 2, 3], [5, 5, 6, 6]])
    >>> paddle.vision.ops.nms(boxes, 0.5, paddle.to_tensor([0.5, 0.9, 0.1])).tolist()
    [1, 2]
    """
    given = _numbers(boxes, "nms", "boxes", "[count, 4]")
    score = np.arange(len(given), 0, -1) if scores is None else _numbers(scores, "nms", "scores", "[count]")
    kind = np.zeros(len(given), int)
    if category_idxs is not None:
        kind = _numbers(category_idxs, "nms", "category_idxs", "[count]")
    found: list[int] = []
    for one in np.unique(kind) if categories is None else categories:
        order = np.flatnonzero(kind == one)
        found += order[detection.apart(given[order], score[order], iou_threshold)].tolist()
    best = sorted(found, key=lambda i: -score[i])[:top_k]
    return _core.make(np.array(best, np.int64), None, False, PADDLE)


def roi_align(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = True,
    name: str | None = None,
) -> Tensor:
    """The parts of images [batch, channels, height, width] in boxes [count, 4], interpolated to one size.

    ``boxes_num`` says how many of the boxes belong to each image. The gradient flows to the images.

    >>> import ferrograd.paddle as paddle
    >>> x, box = paddle.ones([1, 1, 4, 4]), paddle.to_tensor([[0.0, 0, 4, 4]])
    >>> paddle.vision.ops.roi_align(x, box, paddle.to_tensor([1]), 2).shape == [1, 1, 2, 2]
    True
    """
    given = _numbers(boxes, "roi_align", "boxes", "[count, 4]")
    count = _numbers(boxes_num, "roi_align", "boxes_num", "[batch]")
    if _arguments.tensor(x, "roi_align", "x").ndim != 4 or len(count) != x.shape[0] or count.sum() != len(given):
        raise ShapeError(f"roi_align: {count.tolist()} boxes of {len(given)} for images of shape {list(x.shape)}")
    sizes = [output_size] * 2 if isinstance(output_size, int) else list(output_size)
    corners = given * spatial_scale - (0.5 if aligned else 0)
    spans = corners[:, 2:] - corners[:, :2]
    spans = spans if aligned else np.maximum(spans, 1)
    across, down = (
        detection.read_weights(corner, span, bins, n, sampling_ratio)
        for corner, span, bins, n in zip(corners.T[:2], spans.T, sizes[::-1], x.shape[:1:-1], strict=True)
    )
    result: Tensor = detection.summed_in_boxes(x, np.repeat(np.arange(len(count)), count), down, across)
    return result


class _ToOneSize(Layer):
    """A function that brings parts of images to one size, as a layer."""

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._sizes = output_size, spatial_scale


class RoIAlign(_ToOneSize):
    """:func:`roi_align` to one size, as a layer."""

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor, aligned: bool = True) -> Tensor:
        """The parts of the images in the boxes."""
        return roi_align(x, boxes, boxes_num, *self._sizes, aligned=aligned)


class RoIPool(_ToOneSize):
    """:func:`roi_pool` to one size, as a layer."""

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor) -> Tensor:
        """The largest elements of the images in pieces of the boxes."""
        return roi_pool(x, boxes, boxes_num, *self._sizes)


class PSRoIPool(_ToOneSize):
    """:func:`psroi_pool` to one size, as a layer."""

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor) -> Tensor:
        """The means of the images in pieces of the boxes."""
        return psroi_pool(x, boxes, boxes_num, *self._sizes)


__dir__ = _public.names(globals())
