"""Functions of images with PyTorch's arguments: shuffles, windows as columns, other sizes, pools undone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._autograd.autocast import in_float32
from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._functions import grids, images, norms, pools
from ferrograd._functions.pools import largest
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.ops import ops
from ferrograd._kit.specialize import DIMENSIONS, Dimension, for_dimension
from ferrograd._kit.warning import warn
from ferrograd.torch._base.formats import as_images_of
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn._functional.pools import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "grid_sample",
    "interpolate",
    "local_response_norm",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[…, C * r**2, H, W] as […, C, H * r, W * r] with the factor r."""
    shape = _arguments.tensor(input, "pixel_shuffle", "input").shape
    if len(shape) < 3 or upscale_factor < 1 or shape[-3] % upscale_factor**2:
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input has shape {list(shape)} and upscale_factor is {upscale_factor}"
        )
    return as_images_of(input, images.pixel_shuffle(input, upscale_factor))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[…, C, H * r, W * r] as […, C * r**2, H, W] with the factor r."""
    shape = _arguments.tensor(input, "pixel_unshuffle", "input").shape
    if len(shape) < 3 or downscale_factor < 1 or shape[-1] % downscale_factor or shape[-2] % downscale_factor:
        raise ShapeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, "
            f"but input has shape {list(shape)} and downscale_factor is {downscale_factor}"
        )
    return as_images_of(input, images.pixel_unshuffle(input, downscale_factor))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels as a matrix with a row for each group, read by columns."""
    shape = _arguments.tensor(input, "channel_shuffle", "input").shape
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        raise ShapeError(
            f"Number of channels must be divisible by groups. Got {shape[1:2]} channels and {groups} groups."
        )
    return as_images_of(input, images.channel_shuffle(input, groups))


