"""``paddle.distributed.fleet``: data parallelism on the CPU."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, FerrogradError
from ferrograd._kit import public as _public
from ferrograd.paddle._base.process_groups import get_rank, get_world_size, init_parallel_env
from ferrograd.paddle.distributed._collectives import barrier
from ferrograd.paddle.distributed.fleet import utils
from ferrograd.paddle.distributed.fleet.utils import recompute
from ferrograd.paddle.distributed.parallel import DataParallel
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = [
    "DistributedStrategy",
    "barrier_worker",
    "distributed_model",
    "distributed_optimizer",
    "init",
    "is_first_worker",
    "is_worker",
    "recompute",
    "utils",
    "worker_index",
    "worker_num",
]


class DistributedStrategy:
    """Options of a training. Those that data parallelism has are read; one that asks for another kind is refused."""

    def __init__(self) -> None:
        self.find_unused_parameters = False
        self.fuse_grad_size_in_MB = 25
        self.hybrid_configs: dict[str, Any] = {}


_strategies: list[DistributedStrategy] = []


def init(
    role_maker: Any = None, is_collective: bool = False, strategy: DistributedStrategy | None = None, **log: Any
) -> None:
    """Makes the group of all processes.

    Raises:
        FerrogradError: the strategy asks for parallelism of other kinds than that of data.
    """
    chosen = DistributedStrategy() if strategy is None else strategy
    if not isinstance(chosen, DistributedStrategy):
        raise ArgumentError(f"fleet.init: strategy must be a DistributedStrategy, not {type(chosen).__name__}")
    for name, degree in chosen.hybrid_configs.items():
        if name.endswith("_degree") and name != "dp_degree" and degree not in (1, -1):
            raise FerrogradError(f"fleet.init: {name}={degree}: there is data parallelism only (dp_degree)")
    _strategies[:] = [chosen]
    init_parallel_env()


def distributed_model(model: Layer) -> Layer:
    """The model as a :class:`paddle.DataParallel`; the model itself in one process."""
    if get_world_size() == 1:
        return model
    strategy = _strategies[0] if _strategies else DistributedStrategy()
    return DataParallel(
        model,
        comm_buffer_size=strategy.fuse_grad_size_in_MB,
        find_unused_parameters=strategy.find_unused_parameters,
    )


def distributed_optimizer(optimizer: Any, strategy: DistributedStrategy | None = None) -> Any:
    """The optimizer itself: ``backward`` has averaged the gradients."""
    return optimizer


def worker_index() -> int:
    """The rank of this process."""
    return get_rank()


def worker_num() -> int:
    """The number of processes."""
    return get_world_size()


def is_first_worker() -> bool:
    """Whether this is process 0."""
    return get_rank() == 0


def is_worker() -> bool:
    """True: there are no servers."""
    return True


def barrier_worker() -> None:
    """Waits for all processes."""
    barrier()


__dir__ = _public.names(globals())
