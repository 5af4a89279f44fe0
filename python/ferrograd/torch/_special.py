"""torch's elementwise, sorting and product functions whose arguments differ from the core's, second part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _arguments
from ferrograd._autograd.autocast import in_float32
from ferrograd._core import ArgumentError, ShapeError
from ferrograd._core import torch as ops
from ferrograd._dialects import histograms
from ferrograd._dialects.casts import in_inexact
from ferrograd._dialects.distinct import distinct, runs
from ferrograd._dialects.out_argument import into, with_out
from ferrograd._dialects.quotients import quotient
from ferrograd._dialects.segments import reduced
from ferrograd.torch import return_types
from ferrograd.torch._tensor import Tensor

__all__ = [
    "aminmax",
    "as_strided_scatter",
    "cdist",
    "chain_matmul",
    "cholesky_inverse",
    "constant_pad_nd",
    "div",
    "divide",
    "fill",
    "frexp",
    "geqrf",
    "gradient",
    "histc",
    "histogram",
    "histogramdd",
    "isneginf",
    "isposinf",
    "kthvalue",
    "log_softmax",
    "logit",
    "lu",
    "lu_solve",
    "lu_unpack",
    "mode",
    "ormqr",
    "pinverse",
    "repeat_interleave",
    "rsub",
    "searchsorted",
    "segment_reduce",
    "slogdet",
    "softmax",
    "triangular_solve",
    "true_divide",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "vander",
    "where",
]


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, along an axis if there is one. Equal ones share the gradient."""
    return return_types.aminmax(ops.min(input, dim, keepdim), ops.max(input, dim, keepdim))


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """``input`` with ``src`` written to the elements of its memory that ``as_strided`` reads."""
    return ops.as_strided_scatter(input, src, size, stride, storage_offset or 0)


@in_float32
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "") -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows. ``compute_mode`` changes nothing."""
    return ops.cdist(x1, x2, p)


@with_out
@in_float32
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is ``input``."""
    shape = _arguments.tensor(input, "cholesky_inverse", "input").shape
    if len(shape) < 2:
        raise ShapeError(f"cholesky_inverse: input must have at least two axes, got shape {list(shape)}")
    return ops.cholesky_solve(ops.eye(shape[-1], dtype=input.dtype), input, upper)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """``input`` with ``value`` before and after its last axes. ``pad`` has a pair for each, from the last axis on."""
    input, pairs = _arguments.tensor(input, "constant_pad_nd", "input"), _arguments.pairs(pad, "constant_pad_nd", "pad")
    return ops.pad(input, [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1], "constant", value)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; with the ``rounding_mode`` "trunc" rounded towards 0, with "floor" down.

    Rounded quotients of integers are integers; an integer divided by 0 raises ArgumentError.
    """
    return quotient(ops, input, other, rounding_mode)


def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The same as :func:`div`."""
    return quotient(ops, input, other, rounding_mode)


def true_divide(input: Any, other: Any) -> Tensor:
    """The quotient."""
    return ops.true_divide(input, other)


def fill(input: Tensor, value: Any) -> Any:
    """A tensor of the shape and dtype of ``input`` with ``value`` as all elements."""
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return ops.masked_fill(input, ops.full([], True), value)


