"""Functions whose order of arguments, defaults or meaning are torch's own. Each is a method of its tensors too."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import torch as ops
from ferrograd._reduce import lower_median

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "cummax",
    "cummin",
    "equal",
    "index_add",
    "max",
    "median",
    "meshgrid",
    "min",
    "nonzero",
    "norm",
    "sort",
    "split",
    "squeeze",
    "std",
    "sub",
    "t",
    "topk",
    "transpose",
    "unbind",
    "var",
]


class ValuesAndIndices(NamedTuple):
    """Elements that were picked, and where they stood."""

    values: Tensor
    indices: Tensor


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input + alpha * other``."""
    return ops.add(input, other if alpha == 1 else other * alpha)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    return add(input, ops.divide(tensor1, tensor2), alpha=value)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return add(input, ops.multiply(tensor1, tensor2), alpha=value)


def cummax(input: Tensor, dim: int) -> ValuesAndIndices:
    """The running maximum along an axis, and where it stands."""
    return ValuesAndIndices(*ops.cummax(input, dim))


def cummin(input: Tensor, dim: int) -> ValuesAndIndices:
    """The running minimum along an axis, and where it stands."""
    return ValuesAndIndices(*ops.cummin(input, dim))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    input, other = _check.tensor(input, "equal", "input"), _check.tensor(other, "equal", "other")
    return tuple(input.shape) == tuple(other.shape) and bool(ops.all(ops.equal(input, other)))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """``input`` with ``alpha`` times slices of ``source`` added along an axis at the positions in ``index``."""
    return ops.index_add(input, dim, index, source if alpha == 1 else source * alpha)


def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; along an axis with its index; or the larger elements of two tensors."""
    if dim is None:
        return ops.max(input)
    if isinstance(dim, Tensor):
        return ops.maximum(input, dim)
    return ValuesAndIndices(*ops.max_with_index(input, dim, keepdim))


def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; along an axis with its index; or the smaller elements of two tensors."""
    if dim is None:
        return ops.min(input)
    if isinstance(dim, Tensor):
        return ops.minimum(input, dim)
    return ValuesAndIndices(*ops.min_with_index(input, dim, keepdim))


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smaller of the two middle elements, along an axis with its index."""
    if dim is None:
        return lower_median(input)
    return ValuesAndIndices(*ops.median_with_index(input, dim, keepdim))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate tensors of a grid; the first tensor runs along the first axis unless ``indexing`` is ``"xy"``."""
    many = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    return tuple(ops.meshgrid(list(many), indexing))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or a tensor for each axis."""
    return tuple(ops.nonzero(input)) if as_tuple else ops.argwhere(input)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: None = None, dtype: Any = None
) -> Tensor:
    """The norm of the elements along axes, of all of them without one; Euclid's unless ``p`` says another."""
    if dtype is not None:
        input = ops.cast(input, dtype)
    return ops.norm(input, 2.0 if p is None or p == "fro" else p, dim, keepdim)


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesAndIndices:
    """The elements in order along an axis, and where they stood."""
    return ValuesAndIndices(*ops.sort_with_index(input, dim, descending, stable))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: each of that size (the last may be smaller), or of these sizes."""
    if isinstance(split_size_or_sections, int):
        return tuple(ops.split_every(tensor, split_size_or_sections, dim))
    return tuple(ops.split_sizes(tensor, split_size_or_sections, dim))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the axes of size 1, or those of these axes that have size 1."""
    return ops.squeeze(input) if dim is None else ops.squeeze(input, _check.ones(input, "squeeze", dim))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input - alpha * other``."""
    return ops.subtract(input, other if alpha == 1 else other * alpha)


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise ArgumentError("unbiased and correction say the same: give one of them")
    return float(unbiased) if unbiased is not None else 1.0 if correction is None else correction


def _moment(f: Any, input: Tensor, dim: Any, unbiased: bool | None, correction: float | None, keepdim: bool) -> Tensor:
    """``var`` or ``std``; a bool in the place of the axes is ``unbiased``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    result: Tensor = f(input, dim, _correction(unbiased, correction), keepdim)
    return result


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation along axes."""
    return _moment(ops.std, input, dim, unbiased, correction, keepdim)


def t(input: Tensor) -> Tensor:
    """A matrix transposed; a tensor with fewer axes as it is."""
    if _check.tensor(input, "t", "input").ndim > 2:
        raise ArgumentError(f"t: expects a tensor with at most 2 axes, {list(input.shape)} has {input.ndim}")
    return ops.matrix_transpose(input) if input.ndim == 2 else input


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The ``k`` largest (or smallest) elements along an axis, and where they stand."""
    return ValuesAndIndices(*ops.topk(input, k, dim, largest, sorted))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes swapped."""
    return ops.swapaxes(input, dim0, dim1)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    return tuple(ops.unbind(input, dim))


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance along axes."""
    return _moment(ops.var, input, dim, unbiased, correction, keepdim)
