"""``torch.distributed.nn.functional``: communications that can be differentiated, to any order."""

from __future__ import annotations

from collections.abc import Sequence

from ferrograd._core import Tensor, native
from ferrograd._kit import public as _public
from ferrograd.torch._base.process_groups import ProcessGroup, found
from ferrograd.torch.distributed._collectives import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]

Group = ProcessGroup | None


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The sum over the processes, or another combination."""
    return found(group).communicator.allreduce(tensor, op)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return tuple(found(group).communicator.allgather(tensor))


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """One tensor from each process. All tensors have one shape."""
    return tuple(found(group).communicator.alltoall(native.stack(list(input_tensor_list))))


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """The tensor of process ``src``."""
    chosen = found(group)
    return chosen.communicator.broadcast(tensor, chosen.root(src))


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all processes on process ``dst``, and zeros on the others. All processes differentiate their
    result.
    """
    chosen = found(group)
    return tuple(chosen.communicator.gather(tensor, chosen.root(dst)))


def reduce(tensor: Tensor, dst: int, op: str = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The combination, on the other processes too."""
    chosen = found(group)
    chosen.root(dst)
    return chosen.communicator.allreduce(tensor, op)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: str = ReduceOp.SUM, group: Group = None) -> Tensor:
    """This process's part of the combination of lists."""
    chosen = found(group)
    stack = native.stack(list(input_list))
    if op == ReduceOp.SUM:
        return chosen.communicator.reduce_scatter(stack)
    return chosen.communicator.allreduce(stack, op)[chosen.rank()]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """One of the tensors of process ``src``; the lists of the others give shapes."""
    chosen = found(group)
    return chosen.communicator.scatter(native.stack(list(tensors)), chosen.root(src))


__dir__ = _public.names(globals())
