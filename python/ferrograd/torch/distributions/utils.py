"""``torch.distributions.utils``: what user-defined distributions are written with."""

from __future__ import annotations

import bisect
import operator
from functools import cached_property
from typing import Any

from ferrograd._autograd.modes import enable_grad
from ferrograd._distributions.distribution import broadcast_all, sum_last
from ferrograd._distributions.probabilities import _clipped
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd.torch._functions.create import tril_indices
from ferrograd.torch._tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


class lazy_property(cached_property[Any]):
    """A property that is computed once, with recording on so that the value has its graph."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            return super().__get__(instance, owner)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities with these logits: ``sigmoid`` for one probability, else ``softmax`` along the last axis."""
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


@typed(probs=Tensor)
def clamp_probs(probs: Any) -> Any:
    """The probabilities, kept from 0 and 1 by the epsilon of their dtype."""
    return _clipped(probs)


@typed(probs=Tensor)
def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """``log(p / (1 - p))`` for one probability, else ``log(p)``, where p is kept from 0 and 1."""
    p = _clipped(probs)
    return ops.log(p) - ops.log1p(-p) if is_binary else ops.log(p)


@typed(mat=Tensor)
def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements of matrices up to the diagonal ``diag``, row by row: [..., n, n] to [..., number of elements].

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 3.0, 4.0]
    """
    if mat.ndim < 2:
        raise ValueError("tril_matrix_to_vec: a matrix has two axes")
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tril_indices(n, n, diag)
    return mat[..., rows, columns]


@typed(vec=Tensor)
def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Square matrices whose elements up to the diagonal ``diag`` are those of vectors, row by row; the others are 0.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1.0, 3.0, 4.0])).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """

    def count(n: int) -> int:
        if diag < 0:
            return (n + diag) * (n + diag + 1) // 2
        # In each row but the last few one element more than in the row above.
        growing = max(0, n - 1 - diag)
        return n * (n - growing) + growing * (1 + diag) + growing * (growing - 1) // 2

    if vec.ndim == 0:
        raise ValueError("vec_to_tril_matrix: a vector has an axis")
    size = vec.shape[-1]
    least = abs(operator.index(diag)) + 1
    n = least + bisect.bisect_left(range(size + 1), size, key=lambda more: count(least + more))
    if count(n) != size:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    rows, columns = tril_indices(n, n, diag)
    flat = ops.zeros([*vec.shape[:-1], n * n], vec.dtype)
    places = ops.broadcast_to(rows * n + columns, list(vec.shape))
    return ops.reshape(ops.scatter(flat, -1, places, vec), [*vec.shape[:-1], n, n])


def _standard_normal(shape: Any, dtype: Any, device: object) -> Any:
    """Standard normal random numbers."""
    return ops.randn(list(shape), dtype)


_sum_rightmost = sum_last

__dir__ = _public.names(globals())
