"""Functions of layers with Paddle's arguments that are made of others: dropout, images, distances, attention."""

from __future__ import annotations

import functools
import math
from typing import Any

from ferrograd._autograd.autocast import in_half
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions import attention, images, norms
from ferrograd._functions.half_floats import rounded_once
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.arguments import typed
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn._functional.convolutions import channels_first, channels_last

__all__ = [
    "alpha_dropout",
    "bilinear",
    "channel_shuffle",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "fold",
    "interpolate",
    "local_response_norm",
    "maxout",
    "pixel_shuffle",
    "pixel_unshuffle",
    "rrelu",
    "scaled_dot_product_attention",
    "unfold",
    "upsample",
]


def _channel_dropout(x: Tensor, p: float, training: bool, data_format: str, function: str, axes: int) -> Tensor:
    x = _arguments.tensor(x, function, "x")
    last = channels_last(data_format, function, axes)
    if not training or p == 0:
        return x
    channel = x.ndim - 1 if last else 1
    shape = [n if axis in (0, channel) else 1 for axis, n in enumerate(x.shape)]
    return ops.multiply(x, ops.dropout(ops.ones(shape, x.dtype), p, True))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets whole channels of sequences [batch, channels, length], or of one sequence, to zero in training.

    ``inplace`` changes nothing, as in Paddle.
    """
    x = _arguments.tensor(input, "dropout1d", "input")
    if x.ndim not in (2, 3):
        raise ShapeError(f"dropout1d expects 2D or 3D input, got {x.ndim}D")
    if x.ndim == 3:
        return _channel_dropout(x, p, training, "NCL", "dropout1d", 3)
    return ops.squeeze(_channel_dropout(ops.expand_dims(x, 0), p, training, "NCL", "dropout1d", 3), [0])


def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """In training sets whole channels of images to zero with probability ``p``, and divides the others by ``1 - p``."""
    return _channel_dropout(x, p, training, data_format, "dropout2d", 4)


def dropout3d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Tensor:
    """Sets whole channels of volumes to zero in training; see :func:`dropout2d`."""
    return _channel_dropout(x, p, training, data_format, "dropout3d", 5)


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks of SELU (Klambauer et al. 2017)."""
    x = _arguments.tensor(x, "alpha_dropout", "x")
    return _alpha_dropout(x, p, training, list(x.shape))


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """:func:`alpha_dropout` of whole channels."""
    x = _arguments.tensor(x, "feature_alpha_dropout", "x")
    if x.ndim < 2:
        raise ShapeError(f"feature_alpha_dropout: x has channels in axis 1, not shape {list(x.shape)}")
    return _alpha_dropout(x, p, training, [*x.shape[:2]] + [1] * (x.ndim - 2))


def _alpha_dropout(x: Tensor, p: float, training: bool, shape: list[int]) -> Tensor:
    """Alpha dropout with one draw for each element of a shape that broadcasts to that of ``x``."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"p argument should between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return ops.multiply(x, 0.0)
    low = -1.7580993408473766
    a = 1 / math.sqrt((1 - p) * (1 + p * low**2))
    kept = ops.sign(ops.dropout(ops.ones(shape, x.dtype), p, True))
    return ops.add(ops.multiply(x, kept * a), (1 - kept) * (a * low) - a * low * p)


def rrelu(
    x: Tensor, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, training: bool = True, name: str | None = None
) -> Tensor:
    """``x``, where negative times a random slope in training, else times the mean of ``lower`` and ``upper``."""
    x = _arguments.tensor(x, "rrelu", "x")
    if not 0 <= lower <= upper <= 1:
        raise ArgumentError(f"rrelu: 0 <= lower <= upper <= 1 is needed, not lower {lower} and upper {upper}")
    if not training:
        return ops.leaky_relu(x, (lower + upper) / 2)
    slopes = ops.cast(ops.uniform(lower, upper, list(x.shape)), x.dtype)
    return ops.where(x < 0, ops.multiply(x, slopes), x)


def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """The largest of each ``groups`` neighbouring channels."""
    shape = list(_arguments.tensor(x, "maxout", "x").shape)
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(f"maxout: a tensor of {len(shape)} axes has no axis {axis}")
    axis %= len(shape)
    if groups < 1 or shape[axis] % groups:
        raise ShapeError(f"maxout: {shape[axis]} channels cannot be divided into groups of {groups}")
    parts = ops.reshape(x, [*shape[:axis], shape[axis] // groups, groups, *shape[axis + 1 :]])
    return ops.max(parts, axis + 1)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]`` for rows of two matrices."""
    y: Tensor = ops.einsum("...i,oij,...j->...o", x1, weight, x2)
    return y if bias is None else ops.add(y, bias)


def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """[N, C * r**2, H, W] as [N, C, H * r, W * r] with the factor r."""
    found: Tensor = channels_first(
        x, data_format, "pixel_shuffle", lambda x: images.pixel_shuffle(x, upscale_factor), 4
    )
    return found


def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """[N, C, H * r, W * r] as [N, C * r**2, H, W] with the factor r."""
    found: Tensor = channels_first(
        x, data_format, "pixel_unshuffle", lambda x: images.pixel_unshuffle(x, downscale_factor), 4
    )
    return found


def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """The channels as a matrix with a row for each group, read by columns."""
    found: Tensor = channels_first(x, data_format, "channel_shuffle", lambda x: images.channel_shuffle(x, groups))
    return found


