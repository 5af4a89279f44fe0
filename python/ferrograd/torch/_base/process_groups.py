"""Groups of processes under torch's names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from ferrograd._core import ArgumentError, FerrogradError

if TYPE_CHECKING:
    from ferrograd.distributed import Communicator

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "destroy_process_group",
    "get_backend",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]

#: The variables by which launchers of MPI tell a process its rank and the number of processes, in the program and on
#: its machine.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
# Programs for torchrun read these. MPI knows where its processes are, so the address is never used.
for _names in _LAUNCHERS:
    for _theirs, _ours in zip(_names, ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"), strict=True):
        if _theirs in os.environ:
            os.environ.setdefault(_ours, os.environ[_theirs])
            os.environ.setdefault("MASTER_ADDR", "localhost")
            os.environ.setdefault("MASTER_PORT", "29500")


class Backend(str):
    """The name of a backend. All communication is MPI's."""

    GLOO, MPI, NCCL, UCC, UNDEFINED = "gloo", "mpi", "nccl", "ucc", "undefined"
    #: The backends that PyTorch has for devices.
    default_device_backend_map: ClassVar = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}


class ProcessGroup:
    """A group of processes of the program, by their ranks in it."""

    def __init__(self, communicator: Communicator | None, ranks: Sequence[int], backend: str) -> None:
        self._communicator, self._ranks, self._backend = communicator, list(ranks), backend

    @property
    def communicator(self) -> Communicator:
        """The group's :class:`ferrograd.distributed.Communicator`, whose methods can be differentiated.

        Raises:
            ValueError: this process is not in the group, or the group was destroyed.
        """
        if self._communicator is None:
            raise ValueError("Invalid process group specified or has been destroyed.")
        return self._communicator

    def __repr__(self) -> str:
        return f"ProcessGroup(ranks={self._ranks}, backend={str(self._backend)!r})"

    def rank(self) -> int:
        """The rank of this process in the group; -1 if it is not in it."""
        return -1 if self._communicator is None else self._communicator.rank

    def size(self) -> int:
        """The number of processes in the group; -1 if this one is not in it."""
        return -1 if self._communicator is None else self._communicator.size

    def name(self) -> str:
        """The name of the backend."""
        return self._backend

    def root(self, rank: int | None, in_group: int | None = None) -> int:
        """The rank in the group of a process that is given by its rank in the program or in the group."""
        if in_group is not None:
            if rank is not None:
                raise ValueError("Can't specify both the rank of the program and that of the group")
            return in_group
        return get_group_rank(self, 0 if rank is None else rank)


class GroupMember:
    """The default group, and what stands for a group that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = ProcessGroup(None, [], "undefined")


group = GroupMember


def _rank_not_in_group(group: ProcessGroup | None) -> bool:
    """Whether this process is not in a group. Every process is in the default group, None."""
    return group is GroupMember.NON_GROUP_MEMBER


def is_available() -> bool:
    """True. Without ``mpiexec`` there is a world of one process."""
    return True


def is_initialized() -> bool:
    """Whether there is a default group."""
    return GroupMember.WORLD is not None


def is_torchelastic_launched() -> bool:
    """False: a launcher of PyTorch's does not know this library."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether :func:`init_process_group` takes this backend."""
    return str(backend).lower() in ("gloo", "mpi")


def is_gloo_available() -> bool:
    """True: a program for gloo runs on MPI."""
    return True


def is_mpi_available() -> bool:
    """True."""
    return True


def is_nccl_available() -> bool:
    """False: there is no GPU."""
    return False


def is_ucc_available() -> bool:
    """False: all communication is MPI's."""
    return False


def is_xccl_available() -> bool:
    """False: there is no GPU."""
    return False


def get_default_backend_for_device(device: Any) -> str:
    """``"gloo"``, the backend of the CPU.

    >>> import ferrograd.torch as torch
    >>> torch.distributed.get_default_backend_for_device("cpu")
    'gloo'
    """
    return "gloo"


def _said(name: str, argument: int) -> int | None:
    """The number that an argument or a variable of the environment gives; None if none does."""
    if argument >= 0:
        return argument
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