def frexp(input: Tensor) -> Any:
    """The elements as ``mantissa * 2**exponent``, with the mantissa in [0.5, 1) and the exponent an int32."""
    return return_types.frexp(*ops.frexp(input))


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative along each axis, from differences of the second order; at the borders of ``edge_order`` 1 or 2.

    ``spacing`` is the distance of the samples, one number for all axes or one for each, or a vector of places for each.
    """
    input = _arguments.tensor(input, "gradient", "input")
    if input.dtype.kind in "iub":
        input = ops.cast(input, ops.get_default_dtype())
    if edge_order not in (1, 2):
        raise ArgumentError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    spacing = 1 if spacing is None else spacing
    axes = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if len({axis % max(input.ndim, 1) for axis in axes}) < len(axes):
        raise ArgumentError(f"torch.gradient: an axis appears multiple times in {list(axes)}")
    each = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(axes)
    if len(each) != len(axes):
        raise ArgumentError(f"torch.gradient expected spacing for {len(axes)} axes, got {len(each)}")
    return tuple(_gradient(input, step, axis, edge_order) for step, axis in zip(each, axes, strict=True))


def _gradient(x: Tensor, step: Any, axis: int, edge_order: int) -> Tensor:
    """The derivative along one axis."""
    n = x.shape[axis]
    if n < edge_order + 1:
        raise ArgumentError(
            f"torch.gradient expected each dimension size to be at least edge_order+1, got {n} for axis {axis}"
        )
    x = ops.moveaxis(x, axis, -1)
    if isinstance(step, Tensor) and step.ndim:
        places = ops.cast(step, x.dtype)
        if tuple(places.shape) != (n,):
            raise ShapeError(f"torch.gradient expected {n} coordinates along axis {axis}, got {list(places.shape)}")
        steps = ops.diff(places)
    else:
        steps = ops.broadcast_to(ops.full([], step, x.dtype) if not isinstance(step, Tensor) else step, [n - 1])
    slopes = ops.diff(x) / steps
    left, right = steps[:-1], steps[1:]
    inner = (left * slopes[..., 1:] + right * slopes[..., :-1]) / (left + right)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        first = first - (slopes[..., 1:2] - first) * steps[:1] / (steps[:1] + steps[1:2])
        last = last + (last - slopes[..., -2:-1]) * steps[-1:] / (steps[-1:] + steps[-2:-1])
    return ops.moveaxis(ops.concat([first, inner, last], -1), -1, axis)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.ValuesAndIndices:
    """The ``k``-th smallest element along an axis, counted from 1, and its index."""
    return _selected("kthvalue", input, k, dim=dim, keepdim=keepdim)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.ValuesAndIndices:
    """The most frequent element along an axis, the smallest of several, and the last index where it is."""
    return _selected("mode", input, dim=dim, keepdim=keepdim)


def _selected(name: str, input: Tensor, *args: Any, dim: int, keepdim: bool) -> return_types.ValuesAndIndices:
    """Elements along an axis, or the element of a tensor without axes."""
    f, result = getattr(ops, name), getattr(return_types, name)
    if _arguments.tensor(input, name, "input").ndim == 0:
        value, index = f(ops.reshape(input, [1]), *args, dim, False)
        return result(value, index)
    return result(*f(input, *args, dim, keepdim))


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, computed in ``dtype`` if it is given."""
    return ops.softmax(in_inexact(input, dtype, "softmax"), dim)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax along an axis, computed in ``dtype`` if it is given."""
    return ops.log_softmax(in_inexact(input, dtype, "log_softmax"), dim)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(x / (1 - x))``, with ``eps`` of the input clamped to [eps, 1 - eps]."""
    if eps is None:
        return ops.logit(input)
    # If eps is above one half the lower bound counts, which in `clamp` the upper does.
    high = ops.where(ops.greater(input, 1 - eps), 1 - eps, input)
    return ops.logit(ops.where(ops.less(input, eps), eps, high))


def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The packed LU factors and the pivots; with ``get_infos`` also zeros, as no factorisation fails."""
    _pivoted(pivot, "lu")
    both, pivots = ops.linalg.lu_factor(input)
    return (both, pivots, ops.zeros(list(both.shape[:-2]), "int32")) if get_infos else (both, pivots)


def _pivoted(pivot: bool, function: str) -> None:
    if not pivot:
        raise ArgumentError(f"{function}: factors without pivoting are not available on the CPU; pivot=True")


# The names of the parameters are torch's.
@with_out
@in_float32
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of linear equations with right sides ``input``, given LU factors."""
    return ops.linalg.lu_solve(LU_data, LU_pivots, input)


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> Any:
    """The factors p, l and u. Those that are not wanted are empty."""
    p, low, high = ops.lu_unpack(LU_data, LU_pivots)
    empty = ops.zeros([0], LU_data.dtype)
    return return_types.lu_unpack(
        p if unpack_pivots else empty, low if unpack_data else empty, high if unpack_data else empty
    )


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product with the orthogonal matrix of Householder reflections."""
    return ops.ormqr(input, tau, other, left, transpose)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse; singular values up to ``rcond`` times the largest count as zero."""
    return ops.linalg.pinv(input, None, rcond)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    """The elements, each repeated. ``output_size`` is checked against the size that the counts give."""
    if repeats is None:
        counts = _arguments.tensor(input, "repeat_interleave", "input")
        if counts.ndim != 1:
            raise ShapeError(f"repeat_interleave: without an input the counts are a vector, got {list(counts.shape)}")
        input, repeats, dim = ops.arange(counts.shape[0]), counts, 0
    found = ops.repeat_interleave(input, repeats, dim)
    size = found.shape[0 if dim is None else dim]
    if output_size is not None and output_size != size:
        raise ShapeError(f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}")
    return found


def rsub(input: Any, other: Any, alpha: float = 1) -> Tensor:
    """``other - alpha * input``."""
    return ops.subtract(other, input if alpha == 1 else ops.multiply(input, alpha))


# The order of the parameters is torch's.
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would be inserted into rising rows so that these stay rising."""
    found = ops.searchsorted(sorted_sequence, input, right, side, sorter)
    return ops.cast(found, "int32") if out_int32 else found


# The name of the second parameter is torch's.
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The solution of ``A @ x = input`` (of the transposed A if ``transpose``) for a triangle A, and A."""
    matrix = ops.matrix_transpose(A) if transpose else A
    solution = ops.linalg.solve_triangular(matrix, input, upper != transpose, True, unitriangular)
    return return_types.triangular_solve(solution, ops.clone(A))