def _pair(value: Any, function: str, name: str) -> list[int]:
    if not isinstance(value, list | tuple):
        return [_arguments.integer(value, function, name)] * 2
    found = _arguments.integers(value, function, name)
    if len(found) == 4 and found[:2] != found[2:]:
        raise ArgumentError(f"{function}: {name} must be the same on both sides, not {found}")
    if len(found) not in (1, 2, 4):
        raise ArgumentError(f"{function}: {name} is one number or two, not {found}")
    return found * 2 if len(found) == 1 else found[:2]


def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """The windows of images [N, C, H, W] as columns: [N, C * window, number of windows]."""
    given = {"kernel_sizes": kernel_sizes, "dilations": dilations, "paddings": paddings, "strides": strides}
    if _arguments.tensor(x, "unfold", "x").ndim != 4:
        raise ShapeError(f"unfold: images [N, C, H, W] are needed, not {list(x.shape)}")
    return images.unfold(x, *(_pair(value, "unfold", key) for key, value in given.items()))


def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Tensor:
    """The sum of columns, each put back to the window it comes from: the transpose of :func:`unfold`."""
    given = {"output_sizes": output_sizes, "kernel_sizes": kernel_sizes, "dilations": dilations}
    given |= {"paddings": paddings, "strides": strides}
    if _arguments.tensor(x, "fold", "x").ndim != 3:
        raise ShapeError(f"fold: columns [N, C * window, number of windows] are needed, not {list(x.shape)}")
    return images.fold(x, *(_pair(value, "fold", key) for key, value in given.items()))


_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
_RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}


@typed(x=Tensor, mode=str)
def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images with other sizes: those given, or ``scale_factor`` times the present ones.

    The mode is nearest, linear, bilinear, trilinear, bicubic or area. With ``align_corners`` the samples at the ends
    stay where they are. Without it linear modes take samples for the middles of cells (``align_mode`` 0) or for their
    starts (1). With ``antialias``, for bilinear and bicubic, a sample of a smaller image is a mean of all that lie
    about it.
    """
    x = _arguments.tensor(x, "interpolate", "x")
    mode = mode.lower()
    if mode not in (*_MODES, "area"):
        raise ArgumentError(f"interpolate: there is no mode {mode!r}")
    if _RANKS.get(mode, x.ndim) != x.ndim or not 3 <= x.ndim <= 5:
        raise ShapeError(f"interpolate: the mode {mode!r} is not for {x.ndim}-D inputs")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f"interpolate: antialias is for the modes bilinear and bicubic, not {mode}")
    if align_mode not in (0, 1):
        raise ArgumentError(f"interpolate: align_mode is 0 or 1, not {align_mode}")
    if (size is None) == (scale_factor is None):
        raise ArgumentError("One of size and scale_factor must be set, and not both.")
    count = x.ndim - 2
    given = scale_factor if size is None else size
    given = given.tolist() if isinstance(given, Tensor) else given
    each = list(given) if isinstance(given, list | tuple) else [given] * count
    each = [n.item() if isinstance(n, Tensor) else n for n in each]
    if len(each) != count:
        raise ArgumentError(f"interpolate: {count} sizes or factors are needed, not {given}")

    def run(x: Tensor) -> Tensor:
        sizes, factors = each, [None] * count
        if size is None:
            factors = [None] * count if recompute_scale_factor else each
            sizes = [math.floor(n * f) for n, f in zip(x.shape[2:], each, strict=True)]
        if mode == "area":
            return getattr(ops, f"adaptive_avg_pool{count}d")(x, sizes)
        wanted = [int(n) for n in sizes]
        return images.resize(x, wanted, factors, _MODES[mode], align_corners, align_mode == 0, antialias)

    axes = x.ndim if data_format else None
    found: Tensor = channels_first(x, data_format or "NCHW", "interpolate", run, axes)
    return found


@typed(x=Tensor, mode=str, data_format=str)
def upsample(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """The same as :func:`interpolate`."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def local_response_norm(
    x: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """``x / (k + alpha * mean)**beta`` with the mean of the squares of ``size`` channels around each."""
    if _arguments.tensor(x, "local_response_norm", "x").ndim < 3:
        raise ShapeError(f"Expected 3D or higher dimensionality input, but got {x.ndim} dimensions")
    run = functools.partial(norms.over_channels, size=size, alpha=alpha, beta=beta, k=k)
    found: Tensor = channels_first(x, data_format, "local_response_norm", run)
    return found


@in_half
@rounded_once
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    backend: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = True,
    name: str | None = None,
) -> Tensor:
    """``softmax(query @ key.T / sqrt(size) + attn_mask) @ value``, all [batch, length, heads, size] or without a batch.

    A boolean mask is true where a query may see a key. ``is_causal`` hides keys after the query. With ``enable_gqa``
    the keys and values may have fewer heads, each for as many heads of the queries.
    """
    q, k, v = (
        ops.swapaxes(_arguments.tensor(x, "scaled_dot_product_attention", "each input"), -3, -2)
        for x in (query, key, value)
    )
    heads, groups = q.shape[-3], k.shape[-3]
    if enable_gqa and groups and heads != groups and heads % groups == 0:
        k, v = (ops.repeat_interleave(x, heads // groups, -3) for x in (k, v))
    weights = attention.weights(q, k, attn_mask, is_causal, scale, dropout_p if training else 0.0)
    return ops.swapaxes(ops.matmul(weights, v), -3, -2)
