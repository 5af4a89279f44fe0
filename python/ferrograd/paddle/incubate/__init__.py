"""``paddle.incubate``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.geometric import (
    reindex_graph,
    sample_neighbors,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
    send_u_recv,
)
from ferrograd.paddle.incubate import autograd, autotune, nn, optimizer
from ferrograd.paddle.incubate.optimizer import LookAhead

__all__ = [
    "LookAhead",
    "autograd",
    "autotune",
    "graph_reindex",
    "graph_sample_neighbors",
    "graph_send_recv",
    "nn",
    "optimizer",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "softmax_mask_fuse",
    "softmax_mask_fuse_upper_triangle",
]


def graph_reindex(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    flag_buffer_hashtable: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The older name of :func:`ferrograd.paddle.geometric.reindex_graph`."""
    return reindex_graph(x, neighbors, count)


def graph_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    eids: Tensor | None = None,
    perm_buffer: Tensor | None = None,
    sample_size: int = -1,
    return_eids: bool = False,
    flag_perm_buffer: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The older name of :func:`ferrograd.paddle.geometric.sample_neighbors`."""
    return sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)


def graph_send_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    pool_type: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """The older name of :func:`ferrograd.paddle.geometric.send_u_recv`.

    >>> import ferrograd.paddle as paddle
    >>> x, src, dst = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([0, 1, 1]), paddle.to_tensor([1, 1, 0])
    >>> graph_send_recv(x, src, dst, pool_type="max").tolist()
    [[2.0], [2.0]]
    """
    return send_u_recv(x, src_index, dst_index, pool_type, out_size)


def softmax_mask_fuse(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The softmax of ``x + mask`` along the last axis.

    >>> import ferrograd.paddle as paddle
    >>> softmax_mask_fuse(paddle.zeros([1, 2]), paddle.to_tensor([[0.0, -1e9]])).tolist()
    [[1.0, 0.0]]
    """
    return ops.softmax(ops.add(x, mask), -1)


def softmax_mask_fuse_upper_triangle(x: Tensor) -> Tensor:
    """The softmax along the last axis of the lower triangle of matrices; 0 above the diagonal.

    >>> import ferrograd.paddle as paddle
    >>> softmax_mask_fuse_upper_triangle(paddle.zeros([1, 1, 2, 2])).tolist()
    [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    x = _arguments.tensor(x, "softmax_mask_fuse_upper_triangle", "x")
    above = ops.triu(ops.ones(list(x.shape[-2:]), "bool"), 1)
    return ops.softmax(ops.masked_fill(x, above, -float("inf")), -1)


__dir__ = _public.names(globals())
