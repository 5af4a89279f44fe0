"""``torch.sparse``: products and sums of matrices. All matrices are dense here; see ``torch.sparse_coo_tensor``."""

from __future__ import annotations

from typing import Any

from ferrograd import _public
from ferrograd._core import torch as ops
from ferrograd._core.native import addmm
from ferrograd.torch._more import sparse_coo_tensor
from ferrograd.torch._more import spmm as mm
from ferrograd.torch._tensor import Tensor

__all__ = ["DoubleTensor", "FloatTensor", "addmm", "mm", "sum"]


def FloatTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """:func:`torch.sparse_coo_tensor` of float32."""
    return sparse_coo_tensor(indices, values, size, dtype="float32")


def DoubleTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """:func:`torch.sparse_coo_tensor` of float64."""
    return sparse_coo_tensor(indices, values, size, dtype="float64")


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over all elements or over axes."""
    input = input if dtype is None else ops.astype(input, dtype)
    return ops.sum(input) if dim is None else ops.sum(input, dim if isinstance(dim, int) else list(dim))


__dir__ = _public.names(globals())
