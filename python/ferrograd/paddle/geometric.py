"""``paddle.geometric``: messages along the edges of graphs, and sums of segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _arguments, _core, _public
from ferrograd._core import ArgumentError
from ferrograd._core import paddle as ops
from ferrograd._dialects.segments import reduced, segment_max, segment_mean, segment_min, segment_sum
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
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
    y = ops.reshape(y, [-1, *[1] * (x.ndim - 1)]) if y.ndim == 1 else y
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


__dir__ = _public.names(globals())
