"""``torch.nn.parallel.DistributedDataParallel``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ferrograd._autograd.modes import is_grad_enabled
from ferrograd._core import FerrogradError
from ferrograd.distributed._reducer import Reducer, check_same_parameters, copy_from_root
from ferrograd.torch._process_groups import ProcessGroup, found
from ferrograd.torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which each process of a group has a copy: ``backward`` averages the gradients over the processes.

    The parameters and buffers of process 0 are copied to all when it is made; with ``broadcast_buffers`` the buffers
    are copied before each forward in training, too. Gradients travel in buckets of ``bucket_cap_mb`` megabytes while
    the backward pass goes on. Only ``backward()`` averages them, not ``autograd.grad``.

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
        comm = self.process_group.communicator
        if init_sync and comm.size > 1:
            check_same_parameters(comm, list(module.named_parameters()))
            copy_from_root(comm, [*module.parameters(), *module.buffers()])
        size = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self._reducer = Reducer(named, comm, size, find_unused_parameters)

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether ``backward`` averages gradients: not inside :meth:`no_sync`."""
        return self._reducer.sync

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self._reducer.sync = bool(value)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module for this process's part of the batch."""
        if is_grad_enabled() and self._reducer.sync:
            self._reducer.begin()
            comm = self.process_group.communicator
            if self.broadcast_buffers and self.training and comm.size > 1:
                copy_from_root(comm, self.module.buffers())
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, ``backward`` accumulates gradients on each process; the first one outside averages the sums."""
        with self._reducer.no_sync():
            yield

    def join(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises: the processes must have equally many batches, which ``DistributedSampler`` gives them."""
        raise FerrogradError(
            "DistributedDataParallel.join: give all processes equally many batches: DistributedSampler"
        )

    def register_comm_hook(self, state: object, hook: Any) -> NoReturn:
        """Raises: gradients are averaged as they are."""
        raise FerrogradError("DistributedDataParallel.register_comm_hook: gradients are averaged as they are")
