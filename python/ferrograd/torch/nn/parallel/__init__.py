"""``torch.nn.parallel``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._kit import public as _public
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parallel.scatter_gather import gather, scatter

if TYPE_CHECKING:
    from ferrograd.torch.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """The output of the module, which one device computes.

    >>> import ferrograd.torch as torch
    >>> torch.nn.parallel.data_parallel(torch.nn.Identity(), torch.ones(1)).item()
    1.0
    """
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DataParallel(Module):
    """A module around another one, for programs that ask for it. There is one device, so calls are passed on.

    >>> import ferrograd.torch as torch
    >>> list(torch.nn.DataParallel(torch.nn.Linear(1, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.output_device, self.dim = module, output_device, dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module."""
        return self.module(*inputs, **kwargs)


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        from ferrograd.torch.nn.parallel.distributed import DistributedDataParallel

        return DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = _public.names(globals())
