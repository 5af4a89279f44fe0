"""torch's ``*_copy`` functions: views copied to memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import IndexOutOfRange, ShapeError, torch as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.out import into
from ferrograd._tensor.dtypes import bfloat16_of_bits, bits_of_bfloat16
from ferrograd.torch._functions.shapes import as_strided, split, squeeze, t, transpose, unbind, unfold
from ferrograd.torch._tensor import Tensor

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "narrow_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


def _in_order(view: Tensor) -> Tensor:
    """A copy in C order."""
    return ops.clone(view) if view.is_contiguous() else view.contiguous()


def _copy(view: Tensor, out: Tensor | None) -> Tensor:
    copy: Tensor = into(out, _in_order(view))
    return copy


def _copies(views: tuple[Tensor, ...], out: Any) -> Any:
    copies = tuple(map(_in_order, views))
    if out is None:
        return copies
    for to, copy in zip(out, copies, strict=True):
        into(to, copy)
    return None


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy."""
    input = _arguments.tensor(input, "alias_copy", "input")
    return _copy(input, out)


def as_strided_copy(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """A copy of ``as_strided``."""
    return _copy(as_strided(input, size, stride, storage_offset), out)


def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A detached copy."""
    input = _arguments.tensor(input, "detach_copy", "input")
    return _copy(input.detach(), out)


def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of a diagonal."""
    input = _arguments.tensor(input, "diagonal_copy", "input")
    return _copy(ops.diagonal(input, offset, dim1, dim2), out)


def expand_copy(input: Tensor, size: Any, *, implicit: bool = False, out: Tensor | None = None) -> Tensor:
    """A copy of ``expand``."""
    input = _arguments.tensor(input, "expand_copy", "input")
    return _copy(input.expand(size), out)


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of ``narrow``."""
    input = _arguments.tensor(input, "narrow_copy", "input")
    return _copy(ops.narrow(input, dim, start, length), out)


def permute_copy(input: Tensor, dims: Any, *, out: Tensor | None = None) -> Tensor:
    """A copy of ``permute``."""
    input = _arguments.tensor(input, "permute_copy", "input")
    return _copy(input.permute(dims), out)


def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the slice of an axis at one index."""
    input = _arguments.tensor(input, "select_copy", "input")
    return _copy(ops.select(input, dim, index), out)


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of a slice of an axis."""
    input = _arguments.tensor(input, "slice_copy", "input")
    at = _arguments.integer(dim, "slice_copy", "dim")
    if not -input.ndim <= at < input.ndim:
        raise IndexOutOfRange(f"slice_copy: dim {at} of a tensor with {input.ndim} axes")
    at %= input.ndim
    return _copy(input[(slice(None),) * at + (slice(start, end, step),)], out)


def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the parts along an axis."""
    input = _arguments.tensor(input, "split_copy", "input")
    return _copies(split(input, split_size, dim), out)


def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the parts of these sizes along an axis."""
    input = _arguments.tensor(input, "split_with_sizes_copy", "input")
    return _copies(split(input, list(split_sizes), dim), out)


def squeeze_copy(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """A copy without axes of size 1."""
    input = _arguments.tensor(input, "squeeze_copy", "input")
    return _copy(squeeze(input, dim), out)


def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of a matrix transposed."""
    input = _arguments.tensor(input, "t_copy", "input")
    return _copy(t(input), out)


def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """A copy with two axes swapped."""
    input = _arguments.tensor(input, "transpose_copy", "input")
    return _copy(transpose(input, dim0, dim1), out)


def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the slices along an axis."""
    input = _arguments.tensor(input, "unbind_copy", "input")
    return _copies(unbind(input, dim), out)


def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the windows along an axis."""
    input = _arguments.tensor(input, "unfold_copy", "input")
    return _copy(unfold(input, dimension, size, step), out)


def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """A copy with one more axis."""
    input = _arguments.tensor(input, "unsqueeze_copy", "input")
    return _copy(ops.expand_dims(input, dim), out)


def _read_as(x: Tensor, name: str) -> Tensor:
    """A constant with the bytes of a tensor, read as numbers of a dtype."""
    values = bits_of_bfloat16(x.detach().float().numpy()) if x.dtype.name == "bfloat16" else x.detach().numpy()
    # NumPy gives an array of no axes one axis.
    values = np.ascontiguousarray(values).reshape(tuple(x.shape))
    kind = np.dtype("uint16" if name == "bfloat16" else name)
    if kind.itemsize != values.itemsize and (not values.ndim or values.shape[-1] * values.itemsize % kind.itemsize):
        raise ShapeError(
            f"view_copy: {list(x.shape)} elements of {x.dtype.name} are no rows of {name} of {kind.itemsize} bytes"
        )
    read = values.view(kind)
    return _core.make(bfloat16_of_bits(read) if name == "bfloat16" else read, name, False, TORCH)


def view_copy(input: Tensor, size: Any = None, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """A copy under another shape, or with a dtype for ``size`` of the bytes, read as numbers of that dtype.

    Bytes have no gradient.

    Raises:
        ShapeError: another number of elements, or a last axis whose bytes do not make up elements.

    >>> import ferrograd.torch as torch
    >>> torch.view_copy(torch.tensor([1.0, 2.0]), torch.int32).tolist()
    [1065353216, 1073741824]
    """
    input = _arguments.tensor(input, "view_copy", "input")
    if dtype is None and not hasattr(size, "itemsize"):
        return _copy(input.view(size), out)
    found: Tensor = into(out, _read_as(input, ops.zeros([0], size if dtype is None else dtype).dtype.name))
    return found


def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of ``view_as_complex``."""
    input = _arguments.tensor(input, "view_as_complex_copy", "input")
    return _copy(ops.view_as_complex(input), out)


def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of ``view_as_real``."""
    input = _arguments.tensor(input, "view_as_real_copy", "input")
    return _copy(ops.view_as_real(input), out)
