"""``paddle.sparse``: matrices with values at indices. All tensors are dense here, and so are the results.

Functions that keep zeros, and products, are those of the same name in ``paddle``.

>>> import ferrograd.paddle as paddle
>>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], [2, 3])
>>> paddle.sparse.matmul(x, paddle.ones([3, 1])).tolist()
[[3.0], [4.0]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ferrograd.paddle
from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, Tensor, paddle as ops
from ferrograd._functions import sparse
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE

__all__ = ["coalesce", "is_same_shape", "masked_matmul", "sparse_coo_tensor", "sparse_csr_tensor"]

#: The names that are functions of ``paddle``: they keep zeros, or are products or movements.
_SAME = {
    "abs",
    "add",
    "addmm",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "deg2rad",
    "expm1",
    "isnan",
    "log1p",
    "matmul",
    "multiply",
    "mv",
    "neg",
    "rad2deg",
    "reshape",
    "sin",
    "sinh",
    "slice",
    "sqrt",
    "square",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "transpose",
}


def sparse_coo_tensor(
    indices: Any, values: Any, shape: Any = None, dtype: Any = None, place: object = None, stop_gradient: bool = True
) -> Tensor:
    """The dense tensor with values at indices. Each row of ``indices`` is for one axis. Values at one place are added.

    Gradients flow to ``values`` if these are tracked; otherwise the result is a leaf unless ``stop_gradient``.
    """
    _core.check_device("sparse_coo_tensor", place)
    made = sparse.scattered(ops, PADDLE, indices, values, shape, dtype)
    if not stop_gradient and made.stop_gradient:
        made.stop_gradient = False
    return made


def sparse_csr_tensor(
    crows: Any,
    cols: Any,
    values: Any,
    shape: Any,
    dtype: Any = None,
    place: object = None,
    stop_gradient: bool = True,
) -> Tensor:
    """The dense matrix with values in compressed rows; see :func:`sparse_coo_tensor`.

    >>> import ferrograd.paddle as paddle
    >>> paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0], [2, 2]).tolist()
    [[0.0, 5.0], [6.0, 7.0]]
    """
    given = [x if isinstance(x, Tensor) else _core.make(x, None, False, PADDLE) for x in (crows, cols)]
    if any(x.ndim != 1 for x in given) or len(shape) != 2:
        raise ShapeError("sparse_csr_tensor: the indices of one matrix are two vectors")
    if any(x.dtype.kind not in "iu" and x.numel() for x in given):
        raise ArgumentError("sparse_csr_tensor: indices are integers")
    starts, columns = (np.asarray(x.detach().numpy(), np.int64) for x in given)
    counts = np.diff(starts)
    if counts.min(initial=0) < 0 or counts.sum() != len(columns):
        raise ArgumentError(f"sparse_csr_tensor: crows must rise to the number of columns, which is {len(columns)}")
    rows = np.repeat(np.arange(len(counts)), counts)
    return sparse_coo_tensor(np.stack([rows, columns]), values, shape, dtype, place, stop_gradient)


def coalesce(x: Tensor, name: str | None = None) -> Tensor:
    """The tensor itself: values at one place have been added."""
    made: Tensor = _arguments.tensor(x, "coalesce", "x")
    return made


def is_same_shape(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have one shape."""
    first, second = (_arguments.tensor(v, "is_same_shape", name) for v, name in ((x, "x"), (y, "y")))
    return list(first.shape) == list(second.shape)


def masked_matmul(x: Tensor, y: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The product of two matrices where the mask is not zero, and 0 elsewhere."""
    return ops.where(ops.not_equal(mask, 0), ops.matmul(x, y), 0.0)


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return getattr(ferrograd.paddle, name)
    raise AttributeError(
        f"module 'ferrograd.paddle.sparse' has no attribute {name!r}: all tensors are dense: use a function of paddle"
    )


__dir__ = _public.names(globals())
