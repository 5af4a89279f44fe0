"""torch's functions that are made of others and are seldom used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, ShapeError, TorchTensor
from ferrograd._core import torch as ops
from ferrograd._dialects import draws, low_rank, sparse
from ferrograd._dialects.numbers import TORCH
from ferrograd.torch._creation import full
from ferrograd.torch._generator import drawing
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import refuse_sharing

__all__ = [
    "binomial",
    "dsmm",
    "frobenius_norm",
    "frombuffer",
    "hash_tensor",
    "hsmm",
    "nuclear_norm",
    "pca_lowrank",
    "poisson",
    "range",
    "smm",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "spmm",
    "svd_lowrank",
]


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of successes in ``count`` trials, each with the probability ``prob``."""
    n, p = (_arguments.tensor(x, "binomial", name) for x, name in ((count, "count"), (prob, "prob")))
    with drawing(generator, "binomial"):
        return draws.binomial(n, p)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of events, one for each rate."""
    with drawing(generator, "poisson"):
        return draws.poisson(_arguments.tensor(input, "poisson", "input"))


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The square root of the sum of the squares over one or two axes."""
    return ops.norm(input, 2.0, dim if isinstance(dim, int) else list(dim), keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices."""
    return ops.linalg.matrix_norm(input, "nuc", list(dim), keepdim)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of the numbers in a buffer, such as bytes. torch shares the memory.

    >>> import ferrograd.torch as torch
    >>> torch.frombuffer(b"abc", dtype=torch.uint8).tolist()
    [97, 98, 99]
    """
    return _core.make(np.frombuffer(buffer, np.dtype(dtype), count, offset), dtype, requires_grad, TORCH)


def range(start: float = 0, end: float | None = None, step: float = 1, **options: Any) -> Tensor:
    """Numbers from ``start`` up to and with ``end``. torch deprecates it: ``arange`` leaves the end out."""
    if end is None:
        start, end = 0, start
    if step == 0 or not 0 <= (end - start) / step < math.inf:
        raise ArgumentError(f"range: the step {step} does not lead from {start} to {end}")
    count = int((end - start) / step) + 1
    filled = full([count], start, **{"dtype": ops.get_default_dtype(), **options})
    return filled + ops.arange(0, count, 1, filled.dtype) * step


def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The bits of the elements, as float64 or int64, combined by exclusive or over axes, all by default: a uint64."""
    if mode:
        raise ArgumentError(f"hash_tensor: mode is 0, the exclusive or, not {mode}")
    x = _arguments.tensor(input, "hash_tensor", "input").detach()
    bits = ops.cast(x, "float64" if x.dtype.kind in "fV" else "int64").numpy().view(np.uint64)
    given = dim if isinstance(dim, list | tuple) else [dim]
    axes = [_arguments.axis(d, "hash_tensor", max(x.ndim, 1)) for d in given][: x.ndim]
    combine: Any = np.bitwise_xor.reduce
    found = combine(bits, tuple(axes) or None, keepdims=keepdim)
    return _core.make(found, "uint64", False, TORCH)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest singular values of ``A``, or of ``A - M``, by random projections."""
    return low_rank.svd_lowrank(A, q, niter, M, "svd_lowrank")


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the ``q`` largest principal components of observations, the rows of ``A``."""
    return low_rank.pca_lowrank(A, q, center, niter, "pca_lowrank")


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
    return made.requires_grad_() if requires_grad else made


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


class Methods:
    """Methods of torch's tensor class."""

    def to_sparse(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The tensor itself: there is one layout."""
        return self

    to_sparse_coo = to_sparse_csr = to_sparse_csc = coalesce = to_sparse

    def indices(self: Any) -> Any:
        """The indices of the elements that are not zero, as those of a sparse tensor: a row for each axis."""
        return ops.stack(list(self.detach().nonzero(as_tuple=True)), 0)

    def values(self: Any) -> Any:
        """The elements that are not zero, in the order of :meth:`indices`. Gradients flow through them."""
        return self[self.detach().nonzero(as_tuple=True)]

    def crow_indices(self: Any) -> Any:
        """How many elements of a matrix that are not zero lie before each row, and how many there are."""
        if self.ndim != 2:
            raise ShapeError(f"crow_indices: a matrix is wanted, not a tensor of shape {list(self.shape)}")
        return ops.pad((self.detach() != 0).sum(1).cumsum(0), [1, 0])

    def col_indices(self: Any) -> Any:
        """The columns of the elements of a matrix that are not zero, row by row."""
        if self.ndim != 2:
            raise ShapeError(f"col_indices: a matrix is wanted, not a tensor of shape {list(self.shape)}")
        return self.indices()[1]

    def is_coalesced(self: Any) -> bool:
        """True: values at one place have been added."""
        return True

    def sparse_dim(self: Any) -> int:
        """0: all tensors are dense."""
        return 0

    def dense_dim(self: Any) -> int:
        """The number of axes: all tensors are dense."""
        return int(self.ndim)

    def _nnz(self: Any) -> int:
        """The number of elements that are not zero."""
        return int((self.detach() != 0).sum())

    _indices, _values = indices, values

    def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """The tensor itself, or of another dtype: all tensors are dense."""
        return self if dtype is None else ops.astype(self, dtype)

    def share_memory_(self: Any) -> Any:
        """Raises: threads share a tensor as it is, and another process gets a copy."""
        refuse_sharing("Tensor.share_memory_")

    def is_shared(self: Any) -> bool:
        """False: no memory is shared with other processes."""
        return False

    def apply_(self: Any, callable: Any) -> Any:
        """Overwrites each element with the function of it, one call for each."""
        flat = [callable(v) for v in ops.reshape(self.detach(), [-1]).tolist()]
        return self.copy_(ops.reshape(_core.make(flat, self.dtype, False, TORCH), list(self.shape)))

    def map_(self: Any, tensor: Any, callable: Any) -> Any:
        """Overwrites each element with the function of it and of that of another tensor."""
        others = ops.broadcast_to(tensor.detach(), list(self.shape))
        pairs = zip(*(ops.reshape(x, [-1]).tolist() for x in (self.detach(), others)), strict=True)
        flat = [callable(a, b) for a, b in pairs]
        return self.copy_(ops.reshape(_core.make(flat, self.dtype, False, TORCH), list(self.shape)))


for _name, _value in vars(Methods).items():
    if not _name.startswith("__"):
        setattr(TorchTensor, _name, _value)
