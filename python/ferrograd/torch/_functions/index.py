"""torch's functions that read and write elements by their indices. Each is a tensor method too."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

import numpy as np

from ferrograd._core import ArgumentError, ShapeError, torch as ops
from ferrograd._functions.segments import reduced
from ferrograd._kit import arguments as _arguments
from ferrograd.torch._tensor import Tensor

__all__ = [
    "argwhere",
    "as_strided_scatter",
    "gather",
    "index_add",
    "index_put",
    "nonzero",
    "nonzero_static",
    "put",
    "scatter",
    "segment_reduce",
    "unravel_index",
    "where",
]


def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements: a matrix with one row each."""
    if _arguments.tensor(input, "argwhere", "input").ndim:
        return ops.argwhere(input)
    return ops.zeros([int(bool(input.item())), 0], "int64")


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements along an axis by their indices. The gradient is dense; ``sparse_grad`` changes nothing."""
    return ops.gather(input, dim, index)


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """``input`` with ``alpha * source`` added to its slices ``index`` along an axis."""
    input, source = _arguments.tensor(input, "index_add", "input"), _arguments.tensor(source, "index_add", "source")
    axis = _arguments.axis(dim, "index_add", max(input.ndim, 1))
    sizes, given = list(input.shape), list(source.shape)
    if sizes and (len(sizes) != len(given) or sizes[:axis] + sizes[axis + 1 :] != given[:axis] + given[axis + 1 :]):
        raise ShapeError(
            f"index_add: source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {sizes} source.shape = {given}"
        )
    return ops.index_add(input, dim, index, source if alpha == 1 else source * alpha)


def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """The tensor with values written to, or with ``accumulate`` added to, the elements at a tuple of index tensors."""
    if isinstance(indices, (list, tuple)):
        indices = tuple(map(_mask, indices))
    return ops.index_put(input, indices, values, accumulate)


def _mask(index: Any) -> Any:
    """An index of dtype uint8 as a mask; any other as it is."""
    return ops.cast(index, "bool") if isinstance(index, Tensor) and index.dtype == "uint8" else index


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements: a matrix with one row each, or a tuple with one vector per axis."""
    has_axes = _arguments.tensor(input, "nonzero", "input").ndim
    if not as_tuple:
        return argwhere(input)
    return tuple(ops.nonzero(input if has_axes else ops.reshape(input, [1])))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` rows of :func:`nonzero`; rows of ``fill_value`` follow if there are fewer."""
    found, size = argwhere(input), _arguments.integer(size, "nonzero_static", "size")
    if size < 0:
        raise ArgumentError(f"nonzero_static: size must not be negative, got {size}")
    missing = ops.full([max(size - found.shape[0], 0), found.shape[1]], fill_value, "int64")
    return ops.concat([found[:size], missing], 0)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with ``source`` written to, or with ``accumulate`` added to, positions in its flat form."""
    flat = ops.index_put(ops.reshape(input, [-1]), (index,), source, accumulate)
    return ops.reshape(flat, input.shape)


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """``input`` with elements of ``src`` (or the number ``value``) written at indices along an axis.

    With ``reduce`` they are added ("add") to the elements that are there, or multiplied ("multiply") with them.
    """
    if (src is None) == (value is None):
        raise ArgumentError("scatter: either src or value is expected")
    src = value if src is None else src
    if reduce is None:
        return ops.scatter(input, dim, index, src)
    kinds = {"add": "sum", "multiply": "prod"}
    if reduce not in kinds:
        raise ArgumentError(f"scatter: reduce argument must be either add or multiply, got {reduce!r}")
    reduced: Tensor = ops.scatter_reduce(input, dim, index, src, kinds[reduce])
    return reduced


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """``input`` with ``src`` written to the elements of its memory that ``as_strided`` reads."""
    return ops.as_strided_scatter(input, src, size, stride, storage_offset or 0)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sums, means, products or extreme elements of segments that follow each other along an axis.

    The segments have ``lengths``, of the shape of ``data`` before the axis and one axis more, or lie between
    ``offsets``. ``reduce`` is "sum", "mean", "prod", "max" or "min"; ``initial`` counts as an element of each segment.

    >>> import ferrograd.torch as torch
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1])).tolist()
    [3.0, 4.0]
    """
    function = "segment_reduce"
    x = _arguments.tensor(data, function, "data")
    axis = _arguments.axis(axis, function, x.ndim)
    neutral = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "max": -math.inf, "min": math.inf}
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in neutral:
        raise ArgumentError(f"{function}: reduce is one of {list(neutral)}, not {reduce!r:.60}")
    if (lengths is None) == (offsets is None) or indices is not None:
        raise ArgumentError(f"{function}: exactly one of lengths and offsets is wanted, and no indices")
    given = np.asarray(_arguments.tensor(offsets if lengths is None else lengths, function, "lengths").numpy())
    sizes = given if lengths is not None else np.diff(given, axis=-1)
    lead, n = tuple(x.shape[:axis]), x.shape[axis]
    if sizes.ndim != axis + 1 or sizes.shape[:-1] != lead or sizes.dtype.kind != "i":
        raise ShapeError(f"{function}: {list(given.shape)} has no integers for each of {list(lead)}")
    if (sizes < 0).any() or (sizes.sum(-1) != n).any() or (lengths is None and (given[..., :1] != 0).any()):
        raise ArgumentError(f"{function}: the segments do not make up the {n} elements along axis {axis}")
    ids = np.repeat(np.arange(sizes.size), sizes.ravel())
    rows = ops.reshape(x, [len(ids), *x.shape[axis + 1 :]])
    found = reduced(rows, ids, sizes.size, reduce, neutral[reduce], initial)
    return ops.reshape(found, [*sizes.shape, *x.shape[axis + 1 :]])


_segment_reduce = segment_reduce


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index along each axis of the elements at these places of a tensor of a shape.

    Raises:
        TypeError: the places or the sizes are not integers.
        ArgumentError: a place is outside.

    >>> import ferrograd.torch as torch
    >>> torch.unravel_index(torch.tensor([5, 2]), (2, 3))
    (tensor([1, 0]), tensor([2, 2]))
    """
    if _arguments.tensor(indices, "unravel_index", "indices").dtype.kind not in "iu":
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(size, SupportsIndex) for size in sizes):
        raise TypeError(f"unravel_index: expected 'shape' to be an int or ints, but got {shape}")
    if ops.any(ops.logical_or(ops.less(indices, 0), ops.greater_equal(indices, math.prod(sizes)))):
        raise ArgumentError(f"unravel_index: a tensor of shape {sizes} has no element at one of the places")
    found = []
    indices = ops.cast(indices, "int64")
    for size in sizes[::-1]:
        found.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return tuple(found[::-1])


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """The elements of ``input`` where the condition holds, else of ``other``; alone, the indices where it holds."""
    if input is None and other is None:
        return tuple(ops.nonzero(condition))
    if isinstance(condition, Tensor) and condition.dtype.kind != "b" and condition.dtype != np.uint8:
        raise ArgumentError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    return ops.where(condition, input, other)
