"""``paddle.distributed.fleet.utils.hybrid_parallel_util``."""

from __future__ import annotations

from collections.abc import Iterable

from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd.paddle.distributed._collectives import ReduceOp, all_reduce

__all__ = ["fused_allreduce_gradients"]


def fused_allreduce_gradients(parameter_list: Iterable[Tensor], hcg: None) -> None:
    """Writes into the gradients their averages over all processes. It serves layers that are in no ``DataParallel``.

    Raises:
        ArgumentError: ``hcg`` is not None: there are no hybrid groups of processes.

    >>> import ferrograd.paddle as paddle
    >>> from ferrograd.paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients
    >>> layer = paddle.nn.Linear(1, 1)
    >>> layer(paddle.ones([1, 1])).backward()
    >>> fused_allreduce_gradients(layer.parameters(), None)
    >>> layer.bias.grad.tolist()
    [1.0]
    >>> paddle.distributed.destroy_process_group()
    """
    if hcg is not None:
        raise ArgumentError("fused_allreduce_gradients: there are no hybrid groups of processes; pass None")
    for parameter in parameter_list:
        if not parameter.stop_gradient and parameter.grad is not None:
            all_reduce(parameter.grad, ReduceOp.AVG)


__dir__ = _public.names(globals())
