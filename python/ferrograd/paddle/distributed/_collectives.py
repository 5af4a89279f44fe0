"""Communications under Paddle's names. They write their results into tensors or lists, and record nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, Tensor, native
from ferrograd.distributed import _debug, _operations
from ferrograd.distributed._operations import plain, plain_all
from ferrograd.distributed._transport import Array, Request
from ferrograd.paddle._base.process_groups import Group, found

__all__ = [
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "wait",
]


class ReduceOp:
    """How the values of all processes are combined."""

    SUM, MAX, MIN, PROD, AVG = "sum", "max", "min", "prod", "mean"


class Task:
    """A communication. Those of ``isend`` and ``irecv`` may be under way; all others are over."""

    def __init__(self, request: Request | None = None, into: tuple[Tensor, Array] | None = None) -> None:
        self._request, self._into = request, into

    def is_completed(self) -> bool:
        """Whether it is over."""
        return self._request is None or self._request.test()

    def wait(self) -> bool:
        """Waits until it is over."""
        if self._request is not None:
            _debug.wait(self._request)
            self._request = None
            if self._into is not None:
                x, values = self._into
                _write(x, _operations.tensor_of(values, x))
        return True


def _done(sync_op: bool) -> Task | None:
    return None if sync_op else Task()


def _write(into: Tensor, value: Tensor) -> None:
    """Writes values into a tensor of the caller's, in its shape."""
    plain(into).copy_(value.reshape(list(into.shape)))


def _extend(found: Any, values: Iterable[Any]) -> None:
    """Appends values to a list of the caller's."""
    if not isinstance(found, list):
        raise ArgumentError(f"a list is expected for the results, not {type(found).__name__}")
    found.extend(values)


def _root(group: Group, rank: int) -> int:
    """The rank in the group of a process of the program."""
    if rank not in group.ranks:
        raise ArgumentError(f"rank {rank} is not among the ranks {group.ranks} of the group")
    return group.get_group_rank(rank)


