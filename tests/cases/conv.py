"""Convolutions and pooling over one to three axes, against plain loops over positions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case, normal


def each(v: Any, axes: int) -> tuple[int, ...]:
    return tuple(v) if np.ndim(v) else (int(v),) * axes


def conv(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A convolution by definition: each window of the padded image times each filter, position by position."""
    filters, per_group, *window = weight.shape
    axes = len(window)
    steps, dilations = each(stride, axes), each(dilation, axes)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilations, window, strict=True)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(p, p) for p in each(0 if padding == "valid" else padding, axes)]
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, window, strict=True)]
    places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, steps, strict=True)]
    out = np.zeros((x.shape[0], filters, *places))
    for f in range(filters):
        start = f // (filters // groups) * per_group
        for place in np.ndindex(*places):
            at = (slice(p * s, p * s + r, d) for p, s, r, d in zip(place, steps, reach, dilations, strict=True))
            part = x[:, start : start + per_group, *at] * weight[f]
            out[:, f, *place] = part.sum(tuple(range(1, 2 + axes)))
    return out if bias is None else out + bias.reshape(-1, *[1] * axes)


def conv_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """A transposed convolution by definition: each pixel times each filter, added up position by position."""
    batch, channels, *size = x.shape
    _, per_group, *window = weight.shape
    axes = len(window)
    steps, dilations, pads = each(stride, axes), each(dilation, axes), each(padding, axes)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, window, strict=True)]
    full = [(n - 1) * s + r + e for n, s, r, e in zip(size, steps, reach, each(output_padding, axes), strict=True)]
    out = np.zeros((batch, per_group * groups, *full))
    for c in range(channels):
        start = c // (channels // groups) * per_group
        for place in np.ndindex(*size):
            at = (slice(p * s, p * s + r, d) for p, s, r, d in zip(place, steps, reach, dilations, strict=True))
            out[:, start : start + per_group, *at] += x[:, c, *place].reshape(-1, *[1] * (axes + 1)) * weight[c]
    out = out[:, :, *(slice(p, n - p) for p, n in zip(pads, full, strict=True))]
    return out if bias is None else out + bias.reshape(-1, *[1] * axes)