def _pair(value: Any, function: str, name: str) -> list[int]:
    """One number for both axes, or two."""
    if not isinstance(value, list | tuple):
        return [_arguments.integer(value, function, name)] * 2
    found = _arguments.integers(value, function, name)
    if len(found) not in (1, 2):
        raise ArgumentError(f"{function}: {name} is one number or two, not {found}")
    return found * 2 if len(found) == 1 else found


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images as columns: [batch, channels * window, number of windows]; also without a batch."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    numbers = [_pair(value, "unfold", name) for name, value in given.items()]
    _arguments.images("unfold", _arguments.tensor(input, "unfold", "input"), 3)
    if input.ndim == 3:
        return ops.squeeze(images.unfold(ops.expand_dims(input, 0), *numbers), 0)
    if input.ndim != 4:
        raise ShapeError(f"unfold: images with or without a batch are needed, not {list(input.shape)}")
    return images.unfold(input, *numbers)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sum of columns, each put back to the window it comes from: the transpose of :func:`unfold`."""
    given = {"output_size": output_size, "kernel_size": kernel_size, "dilation": dilation, "padding": padding}
    numbers = [_pair(value, "fold", name) for name, value in {**given, "stride": stride}.items()]
    if _arguments.tensor(input, "fold", "input").ndim == 2:
        return ops.squeeze(images.fold(ops.expand_dims(input, 0), *numbers), 0)
    if input.ndim != 3:
        raise ShapeError(f"fold: columns with or without a batch are needed, not {list(input.shape)}")
    return images.fold(input, *numbers)


#: The modes of ``interpolate`` with the numbers of axes they are for, and what they are on each axis.
_MODES = {
    "nearest": ((1, 2, 3), "nearest"),
    "nearest-exact": ((1, 2, 3), "nearest-exact"),
    "area": ((1, 2, 3), "area"),
    "linear": ((1,), "linear"),
    "bilinear": ((2,), "linear"),
    "trilinear": ((3,), "linear"),
    "bicubic": ((2,), "cubic"),
}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """[batch, channels, …] with other sizes of the last axes: those given, or ``scale_factor`` times the present ones.

    The mode is nearest, nearest-exact, area, linear, bilinear, trilinear or bicubic. With ``align_corners`` the samples
    at the ends stay where they are. With ``antialias``, for bilinear and bicubic, a sample of a smaller image is a mean
    of all that lie about it. Bytes (uint8) are rounded; other integers raise, as in PyTorch.
    """
    count = _arguments.tensor(input, "interpolate", "input").ndim - 2
    if input.dtype.kind in "iub" and input.dtype.name != "uint8":
        raise DtypeError(f"interpolate: not implemented for {input.dtype.name}: cast the images to floats, or to uint8")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ArgumentError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if mode not in _MODES or count not in _MODES[mode][0]:
        raise ArgumentError(f"interpolate: got {input.ndim}D input, for which there is no mode {mode!r}")
    if size is not None and scale_factor is not None:
        raise ArgumentError("only one of size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    if given is None:
        raise ArgumentError("either size or scale_factor should be defined")
    each = list(given) if isinstance(given, list | tuple) else [given] * count
    if size is not None:
        for n in each:
            if isinstance(n, float) or (isinstance(n, Tensor) and n.dtype.kind not in "iu"):
                raise TypeError(f"interpolate: expected size to be one of int or a tuple of ints, but got {size!r:.60}")
        each = [_arguments.integer(n, "interpolate", "size") for n in each]
    if len(each) != count:
        raise ArgumentError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and {'output size' if size is not None else 'scale factors'} {given}."
        )
    factors: list[Any] = [None] * count
    if size is None:
        factors = factors if recompute_scale_factor or mode == "area" else each
        each = [math.floor(n * factor) for n, factor in zip(input.shape[2:], each, strict=True)]
    if min(each) < 1:
        raise ArgumentError(f"Input and output sizes should be greater than 0, but got output sizes {each}")
    if mode == "area":
        return _AREA[count](input, each)
    options: Any = {"mode": _MODES[mode][1], "aligned": bool(align_corners), "antialias": antialias}
    if input._has_channels_last():
        # Pixels with all their channels are moved.
        made = images.resize(input.movedim(1, -1), each, factors, **options, behind=1).movedim(-1, 1)
    else:
        made = images.resize(input, each, factors, **options)
    return as_images_of(input, made)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of :func:`interpolate`."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of :func:`interpolate` with the mode nearest."""
    return upsample(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of :func:`interpolate` with the mode bilinear and aligned corners."""
    return upsample(input, size, scale_factor, "bilinear", True)


def _max_unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """{items} in which the maxima of windows are at their old positions, and zeros elsewhere."""
    made = pools.max_unpool(input, indices, kernel_size, stride, padding, output_size, _dimension.ndim)
    return as_images_of(input, made)


max_unpool1d = for_dimension("max_unpool{ndim}d", 1, _max_unpool)
max_unpool2d = for_dimension("max_unpool{ndim}d", 2, _max_unpool)
max_unpool3d = for_dimension("max_unpool{ndim}d", 3, _max_unpool)


def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * mean)**beta`` with the mean of the squares of ``size`` channels around each."""
    shape = _arguments.tensor(input, "local_response_norm", "input").shape
    if len(shape) < 3:
        raise ShapeError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if 0 in shape:
        return input
    found: Tensor = norms.over_channels(input, size, alpha, beta, k)
    return found


@in_float32
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """[batch, channels, …] read at the places of a grid [batch, …, axes], whose numbers run from -1 to 1.

    The last axis of the grid has the place along the last axis first.
    """
    _arguments.tensor(input, "grid_sample", "input"), _arguments.tensor(grid, "grid_sample", "grid")
    return grids.grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid for :func:`grid_sample` that maps each place of an output of this size by matrices [batch, n, n + 1].

    The numbers of an axis run from -1 to 1, with ``align_corners`` at the middles of the outer places; the only place
    of an axis of one place is at 0.
    """
    theta = _arguments.tensor(theta, "affine_grid", "theta")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for images and volumes, not {list(size)}"
        )
    if align_corners and 1 in list(size)[2:]:
        warn(
            "affine_grid: with align_corners=True the only place of an axis of one place is the middle, 0, and not -1 "
            "as before PyTorch 1.3. See the documentation of affine_grid for details."
        )
    return grids.affine_grid(theta, list(size), bool(align_corners))


def _fractional(
    input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any, axes: int
) -> tuple[Tensor, Tensor]:
    """The pool of windows at random places, and the flat positions of the maxima: B. Graham (2015)."""
    function = f"fractional_max_pool{axes}d"
    shape = tuple(_arguments.tensor(input, function, "input").shape)
    if len(shape) not in (axes + 1, axes + 2):
        raise ShapeError(f"{function}: the input has {axes + 1} or {axes + 2} axes, not {len(shape)}")
    _arguments.no_empty_axes(function, input)
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{function}: exactly one of output_size and output_ratio is wanted")
    sizes = shape[-axes:]
    kernel = _each(kernel_size, axes, function, "kernel_size")
    if output_size is None:
        ratios = list(output_ratio) if isinstance(output_ratio, list | tuple) else [output_ratio] * axes
        if len(ratios) != axes:
            raise ArgumentError(
                f"{function} requires output_ratio to either be a single Int or tuple of Ints, one for each of {axes} "
                f"axes, not {output_ratio}"
            )
        if not all(0 < r < 1 for r in ratios):
            raise ArgumentError(f"{function}: output_ratio must be between 0 and 1, not {output_ratio}")
        wanted = [int(n * r) for n, r in zip(sizes, ratios, strict=True)]
    else:
        wanted = _each(output_size, axes, function, "output_size")
    for name, n, k, m in zip(("time", "height", "width")[-axes:], sizes, kernel, wanted, strict=True):
        if k < 1 or m < 0 or m + k - 1 > n:
            raise ArgumentError(
                f"{function}: pool {name} {k} too large relative to input {name} {n}, into which {m} windows do not fit"
            )
    lead = (1, *shape)[-axes - 2 : -axes] if len(shape) == axes + 1 else shape[:2]
    drawn = ops.rand([*lead, axes]) if samples is None else samples
    if tuple(drawn.shape) != (*lead, axes):
        raise ShapeError(
            f"{function}: Expect _random_samples of shape {[*lead, axes]}, one sample for each channel and axis, not "
            f"{list(drawn.shape)}"
        )
    u: Any = ops.cast(drawn.detach(), "float64").numpy()
    # The windows of images take their samples in the order width, height.
    order = range(axes) if axes == 3 else (1, 0)
    along = []
    for n, k, m, j in zip(sizes, kernel, wanted, order, strict=True):
        steps = np.arange(m)
        if m > 1:
            alpha = (n - k) / (m - 1)
            part = u[..., j, None]
            starts = np.floor((steps + part) * alpha).astype(np.int64) - np.floor(part * alpha).astype(np.int64)
            starts[..., -1] = n - k
        else:
            starts = np.full((*lead, m), n - k)
        along.append(starts[..., None] + np.arange(k))
    values, found = largest(ops.reshape(input, [*lead, *sizes]), along)
    shaped = [*shape[:-axes], *wanted]
    return ops.reshape(values, shaped), ops.reshape(found, shaped)


def _each(value: Any, axes: int, function: str, name: str) -> list[int]:
    """One number for all axes, or one for each."""
    if not isinstance(value, list | tuple):
        return [_arguments.integer(value, function, name)] * axes
    found = _arguments.integers(value, function, name)
    if len(found) != axes:
        raise ArgumentError(f"{function}: {name} must either be a single int or a tuple of {axes}, not {found}")
    return found


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The result of :func:`fractional_max_pool2d` and the flat positions of the maxima."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The result of :func:`fractional_max_pool3d` and the flat positions of the maxima."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of ``output_size`` windows of images, whose places are random.

    ``output_ratio`` is the output's size as a share of the input's. With ``return_indices`` also the flat positions.
    """
    found = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return found if return_indices else found[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of ``output_size`` windows of volumes, whose places are random.

    ``output_ratio`` is the output's size as a share of the input's. With ``return_indices`` also the flat positions.
    """
    found = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return found if return_indices else found[0]
