"""Convolutions with Paddle's arguments: channels-last formats, and padding by words or on one side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.specialize import DIMENSIONS, Dimension, for_dimension
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
]


def channels_last(data_format: Any, function: str, axes: int | None = None) -> bool:
    """Whether a format like NCHW or NHWC has the channels last. ``axes`` is how many letters it must have."""
    if not isinstance(data_format, str):
        raise ArgumentError(f"{function}: data_format must be a str, not {type(data_format).__name__}")
    if data_format not in ("NC", "NCL", "NLC", "NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"):
        raise ArgumentError(f"{function}: data_format is one like 'NCHW' or 'NHWC', not {data_format!r:.60}")
    if axes is not None and len(data_format) != axes:
        raise ArgumentError(f"{function}: data_format has a letter for each of {axes} axes, unlike {data_format!r}")
    return data_format.endswith("C")


def channels_first(
    x: Tensor, data_format: Any, function: str, f: Callable[[Tensor], Any], axes: int | None = None
) -> Any:
    """``f`` of ``x`` with the channels moved to axis 1 and back. ``f`` returns a tensor or a tuple of tensors.

    Raises:
        ArgumentError: ``data_format`` is none, or has another number of letters than ``axes``.
    """
    x = _arguments.tensor(x, function, "x")
    if not channels_last(data_format, function, axes) or x.ndim < 3:
        return f(x)
    y = f(ops.moveaxis(x, -1, 1))
    return tuple(ops.moveaxis(t, 1, -1) for t in y) if isinstance(y, tuple) else ops.moveaxis(y, 1, -1)


def each(value: Any, count: int, function: str, name: str) -> list[int]:
    """A number, or a list of one or ``count`` numbers, as ``count`` numbers."""
    if not isinstance(value, list | tuple):
        return [_arguments.integer(value, function, name)] * count
    given = _arguments.integers(value, function, name)
    if len(given) not in (1, count):
        raise ArgumentError(f"{function}: {name} is one number or {count}, not {given}")
    return given * count if len(given) == 1 else given


def _same(sizes: Any, window: list[int], stride: list[int]) -> list[tuple[int, int]]:
    """The (before, after) padding of ``"SAME"``: the output size is ``ceil(size / stride)``."""
    totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, window, stride, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def pads_of(
    x: Tensor, padding: Any, window: list[int], stride: list[int], data_format: Any, function: str
) -> list[tuple[int, int]]:
    """The (before, after) padding of each spatial axis of ``x``, whose channels are on axis 1.

    ``padding`` is ``"SAME"`` or ``"VALID"``, a number, one number per axis, one per side, or a pair for each axis of
    the format.
    """
    count = len(window)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ArgumentError(f"{function}: padding is numbers, 'SAME' or 'VALID', not {padding!r}")
        if padding.upper() == "VALID":
            return [(0, 0)] * count
        if min(stride) < 1:
            raise ArgumentError(f"{function}: stride is at least 1, not {stride}")
        return _same(x.shape[-count:], window, stride)
    if isinstance(padding, list | tuple) and len(padding) == count + 2 and isinstance(padding[0], list | tuple):
        flat = [_arguments.pairs(both, function, "padding") for both in padding]
        if any(len(both) != 1 for both in flat):
            raise ArgumentError(f"{function}: padding must have a pair for each axis")
        pairs = [both[0] for both in flat]
        last = channels_last(data_format, function)
        if any(any(both) for both in ((pairs[0], pairs[-1]) if last else pairs[:2])):
            raise ArgumentError(f"{function}: padding of the batch or of channels is not zero: {padding}")
        return pairs[1:-1] if last else pairs[2:]
    if isinstance(padding, list | tuple) and len(padding) == 2 * count:
        return _arguments.pairs(padding, function, "padding")
    return [(p, p) for p in each(padding, count, function, "padding")]


def padded(x: Tensor, pairs: list[tuple[int, int]], fill: float = 0.0) -> tuple[Tensor, list[int]]:
    """The tensor and the symmetric padding for the core. Asymmetric padding is applied to the tensor here."""
    if all(before == after for before, after in pairs):
        return x, [before for before, _ in pairs]
    return ops.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs, "constant", fill), [0] * len(pairs)


def _window(weight: Tensor, count: int, function: str) -> list[int]:
    """The spatial sizes of a weight with ``count`` spatial axes."""
    shape = _arguments.tensor(weight, function, "weight").shape
    if len(shape) != count + 2:
        raise ArgumentError(f"{function}: weight has {count + 2} axes, not {len(shape)}")
    return list(shape[2:])


def _conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The convolution of {items} with filters of shape [filters, channels / groups, {axes}].

    ``padding`` is a number, one per axis, one per side, a pair per axis of ``data_format``, ``"SAME"`` or ``"VALID"``.
    """
    count = _dimension.ndim
    function = f"conv{count}d"

    def run(x: Tensor) -> Any:
        steps, same = each(stride, count, function, "stride"), isinstance(padding, str) and padding.upper() == "SAME"
        window = _window(weight, count, function)
        x, pads = padded(x, pads_of(x, padding, window, steps, data_format, function))
        return getattr(ops, function)(x, weight, bias, steps, pads, 1 if same else dilation, groups)

    result: Tensor = channels_first(x, data_format, function, run, count + 2)
    return result


