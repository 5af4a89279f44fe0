"""torch's sparse tensors, which are dense ones here, and what only sparse tensors of torch have."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import ShapeError, torch as ops
from ferrograd._functions import sparse
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor import Tensor

__all__ = ["dsmm", "hsmm", "smm", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "spmm"]


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """The dense tensor with values at indices. Each row of ``indices`` is for one axis. Values at one place are added.

    There is one layout: sparse tensors of torch are dense ones here, with the same results and more memory.

    >>> import ferrograd.torch as torch
    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3)).tolist()
    [[0.0, 0.0, 3.0], [9.0, 0.0, 0.0]]
    """
    _core.check_device("sparse_coo_tensor", device)
    made = sparse.scattered(ops, TORCH, indices, values, size, dtype)
    return _core.require_grad(made) if requires_grad else made


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """How many of the rising row numbers are below each number from 0 to ``size``."""
    found = ops.cumsum(ops.bincount(input, None, size), 0)
    return ops.cast(ops.pad(found, [1, 0]), "int32" if out_int32 else "int64")


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and column of each element, as two rows, of a matrix in compressed rows."""
    counts = crow_indices[1:] - crow_indices[:-1]
    rows = ops.arange(len(counts)).repeat_interleave(counts)
    pair = [ops.cast(x, "int32" if out_int32 else "int64") for x in (rows, col_indices)]
    return ops.stack(pair[::-1] if transpose else pair, 0)


def _compressed(
    name: str, starts: Any, others: Any, values: Any, size: Any, is_by_column: bool, options: Any
) -> Tensor:
    """The dense matrix whose elements come row by row, or column by column."""
    starts, others = (x if isinstance(x, Tensor) else _core.make(x, None, False, TORCH) for x in (starts, others))
    if starts.ndim != 1 or others.ndim != 1:
        raise ShapeError(f"{name}: the indices of one matrix are two vectors")
    places = _convert_indices_from_csr_to_coo(starts, others, transpose=is_by_column)
    if size is None:
        lines, most = len(starts) - 1, int(others.max()) + 1 if len(others) else 0
        size = (most, lines) if is_by_column else (lines, most)
    return sparse_coo_tensor(places, values, size, **options)


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
    """The dense matrix with values in compressed rows; ``options`` are those of :func:`sparse_coo_tensor`.

    >>> import ferrograd.torch as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0]).tolist()
    [[0.0, 5.0], [6.0, 7.0]]
    """
    return _compressed("sparse_csr_tensor", crow_indices, col_indices, values, size, False, options)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
    """The dense matrix with values in compressed columns; ``options`` are those of :func:`sparse_coo_tensor`."""
    return _compressed("sparse_csc_tensor", ccol_indices, row_indices, values, size, True, options)


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``input @ mat2``; see :func:`sparse_coo_tensor`."""
    return ops.matmul(input, mat2)


dsmm = hsmm = smm = spmm
