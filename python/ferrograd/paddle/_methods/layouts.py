"""Methods of Paddle's tensors on sparse layouts. All tensors are dense."""

from __future__ import annotations

from ferrograd._core import paddle as ops
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "coalesce",
    "indices",
    "is_dense",
    "is_sparse",
    "is_sparse_coo",
    "is_sparse_csr",
    "to_dense",
    "to_sparse_coo",
    "to_sparse_csr",
    "values",
]


def is_sparse(x: Tensor) -> bool:
    """False: all tensors are dense."""
    return False


is_sparse_coo = is_sparse_csr = is_sparse


def to_dense(x: Tensor) -> Tensor:
    """The tensor itself: all tensors are dense."""
    return x


def to_sparse_coo(x: Tensor, sparse_dim: int) -> Tensor:
    """The tensor itself: there is one layout."""
    return x


to_sparse_csr = coalesce = to_dense


def indices(x: Tensor) -> Tensor:
    """The indices of the elements that are not zero, as those of a sparse tensor: a row for each axis."""
    return ops.stack(list(ops.nonzero(x.detach())), 0)


def values(x: Tensor) -> Tensor:
    """The elements that are not zero, in the order of :func:`indices`. Gradients flow through them."""
    return x[ops.not_equal(x.detach(), 0)]


def is_dense(x: Tensor) -> bool:
    """True: all tensors are dense."""
    return True