def windows(
    image: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> tuple[list[int], list[list[slice]]]:
    """The output size along each axis, and the slice of the padded image for each output position."""
    axes = len(image)
    steps = each(kernel if stride is None else stride, axes)
    places, slices = [], []
    options = zip(image, each(kernel, axes), steps, each(padding, axes), each(dilation, axes), strict=True)
    for n, k, s, p, d in options:
        left = n + 2 * p - d * (k - 1) - 1
        count = (-(-left // s) if ceil else left // s) + 1
        count -= (count - 1) * s >= n + p
        places.append(count)
        slices.append([slice(i * s, i * s + d * (k - 1) + 1, d) for i in range(count)])
    return places, slices


def max_pool(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    axes = x.ndim - 2
    places, slices = windows(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in each(padding, axes))), constant_values=-np.inf)
    out = np.zeros((*x.shape[:2], *places))
    for place in np.ndindex(*places):
        at = (one[p] for one, p in zip(slices, place, strict=True))
        out[:, :, *place] = x[:, :, *at].max(tuple(range(2, 2 + axes)))
    return out


def avg_pool(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    axes = x.ndim - 2
    places, slices = windows(x.shape[2:], kernel_size, stride, padding, 1, ceil_mode)
    pads = [(p, p) for p in each(padding, axes)]
    inside = np.pad(np.ones(x.shape[2:]), pads, constant_values=float(count_include_pad))
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    out = np.zeros((*x.shape[:2], *places))
    for place in np.ndindex(*places):
        at = tuple(one[p] for one, p in zip(slices, place, strict=True))
        count = inside[at].sum() if divisor_override is None else divisor_override
        out[:, :, *place] = x[:, :, *at].sum(tuple(range(2, 2 + axes))) / count
    return out


def adaptive(fold: Callable[..., Any]) -> Callable[..., Any]:
    def pool(x: Any, output_size: Any) -> Any:
        axes = x.ndim - 2
        sizes = each(output_size, axes)
        out = np.zeros((*x.shape[:2], *sizes))
        for place in np.ndindex(*sizes):
            at = (slice(p * n // m, -(-(p + 1) * n // m)) for p, n, m in zip(place, x.shape[2:], sizes, strict=True))
            out[:, :, *place] = fold(x[:, :, *at], axis=tuple(range(2, 2 + axes)))
        return out

    return pool


def positions(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The pooled image and the positions of the maxima in the image, whose elements are all different."""

    def both(x: Any, *args: Any, **kw: Any) -> Any:
        y = pool(x, *args, **kw)
        flat, most = x.reshape(*x.shape[:2], 1, -1), y.reshape(*y.shape[:2], -1, 1)
        return y, (flat == most).argmax(-1).reshape(y.shape)

    return both


X, W = normal(2, 4, 5, 6), normal(6, 4, 3, 2, seed=1)
LINE, VOLUME = normal(2, 4, 7), normal(2, 2, 4, 5, 6)

CASES = [
    Case("conv2d", (X, W, normal(6, seed=2)), ref=conv),
    Case("conv2d", (X, W), {"stride": 2, "padding": 1}, ref=conv),
    Case("conv2d", (X, W), {"stride": (1, 3), "padding": (0, 2), "dilation": (2, 1)}, ref=conv),
    Case("conv2d", (X, W), {"padding": "same", "dilation": 2}, ref=conv),
    Case("conv2d", (X, normal(6, 2, 3, 3)), {"padding": "valid", "groups": 2}, ref=conv),
    Case("conv2d", (X, normal(4, 1, 2, 2)), {"groups": 4, "stride": 2}, ref=conv),
    Case("conv2d", (X, normal(3, 4, 1, 1)), ref=conv),
    Case("conv2d", (normal(0, 2, 4, 4), normal(3, 2, 2, 2)), ref=conv),
    Case("conv_transpose2d", (normal(2, 4, 3, 3), normal(4, 3, 3, 2, seed=1), normal(3, seed=2)), ref=conv_transpose),
    Case(
        "conv_transpose2d",
        (normal(2, 4, 3, 3), normal(4, 2, 3, 2, seed=1)),
        {"stride": (2, 3), "padding": (1, 0), "output_padding": 1, "groups": 2, "dilation": (1, 2)},
        ref=conv_transpose,
    ),
    Case("conv1d", (LINE, normal(3, 4, 3), normal(3)), {"stride": 2, "padding": 1}, ref=conv),
    Case("conv1d", (LINE, normal(4, 2, 3)), {"padding": "same", "dilation": 2, "groups": 2}, ref=conv),
    Case(
        "conv_transpose1d",
        (LINE, normal(4, 3, 2, seed=1), normal(3, seed=2)),
        {"stride": 3, "padding": 1, "output_padding": 2},
        ref=conv_transpose,
    ),
    Case("conv3d", (VOLUME, normal(3, 2, 2, 3, 2), normal(3)), {"padding": (1, 0, 1)}, ref=conv),
    Case("conv3d", (VOLUME, normal(4, 1, 2, 2, 2)), {"groups": 2, "stride": (1, 2, 3), "dilation": 2}, ref=conv),
    Case(
        "conv_transpose3d",
        (normal(1, 2, 2, 3, 2), normal(2, 2, 2, 1, 3, seed=1), normal(2, seed=2)),
        {"stride": (1, 2, 2), "padding": (0, 0, 1)},
        ref=conv_transpose,
    ),
    Case("avg_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": 2}, ref=avg_pool),
    *[
        Case(
            "avg_pool2d",
            (normal(2, 2, 7, 8),),
            {"kernel_size": (3, 2), "stride": (2, 3), "padding": 1, "ceil_mode": ceil, "count_include_pad": pads},
            ref=avg_pool,
        )
        for ceil in (False, True)
        for pads in (False, True)
    ],
    Case("avg_pool2d", (X,), {"kernel_size": 2, "stride": 1, "divisor_override": 3.0}, ref=avg_pool),
    Case("avg_pool1d", (LINE,), {"kernel_size": 3, "stride": 2, "padding": 1}, ref=avg_pool),
    Case("avg_pool3d", (VOLUME,), {"kernel_size": (2, 3, 2), "stride": (1, 2, 2)}, ref=avg_pool),
    Case("max_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": 2}, ref=max_pool),
    Case("max_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": (3, 2), "stride": 2, "padding": 1}, ref=max_pool),
    Case("max_pool2d", (normal(1, 2, 7, 7),), {"kernel_size": 3, "dilation": 2, "stride": 1}, ref=max_pool),
    Case("max_pool2d", (normal(1, 2, 7, 8),), {"kernel_size": 2, "stride": 2, "ceil_mode": True}, ref=max_pool),
    Case("max_pool1d", (LINE,), {"kernel_size": 3, "stride": 2, "padding": 1}, ref=max_pool),
    Case("max_pool3d", (VOLUME,), {"kernel_size": 2, "stride": (1, 2, 3), "dilation": (2, 1, 1)}, ref=max_pool),
    *[
        Case(
            f"max_pool{x.ndim - 2}d_with_indices",
            (x,),
            {"kernel_size": 2, "stride": 1, "padding": 1},
            ref=positions(max_pool),
            pick=lambda both: both[0],
        )
        for x in (LINE, X, VOLUME)
    ],
    *[
        Case(f"adaptive_avg_pool{x.ndim - 2}d", (x,), {"output_size": 3}, ref=adaptive(np.mean))
        for x in (LINE, X, VOLUME)
    ],
    Case("adaptive_avg_pool2d", (X,), {"output_size": 1}, ref=adaptive(np.mean)),
    Case("adaptive_avg_pool2d", (X,), {"output_size": (8, 2)}, ref=adaptive(np.mean)),
    *[
        Case(f"adaptive_max_pool{x.ndim - 2}d", (x,), {"output_size": 3}, ref=adaptive(np.max))
        for x in (LINE, X, VOLUME)
    ],
    *[
        Case(
            f"adaptive_max_pool{x.ndim - 2}d_with_indices",
            (x,),
            {"output_size": 2},
            ref=positions(adaptive(np.max)),
            pick=lambda both: both[0],
        )
        for x in (LINE, X, VOLUME)
    ],
]
