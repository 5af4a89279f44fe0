"""Communications under torch's names. They write their results into tensors, and record nothing."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import reduce as fold
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, Tensor, native
from ferrograd.distributed import _debug, _operations
from ferrograd.distributed._operations import plain, plain_all
from ferrograd.distributed._transport import Array, Request
from ferrograd.torch._base.process_groups import ProcessGroup, found, seconds_of

__all__ = [
    "P2POp",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]

Group = ProcessGroup | None


class ReduceOp:
    """How the values of all processes are combined."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "mean", "prod", "min", "max"
    BAND, BOR, BXOR = "band", "bor", "bxor"
    #: The class of the values.
    RedOpType = str


reduce_op = ReduceOp
_BITWISE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "band": native.bitwise_and,
    "bor": native.bitwise_or,
    "bxor": native.bitwise_xor,
}


class Work:
    """A communication. Those of ``isend`` and ``irecv`` may be under way; all others are over."""

    def __init__(self, request: Request | None = None, then: Callable[[int], None] | None = None) -> None:
        self._request, self._then, self._source = request, then, 0

    def is_completed(self) -> bool:
        """Whether it is over."""
        return self._request is None or self._request.test()

    def is_success(self) -> bool:
        """True: what fails raises."""
        return True

    def source_rank(self) -> int:
        """The rank from which something was received."""
        return self._source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until it is over.

        Raises:
            DistributedError: ``timeout`` is over before.
        """
        if self._request is not None:
            self._source = _debug.wait(self._request, seconds_of(timeout, "wait"))
            self._request = None
            if self._then is not None:
                self._then(self._source)
        return True


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _write(into: Tensor, value: Tensor) -> None:
    """Writes values into a tensor of the caller's, in its shape."""
    plain(into).copy_(value.reshape(list(into.shape)))


