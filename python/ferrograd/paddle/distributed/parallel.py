"""``paddle.DataParallel``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ferrograd._core import Tensor
from ferrograd._kit import public as _public
from ferrograd.distributed._reducer import Reducer, check_same_parameters, copy_from_root
from ferrograd.paddle._base.process_groups import Group, found
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["DataParallel"]


class DataParallel(Layer):
    """A layer of which each process of a group has a copy: ``backward`` averages the gradients over the processes.

    The parameters and buffers of process 0 are copied to all when it is made. Gradients travel in buckets of
    ``comm_buffer_size`` megabytes while the backward pass goes on. A parameter without a gradient is an error of the
    next forward unless ``find_unused_parameters`` is true.

    >>> import ferrograd.paddle as paddle
    >>> group = paddle.distributed.init_parallel_env()
    >>> model = paddle.DataParallel(paddle.nn.Linear(1, 1))
    >>> list(model.state_dict())
    ['weight', 'bias']
    >>> paddle.distributed.destroy_process_group()
    """

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: float = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Group | None = None,
    ) -> None:
        super().__init__(type(layers).__name__ + "_data_parallel")
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.group = found(group)
        comm = self.group.communicator
        named: list[tuple[str, Tensor]] = list(layers.named_parameters())
        if comm.size > 1:
            check_same_parameters(comm, named)
            copy_from_root(comm, [*layers.parameters(), *layers.buffers()])
        trainable = [(name, x) for name, x in named if x.requires_grad]
        self._reducer = Reducer(trainable, comm, int(comm_buffer_size * (1 << 20)), find_unused_parameters)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the layer for this process's part of the batch."""
        self._reducer.begin()
        return self._layers(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, ``backward`` accumulates gradients on each process; the first one outside averages the sums."""
        with self._reducer.no_sync():
            yield

    def scale_loss(self, loss: Any) -> Any:
        """The loss itself: gradients are averaged."""
        return loss

    def apply_collective_grads(self) -> None:
        """Does nothing: ``backward`` has averaged the gradients."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The state of the layer, whose names have no prefix."""
        return self._layers.state_dict(*args, **kwargs)

    def set_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads a state of the layer."""
        return self._layers.set_state_dict(state_dict, *args, **kwargs)

    set_dict = load_dict = set_state_dict


__dir__ = _public.names(globals())
