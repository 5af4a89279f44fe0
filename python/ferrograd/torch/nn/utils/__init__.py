"""``torch.nn.utils``."""

from __future__ import annotations

import inspect
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.utils import (
    clip_grad,
    convert_parameters,
    fusion,
    parametrizations,
    parametrize,
    prune,
    rnn,
    stateless,
)
from ferrograd.torch.nn.utils.clip_grad import *
from ferrograd.torch.nn.utils.convert_parameters import *
from ferrograd.torch.nn.utils.fusion import *
from ferrograd.torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from ferrograd.torch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad",
    "convert_parameters",
    "fusion",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "weight_norm",
]
__all__ += clip_grad.__all__
__all__ += convert_parameters.__all__
__all__ += fusion.__all__


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are zeros: no random numbers are drawn. torch leaves them as the memory was."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise ArgumentError(f"skip_init: Expected a Module; got {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise ArgumentError("skip_init: Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", None)
    made = module_cls(*args, device="meta", **kwargs)
    return made if str(device) == "meta" else made.to_empty(device="cpu" if device is None else device)


__dir__ = _public.names(globals())
