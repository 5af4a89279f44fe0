"""Groups of processes under Paddle's names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ferrograd._core import ArgumentError, FerrogradError
from ferrograd._kit.warning import warn

if TYPE_CHECKING:
    from ferrograd.distributed import Communicator

__all__ = [
    "Group",
    "ParallelEnv",
    "destroy_process_group",
    "get_backend",
    "get_group",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
    "new_group",
    "spawn",
]


def world() -> Communicator:
    """All processes. Programs that run alone do not pay for the import."""
    from ferrograd import distributed

    return distributed.world()


class Group:
    """A group of processes of the program, by their ranks in it."""

    def __init__(self, communicator: Communicator | None, id: int, ranks: Sequence[int]) -> None:
        self._communicator, self.id, self.ranks = communicator, id, list(ranks)

    @property
    def communicator(self) -> Communicator:
        """The group's :class:`ferrograd.distributed.Communicator`, whose methods can be differentiated.

        Raises:
            RuntimeError: this process is not in the group.
        """
        if self._communicator is None:
            raise RuntimeError(f"this process is not in {self}, or the group was destroyed")
        return self._communicator

    @property
    def rank(self) -> int:
        """The rank of this process in the group; -1 if it is not in it."""
        return -1 if self._communicator is None else self._communicator.rank

    @property
    def nranks(self) -> int:
        """The number of processes in the group."""
        return len(self.ranks)

    world_size = nranks

    @property
    def name(self) -> str:
        """A name that all processes give to the group."""
        return f"_default_pg{self.id}"

    def is_member(self) -> bool:
        """Whether this process is in the group."""
        return self._communicator is not None

    def get_group_rank(self, rank: int) -> int:
        """The rank in the group of a process of the program; -1 if it is not in it."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def __repr__(self) -> str:
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {self.ranks}"


#: The groups of this program by number; 0 is that of all processes.
_groups: dict[int, Group] = {}


def init_parallel_env() -> Group:
    """Makes the group of all processes that ``mpiexec`` has started.

    >>> import ferrograd.paddle as paddle
    >>> group = paddle.distributed.init_parallel_env()
    >>> paddle.distributed.get_rank(), paddle.distributed.get_world_size()
    (0, 1)
    >>> paddle.distributed.destroy_process_group()
    """
    if 0 not in _groups:
        everyone = world()
        said = os.environ.get("PADDLE_TRAINERS_NUM", "")
        if said.isdigit() and int(said) != everyone.size:
            raise FerrogradError(
                f"init_parallel_env: PADDLE_TRAINERS_NUM is {said}, but MPI has {everyone.size} processes; start the "
                "program with mpiexec -n N python, not with paddle.distributed.launch"
            )
        _groups[0] = Group(everyone, 0, range(everyone.size))
    return _groups[0]


def is_available() -> bool:
    """True. Without ``mpiexec`` there is a world of one process."""
    return True


def is_initialized() -> bool:
    """Whether :func:`init_parallel_env` was called."""
    return 0 in _groups


def destroy_process_group(group: Group | None = None) -> None:
    """Forgets a group, or all groups."""
    for one in list(_groups.values()):
        if group is None or group is one:
            one._communicator = None
            del _groups[one.id]


def found(group: Group | None) -> Group:
    """The group, or that of all processes for None; makes the latter if it is missing."""
    if group is not None and not isinstance(group, Group):
        raise ArgumentError(f"group must be a Group or None, not {type(group).__name__}")
    return init_parallel_env() if group is None else group


def get_group(id: int = 0) -> Group | None:
    """The group with a number."""
    if id not in _groups:
        warn(f"Group {id} is not initialized.")
    return _groups.get(id)


def get_rank(group: Group | None = None) -> int:
    """The rank of this process in a group, or in the program; -1 if it is not in the group."""
    return world().rank if group is None else found(group).rank


def get_world_size(group: Group | None = None) -> int:
    """The number of processes in a group, or of the program."""
    return world().size if group is None else found(group).nranks


def get_backend(group: Group | None = None) -> str:
    """``"MPI"``."""
    return "MPI"


def new_group(ranks: Sequence[int] | None = None, backend: str | None = None, timeout: Any = None) -> Group:
    """A group of some processes, which all processes of the program make together."""
    default = found(None)
    chosen = sorted(default.ranks if ranks is None else ranks)
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(default.ranks):
        raise ArgumentError(f"new_group: ranks are different ints below {default.nranks}, not {ranks}")
    part = default.communicator.split(0 if default.rank in chosen else None, key=default.rank)
    made = Group(part, max(_groups) + 1, chosen)
    _groups[made.id] = made
    return made


class ParallelEnv:
    """The rank of this process and the number of processes."""

    @property
    def rank(self) -> int:
        """The rank of this process."""
        return world().rank

    @property
    def world_size(self) -> int:
        """The number of processes."""
        return world().size

    local_rank = rank
    nranks = world_size

    @property
    def device_id(self) -> int:
        """0: the CPU."""
        return 0

    dev_id = device_id


def spawn(
    func: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = -1, join: bool = True, **options: Any
) -> None:
    """Calls ``func(*args)`` in each process that ``mpiexec`` has started, of which there must be ``nprocs``.

    Raises:
        FerrogradError: there are more or fewer processes.
    """
    if nprocs not in (-1, world().size):
        raise FerrogradError(
            f"spawn: the program runs in {world().size} processes, not in {nprocs}: start it with mpiexec -n {nprocs} "
            "python"
        )
    func(*args)
