"""What tensors of torch answer to questions about sparse ones."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ShapeError, TorchTensor, torch as ops
from ferrograd._kit.adapters import add_methods


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
        """The tensor itself, or cast to another dtype. All tensors are dense."""
        return self if dtype is None else ops.astype(self, dtype)


add_methods(TorchTensor, Methods)