def _combined(x: Tensor, op: str, group: ProcessGroup) -> Tensor:
    """The combination of the tensors of all processes."""
    comm = group.communicator
    if op in _BITWISE:
        return fold(_BITWISE[op], list(comm.allgather(plain(x))))
    return comm.allreduce(plain(x), op)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Writes the sum over the processes, or another combination, into the tensor of each.

    With ``async_op`` the result is a :class:`Work`, which is over already, as in all functions but ``isend`` and
    ``irecv``.

    >>> import ferrograd.torch as torch
    >>> torch.distributed.init_process_group("mpi")
    >>> x = torch.ones(2)
    >>> torch.distributed.all_reduce(x)
    >>> x.tolist() == [torch.distributed.get_world_size()] * 2
    True
    >>> torch.distributed.destroy_process_group()
    """
    _write(tensor, _combined(tensor, op, found(group)))
    return _done(async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: str = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Writes the combination into the tensor of process ``dst``."""
    chosen = found(group)
    value = _combined(tensor, op, chosen)
    if chosen.rank() == chosen.root(dst, group_dst):
        _write(tensor, value)
    return _done(async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Group = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Writes the tensor of process ``src`` into that of each."""
    chosen = found(group)
    root = chosen.root(src, group_src)
    value = chosen.communicator.broadcast(plain(tensor), root)
    if chosen.rank() != root:
        _write(tensor, value)
    return _done(async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Writes the tensors of all processes into a list of tensors, on each."""
    values = found(group).communicator.allgather(plain(tensor))
    _write_list(tensor_list, values, "all_gather")
    return _done(async_op)


def _write_list(into: Sequence[Tensor], values: Tensor, what: str) -> None:
    if len(into) != values.shape[0]:
        raise ArgumentError(f"{what}: the list has {len(into)} tensors for {values.shape[0]} processes")
    for x, value in zip(into, values, strict=True):
        _write(x, value)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Writes the tensors of all processes into one, stacked or concatenated, on each."""
    _write(output_tensor, found(group).communicator.allgather(plain(input_tensor)))
    return _done(async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Writes the tensors of all processes into the list of process ``dst``."""
    chosen = found(group)
    root = chosen.root(dst, group_dst)
    values = chosen.communicator.gather(plain(tensor), root)
    if chosen.rank() == root:
        if gather_list is None:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _write_list(gather_list, values, "gather")
    return _done(async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Writes one of the tensors in the list of process ``src`` into the tensor of each."""
    chosen = found(group)
    root = chosen.root(src, group_src)
    stack = None
    if chosen.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        stack = native.stack(plain_all(scatter_list))
    _write(tensor, chosen.communicator.scatter(stack, root))
    return _done(async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: str = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Writes this process's part of the combination of lists into its tensor."""
    return reduce_scatter_tensor(output, native.stack(plain_all(input_list)), op, group, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Writes this process's part of the combination of tensors, which are cut along axis 0, into its tensor."""
    chosen = found(group)
    stack = plain(input).reshape([chosen.size(), *output.shape])
    if op == ReduceOp.SUM:
        _write(output, chosen.communicator.reduce_scatter(stack))
    else:
        _write(output, _combined(stack, op, chosen)[chosen.rank()])
    return _done(async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Sends one tensor of the list to each process; their shapes may differ."""
    comm = found(group).communicator
    comm._agree("all_to_all()")
    parts = [_operations.array_of(x) for x in input_tensor_list]
    values = comm._transport.alltoall_parts(parts, [tuple(x.shape) for x in output_tensor_list])
    for x, value in zip(output_tensor_list, values, strict=True):
        _write(x, _operations.tensor_of(value, x))
    return _done(async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Cuts the input along axis 0, sends one part to each process and concatenates what comes."""
    n = found(group).size()

    def cut(x: Tensor, sizes: Sequence[int] | None) -> list[Tensor]:
        if not plain(x).shape:
            raise ArgumentError("all_to_all_single: a tensor without axes has no parts")
        if not sizes and x.shape[0] % n:
            raise ArgumentError(f"all_to_all_single: axis 0 of {list(x.shape)} has no {n} equal parts")
        wanted = list(sizes) if sizes else [x.shape[0] // n] * n
        ends = [0, *np.cumsum(wanted).tolist()]
        return [plain(x)[a:b] for a, b in itertools.pairwise(ends)]

    return all_to_all(cut(output, output_split_sizes), cut(input, input_split_sizes), group, async_op)


def isend(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """Starts to send a tensor to process ``dst``."""
    chosen = found(group)
    sent = _operations.array_of(tensor).copy()
    return Work(chosen.communicator._transport.start_send(sent, chosen.root(dst, group_dst), tag))


def irecv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> Work:
    """Starts to receive a tensor from process ``src``, or from any; it is written when the work is waited for."""
    chosen = found(group)
    into: Array = np.empty_like(_operations.array_of(tensor))
    source = None if src is None and group_src is None else chosen.root(src, group_src)
    request = chosen.communicator._transport.start_receive(into, source, tag)
    return Work(request, lambda _: _write(tensor, _operations.tensor_of(into, tensor)))


def send(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Sends a tensor to process ``dst``."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receives a tensor from process ``src``, or from any; returns its rank."""
    work = irecv(tensor, src, group, tag, group_src)
    work.wait()
    return found(group)._ranks[work.source_rank()]


def barrier(group: Group = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for all processes of the group."""
    found(group).communicator.barrier()
    return _done(async_op)


class P2POp:
    """A call of ``isend`` or ``irecv`` for :func:`batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ArgumentError(f"P2POp: op must be isend or irecv, not {op!r}")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )

    def __repr__(self) -> str:
        peer = f"group_peer={self.group_peer}" if self.peer is None else f"peer={self.peer}"
        tag = f", tag={self.tag}" * bool(self.tag)
        return f"P2POp({self.op.__name__}, {self.tensor.dtype}{list(self.tensor.shape)}, {peer}{tag})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Starts to send and to receive several tensors.

    >>> import ferrograd.torch as torch
    >>> torch.distributed.batch_isend_irecv([])
    []
    """
    for one in p2p_op_list:
        if not isinstance(one, P2POp):
            raise ArgumentError(f"batch_isend_irecv: p2p_op_list must be a list of P2POps, not of {type(one).__name__}")
    return [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to process ``dst``, by pickle."""
    chosen = found(group)
    transport, partner = chosen.communicator._transport, chosen.root(dst, group_dst)
    packed = np.frombuffer(pickle.dumps(list(object_list)), np.uint8)
    for part in (np.array([packed.size], np.int64), packed):
        _debug.wait(transport.start_send(part, partner, 0))


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Writes objects that process ``src`` sends, or any process, into a list. Returns the rank of the sender.

    Raises:
        ArgumentError: the sender's list has another length.
    """
    chosen = found(group)
    transport = chosen.communicator._transport
    size = np.empty(1, np.int64)
    partner = None if src is None and group_src is None else chosen.root(src, group_src)
    partner = _debug.wait(transport.start_receive(size, partner, 0))
    packed = np.empty(size.item(), np.uint8)
    _debug.wait(transport.start_receive(packed, partner, 0))
    values = pickle.loads(packed.data)
    if len(values) != len(object_list):
        raise ArgumentError(
            f"recv_object_list: the list has {len(object_list)} objects, that of the sender {len(values)}"
        )
    object_list[:] = values
    return chosen._ranks[partner]


def monitored_barrier(group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Waits for all processes of the group.

    Raises:
        DistributedError: a process does not come within ``timeout``; without one, within that of the debug mode.
    """
    seconds = seconds_of(timeout, "monitored_barrier")
    _debug.compare(
        found(group).communicator._transport, _debug.Call("monitored_barrier()", _debug.call_site()), seconds
    )


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Writes the objects of all processes into a list, on each."""
    object_list[:] = found(group).communicator.allgather_object(obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Writes the objects of all processes into the list of process ``dst``."""
    chosen = found(group)
    values = chosen.communicator.allgather_object(obj)
    if chosen.rank() == chosen.root(dst, group_dst):
        if object_gather_list is None:
            raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
        object_gather_list[:] = values


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Writes the list of process ``src`` into that of each."""
    chosen = found(group)
    object_list[:] = chosen.communicator.broadcast_object(list(object_list), chosen.root(src, group_src))


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Writes one of the objects in the list of process ``src`` into the first place of the list of each."""
    chosen = found(group)
    values = chosen.communicator.broadcast_object(scatter_object_input_list, chosen.root(src, group_src))
    if not isinstance(values, (list, tuple)) or len(values) != chosen.size():
        raise ArgumentError(f"scatter_object_list: a list of {chosen.size()} objects is expected, not {values!r:.80}")
    scatter_object_output_list[0] = values[chosen.rank()]
