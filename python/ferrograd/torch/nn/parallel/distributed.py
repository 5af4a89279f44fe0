"""``torch.nn.parallel.DistributedDataParallel``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd.distributed._communicator import Communicator
from ferrograd.distributed._reducer import Reducer, check_same_parameters, copy_from_root
from ferrograd.torch._base.process_groups import ProcessGroup, found
from ferrograd.torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which each process of a group has a copy: ``backward`` averages the gradients over the processes.

    The parameters of process 0 are copied to all when it is made, and with ``broadcast_buffers`` the buffers, which are
    also copied before each forward call that comes first or after one that a gradient needs. Gradients travel in
    buckets of ``bucket_cap_mb`` megabytes while the backward pass goes on. Only ``backward()`` averages them, not
    ``autograd.grad``, and only once for each forward call.

    A parameter without a gradient is an error of the next forward unless ``find_unused_parameters`` is true.
    ``device_ids``, ``output_device``, ``dim``, ``static_graph``, ``gradient_as_bucket_view`` and ``init_sync=True``
    change nothing on the CPU.

    >>> import ferrograd.torch as torch
    >>> torch.distributed.init_process_group("gloo")
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        refused = {
            "mixed_precision": mixed_precision,
            "device_mesh": device_mesh,
            "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
        }
        for name, value in refused.items():
            if value is not None:
                raise FerrogradError(f"DistributedDataParallel: {name} is not supported; leave it out")
        named = [(name, x) for name, x in module.named_parameters() if x.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that "
                "requires a gradient."
            )
        self.module = module
        self.process_group = found(process_group)
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        comm = self.process_group.communicator
        if init_sync and comm.size > 1:
            check_same_parameters(comm, list(module.named_parameters()))
            copy_from_root(comm, [*module.parameters(), *(module.buffers() if broadcast_buffers else ())])
        size = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self._reducer = Reducer(named, comm, size, find_unused_parameters)
        self._buffers_differ = True
        self._join: _Join | None = None

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """How the module was made, as libraries log it."""
        comm = self.process_group.communicator
        names = ("broadcast_buffers", "find_unused_parameters", "gradient_as_bucket_view", "static_graph")
        return {"world_size": comm.size, "rank": comm.rank, **{name: getattr(self, name) for name in names}}

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether ``backward`` averages gradients: not inside :meth:`no_sync`."""
        return self._reducer.sync

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self._reducer.sync = bool(value)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module for this process's part of the batch."""
        comm = self.process_group.communicator
        copies = self._buffers_differ and self.broadcast_buffers and comm.size > 1
        root, expects = 0, self._reducer.begin()
        if self._join is not None:
            root, active = self._join.meet(True, copies, expects)
            self._reducer.divisor = active if self._join.divides_by_active else comm.size
        if copies:
            copy_from_root(comm, self.module.buffers(), root)
        self._buffers_differ = expects
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, ``backward`` accumulates gradients on each process; the first one outside averages the sums."""
        with self._reducer.no_sync():
            yield

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """A context in which processes may have different numbers of batches.

        One that has no more gives zeros to the gradients of the others until all have ended; then all have the
        parameters and buffers of the process with the highest rank of those that were last. Averages are over all
        processes, or over those that still have batches. What the module communicates itself, as ``SyncBatchNorm``
        does, must be equally often: with ``throw_on_early_termination`` all processes end with the first.

        Raises:
            RuntimeError: ``throw_on_early_termination`` is true, and a process has no more batches.
        """
        comm = self.process_group.communicator
        if not enable or comm.size == 1:
            yield
            return
        self._join = _Join(comm, not divide_by_initial_world_size, throw_on_early_termination)
        try:
            yield
            while True:
                root, active = self._join.meet(False, False, False)
                if not active:
                    break
                if self._join.copies:
                    copy_from_root(comm, self.module.buffers(), root)
                if self._join.expects:
                    self._reducer.take_part()
            copy_from_root(comm, [*self.module.parameters(), *self.module.buffers()], self._join.last)
        finally:
            self._join, self._reducer.divisor = None, comm.size

    def register_comm_hook(self, state: object, hook: Any) -> NoReturn:
        """Raises: gradients are averaged as they are."""
        raise FerrogradError("DistributedDataParallel.register_comm_hook: gradients are averaged as they are")


class _Join:
    """Processes that have different numbers of batches."""

    def __init__(self, comm: Communicator, divides_by_active: bool, throws: bool) -> None:
        self._comm, self.divides_by_active, self._throws = comm, divides_by_active, throws
        #: The highest rank of the processes that had the last batches.
        self.last = 0
        #: Whether those that have batches copy buffers, and expect a backward pass.
        self.copies = self.expects = False

    def meet(self, active: bool, copies: bool, expects: bool) -> tuple[int, int]:
        """Before each batch: the highest rank of the processes that have one, and how many they are."""
        self._comm._agree("join()")
        every = self._comm._transport.allgather(np.array([active, copies, expects]))
        self.copies, self.expects = bool(every[:, 1].any()), bool(every[:, 2].any())
        ranks = np.flatnonzero(every[:, 0]).tolist()
        if self._throws and 0 < len(ranks) < self._comm.size:
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        if ranks:
            self.last = ranks[-1]
        return self.last, len(ranks)


__dir__ = _public.names(globals())