def seconds_of(timeout: timedelta | None, function: str) -> float | None:
    """The seconds of a time limit that a function was given."""
    if timeout is None:
        return None
    if not isinstance(timeout, timedelta):
        raise ArgumentError(f"{function}: timeout must be a datetime.timedelta, not {type(timeout).__name__}")
    return timeout.total_seconds()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Makes the default group of all processes that ``mpiexec`` has started.

    ``backend`` is ``"mpi"``, ``"gloo"`` or None, which mean the same: MPI by mpi4py. Ranks and their number come from
    MPI too, so ``init_method``, ``MASTER_ADDR`` and ``MASTER_PORT`` are accepted and not needed. ``timeout`` is that of
    the debug mode of :mod:`ferrograd.distributed`; otherwise MPI waits as long as all processes live.

    Raises:
        FerrogradError: the backend is another one, or the world has another size or rank than is said.

    >>> import ferrograd.torch as torch
    >>> torch.distributed.init_process_group("gloo")
    >>> torch.distributed.get_rank(), torch.distributed.get_world_size()
    (0, 1)
    >>> torch.distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    name = "gloo" if backend is None else str(backend).lower().removeprefix("cpu:")
    if not is_backend_available(name):
        raise FerrogradError(f"init_process_group: the backends are 'mpi' and 'gloo', on the CPU, not {backend!r}")
    # Programs that run alone do not pay for its import.
    from ferrograd.distributed import is_debug, set_debug, world

    everyone = world()
    for what, said, found in (
        ("world_size", _said("WORLD_SIZE", world_size), everyone.size),
        ("rank", _said("RANK", rank), everyone.rank),
    ):
        if said is not None and said != found:
            raise FerrogradError(
                f"init_process_group: {what} is {said}, but MPI says {found}; start the program with mpiexec -n N "
                "python, not with torchrun or spawn"
            )
    if (seconds := seconds_of(timeout, "init_process_group")) is not None:
        set_debug(is_debug(), seconds)
    GroupMember.WORLD = ProcessGroup(everyone, range(everyone.size), name)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forgets a group, or the default group."""
    if group is None or group is GroupMember.WORLD:
        found(None)
        GroupMember.WORLD = None
    else:
        found(group)._communicator = None


def found(group: ProcessGroup | None) -> ProcessGroup:
    """The group, or the default group for None.

    Raises:
        ValueError: there is no default group.
    """
    chosen = GroupMember.WORLD if group is None else group
    if chosen is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if not isinstance(chosen, ProcessGroup):
        raise ArgumentError(f"group must be a ProcessGroup or None, not {type(chosen).__name__}")
    return chosen


def get_rank(group: ProcessGroup | None = None) -> int:
    """The rank of this process in a group; -1 if it is not in it."""
    return found(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in a group; -1 if this one is not in it."""
    return found(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The backend that the program has asked for."""
    return Backend(found(group)._backend)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process among those on its machine."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return fallback_rank
    raise ArgumentError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in the program of a group's processes."""
    return list(found(group)._ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process of the program."""
    ranks = found(group)._ranks
    if not isinstance(global_rank, int) or global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {ranks}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the program of a process of a group."""
    ranks = found(group)._ranks
    if not isinstance(group_rank, int) or not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {ranks}")
    return ranks[group_rank]


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> ProcessGroup:
    """A group of some processes, which all processes of the program make together."""
    default = found(None)
    chosen = sorted(default._ranks if ranks is None else ranks)
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(default._ranks):
        raise ArgumentError(f"new_group: ranks are different ints below {default.size()}, not {ranks}")
    inside = default.rank() in chosen
    part = default.communicator.split(0 if inside else None, key=default.rank())
    name = default._backend if backend is None else str(backend)
    return ProcessGroup(part, chosen, name) if inside else GroupMember.NON_GROUP_MEMBER


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, *options: Any, **more: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """The group of this process, and all groups, if each has ``group_size`` processes with ranks in a row."""
    everyone = get_process_group_ranks(found(group))
    if not isinstance(group_size, int) or group_size < 1 or len(everyone) % group_size:
        raise ArgumentError(f"new_subgroups: group_size must divide {len(everyone)} processes, not {group_size!r}")
    parts = [everyone[i : i + group_size] for i in range(0, len(everyone), group_size)]
    return new_subgroups_by_enumeration(parts)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], *options: Any, **more: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """The group of this process, and all groups, for the ranks of each, which have none in common."""
    ranks = [rank for part in ranks_per_subgroup_list for rank in part]
    if len(set(ranks)) != len(ranks):
        raise ArgumentError(f"new_subgroups_by_enumeration: a rank is in two groups: {ranks_per_subgroup_list}")
    groups = [new_group(part) for part in ranks_per_subgroup_list]
    return next((one for one in groups if one.rank() >= 0), GroupMember.NON_GROUP_MEMBER), groups
