"""Communications as linear functions: the transpose and the tangent of each is a communication again.

An op gets the stack of what all processes hold and gives a stack; its gradient is that of the sum over all processes of
what each differentiates.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ferrograd import _core
from ferrograd._autograd.function import Function
from ferrograd._core import ArgumentError, Tensor, native
from ferrograd._kit.dialect import dialect_of
from ferrograd.distributed._debug import is_debug
from ferrograd.distributed._group import Group
from ferrograd.distributed._transport import Array

#: Half dtypes travel as float32, in which they are summed.
_HALF = ("bfloat16", "float16")


def plain(x: Any) -> Tensor:
    """A tensor without its history; raises ``ArgumentError`` for anything else."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"a Tensor is expected, not {type(x).__name__}")
    return x.detach()


def plain_all(xs: Any) -> list[Tensor]:
    """The tensors of a list without their history; raises ``ArgumentError`` for anything else."""
    if not isinstance(xs, (list, tuple)):
        raise ArgumentError(f"a list of Tensors is expected, not {type(xs).__name__}")
    return [plain(x) for x in xs]


def array_of(x: Tensor) -> Array:
    """The memory of a tensor if it is contiguous, otherwise a copy; float32 for half dtypes."""
    x = plain(x)
    # The library's copy of a transposed matrix takes less time than NumPy's.
    flat = native.reshape(x.astype("float32") if x.dtype.name in _HALF else x, [-1])
    return np.asarray(flat).reshape(x.shape)


def tensor_of(a: Array, like: Tensor) -> Tensor:
    """A tensor of the dialect and the dtype of ``like`` with the elements of an array."""
    return _core.make(a, like.dtype, False, dialect_of(like))


def zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros that take no memory, of the dialect and the dtype of ``like``."""
    return native.broadcast_to(_core.make(0, like.dtype, False, dialect_of(like)), list(shape))


class Communication(Function):
    """A linear function of what all processes hold. ``how`` are its numbers, such as the rank of a root.

    What becomes of the result may be among them, so that the debug mode compares it.
    """

    #: Whether axis 0 of the input, and of the output, counts the processes.
    _stacked: ClassVar[tuple[bool, bool]] = (False, False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # The transpose is a recorded function, which the library need not find out by communicating once more.
        cls._backward_is_recorded = True
        # A trace is given up where it communicates.
        cls._reads_numbers = False

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The result on this process."""
        raise NotImplementedError

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The transpose of the function, applied to a cotangent."""
        raise NotImplementedError

    @classmethod
    def signature(cls, x: Tensor, *how: Any) -> tuple[Any, ...]:
        """What all processes must have in common; what is sent, to whom and from whom, if partners must."""
        return (f"{cls.__name__}({[x.dtype.name, list(x.shape), *how]})",)

    @classmethod
    def forward(cls, ctx: Any, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """Checks that all processes give what fits, and in debug mode that they are at the same place; communicates."""
        comm._leave_trace()
        name, *partners = cls.signature(x, *how)
        if not is_debug():
            # Partners see by the message itself whether it fits.
            if not partners:
                comm._transport.agree_on(name)
        else:
            comm._agree(name + (" recorded" if ctx.needs_input_grad[0] else ""), *partners)
        ctx.comm, ctx.how = comm, how
        return cls.compute(x, comm, *how)

    @classmethod
    def backward(cls, ctx: Any, g: Tensor) -> Any:
        """The transpose, which is a communication."""
        return (cls.transposed(g, ctx.comm, *ctx.how), *[None] * (1 + len(ctx.how)))

    @classmethod
    def jvp(cls, ctx: Any, t: Tensor, *rest: Any) -> Tensor:
        """The function itself, which is linear."""
        return cls.apply(t, ctx.comm, *ctx.how)

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, x: Tensor, comm: Group, *how: Any) -> Any:
        """One communication for the whole batch."""
        stacked_in, stacked_out = cls._stacked
        y = cls.apply(native.moveaxis(x, 0, 1) if stacked_in else x, comm, *how)
        return y, 1 if stacked_out else 0


class AllReduce(Communication):
    """The sum over the processes."""

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum."""
        return tensor_of(comm._transport.sum(array_of(x)), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """Each input is in the sum of each process."""
        return AllReduce.apply(x, comm)


class AllGather(Communication):
    """The stack of all."""

    _stacked = (False, True)

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The stack."""
        return tensor_of(comm._transport.allgather(array_of(x)), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum of the parts that were copied from here."""
        return ReduceScatter.apply(x, comm)


class ReduceScatter(Communication):
    """One part of the sum of all stacks."""

    _stacked = (True, False)

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The part."""
        return tensor_of(comm._transport.reduce_scatter(array_of(x)), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """What comes from all goes to all."""
        return AllGather.apply(x, comm)


class AllToAll(Communication):
    """A transposition: part ``s`` of process ``r`` becomes part ``r`` of process ``s``."""

    _stacked = (True, True)

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The parts for this process."""
        return tensor_of(comm._transport.alltoall(array_of(x)), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The same."""
        return AllToAll.apply(x, comm)


class Broadcast(Communication):
    """The value of the root."""

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The value."""
        return tensor_of(comm._transport.broadcast(array_of(x), how[0]), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum flows back to the root."""
        return Reduce.apply(x, comm, *how)


class Reduce(Communication):
    """The sum on the root, zeros elsewhere."""

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum, or zeros."""
        found = comm._transport.reduce(array_of(x), how[0])
        return zeros(x.shape, x) if found is None else tensor_of(found, x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The cotangent of the root goes to all."""
        return Broadcast.apply(x, comm, *how)


class Gather(Communication):
    """The stack of all on the root, zeros elsewhere."""

    _stacked = (False, True)

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The stack, or zeros."""
        found = comm._transport.gather(array_of(x), how[0])
        return zeros((comm.size, *x.shape), x) if found is None else tensor_of(found, x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """Each part goes back."""
        return Scatter.apply(x, comm, *how)


class Scatter(Communication):
    """One part of the root's stack."""

    _stacked = (True, False)

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The part."""
        dtype = np.dtype("float32" if x.dtype.name in _HALF else x.dtype.name)
        stack = array_of(x) if comm.rank == how[0] else None
        return tensor_of(comm._transport.scatter(stack, x.shape[1:], dtype, how[0]), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The parts come back."""
        return Gather.apply(x, comm, *how)


class SendReceive(Communication):
    """What the source sent; zeros without a source."""

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The value of the source, or zeros."""
        found = comm._transport.exchange(array_of(x), *how)
        return zeros(x.shape, x) if found is None else tensor_of(found, x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The cotangent goes the other way."""
        dest, source = how
        return SendReceive.apply(x, comm, source, dest)

    @classmethod
    def signature(cls, x: Tensor, *how: Any) -> tuple[Any, ...]:
        """Each process has partners of its own, and each pair a dtype and a shape."""
        return cls.__name__, f"{[x.dtype.name, list(x.shape)]}", *how


class Scan(Communication):
    """The sum up to this process, in the order of ranks or backwards."""

    @classmethod
    def compute(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum up to here."""
        return tensor_of((comm._reversed if how[0] else comm._transport).scan(array_of(x)), x)

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The sum from here on."""
        return Scan.apply(x, comm, not how[0])


class Total(Communication):
    """For a stack of blocks: the sum of the blocks of all processes in place of each.

    ``how`` says whether they are added in their order.
    """

    _stacked = (True, True)

    @classmethod
    def compute(cls, x: Tensor, comm: Any, *how: Any) -> Tensor:
        """The sum, repeated without copies."""
        found = comm.sum_in_order(list(x)) if how[0] else comm.allreduce(native.sum(x, 0))
        return native.broadcast_to(found, list(x.shape))

    @classmethod
    def transposed(cls, x: Tensor, comm: Group, *how: Any) -> Tensor:
        """The same."""
        return Total.apply(x, comm, *how)

    @classmethod
    def signature(cls, x: Tensor, *how: Any) -> tuple[Any, ...]:
        """Each process has any number of blocks."""
        return (f"{cls.__name__}({[x.dtype.name, list(x.shape[1:]), *how]})",)