conv1d = for_dimension("conv{ndim}d", 1, _conv)
conv2d = for_dimension("conv{ndim}d", 2, _conv)
conv3d = for_dimension("conv{ndim}d", 3, _conv)


def _transposed(function: str, count: int, x: Tensor, weight: Tensor, data_format: Any, *rest: Any) -> Tensor:
    bias, stride, padding, output_padding, groups, dilation, output_size = rest
    name = f"conv_transpose{count}d"

    def run(x: Tensor) -> Any:
        steps, spread = each(stride, count, function, "stride"), each(dilation, count, function, "dilation")
        extra = each(output_padding, count, function, "output_padding")
        window = _window(weight, count, function)
        pairs = pads_of(x, padding, window, steps, data_format, function)
        if isinstance(padding, str) and padding.upper() == "SAME":
            spread = [1] * count
        if output_size is not None:
            if any(extra):
                raise ArgumentError(f"{function}: output_padding and output_size are not given together")
            sizes = each(output_size, count, function, "output_size")
            least = [
                (n - 1) * s - sum(p) + d * (k - 1) + 1
                for n, s, p, d, k in zip(x.shape[-count:], steps, pairs, spread, window, strict=True)
            ]
            extra = [size - n for size, n in zip(sizes, least, strict=True)]
            if any(not 0 <= e < s for e, s in zip(extra, steps, strict=True)):
                raise ArgumentError(f"{function}: output_size {sizes} is not from {least} on, less than a stride more")
        if all(before == after for before, after in pairs):
            pads = [before for before, _ in pairs]
            return getattr(ops, name)(x, weight, bias, steps, pads, extra, groups, spread)
        y = getattr(ops, name)(x, weight, bias, steps, 0, extra, groups, spread)
        cut = tuple(slice(before, n - after) for (before, after), n in zip(pairs, y.shape[-count:], strict=True))
        return y[(..., *cut)]

    result: Tensor = channels_first(x, data_format, function, run, count + 2)
    return result


def _conv_transpose_by_groups(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[0],
) -> Tensor:
    """The transpose of ``conv{ndim}d`` in its first argument. The weight is [channels, filters / groups, {axes}]."""
    rest = (bias, stride, padding, output_padding, groups, dilation, output_size)
    return _transposed(f"conv{_dimension.ndim}d_transpose", _dimension.ndim, x, weight, data_format, *rest)


def _conv_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The transpose of ``conv{ndim}d`` in its first argument. The weight is [channels, filters / groups, {axes}]."""
    rest = (bias, stride, padding, output_padding, groups, dilation, output_size)
    return _transposed(f"conv{_dimension.ndim}d_transpose", _dimension.ndim, x, weight, data_format, *rest)


conv1d_transpose = for_dimension("conv{ndim}d_transpose", 1, _conv_transpose_by_groups)
conv2d_transpose = for_dimension("conv{ndim}d_transpose", 2, _conv_transpose)
conv3d_transpose = for_dimension("conv{ndim}d_transpose", 3, _conv_transpose_by_groups)
