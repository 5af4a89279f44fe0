"""torch's functions that sort, search and count elements. Each is a tensor method too."""

from __future__ import annotations

from typing import Any

from ferrograd._core import torch as ops
from ferrograd._functions import histograms
from ferrograd._functions.sort import distinct, runs
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import with_out
from ferrograd.torch import return_types
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.return_types import ValuesAndIndices

__all__ = [
    "bucketize",
    "histc",
    "histogram",
    "histogramdd",
    "isin",
    "kthvalue",
    "mode",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """How many of the rising boundaries are below each element, or with ``right`` not above it."""
    found = ops.bucketize(_tensor(input), boundaries, right)
    return ops.cast(found, "int32") if out_int32 else found


@with_out
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is equal to one of ``test_elements``."""
    among = test_elements if isinstance(test_elements, Tensor) else ops.full([1], test_elements)
    found = ops.any(ops.equal(ops.expand_dims(_tensor(elements), -1), ops.reshape(among, [-1])), -1)
    return ops.logical_not(found) if invert else found


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else ops.full([], x)


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False) -> ValuesAndIndices:
    """The elements sorted along an axis, and their indices before."""
    return return_types.sort(*ops.sort_with_index(input, dim, descending, bool(stable)))


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The ``k`` largest (or smallest) elements along an axis and their indices."""
    return return_types.topk(*ops.topk(input, k, dim, largest, sorted))


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
    """The values alone, or a tuple of them and what else the caller asked for."""
    wanted = [x for x in more if x is not None]
    return (values, *wanted) if wanted else values


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


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first element (or slice along ``dim``) of each run of equal ones; also the run of each, and its length."""
    values, inverse, counts = runs(_arguments.tensor(input, "unique_consecutive", "input"), dim, "unique_consecutive")
    return _chosen(values, inverse if return_inverse else None, counts if return_counts else None)
