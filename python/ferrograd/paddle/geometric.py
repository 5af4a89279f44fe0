"""``paddle.geometric``: messages along the edges of graphs, and sums of segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions.segments import reduced, segment_max, segment_mean, segment_min, segment_sum
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "reindex_graph",
    "reindex_heter_graph",
    "sample_neighbors",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
    "weighted_sample_neighbors",
]

_MESSAGES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": ops.add,
    "sub": ops.subtract,
    "mul": ops.multiply,
    "div": ops.divide,
}
_REDUCTIONS = ("sum", "mean", "max", "min")


def _received(messages: Tensor, places: Tensor, rows: int, by: str, function: str) -> Tensor:
    """The messages to each of the rows as one; zero for a row without any."""
    if by not in _REDUCTIONS:
        raise ArgumentError(f"{function}: the reduction is one of {_REDUCTIONS}, not {by!r}")
    ids = np.asarray(_arguments.tensor(places, function, "dst_index").detach().numpy())
    if ids.shape != (messages.shape[0],) or (ids.size and not 0 <= ids.min() <= ids.max() < rows):
        raise ArgumentError(f"{function}: dst_index has a number below {rows} for each of {messages.shape[0]} edges")
    return reduced(messages, ids, rows, by, 0.0)


def _message(x: Tensor, y: Tensor, op: str, function: str) -> Tensor:
    if op not in _MESSAGES:
        raise ArgumentError(f"{function}: the message is one of {sorted(_MESSAGES)}, not {op!r}")
    found: Tensor = _MESSAGES[op](x, y)
    return found


def _rows(x: Tensor, out_size: Any) -> int:
    if out_size is None:
        return int(x.shape[0])
    size = int(out_size.item()) if isinstance(out_size, Tensor) else int(out_size)
    return size if size > 0 else int(x.shape[0])


def send_u_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """The rows of ``x`` at the sources of the edges, reduced at their destinations.

    >>> import ferrograd.paddle as paddle
    >>> x, src, dst = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([0, 1, 1]), paddle.to_tensor([1, 1, 0])
    >>> send_u_recv(x, src, dst).tolist()
    [[2.0], [3.0]]
    """
    x = _arguments.tensor(x, "send_u_recv", "x")
    return _received(
        _core.from_zero(ops.index_select, x, 0, src_index), dst_index, _rows(x, out_size), reduce_op, "send_u_recv"
    )


def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """The rows of ``x`` at the sources combined with the edges' ``y``, reduced at the destinations."""
    x, y = _arguments.tensor(x, "send_ue_recv", "x"), _arguments.tensor(y, "send_ue_recv", "y")
    if not x.ndim or not y.ndim:
        raise ArgumentError("send_ue_recv: x has a row for each node, and y one for each edge")
    # The shorter one gets axes of size 1 behind the first axis, so that the others broadcast from the last one.
    x, y = (ops.reshape(v, [v.shape[0], *[1] * (max(x.ndim, y.ndim) - v.ndim), *v.shape[1:]]) for v in (x, y))
    sent = _message(_core.from_zero(ops.index_select, x, 0, src_index), y, message_op, "send_ue_recv")
    return _received(sent, dst_index, _rows(x, out_size), reduce_op, "send_ue_recv")


def send_uv(
    x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, message_op: str = "add", name: str | None = None
) -> Tensor:
    """The rows of ``x`` at the sources combined with those of ``y`` at the destinations, one for each edge."""
    x, y = _arguments.tensor(x, "send_uv", "x"), _arguments.tensor(y, "send_uv", "y")
    return _message(
        _core.from_zero(ops.index_select, x, 0, src_index),
        _core.from_zero(ops.index_select, y, 0, dst_index),
        message_op,
        "send_uv",
    )


def _numbers(x: Any, function: str, name: str) -> np.ndarray[Any, Any]:
    found = np.asarray(_arguments.tensor(x, function, name).detach().numpy())
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ArgumentError(f"{function}: {name} is a vector of integers")
    return found


