"""``torch.sparse``: products and sums of matrices. All matrices are dense here; see ``torch.sparse_coo_tensor``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import torch as ops
from ferrograd._core.native import addmm
from ferrograd._kit import public as _public
from ferrograd.torch._functions.sparse import sparse_coo_tensor
from ferrograd.torch._tensor import Tensor

__all__ = ["DoubleTensor", "FloatTensor", "addmm", "mm", "sum"]


def FloatTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """:func:`torch.sparse_coo_tensor` of float32."""
    return sparse_coo_tensor(indices, values, size, dtype="float32")


def DoubleTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """:func:`torch.sparse_coo_tensor` of float64."""
    return sparse_coo_tensor(indices, values, size, dtype="float64")


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices, or with ``reduce`` "mean", "amax" or "amin" of the products for each element.

    These are only of the elements of ``mat1`` that are not zero, as a sparse matrix has them; 0 where there are none.

    >>> import ferrograd.torch as torch
    >>> torch.sparse.mm(torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([[1.0], [9.0], [4.0]]), "amax").tolist()
    [[4.0]]
    """
    if reduce == "sum":
        return ops.matmul(mat1, mat2)
    rows, columns = mat1.nonzero(as_tuple=True)
    parts = mat1[rows, columns].unsqueeze(1) * mat2[columns]
    start = ops.zeros([mat1.shape[0], mat2.shape[1]], parts.dtype)
    how = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    return ops.index_reduce(start, 0, rows, parts, how, False)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over all elements or over axes."""
    input = input if dtype is None else ops.astype(input, dtype)
    return ops.sum(input) if dim is None else ops.sum(input, dim if isinstance(dim, int) else list(dim))


__dir__ = _public.names(globals())
