"""Groups of processes, and what they can do together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import is_grad_enabled
from ferrograd._core import ArgumentError, ShapeError, Tensor, native
from ferrograd._kit import threads
from ferrograd._kit.dialect import NATIVE
from ferrograd.distributed import _faults, _operations as ops
from ferrograd.distributed._group import Group
from ferrograd.distributed._transport import Array, Mpi, connect

#: The ways to combine the values of all processes.
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


class Communicator(Group):
    """A group of processes. Its methods are collective: all processes call the same ones in the same order.

    Each process has a tensor of the same shape and dtype. All methods on tensors but :meth:`sum_in_order` can be
    differentiated, to any order and in both modes, under ``vmap`` and in checkpoints. The gradient of a process is that
    of the sum over all processes of the values that they differentiate, so all of them call ``backward`` or ``grad``
    together.

    float16 and bfloat16 are sent and summed as float32. A contiguous tensor is sent from its own memory; what is
    received is copied once.

    >>> from ferrograd import distributed
    >>> world = distributed.world()
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = world.allreduce(x)
    >>> y.tolist() == [world.size * 1.0, world.size * 2.0]
    True
    """

    def _checked(self, x: Tensor, what: str, stacked: bool = False) -> Tensor:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{what}: a Tensor is expected, not {type(x).__name__}")
        if stacked and (not x.shape or x.shape[0] != self.size):
            raise ShapeError(
                f"{what}: axis 0 must have one entry for each of {self.size} processes, but the shape is "
                f"{list(x.shape)}"
            )
        return x

    def _checked_rank(self, rank: int, what: str) -> int:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < self.size:
            raise ArgumentError(f"{what}: a rank is an int from 0 to {self.size - 1}, not {rank!r}")
        return rank

    def allreduce(self, x: Tensor, op: str = "sum") -> Tensor:
        """The sum of the tensors of all processes, on each; or their ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.

        Truth values are counted. Integers have no mean. Maxima, minima and products are computed from all values, which
        takes the memory of :meth:`allgather`; ties share the gradient as in ``ferrograd.max``.

        >>> fg.distributed.world().allreduce(fg.tensor([2.0]), "max").item()
        2.0
        """
        self._checked(x, "allreduce")
        if op not in REDUCTIONS:
            raise ArgumentError(f"allreduce: op must be one of {', '.join(REDUCTIONS)}, not {op!r}")
        if op in ("sum", "mean"):
            if op == "mean" and x.dtype.kind not in "fc":
                raise _core.DtypeError(f"allreduce: the mean of {x.dtype.name} is not defined; cast to a float dtype")
            found = ops.AllReduce.apply(_counted(x), self, op)
            return found / self.size if op == "mean" else found
        if op == "prod":
            x = _counted(x)
            return native.prod(ops.AllGather.apply(x, self, op), 0, dtype=x.dtype)
        return (native.max if op == "max" else native.min)(ops.AllGather.apply(x, self, op), 0)

    def allgather(self, x: Tensor) -> Tensor:
        """The tensors of all processes, stacked on a new axis 0, on each.

        >>> fg.distributed.world().allgather(fg.tensor([2.0])).shape
        (1, 1)
        """
        return ops.AllGather.apply(self._checked(x, "allgather"), self)

    def reduce_scatter(self, x: Tensor) -> Tensor:
        """The part for this process of the sum over all processes. Axis 0 has one part for each process."""
        return ops.ReduceScatter.apply(_counted(self._checked(x, "reduce_scatter", True)), self)

    def alltoall(self, x: Tensor) -> Tensor:
        """The parts that all processes have for this one, stacked on axis 0, which has one part for each process."""
        return ops.AllToAll.apply(self._checked(x, "alltoall", True), self)

    def broadcast(self, x: Tensor | None, root: int = 0) -> Tensor:
        """The tensor of process ``root``, on each.

        The other processes may give a tensor of the same shape and dtype, whose values are ignored, or None.
        """
        x = self._like_root(x, self._checked_rank(root, "broadcast"), "broadcast")
        return ops.Broadcast.apply(x, self, root)

    def reduce(self, x: Tensor, root: int = 0) -> Tensor:
        """The sum of the tensors of all processes on process ``root``, and zeros on the others.

        If a gradient flows back through it, the zeros must be part of what the other processes differentiate, since
        its transpose is a communication of all.
        """
        return ops.Reduce.apply(_counted(self._checked(x, "reduce")), self, self._checked_rank(root, "reduce"))

    def gather(self, x: Tensor, root: int = 0) -> Tensor:
        """The tensors of all processes, stacked on a new axis 0, on process ``root``; zeros on the others.

        See :meth:`reduce` for gradients.
        """
        return ops.Gather.apply(self._checked(x, "gather"), self, self._checked_rank(root, "gather"))

    def scatter(self, x: Tensor | None, root: int = 0) -> Tensor:
        """This process's part of the tensor of process ``root``, whose axis 0 has one part for each process.

        The other processes may give a tensor of the same shape and dtype, whose values are ignored, or None.
        """
        x = self._like_root(x, self._checked_rank(root, "scatter"), "scatter")
        return ops.Scatter.apply(self._checked(x, "scatter", True), self, root)

    def sendrecv(self, x: Tensor, dest: int | None, source: int | None) -> Tensor:
        """Sends the tensor to process ``dest`` and returns that of process ``source``, which has the same shape.

        With None nothing is sent, or zeros are returned. All processes of the group call it together.
        """
        for rank in (dest, source):
            if rank is not None:
                self._checked_rank(rank, "sendrecv")
        return ops.SendReceive.apply(self._checked(x, "sendrecv"), self, dest, source)

    def scan(self, x: Tensor) -> Tensor:
        """The sum of the tensors of the processes from 0 up to this one."""
        return ops.Scan.apply(_counted(self._checked(x, "scan")), self, False)

    def barrier(self) -> None:
        """Waits until all processes are here."""
        self._agree("barrier()")
        self._transport.barrier()

    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """A communicator of the processes that give the same color, ordered by ``key`` and rank; None for color None.

        >>> fg.distributed.world().split(color=0).size
        1
        """
        self._agree("split()")
        found = self._transport.split(color, key)
        return None if found is None else Communicator(found)

    def allgather_object(self, value: Any) -> list[Any]:
        """The objects of all processes, by pickle.

        >>> fg.distributed.world().allgather_object({"a": 1})
        [{'a': 1}]
        """
        self._agree("allgather_object()")
        return self._transport.allgather_objects(value)

    def broadcast_object(self, value: Any, root: int = 0) -> Any:
        """The object of process ``root``, by pickle."""
        self._agree(f"broadcast_object({root})")
        return self._transport.broadcast_object(value, self._checked_rank(root, "broadcast_object"))

    def sum_in_order(self, parts: Sequence[Tensor]) -> Tensor:
        """The sum of the tensors of all processes, added one by one: those of process 0 in order, then those of 1, …

        The bits of the result do not depend on how a sequence of tensors is divided among processes. Gradients do not
        flow through it. Each process gives any number of tensors; all tensors have one shape and dtype.
        """
        self._agree("sum_in_order()")
        parts = [_counted(self._checked(x, "sum_in_order")) for x in parts]
        kinds = {(tuple(x.shape), x.dtype.name) for x in parts}
        counts = self.allgather_object((len(parts), kinds))
        kinds = set().union(*(kind for _, kind in counts))
        if len(kinds) != 1:
            raise ShapeError(f"sum_in_order: tensors of one shape and dtype are expected, not {sorted(kinds)}")
        ((shape, dtype),) = kinds
        like = parts[0] if parts else _core.make(0, dtype, False, NATIVE)
        found = self._sum_in_order([ops.array_of(x) for x in parts], [n for n, _ in counts], shape, like)
        return ops.tensor_of(found, like)

    def _sum_in_order(self, parts: list[Array], counts: list[int], shape: tuple[int, ...], like: Tensor) -> Array:
        """Each process sums its share of the elements of all parts; then the shares are gathered."""
        dtype = ops.array_of(like).dtype
        n = int(np.prod(shape, dtype=np.int64))
        stack = np.stack(parts).reshape(len(parts), n) if parts else np.empty((0, n), dtype)
        ends = [n * r // self.size for r in range(self.size + 1)]
        mine = ends[self.rank + 1] - ends[self.rank]
        blocks = self._transport.alltoall_parts(
            [stack[:, a:b] for a, b in itertools.pairwise(ends)], [(count, mine) for count in counts]
        )
        share = np.zeros(mine, dtype)
        for i, row in enumerate(row for block in blocks for row in block):
            share = row.copy() if i == 0 else np.add(share, row, out=share)
        widths = [(b - a,) for a, b in itertools.pairwise(ends)]
        return np.concatenate(self._transport.alltoall_parts([share] * self.size, widths)).reshape(shape)

    def _like_root(self, x: Tensor | None, root: int, what: str) -> Tensor:
        """The tensor of this process if it fits that of the root, else one that is recorded like it."""
        mine = None
        if self.rank == root and isinstance(x, Tensor):
            mine = (tuple(x.shape), x.dtype.name, x.requires_grad and is_grad_enabled())
        self._agree(f"{what}({root})")
        found = self._transport.broadcast_object(mine, root)
        if found is None:
            raise ArgumentError(f"{what}: a Tensor is expected of rank {root}, which gives none")
        shape, dtype, tracked = found
        kind = (shape, dtype) if x is None else (tuple(x.shape), x.dtype.name)
        self._agree(f"{what}({root}, {kind[1]}{list(kind[0])})")
        if self.rank == root:
            return x  # type: ignore[return-value]
        if x is not None and (tuple(x.shape), x.dtype.name) != (shape, dtype):
            raise ShapeError(
                f"{what}: rank {root} has {dtype}{list(shape)}, rank {self.rank} {x.dtype.name}{list(x.shape)}"
            )
        if x is None:
            x = ops.zeros(shape, _core.make(0, dtype, False, NATIVE))
        if x.requires_grad != tracked:
            x = _core.fresh(x.detach()) if tracked else x.detach()
        return x


def _counted(x: Tensor) -> Tensor:
    """A tensor that can be summed: truth values as int64."""
    return x.astype("int64") if x.dtype.kind == "b" else x


def _world() -> Communicator:
    transport = connect()
    if isinstance(transport, Mpi):
        if threads.asked() is None:
            _core.set_num_threads(1)
        _faults.end_together(transport)
    return Communicator(transport)


_worlds: list[Communicator] = []


def world() -> Communicator:
    """The communicator of all processes that ``mpiexec`` has started; of this process alone if it was not started so.

    If there are several processes, the first call sets the number of threads of each to 1 (unless
    ``FERROGRAD_NUM_THREADS`` or ``OMP_NUM_THREADS`` is set), and from then on an exception that ends one process ends
    all of them.

    Raises:
        ImportError: ``mpiexec`` has started this process, and mpi4py is not installed.

    >>> from ferrograd import distributed
    >>> distributed.world()
    Communicator(rank=0, size=1)
    """
    if not _worlds:
        _worlds.append(_world())
    return _worlds[0]


__all__ = ["Communicator", "world"]
