"""``torch.distributed.fsdp``: modules whose parameters are divided among processes."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple

from ferrograd._autograd.checkpoint import checkpoint
from ferrograd._autograd.modes import is_grad_enabled, no_grad
from ferrograd._core import FerrogradError, Tensor, native
from ferrograd._kit import public as _public
from ferrograd.distributed._reducer import check_same_parameters, copy_from_root
from ferrograd.torch._base.process_groups import ProcessGroup, found
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["FullyShardedDataParallel", "ShardingStrategy"]


class ShardingStrategy(enum.Enum):
    """What :class:`FullyShardedDataParallel` divides.

    ``FULL_SHARD`` gathers the parameters of a block for its forward pass and again for its backward pass, and
    ``SHARD_GRAD_OP`` once for both. The other strategies are refused.
    """

    FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, _HYBRID_SHARD_ZERO2 = range(1, 6)


class FullyShardedDataParallel(Module):
    """A module of which each process keeps 1/N of the parameters, of their gradients and of an optimizer's state.

    ``forward`` gathers the parameters, and ``backward`` gives each process its part of the averaged gradient, block
    after block. Wrap the blocks of a model before the model itself. What the backward pass reads of whole parameters
    stays until then. With ``reshard_after_forward``, or ``ShardingStrategy.FULL_SHARD``, it does not: the backward pass
    gathers the parameters and runs the block again, as ``torch.utils.checkpoint`` does, so only one block at a time is
    whole. Running statistics are updated once all the same.

    An optimizer gets ``parameters()``, which are flat parts. :meth:`state_dict` and :meth:`load_state_dict` have whole
    parameters under their usual names, on all processes, so any number of processes reads what any other wrote.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.distributed.fsdp import FullyShardedDataParallel
    >>> torch.distributed.init_process_group("gloo")
    >>> model = FullyShardedDataParallel(torch.nn.Linear(2, 1))
    >>> [tuple(p.shape) for p in model.parameters()], list(model.state_dict())
    ([(3,)], ['weight', 'bias'])
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        *,
        sync_module_states: bool = True,
        reshard_after_forward: bool = False,
    ) -> None:
        super().__init__()
        if sharding_strategy not in (None, ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
            raise FerrogradError(
                f"FullyShardedDataParallel: sharding_strategy must be FULL_SHARD or SHARD_GRAD_OP, not "
                f"{sharding_strategy}; DistributedDataParallel divides nothing"
            )
        self.process_group = found(process_group)
        self.reshard_after_forward = reshard_after_forward or sharding_strategy is ShardingStrategy.FULL_SHARD
        comm = self.process_group.communicator
        shared: dict[int, list[Place]] = {}
        for place in _parameters(module):
            shared.setdefault(id(place.value()), []).append(place)
        #: The places of each parameter, which are several if modules share it.
        self._places = list(shared.values())
        whole = [places[0].value() for places in self._places]
        if any(getattr(p, "_is_sharded", False) for p in whole):
            raise FerrogradError(
                "FullyShardedDataParallel: a parameter belongs to a module that is sharded already, too; wrap the "
                "modules that share it together"
            )
        if not whole:
            raise FerrogradError("FullyShardedDataParallel: the module has no parameters of its own")
        if len({p.dtype.name for p in whole}) > 1 or len({p.requires_grad for p in whole}) > 1:
            raise FerrogradError(
                "FullyShardedDataParallel: the parameters must have one dtype and all or none require gradients; wrap "
                "modules with others by themselves"
            )
        if comm.size > 1:
            check_same_parameters(comm, [(places[0].path, p) for places, p in zip(self._places, whole, strict=True)])
            if sync_module_states:
                copy_from_root(comm, [*whole, *_buffers(module)])
        self._fg_shapes = [tuple(p.shape) for p in whole]
        self._length = sum(map(math.prod, self._fg_shapes))
        width = -(-self._length // comm.size)
        with no_grad():
            flat = native.concat([p.detach().reshape([-1]) for p in whole])
            padded = native.concat([flat, native.zeros_like(flat[:1]).expand([width * comm.size - self._length])])
            part = padded[width * comm.rank : width * (comm.rank + 1)].clone()
        self.flat_param = Parameter(part, whole[0].requires_grad)
        self._average()
        for p, places in zip(whole, self._places, strict=True):
            p._is_sharded = True
            for place in places:
                place.put(None)
        self.module = module

    def _average(self) -> None:
        """Gradients are those of the mean over the processes."""
        size = self.process_group.communicator.size
        if self.flat_param.requires_grad:
            self.flat_param.register_hook(lambda g: g / size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A copy of a parameter has no hooks.
        self.__dict__.update(state)
        self._average()

    def _gathered(self) -> list[Tensor]:
        """The whole parameters; gradients flow back to the parts of the processes."""
        flat = self.process_group.communicator.allgather(self.flat_param).reshape([-1])
        found, at = [], 0
        for shape in self._fg_shapes:
            n = math.prod(shape)
            found.append(flat[at : at + n].reshape(list(shape)))
            at += n
        return found

    @contextmanager
    def _with(self, values: list[Any]) -> Iterator[None]:
        for places, value in zip(self._places, values, strict=True):
            for place in places:
                place.put(value)
        try:
            yield
        finally:
            for place in itertools.chain.from_iterable(self._places):
                place.put(None)

    def _call(self, *inputs: Any, **kwargs: Any) -> Any:
        with self._with(self._gathered()):
            return self.module(*inputs, **kwargs)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module for this process's part of the batch."""
        if not (self.reshard_after_forward and is_grad_enabled()):
            return self._call(*inputs, **kwargs)
        runs = itertools.count()

        def run(*args: Any) -> Any:
            # The backward pass runs the block again.
            with _unchanged(_buffers(self.module)) if next(runs) else nullcontext():
                return self._call(*args, **kwargs)

        return checkpoint(run, *inputs)

    @contextmanager
    def summon_full_params(self, writeback: bool = False) -> Iterator[None]:
        """Inside, this module and those in it have whole parameters; changes are kept with ``writeback``."""
        parts = [m for m in self.modules() if isinstance(m, FullyShardedDataParallel)]
        with ExitStack() as stack:
            held = []
            for part in parts:
                with no_grad():
                    whole = [Parameter(p.detach().clone(), part.flat_param.requires_grad) for p in part._gathered()]
                held.append(whole)
                stack.enter_context(part._with(whole))
            yield
            if writeback:
                for part, whole in zip(parts, held, strict=True):
                    part._fg_keep(whole)

    def _fg_keep(self, whole: list[Parameter]) -> None:
        with no_grad():
            flat = native.concat([p.detach().reshape([-1]) for p in whole])
            width, rank = self.flat_param.shape[0], self.process_group.communicator.rank
            mine = flat[width * rank : width * (rank + 1)]
            self.flat_param.detach()[: mine.shape[0]].copy_(mine)

    @contextmanager
    def _unwrapped(self) -> Iterator[None]:
        """Inside, the modules in this one are as if they were not wrapped, so that names are the usual ones."""
        held = [
            (module, name, child)
            for module in self.module.modules()
            for name, child in module._modules.items()
            if isinstance(child, FullyShardedDataParallel)
        ]
        for module, name, child in held:
            module._modules[name] = child.module
        try:
            yield
        finally:
            for module, name, child in held:
                module._modules[name] = child

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state with whole parameters, on each process; all call it together."""
        with self.summon_full_params(), self._unwrapped():
            return self.module.state_dict(destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Loads a state with whole parameters, of which each process keeps its part."""
        with self.summon_full_params(writeback=True), self._unwrapped():
            return self.module.load_state_dict(state_dict, strict)

    @staticmethod
    def optim_state_dict(model: Module, optim: Any) -> dict[str, Any]:
        """The state of an optimizer with whole tensors, on each process, for any number of processes to load.

        Parameters of modules that are not sharded keep their state as it is.
        """
        found = dict(optim.state_dict())
        found["state"] = _resharded(model, optim, found["state"], FullyShardedDataParallel._whole)
        return found

    @staticmethod
    def optim_state_dict_to_load(model: Module, optim: Any, optim_state_dict: dict[str, Any]) -> dict[str, Any]:
        """This process's part of a state that :meth:`optim_state_dict` made, for ``optim.load_state_dict``."""
        found = _resharded(model, optim, optim_state_dict["state"], FullyShardedDataParallel._fg_part)
        return {**optim_state_dict, "state": found}

    def _whole(self, x: Tensor) -> Tensor:
        if tuple(x.shape) != tuple(self.flat_param.shape):
            return x
        return self.process_group.communicator.allgather(x.detach()).reshape([-1])[: self._length]

    def _fg_part(self, x: Tensor) -> Tensor:
        if tuple(x.shape) != (self._length,):
            return x
        width, rank = self.flat_param.shape[0], self.process_group.communicator.rank
        part = x[width * rank : width * (rank + 1)]
        return native.concat([part, native.zeros_like(x[:1]).expand([width - part.shape[0]])])

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales all gradients so that their norm over all parameters and processes is at most ``max_norm``."""
        if norm_type != 2:
            raise FerrogradError("FullyShardedDataParallel.clip_grad_norm_: norm_type must be 2")
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        with no_grad():
            own = native.stack([(g.detach() * g.detach()).sum() for g in grads]).sum()
            norm = self.process_group.communicator.allreduce(own) ** 0.5
            scale = min(max_norm / (float(norm) + 1e-6), 1.0)
            for g in grads:
                g.mul_(scale)
        return norm


FSDP = FullyShardedDataParallel


def _resharded(model: Module, optim: Any, state: dict[Any, Any], change: Callable[[Any, Tensor], Tensor]) -> Any:
    """The state of an optimizer by parameter number, with the tensors of sharded parameters changed."""
    owners = {id(m.flat_param): m for m in model.modules() if isinstance(m, FullyShardedDataParallel)}
    numbered = enumerate(p for group in optim.param_groups for p in group["params"])
    found = {}
    for i, p in numbered:
        if i in state:
            owner = owners.get(id(p))
            found[i] = {
                key: change(owner, x) if owner is not None and isinstance(x, Tensor) else x
                for key, x in state[i].items()
            }
    return found


class Place(NamedTuple):
    """Where a module has a parameter."""

    owner: Module
    name: str
    path: str

    def value(self) -> Any:
        """The parameter."""
        return self.owner._parameters[self.name]

    def put(self, value: Any) -> None:
        """Puts something in the place of the parameter."""
        self.owner._parameters[self.name] = value


def _parameters(module: Module, at: str = "") -> Iterator[Place]:
    """The places of all parameters that are not in another sharded module."""
    for name, p in module._parameters.items():
        if p is not None:
            yield Place(module, name, f"{at}{name}")
    for name, child in module._modules.items():
        if child is not None and not isinstance(child, FullyShardedDataParallel):
            yield from _parameters(child, f"{at}{name}.")


@contextmanager
def _unchanged(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Afterwards, tensors have the values that they have now."""
    held = [(x, x.detach().clone()) for x in tensors]
    try:
        yield
    finally:
        for x, value in held:
            x.detach().copy_(value)


def _buffers(module: Module) -> Iterator[Tensor]:
    yield from (x for x in module._buffers.values() if x is not None)
    for child in module._modules.values():
        if child is not None and not isinstance(child, FullyShardedDataParallel):
            yield from _buffers(child)


__dir__ = _public.names(globals())
