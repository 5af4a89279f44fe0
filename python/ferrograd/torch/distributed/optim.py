"""``torch.distributed.optim``: optimizers whose state is divided among processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import Tensor
from ferrograd._kit import public as _public
from ferrograd.distributed._reducer import copy_from_root
from ferrograd.torch._base.process_groups import ProcessGroup, found
from ferrograd.torch.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of which each process has the state of its share of the parameters.

    ``step`` updates the share, and then every process gets all parameters. The result is that of ``optimizer_class``
    on each process, and the state takes 1/N of the memory. Gradients must be averaged already, as
    ``DistributedDataParallel`` does. ``parameters_as_bucket_view`` changes nothing.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.distributed.optim import ZeroRedundancyOptimizer
    >>> torch.distributed.init_process_group("gloo")
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([w], torch.optim.SGD, lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise ValueError("ZeroRedundancyOptimizer: overlap_with_ddp must be False")
        super().__init__(params, defaults)
        self.process_group = found(process_group)
        comm = self.process_group.communicator
        everything = [p for group in self.param_groups for p in group["params"]]
        #: By parameter in order: the process that has its state.
        self._owners = _shares([_bytes(p) for p in everything], comm.size)
        self._indices = {id(p): i for i, p in enumerate(everything)}
        inner = [{**group, "params": self._mine(group)} for group in self.param_groups]
        #: The optimizer of this process's share.
        self.optim = optimizer_class(inner, **defaults)
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update({key: value for key, value in own.items() if key not in ("params", "param_names")})
        self.state = self.optim.state
        self._whole: dict[str, Any] | None = None

    def _mine(self, group: dict[str, Any]) -> list[Tensor]:
        rank = self.process_group.rank()
        return [p for p in group["params"] if self._owners[self._indices[id(p)]] == rank]

    def step(self, closure: Callable[[], Any] | None = None, **options: Any) -> Any:
        """Updates this process's share, and gets the parameters of the others."""
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            # A schedule changes the groups of all parameters.
            own.update({key: value for key, value in group.items() if key not in ("params", "param_names")})
        loss = self.optim.step(closure, **options)
        comm = self.process_group.communicator
        everything = [p for group in self.param_groups for p in group["params"]]
        for rank in range(comm.size if comm.size > 1 else 0):
            copy_from_root(comm, [p for p, owner in zip(everything, self._owners, strict=True) if owner == rank], rank)
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the state of all parameters on process ``to``, for :meth:`state_dict`."""
        own = self.optim.state_dict()
        mine = [self._indices[id(p)] for group in self.optim.param_groups for p in group["params"]]
        state = {mine[i]: value for i, value in own["state"].items()}
        parts = self.process_group.communicator.allgather_object(state)
        self._whole = None
        if self.process_group.rank() == self.process_group.root(to):
            whole = {i: value for part in parts for i, value in part.items()}
            places = [[self._indices[id(p)] for p in group["params"]] for group in self.param_groups]
            groups = [{**group, "params": at} for group, at in zip(self.param_groups, places, strict=True)]
            self._whole = {"state": dict(sorted(whole.items())), "param_groups": groups}

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, which :meth:`consolidate_state_dict` has collected on this process.

        Raises:
            RuntimeError: it has not.
        """
        if self._whole is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.rank()})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        return self._whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state of all parameters, which any number of processes wrote; this process keeps its share."""
        super().load_state_dict({**state_dict, "state": {}})
        mine = [self._indices[id(p)] for group in self.optim.param_groups for p in group["params"]]
        state = {i: state_dict["state"][number] for i, number in enumerate(mine) if number in state_dict["state"]}
        own = self.optim.state_dict()["param_groups"]
        groups = [{**group, "params": at["params"]} for group, at in zip(state_dict["param_groups"], own, strict=True)]
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self.state = self.optim.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group while the optimizer is made; later it is refused, because shares are settled."""
        if hasattr(self, "optim"):
            raise RuntimeError("ZeroRedundancyOptimizer: all groups must be given when it is made")
        super().add_param_group(param_group)


def _bytes(p: Tensor) -> int:
    return int(p.numel()) * int(p.dtype.itemsize)


def _shares(sizes: list[int], n: int) -> list[int]:
    """A process for each parameter: the largest first, to the process that has the least."""
    owners, load = [0] * len(sizes), [0] * n
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        owners[i] = min(range(n), key=load.__getitem__)
        load[owners[i]] += sizes[i]
    return owners


__dir__ = _public.names(globals())
