"""Convolutions and pooling, against plain loops over places."""

from typing import Any

import numpy as np

from tests.cases import Case, normal


def two(v: Any) -> tuple[int, int]:
    return tuple(v) if np.ndim(v) else (int(v), int(v))


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Each window of the padded image times each filter, place by place."""
    (sy, sx), (dy, dx) = two(stride), two(dilation)
    kh, kw = weight.shape[2:]
    if padding == "same":
        ty, tx = dy * (kh - 1), dx * (kw - 1)
        pads = ((ty // 2, ty - ty // 2), (tx // 2, tx - tx // 2))
    else:
        py, px = (0, 0) if padding == "valid" else two(padding)
        pads = ((py, py), (px, px))
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    filters, per_group = weight.shape[:2]
    rows = (x.shape[2] - dy * (kh - 1) - 1) // sy + 1
    columns = (x.shape[3] - dx * (kw - 1) - 1) // sx + 1
    out = np.zeros((x.shape[0], filters, rows, columns))
    for f in range(filters):
        start = f // (filters // groups) * per_group
        for i in range(rows):
            for j in range(columns):
                window = x[:, start : start + per_group, i * sy :, j * sx :][..., : dy * kh : dy, : dx * kw : dx]
                out[:, f, i, j] = np.sum(window[..., :kh, :kw] * weight[f], axis=(1, 2, 3))
    return out if bias is None else out + bias[:, None, None]


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Each pixel times each filter, added up place by place."""
    (sy, sx), (dy, dx), (py, px), (ey, ex) = two(stride), two(dilation), two(padding), two(output_padding)
    batch, channels, h, w = x.shape
    _, per_group, kh, kw = weight.shape
    out = np.zeros(
        (batch, per_group * groups, (h - 1) * sy + dy * (kh - 1) + 1 + ey, (w - 1) * sx + dx * (kw - 1) + 1 + ex)
    )
    for c in range(channels):
        start = c // (channels // groups) * per_group
        for i, j in np.ndindex(h, w):
            part = out[:, start : start + per_group, i * sy :, j * sx :][
                ..., : dy * (kh - 1) + 1 : dy, : dx * (kw - 1) + 1 : dx
            ]
            part += x[:, c, i, j][:, None, None, None] * weight[c]
    out = out[:, :, py : out.shape[2] - py, px : out.shape[3] - px]
    return out if bias is None else out + bias[:, None, None]


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    pads = padding if isinstance(padding, str) else (0, padding)
    return conv2d(x[:, :, None], weight[:, :, None], bias, (1, stride), pads, (1, dilation), groups)[:, :, 0]


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    (kh, kw), (py, px), (dy, dx) = two(kernel_size), two(padding), two(dilation)
    sy, sx = two(kernel_size if stride is None else stride)

    def places(n: Any, k: Any, p: Any, s: Any, d: Any) -> Any:
        n = n + 2 * p - d * (k - 1) - 1
        return -(-n // s) + 1 if ceil_mode else n // s + 1

    rows, columns = places(x.shape[2], kh, py, sy, dy), places(x.shape[3], kw, px, sx, dx)
    x = np.pad(x, ((0, 0), (0, 0), (py, py + sy), (px, px + sx)), constant_values=-np.inf)
    out = np.zeros((*x.shape[:2], rows, columns))
    for i, j in np.ndindex(rows, columns):
        window = x[:, :, i * sy : i * sy + dy * (kh - 1) + 1 : dy, j * sx : j * sx + dx * (kw - 1) + 1 : dx]
        out[:, :, i, j] = window.max((2, 3))
    return out


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    (kh, kw), (py, px) = two(kernel_size), two(padding)
    sy, sx = two(kernel_size if stride is None else stride)
    h, w = x.shape[2:]
    inside = np.pad(np.ones((h, w)), ((py, py), (px, px)), constant_values=float(count_include_pad))

    def places(n: Any, k: Any, p: Any, s: Any) -> Any:
        whole = (n + 2 * p - k) // s + 1
        more = ceil_mode and (n + 2 * p - k) % s and whole * s < n + p
        return whole + bool(more)

    out = np.zeros((*x.shape[:2], places(h, kh, py, sy), places(w, kw, px, sx)))
    x = np.pad(x, ((0, 0), (0, 0), (py, py), (px, px)))
    for i, j in np.ndindex(*out.shape[2:]):
        at = (slice(i * sy, i * sy + kh), slice(j * sx, j * sx + kw))
        out[:, :, i, j] = x[:, :, *at].sum((2, 3)) / inside[at].sum()
    return out


X, W = normal(2, 4, 5, 6), normal(6, 4, 3, 2, seed=1)

CASES = [
    Case("conv2d", (X, W, normal(6, seed=2)), ref=conv2d),
    Case("conv2d", (X, W), {"stride": 2, "padding": 1}, ref=conv2d),
    Case("conv2d", (X, W), {"stride": (1, 3), "padding": (0, 2), "dilation": (2, 1)}, ref=conv2d),
    Case("conv2d", (X, W), {"padding": "same", "dilation": 2}, ref=conv2d),
    Case("conv2d", (X, normal(6, 2, 3, 3)), {"padding": "valid", "groups": 2}, ref=conv2d),
    Case("conv2d", (X, normal(4, 1, 2, 2)), {"groups": 4, "stride": 2}, ref=conv2d),
    Case("conv2d", (X, normal(3, 4, 1, 1)), ref=conv2d),
    Case("conv2d", (normal(0, 2, 4, 4), normal(3, 2, 2, 2)), ref=conv2d),
    Case("conv_transpose2d", (normal(2, 4, 3, 3), normal(4, 3, 3, 2, seed=1), normal(3, seed=2)), ref=conv_transpose2d),
    Case(
        "conv_transpose2d",
        (normal(2, 4, 3, 3), normal(4, 2, 3, 2, seed=1)),
        {"stride": (2, 3), "padding": (1, 0), "output_padding": 1, "groups": 2, "dilation": (1, 2)},
        ref=conv_transpose2d,
    ),
    Case("conv1d", (normal(2, 4, 7), normal(3, 4, 3), normal(3)), {"stride": 2, "padding": 1}, ref=conv1d),
    Case("conv1d", (normal(2, 4, 7), normal(4, 2, 3)), {"padding": "same", "dilation": 2, "groups": 2}, ref=conv1d),
    Case("avg_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": 2}, ref=avg_pool2d),
    *[
        Case(
            "avg_pool2d",
            (normal(2, 2, 7, 8),),
            {"kernel_size": (3, 2), "stride": (2, 3), "padding": 1, "ceil_mode": ceil, "count_include_pad": pads},
            ref=avg_pool2d,
        )
        for ceil in (False, True)
        for pads in (False, True)
    ],
    Case("max_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": 2}, ref=max_pool2d),
    Case("max_pool2d", (normal(2, 3, 6, 7),), {"kernel_size": (3, 2), "stride": 2, "padding": 1}, ref=max_pool2d),
    Case("max_pool2d", (normal(1, 2, 7, 7),), {"kernel_size": 3, "dilation": 2, "stride": 1}, ref=max_pool2d),
    Case("max_pool2d", (normal(1, 2, 7, 8),), {"kernel_size": 2, "stride": 2, "ceil_mode": True}, ref=max_pool2d),
]
