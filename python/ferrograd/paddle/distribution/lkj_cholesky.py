"""``paddle.distribution.lkj_cholesky``: the distribution, and lower triangles of matrices as vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ferrograd._core import ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._functions.create import to_tensor
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.distribution.families import LKJCholesky

__all__ = ["LKJCholesky", "tril_matrix_to_vec", "vec_to_tril_matrix"]


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of ``[..., n, n]`` on and below a diagonal, row by row, as ``[..., count]``.

    >>> import ferrograd.paddle as paddle
    >>> tril_matrix_to_vec(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 3.0, 4.0]
    """
    mat = _arguments.tensor(mat, "tril_matrix_to_vec", "mat")
    if mat.ndim < 2 or mat.shape[-1] != mat.shape[-2]:
        raise ShapeError(f"tril_matrix_to_vec: mat is [..., n, n], not of shape {list(mat.shape)}")
    n = int(mat.shape[-1])
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = np.tril_indices(n, diag)
    flat = ops.reshape(mat, [*mat.shape[:-2], n * n])
    return ops.index_select(flat, -1, to_tensor(rows * n + columns))


def vec_to_tril_matrix(
    p_flatten: Tensor, dim: int, last_dim: int, flatten_shape: int, sample_shape: Sequence[int] = (), diag: int = 0
) -> Tensor:
    """Matrices with zeros but below the diagonal, where the numbers of a vector are, ``last_dim`` of them in each.

    The shape is ``[*sample_shape, n, dim, dim]`` for ``flatten_shape`` numbers.

    >>> import ferrograd.paddle as paddle
    >>> vec_to_tril_matrix(paddle.to_tensor([5.0]), 2, 1, 1).tolist()
    [[[0.0, 0.0], [5.0, 0.0]]]
    """
    count = flatten_shape // last_dim
    rows, columns = np.tril_indices(dim, -1)
    zeros = ops.zeros([count, dim * dim], p_flatten.dtype)
    made = ops.index_add(zeros, 1, to_tensor(rows * dim + columns), ops.reshape(p_flatten, [count, last_dim]))
    return ops.reshape(made, [*sample_shape, count // math.prod(sample_shape), dim, dim])


__dir__ = _public.names(globals())