def reindex_heter_graph(
    x: Tensor,
    neighbors: Sequence[Tensor],
    count: Sequence[Tensor],
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`reindex_graph` of several kinds of edges, whose neighbors share their new numbers."""
    own = _numbers(x, "reindex_graph", "x")
    around = [_numbers(one, "reindex_graph", "neighbors") for one in neighbors]
    counts = [_numbers(one, "reindex_graph", "count") for one in count]
    for one, n in zip(around, counts, strict=True):
        if n.size % max(own.size, 1) or (n < 0).any() or n.sum() != one.size:
            raise ArgumentError(f"reindex_graph: count has a number of neighbors for each of {own.size} nodes")
    number = {node: i for i, node in enumerate(own.tolist())}
    if len(number) != own.size:
        raise ArgumentError("reindex_graph: x has a node twice")
    sources = [number.setdefault(node, len(number)) for one in around for node in one.tolist()]
    destinations = [np.repeat(np.arange(n.size) % max(own.size, 1), n) for n in counts]
    found = (sources, np.concatenate([*destinations, []]), list(number))
    return tuple(_core.make(np.asarray(one, own.dtype), None, False, PADDLE) for one in found)


def reindex_graph(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The edges from neighbors of nodes to the nodes in new numbers: sources, destinations, and the nodes by number.

    The nodes ``x`` come first, their ``neighbors`` in the order in which they appear; ``count`` says how many each has,
    several times over for several kinds of edges.

    >>> import ferrograd.paddle as paddle
    >>> x, neighbors, count = (paddle.to_tensor(v) for v in ([7, 2], [2, 9, 7], [2, 1]))
    >>> [v.tolist() for v in paddle.geometric.reindex_graph(x, neighbors, count)]
    [[1, 2, 0], [0, 0, 1], [7, 2, 9]]
    """
    return reindex_heter_graph(x, [neighbors], [count])


def weighted_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    edge_weight: Tensor | None,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """:func:`sample_neighbors` with chances in proportion to a weight of each edge."""
    function = "sample_neighbors"
    rows, ends, nodes = (
        _numbers(v, function, n) for v, n in ((row, "row"), (colptr, "colptr"), (input_nodes, "nodes"))
    )
    if not ends.size or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > rows.size:
        raise ArgumentError(f"{function}: colptr has the rising bounds of the nodes' edges among {rows.size}")
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < ends.size - 1:
        raise ArgumentError(f"{function}: the nodes are numbers below {ends.size - 1}")
    if return_eids and eids is None:
        raise ArgumentError(f"{function}: return_eids needs eids")
    degrees = ends[nodes + 1] - ends[nodes]
    segments = np.repeat(np.arange(nodes.size), degrees)
    ranks = np.arange(segments.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    edges = np.repeat(ends[nodes], degrees) + ranks
    if sample_size >= 0:
        # Of exponential times with the weights as rates, the first are a sample without replacement.
        times = -np.log1p(-np.asarray(ops.rand([edges.size], "float64").numpy()))
        if edge_weight is not None:
            weights = np.asarray(_arguments.tensor(edge_weight, function, "edge_weight").detach().numpy())
            if weights.shape != rows.shape or not (weights >= 0).all():
                raise ArgumentError(f"{function}: edge_weight has a weight of at least 0 for each of {rows.size} edges")
            with np.errstate(divide="ignore", invalid="ignore"):
                times = times / weights[edges]
        edges = edges[np.sort(np.lexsort((times, segments))[ranks < sample_size])]
        degrees = np.minimum(degrees, sample_size)
    found = [rows[edges], degrees.astype("int32")]
    if return_eids:
        found.append(_numbers(eids, function, "eids")[edges])
    return tuple(_core.make(one, None, False, PADDLE) for one in found)


def sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    perm_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Up to ``sample_size`` neighbors of each node, drawn without replacement, and how many; all of them for -1.

    The neighbors of node ``i`` are ``row[colptr[i]:colptr[i + 1]]``. With ``return_eids`` also the edges' ``eids``.

    >>> import ferrograd.paddle as paddle
    >>> row, colptr, nodes = (paddle.to_tensor(v) for v in ([1, 2, 0], [0, 2, 3], [1, 0]))
    >>> [v.tolist() for v in paddle.geometric.sample_neighbors(row, colptr, nodes)]
    [[0, 1, 2], [1, 2]]
    """
    return weighted_sample_neighbors(row, colptr, None, input_nodes, sample_size, eids, return_eids)


__dir__ = _public.names(globals())