def _stack(tensors: Tensor | Sequence[Tensor], n: int) -> Tensor:
    """The parts for all processes, stacked; a tensor is cut along axis 0."""
    if isinstance(tensors, Tensor):
        x = tensors.detach()
        if not x.shape or x.shape[0] % n:
            raise ArgumentError(f"axis 0 of {list(x.shape)} has no {n} equal parts")
        return x.reshape([n, x.shape[0] // n, *x.shape[1:]])
    return native.stack(plain_all(tensors))


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Writes the sum over the processes, or another combination, into the tensor of each.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.ones([2])
    >>> paddle.distributed.all_reduce(x)
    >>> x.tolist() == [paddle.distributed.get_world_size()] * 2
    True
    >>> paddle.distributed.destroy_process_group()
    """
    _write(tensor, found(group).communicator.allreduce(plain(tensor), op))
    return _done(sync_op)


def reduce(
    tensor: Tensor, dst: int = 0, op: str = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Writes the combination into the tensor of process ``dst``."""
    chosen = found(group)
    value = chosen.communicator.allreduce(plain(tensor), op)
    if chosen.rank == _root(chosen, dst):
        _write(tensor, value)
    return _done(sync_op)


def broadcast(tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Writes the tensor of process ``src`` into that of each."""
    chosen = found(group)
    root = _root(chosen, src)
    value = chosen.communicator.broadcast(plain(tensor), root)
    if chosen.rank != root:
        _write(tensor, value)
    return _done(sync_op)


def all_gather(
    tensor_list: list[Tensor] | Tensor, tensor: Tensor, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Appends the tensors of all processes to a list, or writes them into one tensor."""
    values = found(group).communicator.allgather(plain(tensor))
    if isinstance(tensor_list, Tensor):
        _write(tensor_list, values)
    else:
        _extend(tensor_list, values)
    return _done(sync_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Appends the tensors of all processes to the list of process ``dst``."""
    chosen = found(group)
    root = _root(chosen, dst)
    values = chosen.communicator.gather(plain(tensor), root)
    if chosen.rank == root:
        if gather_list is None:
            raise ArgumentError("gather: process dst needs a gather_list")
        _extend(gather_list, values)
    return _done(sync_op)


def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Writes one of the tensors of process ``src`` into the tensor of each."""
    chosen = found(group)
    root, stack = _root(chosen, src), None
    if chosen.rank == root:
        if tensor_or_tensor_list is None:
            raise ArgumentError("scatter: process src needs tensors")
        stack = _stack(tensor_or_tensor_list, chosen.nranks)
    _write(tensor, chosen.communicator.scatter(stack, root))
    return _done(sync_op)


def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor],
    op: str = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Writes this process's part of the combination into its tensor."""
    chosen = found(group)
    stack = _stack(tensor_or_tensor_list, chosen.nranks)
    if op == ReduceOp.SUM:
        _write(tensor, chosen.communicator.reduce_scatter(stack))
    else:
        _write(tensor, chosen.communicator.allreduce(stack, op)[chosen.rank])
    return _done(sync_op)


def alltoall(
    out_tensor_or_tensor_list: Tensor | list[Tensor],
    in_tensor_or_tensor_list: Tensor | Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Sends one tensor to each process; appends what comes to a list, or writes it into one tensor."""
    chosen = found(group)
    values = chosen.communicator.alltoall(_stack(in_tensor_or_tensor_list, chosen.nranks))
    if isinstance(out_tensor_or_tensor_list, Tensor):
        _write(out_tensor_or_tensor_list, values)
    else:
        _extend(out_tensor_or_tensor_list, values)
    return _done(sync_op)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Cuts a tensor along axis 0, sends one part to each process and concatenates what comes."""
    chosen = found(group)

    def cut(x: Tensor, sizes: Sequence[int] | None) -> list[Tensor]:
        if not plain(x).shape:
            raise ArgumentError("alltoall_single: a tensor without axes has no parts")
        ends = [0, *np.cumsum(sizes or [x.shape[0] // chosen.nranks] * chosen.nranks).tolist()]
        if ends[-1] != x.shape[0]:
            raise ArgumentError(f"alltoall_single: the parts of axis 0 have {ends[-1]} rows of {x.shape[0]}")
        return [plain(x)[a:b] for a, b in itertools.pairwise(ends)]

    outputs, inputs = cut(out_tensor, out_split_sizes), cut(in_tensor, in_split_sizes)
    chosen.communicator._agree("alltoall_single()")
    parts = [_operations.array_of(x) for x in inputs]
    values = chosen.communicator._transport.alltoall_parts(parts, [tuple(x.shape) for x in outputs])
    for x, value in zip(outputs, values, strict=True):
        _write(x, _operations.tensor_of(value, x))
    return _done(sync_op)


def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Task:
    """Starts to send a tensor to process ``dst``."""
    chosen = found(group)
    sent = _operations.array_of(tensor).copy()
    return Task(chosen.communicator._transport.start_send(sent, _root(chosen, dst), 0))


def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Task:
    """Starts to receive a tensor from process ``src``; it is written when the task is waited for."""
    chosen = found(group)
    into = np.empty_like(_operations.array_of(tensor))
    source = None if src is None else _root(chosen, src)
    return Task(chosen.communicator._transport.start_receive(into, source, 0), (tensor, into))


def send(tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Sends a tensor to process ``dst``."""
    task = isend(tensor, dst, group)
    return None if sync_op and task.wait() else task


def recv(tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Receives a tensor from process ``src``."""
    task = irecv(tensor, src, group)
    return None if sync_op and task.wait() else task


def barrier(group: Group | None = None) -> None:
    """Waits for all processes of the group."""
    found(group).communicator.barrier()


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Does nothing: what has returned is over."""


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """Appends the objects of all processes to a list."""
    _extend(object_list, found(group).communicator.allgather_object(obj))


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """Writes the list of process ``src`` into that of each."""
    chosen = found(group)
    object_list[:] = chosen.communicator.broadcast_object(list(object_list), _root(chosen, src))


def scatter_object_list(
    out_object_list: list[Any], in_object_list: list[Any] | None = None, src: int = 0, group: Group | None = None
) -> None:
    """Writes one of the objects in the list of process ``src`` into the list of each."""
    chosen = found(group)
    values = chosen.communicator.broadcast_object(in_object_list, _root(chosen, src))
    if not isinstance(values, (list, tuple)) or len(values) != chosen.nranks:
        raise ArgumentError(f"scatter_object_list: a list of {chosen.nranks} objects is expected, not {values!r:.80}")
    out_object_list[:] = [values[chosen.rank]]