def slogdet(input: Tensor) -> return_types.slogdet:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix."""
    return return_types.slogdet(*ops.slogdet(input))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in rising order, or with ``dim`` the distinct slices; also which each is, and how often.

    They are always sorted.
    """
    values, _, inverse, counts = distinct(_arguments.tensor(input, "unique", "input"), dim, "unique")
    return _chosen(values, inverse if return_inverse else None, counts if return_counts else None)


def _chosen(values: Tensor, *more: Tensor | None) -> Any:
    """The values alone, or a tuple with what else is wanted."""
    wanted = [x for x in more if x is not None]
    return (values, *wanted) if wanted else values


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications."""
    for x in matrices:
        if _arguments.tensor(x, "chain_matmul", "matrices").ndim != 2:
            raise ShapeError(f"chain_matmul: matrices are wanted, not a {x.ndim}-D tensor")
    result: Tensor = into(out, ops.linalg.multi_dot(list(matrices)))
    return result


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of ``bins`` equal parts from ``min`` to ``max``, as floats.

    If both bounds are equal the parts lie between the least and the greatest element.

    >>> import ferrograd.torch as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0, 9.0]), bins=4, min=0, max=3).tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    x = _arguments.tensor(input, "histc", "input").detach()
    if min == max and x.numel():
        min, max = ops.amin(x).item(), ops.amax(x).item()
    if min == max:
        min, max = min - 1, max + 1
    return ops.astype(ops.histogram(x, bins, min, max)[0], x.dtype)


def histogram(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many elements lie in each bin, or the sums of their weights, and the ends of the bins, as floats.

    ``bins`` is a number of bins of one width, which lie in ``range`` or between the least and the greatest element, or
    a vector of ends. With ``density`` the counts are divided by their sum and the widths.

    >>> import ferrograd.torch as torch
    >>> counts, ends = torch.histogram(torch.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0))
    >>> counts.tolist(), ends.tolist()
    ([2.0, 1.0], [0.0, 1.5, 3.0])
    """
    x = _arguments.tensor(input, "histogram", "input").detach()
    low, high = (None, None) if range is None else range
    counts, edges = ops.histogram(x, bins, low, high, None if weight is None else weight.detach(), density)
    return return_types.histogram(ops.astype(counts, x.dtype), ops.astype(edges, x.dtype))


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many points (the rows of ``input``) lie in each cell of a grid, and the ends of its parts along each axis.

    ``bins`` is a number of parts, one for each axis, or a list of tensors with their ends. ``range`` has the lowest and
    the highest end of each axis, one after the other.
    """
    found, edges = histograms.of_points(input, bins, range, density, weight)
    return return_types.histogramdd(found, tuple(edges))


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


def geqrf(input: Tensor) -> Any:
    """The QR factorisation as LAPACK packs it: see :func:`ferrograd.geqrf`."""
    return return_types.geqrf(*ops.geqrf(input))


def isneginf(input: Tensor) -> Tensor:
    """Whether each element is minus infinity."""
    return ops.logical_and(ops.isinf(input), ops.less(input, 0))


def isposinf(input: Tensor) -> Tensor:
    """Whether each element is infinity."""
    return ops.logical_and(ops.isinf(input), ops.greater(input, 0))


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index along each axis of the elements at these places of a tensor of a shape.

    Raises ArgumentError for a place outside.

    >>> import ferrograd.torch as torch
    >>> torch.unravel_index(torch.tensor([5, 2]), (2, 3))
    (tensor([1, 0]), tensor([2, 2]))
    """
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if ops.any(ops.logical_or(ops.less(indices, 0), ops.greater_equal(indices, math.prod(sizes)))):
        raise ArgumentError(f"unravel_index: a tensor of shape {sizes} has no element at one of the places")
    found = []
    indices = ops.cast(indices, "int64")
    for size in sizes[::-1]:
        found.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return tuple(found[::-1])


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns: falling, as in NumPy, or ``increasing``."""
    if _arguments.tensor(x, "vander", "x").ndim != 1:
        raise ShapeError(
            f"vander: x must be a one-dimensional tensor, not a {x.ndim}-D one; linalg.vander takes batches"
        )
    powers = ops.linalg.vander(ops.cast(x, "int64") if x.dtype.kind in "iub" else x, N)
    return powers if increasing else ops.flip(powers, -1)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first element (or slice along ``dim``) of each run of equal ones; also the run of each, and its length."""
    values, inverse, counts = runs(_arguments.tensor(input, "unique_consecutive", "input"), dim, "unique_consecutive")
    return _chosen(values, inverse if return_inverse else None, counts if return_counts else None)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """The elements of ``input`` where the condition holds, else of ``other``; alone, the indices where it holds."""
    if input is None and other is None:
        return tuple(ops.nonzero(condition))
    if isinstance(condition, Tensor) and condition.dtype.kind != "b" and condition.dtype != np.uint8:
        raise ArgumentError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    return ops.where(condition, input, other)
